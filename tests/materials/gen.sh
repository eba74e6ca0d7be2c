#!/usr/bin/env bash
# Makes the corpus of odd materials, which the loader must judge as each case says. Keys are fresh in every run, validity
# is relative to now, the structure is fixed.
#   gen.sh OUTDIR              all cases but those over 1 MiB (149)
#   gen.sh --oversize OUTDIR   those over 1 MiB (3)
#   ONLY=glob gen.sh OUTDIR    cases whose name matches, for a look at one
# Needs OpenSSL 3, xxd, iconv and the GNU versions of date, sed, base64 and head. Takes about half a minute.
#
# A case is a folder with tls.crt and tls.key (identity), ca.crt (trust), crl.pem (revocation), peer_*.crt and .key (what a
# peer would show), and a line of expect.txt:
#   verdict=<accept|reject|either|policy> role=<identity|trust|crl> class=<reason> ; text
# either: two outcomes are defensible, the text names the one that is not. policy: implementations disagree; what Iris does
# stands in the test that runs the corpus. peer_x=verify, peer_x=refuse and anchors=n in the text are judged too.
set -eEu
trap 'echo "gen.sh failed in line $LINENO (case ${D:-setup})" >&2' ERR
export LC_ALL=C
OVERSIZE=0
if [ "${1:-}" = "--oversize" ]; then OVERSIZE=1; shift; fi
[ $# = 1 ] || { echo "usage: gen.sh [--oversize] OUTDIR" >&2; exit 2; }
OUT=$1
for tool in openssl xxd iconv base64 awk sed; do
  command -v "$tool" >/dev/null || { echo "$tool is missing: the corpus of odd materials cannot be made without it" >&2; exit 1; }
done
ONLY=${ONLY:-*}
mkdir -p "$OUT"
W=$(mktemp -d); trap 'rm -rf "$W"' EXIT
NOW=$(date -u +%s)
H=3600; DAY=86400; YEAR=$((365*DAY))
printf '[req]\ndistinguished_name=dn\n[dn]\n' > "$W/req.cnf"

when() { case $1 in *Z) echo "$1";; *) date -u -d "@$((NOW + $1))" +%Y%m%d%H%M%SZ;; esac; }

# ---- keys -------------------------------------------------------------
key() { # type file
  case $1 in
    ec256)  openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$2";;
    ec384)  openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-384 -out "$2";;
    ec521)  openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-521 -out "$2";;
    ed25519|ed448) openssl genpkey -algorithm "$1" -out "$2";;
    rsa*)   openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:"${1#rsa}" -out "$2";;
    pss2048) openssl genpkey -algorithm RSA-PSS -pkeyopt rsa_keygen_bits:2048 -out "$2";;
  esac 2>/dev/null
}

# ---- extensions -------------------------------------------------------
CAX=$'basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign\nsubjectKeyIdentifier=hash'
AKI=$'subjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid'
SUBCAX=$CAX$'\nauthorityKeyIdentifier=keyid'
leafx() { # SAN [EKU] [KU]
  printf 'basicConstraints=critical,CA:FALSE\nkeyUsage=critical,%s\n%s\nsubjectAltName=%s\n%s\n' \
    "${3:-digitalSignature}" "${2-extendedKeyUsage=serverAuth,clientAuth}" "$1" "$AKI"
}
LX=$(leafx DNS:iris.test)

# ---- signing ----------------------------------------------------------
cadir() { # md serialhex ext -> dir
  local d; d=$(mktemp -d "$W/d.XXXXXX"); : > "$d/index.txt"; echo "$2" > "$d/serial"
  cat > "$d/c.cnf" <<EOF
[ca]
default_ca=x
[x]
database=$d/index.txt
serial=$d/serial
crlnumber=$d/crlnumber
new_certs_dir=$d
default_md=$1
policy=p
unique_subject=no
email_in_dn=no
[p]
countryName=optional
organizationName=optional
organizationalUnitName=optional
commonName=optional
[e]
$3
EOF
  echo "$d"
}
newserial() { printf '4A%s' "$(openssl rand -hex 11)"; }
issue() { # out key subj issuercert|self issuerkey start end ext [md] [serialhex]
  local out=$1 k=$2 subj=$3 ic=$4 ik=$5 s e ext=$8 md=${9:-sha256} ser=${10:-} d who
  s=$(when "$6"); e=$(when "$7"); [ -n "$ser" ] || ser=$(newserial)
  d=$(cadir "$md" "$ser" "$ext")
  openssl req -new -config "$W/req.cnf" -key "$k" -subj "$subj" -out "$d/csr" 2>/dev/null
  if [ "$ic" = self ]; then who=(-selfsign -keyfile "$k"); else who=(-cert "$ic" -keyfile "$ik"); fi
  openssl ca -batch -notext -config "$d/c.cnf" -in "$d/csr" -out "$out" -startdate "$s" -enddate "$e" \
    -extensions e -preserveDN "${who[@]}" >"$d/log" 2>&1 || { cat "$d/log" >&2; return 1; }
}
mkcrl() { # out cacert cakey last next number [revoked cert...]
  local out=$1 cc=$2 ck=$3 l n d; l=$(when "$4"); n=$(when "$5")
  d=$(cadir sha256 01 ""); echo "$6" > "$d/crlnumber"; shift 6
  for c in "$@"; do openssl ca -batch -config "$d/c.cnf" -cert "$cc" -keyfile "$ck" -revoke "$c" >/dev/null 2>&1; done
  openssl ca -batch -config "$d/c.cnf" -cert "$cc" -keyfile "$ck" -gencrl -crl_lastupdate "$l" -crl_nextupdate "$n" -out "$out" 2>/dev/null
}

# ---- raw DER (for what the openssl tool will not encode) ---------------
derlen() { # n -> hex
  if [ "$1" -lt 128 ]; then printf '%02x' "$1"; elif [ "$1" -lt 256 ]; then printf '81%02x' "$1"; else printf '82%04x' "$1"; fi; }
tlv() { local h; h=$(xxd -p | tr -d '\n'); printf '%s%s%s' "$1" "$(derlen $((${#h}/2)))" "$h" | xxd -r -p; }
rawcert() { # out key subjectCN issuerCN issuerkey v1|v3 SERIALHEX NB NA  (NB/NA like GENTIME:20250101000000Z)
  local out=$1 k=$2 scn=$3 icn=$4 ik=$5 v=$6 ser=$7 nb=$8 na=$9 d pub
  d=$(mktemp -d "$W/r.XXXXXX")
  pub=$(openssl pkey -in "$k" -pubout -outform DER 2>/dev/null | tail -c 65 | xxd -p | tr -d '\n')
  { echo 'asn1=SEQUENCE:tbs'; echo '[tbs]'
    [ "$v" = v1 ] || echo 'a=EXPLICIT:0,INTEGER:2'
    echo "b=INTEGER:$ser"; echo 'c=SEQUENCE:alg'; echo 'd=SEQUENCE:iss'; echo 'e=SEQUENCE:val'; echo 'f=SEQUENCE:sub'; echo 'g=SEQUENCE:spki'
    [ "$v" = v1 ] || echo 'h=EXPLICIT:3,SEQUENCE:exts'
    echo '[alg]'; echo 'o=OID:ecdsa-with-SHA256'
    echo '[iss]'; echo 's=SET:isss'; echo '[isss]'; echo 'q=SEQUENCE:issq'; echo '[issq]'; echo 'o=OID:commonName'; echo "n=UTF8:$icn"
    echo '[val]'; echo "a=$nb"; echo "b=$na"
    echo '[sub]'; echo 's=SET:subs'; echo '[subs]'; echo 'q=SEQUENCE:subq'; echo '[subq]'; echo 'o=OID:commonName'; echo "n=UTF8:$scn"
    echo '[spki]'; echo 'a=SEQUENCE:spkia'; echo "b=FORMAT:HEX,BITSTRING:$pub"
    echo '[spkia]'; echo 'a=OID:id-ecPublicKey'; echo 'b=OID:prime256v1'
    echo '[exts]'; echo 'a=SEQUENCE:xsan'; echo 'b=SEQUENCE:xeku'
    echo '[xsan]'; echo 'o=OID:subjectAltName'; echo 'v=OCTWRAP,SEQUENCE:xsanv'; echo '[xsanv]'; echo 'd=IMPLICIT:2,IA5STRING:iris.test'
    echo '[xeku]'; echo 'o=OID:extendedKeyUsage'; echo 'v=OCTWRAP,SEQUENCE:xekuv'; echo '[xekuv]'; echo 'a=OID:serverAuth'; echo 'b=OID:clientAuth'
  } > "$d/tbs.cnf"
  openssl asn1parse -genconf "$d/tbs.cnf" -noout -out "$d/tbs.der"
  openssl dgst -sha256 -sign "$ik" -out "$d/sig" "$d/tbs.der"
  { cat "$d/tbs.der"; printf '300a06082a8648ce3d040302' | xxd -r -p; { printf '\0'; cat "$d/sig"; } | tlv 03; } | tlv 30 > "$d/c.der"
  openssl x509 -inform DER -in "$d/c.der" -out "$out" 2>/dev/null || { echo "-----BEGIN CERTIFICATE-----"; base64 -w64 "$d/c.der"; echo "-----END CERTIFICATE-----"; } > "$out"
}

# ---- case helpers -----------------------------------------------------
D=
c() { # name ; sets D, returns 1 when filtered out
  case $1 in $ONLY) D=$OUT/$1; rm -rf "$D"; mkdir -p "$D";; *) return 1;; esac; }
x() { printf '%s\n' "$1" > "$D/expect.txt"; }
body() { sed -n '/-----BEGIN/,/-----END/p' "$1" | sed '1d;$d' | tr -d '\n'; }
id() { cp "$W/leaf.crt" "$D/tls.crt"; cp "$W/leaf.key" "$D/tls.key"; cp "$W/root.crt" "$D/ca.crt"; }   # good identity
mk() { # keytype ext [start end md serial subj]: identity under root with its own key
  key "$1" "$D/tls.key"
  issue "$D/tls.crt" "$D/tls.key" "${7:-/O=Iris Test/CN=iris.test}" "$W/root.crt" "$W/root.key" "${3:--$DAY}" "${4:-$((90*DAY))}" "$2" "${5:-sha256}" "${6:-}"
  cp "$W/root.crt" "$D/ca.crt"; }
peer() { # name cacert cakey [ext start end]: a peer certificate in the case folder
  key ec256 "$D/peer_$1.key"
  issue "$D/peer_$1.crt" "$D/peer_$1.key" "/O=Iris Test/CN=peer-$1" "$2" "$3" "${5:--$DAY}" "${6:-$((90*DAY))}" "${4:-$(leafx "DNS:peer-$1.test")}"; }

# ---- shared PKI -------------------------------------------------------
ca() { # name subj [start end ext keytype]
  key "${6:-ec256}" "$W/$1.key"; issue "$W/$1.crt" "$W/$1.key" "$2" self - "${3:--$((30*DAY))}" "${4:-$((5*YEAR))}" "${5:-$CAX}"; }
sub() { # name subj parent [start end ext]
  key ec256 "$W/$1.key"; issue "$W/$1.crt" "$W/$1.key" "$2" "$W/$3.crt" "$W/$3.key" "${4:--$((20*DAY))}" "${5:-$((2*YEAR))}" "${6:-$SUBCAX}"; }
ca root "/O=Iris Test/CN=Iris Root A"
ca rootb "/O=Iris Test/CN=Iris Root B"
ca rootx "/O=Iris Test/CN=Iris Root Expired" "-$((3*YEAR))" "-$((10*DAY))"
ca raw "/CN=Iris Raw CA"
sub int1 "/O=Iris Test/CN=Iris Int 1" root
sub int2 "/O=Iris Test/CN=Iris Int 2" int1
sub intx "/O=Iris Test/CN=Iris Int Expired" root "-$YEAR" "-$((2*DAY))"
sub ints "/O=Iris Test/CN=Iris Int Short" root "-$YEAR" "$((2*DAY))"
key ec256 "$W/leaf.key"; issue "$W/leaf.crt" "$W/leaf.key" "/O=Iris Test/CN=iris.test" "$W/root.crt" "$W/root.key" "-$DAY" "$((90*DAY))" "$LX"
key ec256 "$W/ileaf.key"; issue "$W/ileaf.crt" "$W/ileaf.key" "/O=Iris Test/CN=iris.test" "$W/int2.crt" "$W/int2.key" "-$DAY" "$((90*DAY))" "$LX"
chain() { cat "$W/ileaf.crt" "$W/int2.crt" "$W/int1.crt"; }
idc() { chain > "$D/tls.crt"; cp "$W/ileaf.key" "$D/tls.key"; cp "$W/root.crt" "$D/ca.crt"; }            # good identity with chain

if [ $OVERSIZE = 1 ]; then
  c oversize-comment-padded && { id; { yes '# padding line before the certificate' | head -c 1572864; echo; cat "$W/leaf.crt"; } > "$D/tls.crt"
    x 'verdict=reject role=identity class=file-too-large ; valid certificate after 1.5 MiB of text: refuse by size without reading it all, keep last good'; }
  c oversize-bundle && { id; for _ in $(seq 1 2600); do cat "$W/root.crt"; done > "$D/ca.crt"
    x 'verdict=reject role=trust class=file-too-large ; >1 MiB of one repeated good CA: refuse by size even though it would dedupe to one anchor'; }
  c oversize-endless-base64 && { id; { echo '-----BEGIN CERTIFICATE-----'; yes "$(printf 'QUFB%.0s' $(seq 16))" | head -c 2097152; echo; echo '-----END CERTIFICATE-----'; } > "$D/tls.crt"
    x 'verdict=reject role=identity class=file-too-large ; 2 MiB inside one PEM block; memory must stay bounded'; }
  exit 0
fi

# ======================= identity: PEM framing ==========================
c id-ok && { id; x 'verdict=accept role=identity class=ok ; baseline P-256 leaf, PKCS#8 key'; }
c id-ok-chain && { idc; x 'verdict=accept role=identity class=ok ; leaf + two intermediates, root in ca.crt'; }
c pem-bom && { id; for f in tls.crt tls.key ca.crt; do { printf '\xef\xbb\xbf'; cat "$D/$f"; } > "$D/t"; mv "$D/t" "$D/$f"; done
  x 'verdict=either role=identity class=pem-bom ; strip the UTF-8 BOM and accept, or reject saying so; "no certificate found" with no cause is the poor outcome'; }
c pem-bom-chain && { idc; { printf '\xef\xbb\xbf'; chain; } > "$D/tls.crt"
  x 'verdict=either role=identity class=pem-bom ; accept all 3 certificates or reject; NEVER load with the first block lost (the intermediate would become the leaf)'; }
c pem-bom-bundle && { id; { printf '\xef\xbb\xbf'; cat "$W/root.crt" "$W/rootb.crt"; } > "$D/ca.crt"
  x 'verdict=either role=trust class=pem-bom ; 2 anchors or reject; never 1 anchor (silent trust contraction)'; }
c pem-crlf && { idc; for f in tls.crt tls.key ca.crt; do sed -i 's/$/\r/' "$D/$f"; done
  x 'verdict=accept role=identity class=ok ; CRLF line ends, RFC 7468 s2'; }
c pem-cr-only && { idc; for f in tls.crt tls.key ca.crt; do tr '\n' '\r' < "$D/$f" > "$D/t"; mv "$D/t" "$D/$f"; done
  x 'verdict=accept role=identity class=ok ; bare CR line ends, RFC 7468 s3 eol; reject tolerable, partial load not'; }
c pem-bag-attributes && { idc; { printf 'Bag Attributes\n    localKeyID: B9 FD 3E 10 61 18 CD D3\n    friendlyName: iris - prod\nsubject=/O=Iris Test/CN=iris.test\nissuer=/O=Iris Test/CN=Iris Int 2\n'; chain; } > "$D/tls.crt"
  { printf 'Bag Attributes\n    localKeyID: B9 FD\nKey Attributes: <No Attributes>\n'; cat "$W/ileaf.key"; } > "$D/tls.key"
  x 'verdict=accept role=identity class=ok ; explanatory text before boundaries, RFC 7468 s2/s5.2'; }
c pem-nonutf8-text && { id; { printf '# Autorit\xe9 de certification \xff\xfe\n'; cat "$W/root.crt"; printf '# \xa9 fin\n'; cat "$W/rootb.crt"; } > "$D/ca.crt"
  x 'verdict=accept role=trust class=ok ; Latin-1 bytes outside the boundaries; 2 anchors; loader must be byte-based'; }
c pem-text-after-end && { id; printf 'trailing words\n\n  \n' >> "$D/tls.crt"; x 'verdict=accept role=identity class=ok ; text after END'; }
c pem-indented && { idc; sed -i 's/^/  /' "$D/tls.crt"; x 'verdict=either role=identity class=pem-malformed ; YAML-indented PEM: accept whole or reject, no partial load'; }
c pem-one-line-base64 && { id; { echo '-----BEGIN CERTIFICATE-----'; body "$W/leaf.crt"; echo; echo '-----END CERTIFICATE-----'; } > "$D/tls.crt"
  x 'verdict=accept role=identity class=ok ; unwrapped base64, RFC 7468 s2 lax parsing'; }
c pem-blank-lines-inside && { id; awk '{print; if (NR==3) print ""}' "$W/leaf.crt" > "$D/tls.crt"; x 'verdict=either role=identity class=pem-malformed ; blank line inside the base64 (whitespace SHOULD be ignored)'; }
c pem-utf16 && { id; iconv -f UTF-8 -t UTF-16 "$W/leaf.crt" > "$D/tls.crt"; x 'verdict=reject role=identity class=pem-encoding ; UTF-16 file (PowerShell redirect); say so, no panic on NULs'; }
c pem-nul-inside && { id; L=$(wc -c < "$W/leaf.crt"); { head -c 200 "$W/leaf.crt"; printf '\0\0\0\0'; tail -c $((L-200)) "$W/leaf.crt"; } > "$D/tls.crt"
  x 'verdict=reject role=identity class=pem-malformed ; NUL bytes inside base64'; }
c pem-nul-tail && { id; head -c 512 /dev/zero >> "$D/tls.crt"; x 'verdict=either role=identity class=pem-malformed ; NUL padding after END (crashed writer / preallocated file)'; }
c pem-nul-hole && { id; head -c "$(wc -c < "$W/leaf.crt")" /dev/zero > "$D/tls.crt"; x 'verdict=reject role=identity class=empty ; right size, all NULs (power loss after truncate): keep last good'; }
c pem-old-label && { id; sed -i 's/ CERTIFICATE-/ X509 CERTIFICATE-/' "$D/tls.crt"; x 'verdict=either role=identity class=pem-label ; "X509 CERTIFICATE" label, RFC 7468 s5.1 allows parsers to treat as CERTIFICATE'; }
c pem-lowercase-label && { id; sed -i 's/-----BEGIN CERTIFICATE-----/-----begin certificate-----/;s/-----END CERTIFICATE-----/-----end certificate-----/' "$D/tls.crt"; x 'verdict=reject role=identity class=no-certificate ; labels are case-sensitive'; }
c pem-label-mismatch && { id; sed -i 's/-----END CERTIFICATE-----/-----END X509 CRL-----/' "$D/tls.crt"; x 'verdict=reject role=identity class=pem-malformed ; BEGIN/END labels differ'; }
c pem-rfc1421-headers && { id; awk 'NR==1{print;print "X-Origin: vault";print "";next}{print}' "$W/leaf.crt" > "$D/tls.crt"; x 'verdict=either role=identity class=pem-malformed ; RFC 1421 headers inside a CERTIFICATE block: never decode the header as base64'; }
c pem-literal-backslash-n && { id; awk '{printf "%s\\n",$0}' "$W/leaf.crt" > "$D/tls.crt"; x 'verdict=reject role=identity class=pem-malformed ; literal \n two-character sequences (env-var templating slip)'; }
c pem-base64-twice && { id; base64 -w0 "$W/leaf.crt" > "$D/tls.crt"; base64 -w0 "$W/leaf.key" > "$D/tls.key"; x 'verdict=reject role=identity class=no-certificate ; Secret data encoded twice'; }
c pem-html-page && { id; printf '<!DOCTYPE html><html><head><title>403</title></head><body>-----BEGIN nothing</body></html>\n' > "$D/ca.crt"; x 'verdict=reject role=trust class=no-certificate ; a fetched error page'; }
c der-not-pem && { id; openssl x509 -in "$W/leaf.crt" -outform DER -out "$D/tls.crt"; openssl pkey -in "$W/leaf.key" -outform DER -out "$D/tls.key"; openssl x509 -in "$W/root.crt" -outform DER -out "$D/ca.crt"
  x 'verdict=reject role=identity class=not-pem ; DER instead of PEM: name the cause'; }
c pkcs7-bundle && { id; openssl crl2pkcs7 -nocrl -certfile "$W/root.crt" -certfile "$W/rootb.crt" -out "$D/ca.crt"; x 'verdict=reject role=trust class=no-certificate ; PKCS7 PEM block, not certificates; never an empty trust store'; }
c csr-not-cert && { id; openssl req -new -config "$W/req.cnf" -key "$W/leaf.key" -subj /CN=iris.test -out "$D/tls.crt" 2>/dev/null; x 'verdict=reject role=identity class=no-certificate ; CERTIFICATE REQUEST in tls.crt'; }
c pubkey-not-key && { id; openssl pkey -in "$W/leaf.key" -pubout -out "$D/tls.key"; x 'verdict=reject role=identity class=no-private-key ; PUBLIC KEY in tls.key'; }

# ======================= identity: truncation ===========================
c file-empty && { id; : > "$D/tls.crt"; : > "$D/tls.key"; : > "$D/ca.crt"; x 'verdict=reject role=identity class=empty ; 0-byte files: keep last good, never "no trust configured"'; }
c file-empty-key-only && { id; : > "$D/tls.key"; x 'verdict=reject role=identity class=empty ; certificate new, key 0 bytes (mid-write)'; }
c file-whitespace && { id; printf ' \n\t\n\r\n' > "$D/tls.crt"; printf '\n\n' > "$D/ca.crt"; x 'verdict=reject role=identity class=empty ; whitespace only'; }
c file-missing-key && { id; rm "$D/tls.key"; x 'verdict=reject role=identity class=missing-file ; tls.key absent: keep last good'; }
c file-is-directory && { id; rm "$D/tls.key"; mkdir "$D/tls.key"; x 'verdict=reject role=identity class=not-a-file ; tls.key is a directory (bad subPath)'; }
c trunc-base64 && { id; head -c 300 "$W/leaf.crt" > "$D/tls.crt"; x 'verdict=reject role=identity class=truncated ; cut in the middle of base64'; }
c trunc-begin-end && { id; printf -- '-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n' > "$D/tls.crt"; x 'verdict=reject role=identity class=truncated ; nothing between BEGIN and END'; }
c trunc-begin-only && { id; printf -- '-----BEGIN CERTIFICATE-----\n' > "$D/tls.crt"; x 'verdict=reject role=identity class=truncated ; BEGIN line only'; }
c trunc-no-end && { id; sed '/END CERT/d' "$W/leaf.crt" > "$D/tls.crt"; x 'verdict=reject role=identity class=truncated ; full base64, END missing'; }
c trunc-chain-tail && { idc; S=$(wc -c < "$W/ileaf.crt"); chain > "$W/t"; head -c $((S+350)) "$W/t" > "$D/tls.crt"; x 'verdict=reject role=identity class=truncated ; leaf whole, 2nd certificate cut: never load the leaf alone'; }
c trunc-at-block-edge && { idc; cp "$W/ileaf.crt" "$D/tls.crt"; x 'verdict=policy role=identity class=incomplete-chain ; cut exactly between blocks so it parses: cannot be told from a short chain; recommended accept + warn (chain does not reach ca.crt), second read must agree before activation'; }
c trunc-key && { id; head -c 120 "$W/leaf.key" > "$D/tls.key"; x 'verdict=reject role=identity class=truncated ; key cut in base64'; }
c trunc-der-inside && { id; B=$(openssl x509 -in "$W/leaf.crt" -outform DER | head -c 200 | base64 -w64); printf -- '-----BEGIN CERTIFICATE-----\n%s\n-----END CERTIFICATE-----\n' "$B" > "$D/tls.crt"; x 'verdict=reject role=identity class=bad-der ; valid PEM, DER cut short'; }
c der-trailing-bytes && { id; B=$({ openssl x509 -in "$W/leaf.crt" -outform DER; printf 'junk'; } | base64 -w64); printf -- '-----BEGIN CERTIFICATE-----\n%s\n-----END CERTIFICATE-----\n' "$B" > "$D/tls.crt"; x 'verdict=reject role=identity class=bad-der ; trailing bytes after the certificate DER'; }

# ======================= identity: keys =================================
c key-pkcs1 && { mk rsa2048 "$LX"; openssl rsa -traditional -in "$D/tls.key" -out "$D/t" 2>/dev/null; mv "$D/t" "$D/tls.key"; x 'verdict=accept role=identity class=ok ; RSA PRIVATE KEY (PKCS#1)'; }
c key-sec1 && { id; openssl ec -in "$W/leaf.key" -out "$D/tls.key" 2>/dev/null; x 'verdict=accept role=identity class=ok ; EC PRIVATE KEY (SEC1, RFC 5915)'; }
c key-ec-parameters-first && { id; { openssl ecparam -name prime256v1; openssl ec -in "$W/leaf.key" 2>/dev/null; } > "$D/tls.key"; x 'verdict=accept role=identity class=ok ; EC PARAMETERS block before EC PRIVATE KEY (openssl ecparam -genkey)'; }
c key-sec1-no-public && { id; openssl ec -in "$W/leaf.key" -no_public -out "$D/tls.key" 2>/dev/null; x 'verdict=either role=identity class=unsupported-key ; SEC1 without publicKey (OPTIONAL in RFC 5915 s3); ring refuses, aws-lc may accept; clear reason if refused'; }
c key-sec1-no-parameters && { id; P=$(openssl pkey -in "$W/leaf.key" -text -noout | sed -n '/priv:/,/pub:/p' | sed '1d;$d' | tr -d ' :\n'); P=$(printf '%064s' "${P: -64}" | tr ' ' 0)
  printf 'asn1=SEQUENCE:s\n[s]\na=INTEGER:1\nb=FORMAT:HEX,OCTETSTRING:%s\n' "$P" > "$W/k.cnf"; openssl asn1parse -genconf "$W/k.cnf" -noout -out "$W/k.der"
  { echo '-----BEGIN EC PRIVATE KEY-----'; base64 -w64 "$W/k.der"; echo '-----END EC PRIVATE KEY-----'; } > "$D/tls.key"; x 'verdict=reject role=identity class=unsupported-key ; no curve in the key, RFC 5915 s3 MUST include parameters'; }
c key-pkcs8-rsa && { mk rsa2048 "$LX"; x 'verdict=accept role=identity class=ok ; RSA in PKCS#8'; }
c key-encrypted-pkcs8 && { id; openssl pkcs8 -topk8 -in "$W/leaf.key" -passout pass:secret -out "$D/tls.key"; x 'verdict=reject role=identity class=key-encrypted ; ENCRYPTED PRIVATE KEY: name the cause, not "no key found"'; }
c key-encrypted-legacy && { mk rsa2048 "$LX"; openssl rsa -aes128 -traditional -passout pass:secret -in "$D/tls.key" -out "$D/t" 2>/dev/null; mv "$D/t" "$D/tls.key"; x 'verdict=reject role=identity class=key-encrypted ; RSA PRIVATE KEY with Proc-Type 4,ENCRYPTED'; }
c key-ed25519 && { mk ed25519 "$LX"; x 'verdict=accept role=identity class=ok ; Ed25519'; }
c key-p384 && { mk ec384 "$LX"; x 'verdict=accept role=identity class=ok ; P-384'; }
c key-p521 && { mk ec521 "$LX"; x 'verdict=policy role=identity class=unsupported-key ; P-521: ring cannot sign, aws-lc-rs can; decide at load, never at first handshake'; }
c key-ed448 && { mk ed448 "$LX"; x 'verdict=reject role=identity class=unsupported-key ; Ed448 unsupported by rustls providers'; }
c key-rsa1024 && { mk rsa1024 "$LX"; x 'verdict=reject role=identity class=weak-key ; RSA-1024'; }
c key-rsa4096 && { mk rsa4096 "$LX"; x 'verdict=accept role=identity class=ok ; RSA-4096'; }
c key-rsa-pss && { mk pss2048 "$LX"; x 'verdict=reject role=identity class=unsupported-key ; id-RSASSA-PSS key type: refuse at load if the provider cannot sign'; }
c key-ec-explicit-params && { openssl ecparam -name prime256v1 -param_enc explicit -genkey -noout -out "$W/xp.key"; openssl pkcs8 -topk8 -nocrypt -in "$W/xp.key" -out "$D/tls.key"
  issue "$D/tls.crt" "$D/tls.key" /CN=iris.test "$W/root.crt" "$W/root.key" -$DAY $((90*DAY)) "$LX"; cp "$W/root.crt" "$D/ca.crt"; x 'verdict=reject role=identity class=unsupported-key ; explicit EC parameters, RFC 5480 s2.1.1'; }
c pair-mismatch && { id; key ec256 "$D/tls.key"; x 'verdict=reject role=identity class=key-mismatch ; same algorithm, other key (torn generation): keep last good and re-read soon'; }
c pair-mismatch-algorithm && { id; key rsa2048 "$D/tls.key"; x 'verdict=reject role=identity class=key-mismatch ; EC certificate, RSA key'; }
c pair-mismatch-reissued && { id; key ec256 "$W/n.key"; issue "$D/tls.crt" "$W/n.key" /O=Iris\ Test/CN=iris.test "$W/root.crt" "$W/root.key" -60 $((180*DAY)) "$LX"; x 'verdict=reject role=identity class=key-mismatch ; new certificate beside the previous key, same subject and SAN'; }
c key-file-cert-first && { id; cat "$W/leaf.crt" "$W/leaf.key" > "$D/tls.key"; x 'verdict=accept role=identity class=ok ; certificate before the key in the key file: skip it'; }
c key-and-cert-one-file && { id; cat "$W/leaf.crt" "$W/leaf.key" > "$D/tls.crt"; cp "$D/tls.crt" "$D/tls.key"; x 'verdict=accept role=identity class=ok ; combined file used for both paths; key bytes must not reach logs or digests exposed in metrics'; }
c key-two-keys-wrong-first && { id; key ec256 "$W/o.key"; cat "$W/o.key" "$W/leaf.key" > "$D/tls.key"; x 'verdict=reject role=identity class=key-ambiguous ; two keys, the first does not match (appended instead of replaced)'; }
c key-two-keys-right-first && { id; key ec256 "$W/o.key"; cat "$W/leaf.key" "$W/o.key" > "$D/tls.key"; x 'verdict=either role=identity class=key-ambiguous ; two keys, the first matches: reject as ambiguous, or accept with the first'; }
c key-swapped-files && { id; mv "$D/tls.crt" "$D/t"; mv "$D/tls.key" "$D/tls.crt"; mv "$D/t" "$D/tls.key"; x 'verdict=reject role=identity class=no-certificate ; cert and key paths swapped; key bytes must not be echoed'; }

# ======================= identity: chain ================================
c chain-wrong-order && { idc; cat "$W/int2.crt" "$W/ileaf.crt" "$W/int1.crt" > "$D/tls.crt"; x 'verdict=reject role=identity class=key-mismatch ; intermediate first, RFC 8446 s4.4.2 leaf MUST be first; hint wrong order'; }
c chain-tail-shuffled && { idc; cat "$W/ileaf.crt" "$W/int1.crt" "$W/int2.crt" > "$D/tls.crt"; x 'verdict=accept role=identity class=ok ; leaf first, tail out of order; warn'; }
c chain-with-root && { idc; { chain; cat "$W/root.crt"; } > "$D/tls.crt"; x 'verdict=accept role=identity class=ok ; root appended'; }
c chain-missing-intermediate && { idc; cp "$W/ileaf.crt" "$D/tls.crt"; x 'verdict=policy role=identity class=incomplete-chain ; leaf of Int 2 with no intermediates; recommended accept + warn'; }
c chain-unrelated-extra && { idc; { chain; cat "$W/rootb.crt"; } > "$D/tls.crt"; x 'verdict=accept role=identity class=ok ; unrelated extra certificate; warn'; }
c chain-leaf-twice && { id; cat "$W/leaf.crt" "$W/leaf.crt" > "$D/tls.crt"; x 'verdict=either role=identity class=ok ; leaf repeated'; }
c chain-second-corrupt && { idc; { cat "$W/ileaf.crt"; printf -- '-----BEGIN CERTIFICATE-----\nAAAABBBBCCCC\n-----END CERTIFICATE-----\n'; cat "$W/int1.crt"; } > "$D/tls.crt"; x 'verdict=reject role=identity class=bad-der ; a chain member is not a certificate: refuse the whole file'; }
c chain-expired-intermediate && { key ec256 "$D/tls.key"; issue "$W/t.crt" "$D/tls.key" /CN=iris.test "$W/intx.crt" "$W/intx.key" -$DAY $((90*DAY)) "$LX"; cat "$W/t.crt" "$W/intx.crt" > "$D/tls.crt"; cp "$W/root.crt" "$D/ca.crt"; x 'verdict=reject role=identity class=chain-expired ; valid leaf under an expired intermediate: peers will refuse; do not replace last good'; }
c chain-intermediate-expires-first && { key ec256 "$D/tls.key"; issue "$W/t.crt" "$D/tls.key" /CN=iris.test "$W/ints.crt" "$W/ints.key" -$DAY $((90*DAY)) "$LX"; cat "$W/t.crt" "$W/ints.crt" > "$D/tls.crt"; cp "$W/root.crt" "$D/ca.crt"; x 'verdict=accept role=identity class=ok ; readiness and expiry metric must use the earliest notAfter in the chain (2 days), not the leaf (90 days)'; }

# ======================= identity: names, usage, validity ===============
c san-none-cn-only && { mk ec256 "$(printf '%s\n' "$LX" | grep -v subjectAltName)"; x 'verdict=policy role=identity class=no-san ; CN only: RFC 9525 clients refuse every connection; recommended reject as a replacement, warn at start'; }
c san-ip && { mk ec256 "$(leafx IP:127.0.0.1,IP:::1)"; x 'verdict=accept role=identity class=ok ; IP SAN only'; }
c san-ip-in-dns && { mk ec256 "$(leafx DNS:127.0.0.1)"; x 'verdict=either role=identity class=odd-name ; IP text inside a dNSName: load, warn; does not match the address'; }
c san-wildcard && { mk ec256 "$(leafx 'DNS:*.iris.test')"; x 'verdict=accept role=identity class=ok ; wildcard SAN'; }
c san-spiffe-only && { mk ec256 "$(leafx URI:spiffe://iris.test/ns/prod/sa/pylon)"; x 'verdict=accept role=identity class=ok ; URI SAN only, no DNS'; }
c san-many && { mk ec256 "$(leafx "$(for i in $(seq 1 400); do printf 'DNS:host-%d.iris.test,' "$i"; done)DNS:iris.test")"; x 'verdict=accept role=identity class=ok ; 401 SANs (~12 KiB certificate): handshake still within anti-amplification and PTO limits'; }
c leaf-expired && { mk ec256 "$LX" -$YEAR -$H; x 'verdict=reject role=identity class=expired ; expired an hour ago; at start: not ready; at reload: keep last good unless that is expired too'; }
c leaf-not-yet-valid && { mk ec256 "$LX" $DAY $((90*DAY)); x 'verdict=reject role=identity class=not-yet-valid ; valid from tomorrow: hold and activate then without another file event'; }
c leaf-expires-in-10m && { mk ec256 "$LX" -$DAY 600; x 'verdict=accept role=identity class=ok ; regenerate right before use: readiness must drop by wall clock with no file event'; }
c leaf-starts-in-2m && { mk ec256 "$LX" 120 $((90*DAY)); x 'verdict=policy role=identity class=not-yet-valid ; regenerate right before use: issuer clock ahead; recommended hold until notBefore, then activate on its own'; }
c leaf-notafter-before-notbefore && { key ec256 "$D/tls.key"; rawcert "$D/tls.crt" "$D/tls.key" iris.test 'Iris Raw CA' "$W/raw.key" v3 0x5A11 UTC:400101000000Z UTC:300101000000Z; cp "$W/raw.crt" "$D/ca.crt"; x 'verdict=reject role=identity class=bad-validity ; notAfter earlier than notBefore (class=not-yet-valid tolerable)'; }
c leaf-year-9999 && { mk ec256 "$LX" -$DAY 99991231235959Z; x 'verdict=accept role=identity class=ok ; 99991231235959Z, RFC 5280 s4.1.2.5: no overflow in timers, metrics or readiness'; }
c leaf-gentime-2055 && { mk ec256 "$LX" -$DAY 20550101000000Z; x 'verdict=accept role=identity class=ok ; GeneralizedTime after 2049'; }
c leaf-gentime-before-2050 && { key ec256 "$D/tls.key"; rawcert "$D/tls.crt" "$D/tls.key" iris.test 'Iris Raw CA' "$W/raw.key" v3 0x5A12 "GENTIME:$(when -$DAY)" "GENTIME:$(when $((90*DAY)))"; cp "$W/raw.crt" "$D/ca.crt"; x 'verdict=accept role=identity class=ok ; GeneralizedTime where UTCTime is due; RFC 5280 s4.1.2.5 MUST process either'; }
c leaf-utctime-49 && { key ec256 "$D/tls.key"; rawcert "$D/tls.crt" "$D/tls.key" iris.test 'Iris Raw CA' "$W/raw.key" v3 0x5A13 UTC:500101000000Z UTC:491231235959Z; cp "$W/raw.crt" "$D/ca.crt"; x 'verdict=accept role=identity class=ok ; UTCTime 50 means 1950 and 49 means 2049'; }
c leaf-v1 && { key ec256 "$D/tls.key"; rawcert "$D/tls.crt" "$D/tls.key" iris.test 'Iris Raw CA' "$W/raw.key" v1 0x5A14 UTC:200101000000Z UTC:490101000000Z; cp "$W/raw.crt" "$D/ca.crt"; x 'verdict=reject role=identity class=unsupported-version ; X.509 v1 leaf (no SAN possible): refuse at load'; }
c leaf-serial-20-octets && { mk ec256 "$LX" -$DAY $((90*DAY)) sha256 7F0102030405060708090A0B0C0D0E0F10111213; x 'verdict=accept role=identity class=ok ; 20-octet serial, RFC 5280 s4.1.2.2'; }
c leaf-serial-64-octets && { mk ec256 "$LX" -$DAY $((90*DAY)) sha256 "7F$(printf 'AB%.0s' $(seq 63))"; x 'verdict=either role=identity class=odd-serial ; 64-octet serial; no fixed-size serial buffers, no serial in metric labels'; }
c leaf-serial-zero && { key ec256 "$D/tls.key"; rawcert "$D/tls.crt" "$D/tls.key" iris.test 'Iris Raw CA' "$W/raw.key" v3 0 UTC:200101000000Z UTC:490101000000Z; cp "$W/raw.crt" "$D/ca.crt"; x 'verdict=either role=identity class=odd-serial ; serial 0'; }
c leaf-serial-negative && { key ec256 "$D/tls.key"; rawcert "$D/tls.crt" "$D/tls.key" iris.test 'Iris Raw CA' "$W/raw.key" v3 -0x1234 UTC:200101000000Z UTC:490101000000Z; cp "$W/raw.crt" "$D/ca.crt"; x 'verdict=either role=identity class=odd-serial ; negative serial, RFC 5280 s4.1.2.2 handle gracefully'; }
c leaf-sha1-signed && { mk ec256 "$LX" -$DAY $((90*DAY)) sha1; x 'verdict=policy role=identity class=weak-signature ; CA signed with SHA-1: RFC 8446 s4.4.2.4 peers refuse; recommended reject'; }
c leaf-ku-no-digitalsignature && { mk ec256 "$(leafx DNS:iris.test extendedKeyUsage=serverAuth,clientAuth keyAgreement)"; x 'verdict=reject role=identity class=key-usage ; RFC 8446 s4.4.2.2 digitalSignature MUST be set if keyUsage present (webpki does not check: check it here)'; }
c leaf-eku-client-only && { mk ec256 "$(leafx DNS:iris.test extendedKeyUsage=clientAuth)"; x 'verdict=reject role=identity class=ext-key-usage ; clientAuth only as a server identity (accept when used as a client identity)'; }
c leaf-eku-server-only && { mk ec256 "$(leafx DNS:iris.test extendedKeyUsage=serverAuth)"; x 'verdict=accept role=identity class=ok ; serverAuth only as server; reject class=ext-key-usage when used as the originating client identity'; }
c leaf-eku-none && { mk ec256 "$(leafx DNS:iris.test '')"; x 'verdict=accept role=identity class=ok ; no EKU means unrestricted, RFC 5280 s4.2.1.12'; }
c leaf-eku-any && { mk ec256 "$(leafx DNS:iris.test extendedKeyUsage=anyExtendedKeyUsage)"; x 'verdict=policy role=identity class=ext-key-usage ; anyExtendedKeyUsage only: webpki peers refuse; recommended reject or warn'; }
c leaf-is-ca && { cp "$W/root.crt" "$D/tls.crt"; cp "$W/root.key" "$D/tls.key"; cp "$W/root.crt" "$D/ca.crt"; x 'verdict=policy role=identity class=ca-as-leaf ; CA:TRUE certificate served: webpki peers answer CaUsedAsEndEntity; recommended reject'; }
c leaf-self-signed && { key ec256 "$D/tls.key"; issue "$D/tls.crt" "$D/tls.key" /CN=iris.test self - -$DAY $((90*DAY)) "$(printf '%s\n' "$LX" | grep -v authorityKey)"; cp "$D/tls.crt" "$D/ca.crt"; x 'verdict=accept role=identity class=ok ; self-signed CA:FALSE identity; the same file as trust anchor is the tb-leaf-as-anchor question'; }
c leaf-unknown-critical-ext && { mk ec256 "$LX"$'\n1.2.3.4.5.6=critical,ASN1:UTF8String:x'; x 'verdict=reject role=identity class=unsupported-extension ; unknown critical extension, RFC 5280 s4.2 peers MUST refuse'; }

# ======================= trust bundles ==================================
c tb-ok-two && { id; cat "$W/root.crt" "$W/rootb.crt" > "$D/ca.crt"; peer a "$W/root.crt" "$W/root.key"; peer b "$W/rootb.crt" "$W/rootb.key"; x 'verdict=accept role=trust class=ok ; anchors=2 peer_a=verify peer_b=verify'; }
c tb-reordered && { id; cat "$W/rootb.crt" "$W/root.crt" > "$D/ca.crt"; cat "$W/root.crt" "$W/rootb.crt" > "$D/ca_before.crt"; x 'verdict=accept role=trust class=no-change ; ca_before.crt -> ca.crt same set, other order: not a change, recycle nothing'; }
c tb-cosmetic-change && { id; cp "$W/root.crt" "$D/ca_before.crt"; { echo "# regenerated $(date -u +%F)"; sed 's/$/\r/' "$W/root.crt"; } > "$D/ca.crt"; x 'verdict=accept role=trust class=no-change ; ca_before.crt -> ca.crt only comment and line ends differ'; }
c tb-duplicates && { id; cat "$W/root.crt" "$W/rootb.crt" "$W/root.crt" "$W/root.crt" > "$D/ca.crt"; cat "$W/root.crt" "$W/rootb.crt" > "$D/ca_after.crt"; x 'verdict=accept role=trust class=ok ; anchors=2 after dedup; ca.crt -> ca_after.crt is not a contraction'; }
c tb-contract && { id; cat "$W/root.crt" "$W/rootb.crt" > "$D/ca.crt"; cp "$W/root.crt" "$D/ca_after.crt"; peer a "$W/root.crt" "$W/root.key"; peer b "$W/rootb.crt" "$W/rootb.key"; x 'verdict=accept role=trust class=contraction ; ca.crt -> ca_after.crt: peer_b connections end and its tickets die within the bound, peer_a untouched'; }
c tb-swap-disjoint && { id; cp "$W/root.crt" "$D/ca.crt"; cp "$W/rootb.crt" "$D/ca_after.crt"; peer a "$W/root.crt" "$W/root.key"; peer b "$W/rootb.crt" "$W/rootb.key"; x 'verdict=accept role=trust class=contraction ; ca.crt -> ca_after.crt replaces every anchor: peer_a ends, peer_b verifies'; }
c tb-300 && { id; for i in $(seq 1 299); do openssl req -x509 -config "$W/req.cnf" -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout /dev/null -subj "/O=Iris Test/CN=Bulk CA $i" -days 3650 -addext basicConstraints=critical,CA:TRUE 2>/dev/null; done > "$D/ca.crt"; ca bulk "/O=Iris Test/CN=Bulk CA 300"; cat "$W/bulk.crt" >> "$D/ca.crt"; peer last "$W/bulk.crt" "$W/bulk.key"; peer other "$W/rootb.crt" "$W/rootb.key"
  x 'verdict=accept role=trust class=ok ; anchors=300 peer_last=verify peer_other=refuse; CertificateRequest must stay legal (CA name list < 64 KiB or omitted, RFC 8446 s4.2.4)'; }
c tb-150-same-subject && { id; for i in $(seq 1 150); do openssl req -x509 -config "$W/req.cnf" -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$W/ss.key" -subj "/O=Iris Test/CN=Iris Rekeyed CA" -days 3650 -addext basicConstraints=critical,CA:TRUE -out "$W/ss.crt" 2>/dev/null; cat "$W/ss.crt"; [ "$i" = 1 ] && { cp "$W/ss.crt" "$W/ss1.crt"; cp "$W/ss.key" "$W/ss1.key"; }; done > "$D/ca.crt"; peer first "$W/ss1.crt" "$W/ss1.key"; peer last "$W/ss.crt" "$W/ss.key"
  x 'verdict=policy role=trust class=path-budget ; 150 anchors, one subject: peer_first=verify; peer_last exceeds the webpki 100-signature budget (MaximumSignatureChecksExceeded, fatal); recommended cap same-subject anchors at load with a clear reason'; }
c tb-ca-false && { id; key ec256 "$W/nf.key"; issue "$D/ca.crt" "$W/nf.key" "/O=Iris Test/CN=Not A CA" self - -$DAY $YEAR $'basicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature\nsubjectKeyIdentifier=hash'; peer x "$D/ca.crt" "$W/nf.key"; x 'verdict=policy role=trust class=not-a-ca ; self-signed CA:FALSE as only anchor: webpki would trust peer_x; recommended reject'; }
c tb-ca-false-mixed && { id; key ec256 "$W/nf.key"; issue "$W/nf.crt" "$W/nf.key" "/O=Iris Test/CN=Not A CA" self - -$DAY $YEAR $'basicConstraints=critical,CA:FALSE\nsubjectKeyIdentifier=hash'; cat "$W/root.crt" "$W/nf.crt" > "$D/ca.crt"; peer a "$W/root.crt" "$W/root.key"; peer x "$W/nf.crt" "$W/nf.key"; x 'verdict=policy role=trust class=not-a-ca ; good CA + CA:FALSE: peer_x must be refused; recommended reject bundle (keep last good), or accept 1 anchor + loud warn'; }
c tb-leaf-as-anchor && { id; cp "$W/leaf.crt" "$D/ca.crt"; key ec256 "$D/peer_x.key"; issue "$D/peer_x.crt" "$D/peer_x.key" /CN=peer-x "$W/leaf.crt" "$W/leaf.key" -$DAY $((30*DAY)) "$(leafx DNS:peer-x.test)"; x 'verdict=policy role=trust class=not-a-ca ; a server leaf in the trust bundle: its key holder could mint clients (peer_x must be refused); recommended reject'; }
c tb-ku-no-certsign && { ca nks "/O=Iris Test/CN=No CertSign" -$DAY $YEAR $'basicConstraints=critical,CA:TRUE\nkeyUsage=critical,digitalSignature\nsubjectKeyIdentifier=hash'; id; cp "$W/nks.crt" "$D/ca.crt"; peer x "$W/nks.crt" "$W/nks.key"; x 'verdict=policy role=trust class=key-usage ; CA without keyCertSign: OpenSSL refuses peer_x, webpki accepts; recommended reject'; }
c tb-no-basic-constraints && { ca nbc "/O=Iris Test/CN=No BC" -$DAY $YEAR $'subjectKeyIdentifier=hash'; id; cp "$W/nbc.crt" "$D/ca.crt"; x 'verdict=policy role=trust class=not-a-ca ; v3 root without basicConstraints; recommended reject, RFC 5280 s4.2.1.9'; }
c tb-v1-root && { id; key ec256 "$W/v1.key"; rawcert "$D/ca.crt" "$W/v1.key" 'Iris V1 Root' 'Iris V1 Root' "$W/v1.key" v1 0x77 UTC:100101000000Z UTC:490101000000Z; key ec256 "$D/peer_a.key"; rawcert "$D/peer_a.crt" "$D/peer_a.key" iris.test 'Iris V1 Root' "$W/v1.key" v3 0x78 UTC:200101000000Z UTC:490101000000Z; x 'verdict=policy role=trust class=unsupported-version ; X.509 v1 root: webpki anchors accept it, OpenSSL accepts self-signed v1; either way decide at load, one v1 root must not sink the bundle'; }
c tb-corrupt-der-among-good && { id; { cat "$W/root.crt"; printf -- '-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIUDEADBEEF\n-----END CERTIFICATE-----\n'; cat "$W/rootb.crt"; } > "$D/ca.crt"; x 'verdict=policy role=trust class=bad-der ; recommended reject whole + keep last good (skipping would be silent contraction); if skipping, count and expose it'; }
c tb-corrupt-base64-among-good && { id; { cat "$W/root.crt"; printf -- '-----BEGIN CERTIFICATE-----\nMIIB@@@@!!!!\n-----END CERTIFICATE-----\n'; cat "$W/rootb.crt"; } > "$D/ca.crt"; x 'verdict=reject role=trust class=pem-malformed ; parse must not stop quietly after the first anchor'; }
c tb-cut-after-first && { id; { cat "$W/root.crt"; head -c 200 "$W/rootb.crt"; } > "$D/ca.crt"; x 'verdict=reject role=trust class=truncated ; second anchor cut: never 1 anchor'; }
c tb-negative-serial-among-good && { id; key ec256 "$W/ng.key"; rawcert "$W/ng.crt" "$W/ng.key" 'Iris NegSerial' 'Iris NegSerial' "$W/ng.key" v1 -0x11D4 UTC:100101000000Z UTC:490101000000Z; cat "$W/root.crt" "$W/ng.crt" "$W/rootb.crt" > "$D/ca.crt"; peer b "$W/rootb.crt" "$W/rootb.key"; x 'verdict=either role=trust class=odd-serial ; accept all 3, or reject whole keeping last good; a fresh start must still be able to trust peer_b or say exactly which block'; }
c tb-not-yet-valid && { ca fut "/O=Iris Test/CN=Future Root" $DAY $YEAR; id; cat "$W/root.crt" "$W/fut.crt" > "$D/ca.crt"; x 'verdict=accept role=trust class=ok ; pre-distributed future root beside a good one: must not block the good one'; }
c tb-trusted-label-only && { id; openssl x509 -in "$W/root.crt" -trustout -addtrust clientAuth -out "$D/ca.crt"; x 'verdict=either role=trust class=pem-label ; TRUSTED CERTIFICATE only: decode or reject; never an empty store accepted'; }
c tb-private-key-inside && { id; cat "$W/root.crt" "$W/root.key" > "$D/ca.crt"; x 'verdict=policy role=trust class=unexpected-block ; a private key in the trust bundle; recommended reject (or warn); never log it'; }
c tb-comment-only && { id; printf '# bundle intentionally left blank\n' > "$D/ca.crt"; x 'verdict=reject role=trust class=empty ; no anchors is not "trust nobody" nor "no client auth": keep last good'; }
c tb-rekeyed-root && { id; ca rk1 "/O=Iris Test/CN=Iris Rekey Root"; ca rk2 "/O=Iris Test/CN=Iris Rekey Root"; cat "$W/rk1.crt" "$W/rk2.crt" > "$D/ca.crt"; cat "$W/rk2.crt" "$W/rk1.crt" > "$D/ca_reversed.crt"; peer old "$W/rk1.crt" "$W/rk1.key" "$(leafx DNS:peer-old.test | grep -v authorityKey)"; peer new "$W/rk2.crt" "$W/rk2.key" "$(leafx DNS:peer-new.test | grep -v authorityKey)"; x 'verdict=accept role=trust class=ok ; same subject, two keys, peers without AKI: both peers verify in both orders; dropping the old one is a contraction'; }
c tb-intermediate-as-anchor && { id; cp "$W/int1.crt" "$D/ca.crt"; key ec256 "$D/peer_a.key"; issue "$D/peer_a.crt" "$D/peer_a.key" /CN=peer-a "$W/int1.crt" "$W/int1.key" -$DAY $((30*DAY)) "$(leafx DNS:peer-a.test)"; x 'verdict=accept role=trust class=ok ; an intermediate CA as anchor: peer_a=verify (OpenSSL needs partial_chain)'; }
c tb-pathlen-violated && { id; ca pl0 "/O=Iris Test/CN=PathLen0" -$DAY $YEAR $'basicConstraints=critical,CA:TRUE,pathlen:0\nkeyUsage=critical,keyCertSign\nsubjectKeyIdentifier=hash'; sub plx "/O=Iris Test/CN=Below PathLen0" pl0 -$H $((300*DAY)); cp "$W/pl0.crt" "$D/ca.crt"; peer x "$W/plx.crt" "$W/plx.key"; cat "$D/peer_x.crt" "$W/plx.crt" > "$D/peer_x_chain.crt"; x 'verdict=policy role=trust class=ok ; bundle loads; peer_x_chain breaks the anchor pathlen:0; OpenSSL refuses, webpki keeps no pathlen for anchors'; }
c tb-peer-eku && { id; peer none "$W/root.crt" "$W/root.key" "$(leafx DNS:peer-none.test '')"; peer client "$W/root.crt" "$W/root.key" "$(leafx DNS:peer-client.test extendedKeyUsage=clientAuth)"; peer server "$W/root.crt" "$W/root.key" "$(leafx DNS:peer-server.test extendedKeyUsage=serverAuth)"; x 'verdict=accept role=trust class=ok ; as clients: peer_none=verify peer_client=verify peer_server=refuse (public CAs issue serverAuth only since 2026)'; }
c tb-intermediate-eku && { id; sub se "/O=Iris Test/CN=ServerOnly Int" root -$DAY $YEAR "$SUBCAX"$'\nextendedKeyUsage=serverAuth'; peer x "$W/se.crt" "$W/se.key" "$(leafx DNS:peer-x.test extendedKeyUsage=clientAuth)"; cat "$D/peer_x.crt" "$W/se.crt" > "$D/peer_x_chain.crt"; x 'verdict=accept role=trust class=ok ; clientAuth leaf under a serverAuth-only intermediate: peer_x_chain=refuse'; }
c tb-peer-validity && { id; peer ok "$W/root.crt" "$W/root.key"; peer expired "$W/root.crt" "$W/root.key" "$(leafx DNS:p.test)" -$YEAR -$H; peer future "$W/root.crt" "$W/root.key" "$(leafx DNS:p.test)" $DAY $((30*DAY)); peer soon "$W/root.crt" "$W/root.key" "$(leafx DNS:p.test)" -$DAY 300; x 'verdict=accept role=trust class=ok ; peer_ok=verify peer_expired=refuse peer_future=refuse; peer_soon expires 5 min after generation: what happens to its open connection is a stated policy'; }
c tb-sha1-self-signature && { id; key ec256 "$W/s1.key"; issue "$D/ca.crt" "$W/s1.key" "/O=Iris Test/CN=SHA1 Root" self - -$DAY $YEAR "$CAX" sha1; peer a "$D/ca.crt" "$W/s1.key"; x 'verdict=accept role=trust class=ok ; SHA-1 only on the root self-signature, which nobody verifies: peer_a=verify'; }
c tb-rsa1024-root && { id; ca r1 "/O=Iris Test/CN=RSA1024 Root" -$DAY $YEAR "$CAX" rsa1024; cp "$W/r1.crt" "$D/ca.crt"; peer x "$W/r1.crt" "$W/r1.key"; x 'verdict=policy role=trust class=weak-key ; loads in webpki but no peer can verify; recommended reject at load rather than an anchor that never matches'; }
c tb-name-forgery && { id; ca forged "/O=Iris Test/CN=Iris Root A"; cp "$W/root.crt" "$D/ca.crt"; peer x "$W/forged.crt" "$W/forged.key"; cat "$D/peer_x.crt" "$W/forged.crt" > "$D/peer_x_chain.crt"; x 'verdict=accept role=trust class=ok ; peer_x_chain carries its own root with the trusted name but another key: refuse'; }

# ======================= CRLs ===========================================
crlcase() { id; peer ok "$W/root.crt" "$W/root.key"; peer revoked "$W/root.crt" "$W/root.key"; }
c crl-ok && { crlcase; mkcrl "$D/crl.pem" "$W/root.crt" "$W/root.key" -$H $((7*DAY)) 05 "$D/peer_revoked.crt"; x 'verdict=accept role=crl class=ok ; peer_ok=verify peer_revoked=refuse; adding it later must end peer_revoked connections'; }
c crl-empty-list && { crlcase; mkcrl "$D/crl.pem" "$W/root.crt" "$W/root.key" -$H $((7*DAY)) 05; x 'verdict=accept role=crl class=ok ; valid CRL revoking nobody'; }
c crl-expired && { crlcase; mkcrl "$D/crl.pem" "$W/root.crt" "$W/root.key" -$((9*DAY)) -$((2*DAY)) 05 "$D/peer_revoked.crt"; x 'verdict=policy role=crl class=crl-expired ; nextUpdate passed: enforcing refuses everyone, ignoring freezes revocation; recommended still refuse peer_revoked, alarm, state which; error must say CRL expired'; }
c crl-not-yet && { crlcase; mkcrl "$D/crl.pem" "$W/root.crt" "$W/root.key" $DAY $((7*DAY)) 05 "$D/peer_revoked.crt"; x 'verdict=policy role=crl class=crl-not-yet ; thisUpdate in the future; recommended reject + keep last good'; }
c crl-rollback && { crlcase; mkcrl "$D/crl.pem" "$W/root.crt" "$W/root.key" -$H $((7*DAY)) 09 "$D/peer_revoked.crt"; mkcrl "$D/crl_after.pem" "$W/root.crt" "$W/root.key" -$((5*DAY)) $((2*DAY)) 08; x 'verdict=policy role=crl class=crl-rollback ; crl.pem -> crl_after.pem lowers cRLNumber and un-revokes peer_revoked; recommended reject + keep last good'; }
c crl-wrong-issuer && { crlcase; mkcrl "$D/crl.pem" "$W/rootb.crt" "$W/rootb.key" -$H $((7*DAY)) 01; x 'verdict=policy role=crl class=crl-unrelated ; only CRL is for an issuer not in ca.crt: webpki deny policy refuses every peer (UnknownRevocationStatus); recommended reject at load with that reason'; }
c crl-forged-same-name && { crlcase; ca fk "/O=Iris Test/CN=Iris Root A"; mkcrl "$D/crl.pem" "$W/fk.crt" "$W/fk.key" -$H $((7*DAY)) 05; x 'verdict=reject role=crl class=crl-bad-signature ; right issuer name, wrong key: signature must be checked before it can shadow the real CRL'; }
c crl-missing-for-intermediate && { id; key ec256 "$D/peer_ok.key"; issue "$D/peer_ok.crt" "$D/peer_ok.key" /CN=peer-ok "$W/int1.crt" "$W/int1.key" -$DAY $((30*DAY)) "$(leafx DNS:peer-ok.test)"; cat "$D/peer_ok.crt" "$W/int1.crt" > "$D/peer_ok_chain.crt"; mkcrl "$D/crl.pem" "$W/root.crt" "$W/root.key" -$H $((7*DAY)) 01; x 'verdict=policy role=crl class=crl-incomplete ; CRL for the root only, peer issued by Int 1: full-chain + deny refuses a good peer (haproxy#1201); say so at load'; }
c crl-two-issuers && { id; cat "$W/root.crt" "$W/rootb.crt" > "$D/ca.crt"; peer a "$W/root.crt" "$W/root.key"; peer b "$W/rootb.crt" "$W/rootb.key"; peer brevoked "$W/rootb.crt" "$W/rootb.key"; mkcrl "$W/c1" "$W/root.crt" "$W/root.key" -$H $((7*DAY)) 01; mkcrl "$W/c2" "$W/rootb.crt" "$W/rootb.key" -$H $((7*DAY)) 01 "$D/peer_brevoked.crt"; cat "$W/c1" "$W/c2" > "$D/crl.pem"; x 'verdict=accept role=crl class=ok ; peer_a=verify peer_b=verify peer_brevoked=refuse'; }
c crl-truncated && { crlcase; mkcrl "$W/c1" "$W/root.crt" "$W/root.key" -$H $((7*DAY)) 05 "$D/peer_revoked.crt"; head -c 250 "$W/c1" > "$D/crl.pem"; x 'verdict=reject role=crl class=truncated ; keep last good CRL'; }
c crl-empty-file && { crlcase; : > "$D/crl.pem"; x 'verdict=reject role=crl class=empty ; configured CRL emptied: keep last good, never switch revocation off'; }
c crl-der && { crlcase; mkcrl "$W/c1" "$W/root.crt" "$W/root.key" -$H $((7*DAY)) 05 "$D/peer_revoked.crt"; openssl crl -in "$W/c1" -outform DER -out "$D/crl.pem"; x 'verdict=reject role=crl class=not-pem ; DER CRL (most CAs publish DER): name the cause'; }
c crl-is-a-certificate && { crlcase; cp "$D/peer_revoked.crt" "$D/crl.pem"; x 'verdict=reject role=crl class=no-crl ; someone put the revoked certificate in the CRL file (haproxy#1201)'; }
c crl-one-bad-among-good && { crlcase; mkcrl "$W/c1" "$W/root.crt" "$W/root.key" -$H $((7*DAY)) 05 "$D/peer_revoked.crt"; { printf -- '-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n'; cat "$W/c1"; } > "$D/crl.pem"; x 'verdict=reject role=crl class=bad-der ; refuse whole, keep last good'; }
