//! A small PKI and plans over it, for the tests of this folder and of `tls`.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyIdMethod, KeyPair, KeyUsagePurpose, RevokedCertParams, SanType, SerialNumber,
};
use time::{Duration, OffsetDateTime};

use super::{Authority, Generation, der, revocation, trust};
use crate::plan::{
    AdminPlan, Development, Expectation, IdentityId, IdentityPlan, IdentitySource, Limits, LogPlan, Plan,
    RevocationPolicy, StillTrusted, Timeouts, TransportSettings, TrustId, TrustPlan,
};

/// A CA.
pub(crate) struct Ca {
    pub(crate) certificate: rcgen::Certificate,
    issuer: Issuer<'static, KeyPair>,
}

/// A leaf, its key, and the certificates that follow it.
#[derive(Clone)]
pub(crate) struct Leaf {
    pub(crate) der: rustls::pki_types::CertificateDer<'static>,
    pub(crate) chain: String,
    pub(crate) key: String,
}

/// Common name and validity of a CA; change what a test is about.
pub(crate) fn ca_params(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    (params.not_before, params.not_after) = validity(-30, 3650);
    params
}

/// A leaf with these DNS names, good for both roles; change what a test is about.
pub(crate) fn leaf_params(names: &[&str]) -> CertificateParams {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    let mut params = CertificateParams::new(names).expect("names of a test");
    params.distinguished_name.push(DnType::CommonName, "leaf");
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    params.use_authority_key_identifier_extension = true;
    (params.not_before, params.not_after) = validity(-1, 90);
    params
}

/// From and to so many days from now.
pub(crate) fn validity(from: i64, to: i64) -> (OffsetDateTime, OffsetDateTime) {
    let now = OffsetDateTime::now_utc();
    (now + Duration::days(from), now + Duration::days(to))
}

pub(crate) fn uri(text: &str) -> SanType {
    SanType::URI(text.try_into().expect("a URI of a test"))
}

impl Ca {
    pub(crate) fn new(name: &str) -> Self {
        Self::of(ca_params(name))
    }

    pub(crate) fn of(params: CertificateParams) -> Self {
        let key = KeyPair::generate().expect("key");
        let certificate = params.self_signed(&key).expect("root");
        Self { certificate, issuer: Issuer::new(params, key) }
    }

    pub(crate) fn intermediate(&self, name: &str) -> Self {
        self.intermediate_of(ca_params(name))
    }

    pub(crate) fn intermediate_of(&self, params: CertificateParams) -> Self {
        let key = KeyPair::generate().expect("key");
        let certificate = params.signed_by(&key, &self.issuer).expect("intermediate");
        Self { certificate, issuer: Issuer::new(params, key) }
    }

    pub(crate) fn pem(&self) -> String {
        self.certificate.pem()
    }

    pub(crate) fn leaf(&self, names: &[&str]) -> Leaf {
        self.issue(leaf_params(names))
    }

    pub(crate) fn issue(&self, params: CertificateParams) -> Leaf {
        let key = KeyPair::generate().expect("key");
        let certificate = params.signed_by(&key, &self.issuer).expect("leaf");
        Leaf { der: certificate.der().clone(), chain: certificate.pem(), key: key.serialize_pem() }
    }

    /// A list that revokes these serials, from and to so many days from now.
    pub(crate) fn revoke(&self, serials: &[u64], from: i64, to: i64) -> String {
        self.revoke_serials(serials.iter().map(|serial| SerialNumber::from(*serial)).collect(), from, to)
    }

    pub(crate) fn revoke_serials(&self, serials: Vec<SerialNumber>, from: i64, to: i64) -> String {
        let (this_update, next_update) = validity(from, to);
        self.list(1, serials, this_update, next_update)
    }

    /// A list with this number.
    pub(crate) fn list(
        &self,
        number: u64,
        serials: Vec<SerialNumber>,
        this_update: OffsetDateTime,
        next_update: OffsetDateTime,
    ) -> String {
        let revoked = |serial_number| RevokedCertParams {
            serial_number,
            revocation_time: this_update,
            reason_code: None,
            invalidity_date: None,
        };
        CertificateRevocationListParams {
            this_update,
            next_update,
            crl_number: SerialNumber::from(number),
            issuing_distribution_point: None,
            revoked_certs: serials.into_iter().map(revoked).collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        }
        .signed_by(&self.issuer)
        .and_then(|list| list.pem())
        .expect("list")
    }

    /// A list with its extensions replaced by `extensions` (the whole `[0]` element, or nothing), signed again.
    pub(crate) fn with_extensions(&self, list: &str, extensions: &[u8]) -> String {
        let list = super::pem::read(list.as_bytes()).expect("a list").remove(0).content;
        let (outer, _) = der::read(&list).expect("a list");
        let (body, rest) = der::read(outer.contents).expect("its body");
        let (algorithm, _) = der::read(rest).expect("its algorithm");
        let (mut fields, mut ahead) = (Vec::new(), body.contents);
        while let Some((field, rest)) = der::read(ahead) {
            if field.tag != 0xa0 {
                fields.extend_from_slice(field.whole);
            }
            ahead = rest;
        }
        fields.extend_from_slice(extensions);
        let body = element(0x30, &fields);
        let signature = rcgen::SigningKey::sign(self.issuer.key(), &body).expect("a signature");
        let signature = element(0x03, &[&[0][..], &signature].concat());
        block("X509 CRL", &element(0x30, &[&body, algorithm.whole, &signature].concat()))
    }
}

/// DER of an element.
pub(crate) fn element(tag: u8, contents: &[u8]) -> Vec<u8> {
    let length = contents.len().to_be_bytes();
    let length = &length[length.iter().position(|octet| *octet != 0).unwrap_or(length.len() - 1)..];
    let mut out = vec![tag];
    if contents.len() >= 0x80 {
        out.push(0x80 | u8::try_from(length.len()).expect("few"));
    }
    out.extend_from_slice(length);
    out.extend_from_slice(contents);
    out
}

/// A PEM block.
pub(crate) fn block(label: &str, content: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in content.chunks(3) {
        let word = [group[0], *group.get(1).unwrap_or(&0), *group.get(2).unwrap_or(&0)];
        let bits = u32::from_be_bytes([0, word[0], word[1], word[2]]);
        for position in 0..4 {
            let digit = char::from(ALPHABET[(bits >> (18 - 6 * position)) as usize & 63]);
            text.push(if position > group.len() { '=' } else { digit });
        }
    }
    format!("-----BEGIN {label}-----\n{text}\n-----END {label}-----\n")
}

/// The first generation of something.
pub(crate) fn generation<T>(value: T) -> Arc<Generation<T>> {
    Arc::new(Generation { sequence: 1, contractions: 0, value, read_at: SystemTime::now() })
}

/// An authority over some CAs, with revocation lists when there are any.
pub(crate) fn authority(cas: &[&Ca], lists: &[String]) -> Authority {
    authority_by(cas, lists, RevocationPolicy::default())
}

/// The same, with lists that are used in this way.
pub(crate) fn authority_by(cas: &[&Ca], lists: &[String], policy: RevocationPolicy) -> Authority {
    let file: String = cas.iter().map(|ca| ca.pem()).collect();
    let bundle = trust::build(file.as_bytes(), SystemTime::now()).expect("a good bundle");
    let lists: Vec<&[u8]> = lists.iter().map(String::as_bytes).collect();
    let lists = (!lists.is_empty())
        .then(|| generation(revocation::build(&lists, &bundle, policy, None, SystemTime::now()).expect("good lists")));
    Authority::new("workers", generation(bundle), lists)
}

/// A directory of materials and the plan that names them.
pub(crate) struct Bench {
    pub(crate) directory: tempfile::TempDir,
    pub(crate) plan: Plan,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let plan = Plan {
            reload: Default::default(),
            admin: AdminPlan::default(),
            log: LogPlan::default(),
            development: Development::default(),
            workers: 1,
            limits: Limits::default(),
            timeouts: Timeouts::default(),
            transport: TransportSettings::default(),
            identities: Vec::new(),
            trust: Vec::new(),
            listeners: Vec::new(),
            upstreams: Vec::new(),
        };
        Self { directory: tempfile::tempdir().expect("directory"), plan }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, content).expect("write");
        path
    }

    /// An identity in two files, `<name>.crt` and `<name>.key`.
    pub(crate) fn identity(&mut self, name: &str, leaf: &Leaf) -> IdentityId {
        let source = IdentitySource::Pair {
            certificate: self.write(&format!("{name}.crt"), &leaf.chain),
            private_key: self.write(&format!("{name}.key"), &leaf.key),
        };
        self.identity_of(name, source)
    }

    pub(crate) fn identity_of(&mut self, name: &str, source: IdentitySource) -> IdentityId {
        self.plan.identities.push(IdentityPlan { name: name.to_owned(), source, expect: Expectation::default() });
        IdentityId(self.plan.identities.len() - 1)
    }

    /// A trust bundle in `<name>.ca`.
    pub(crate) fn trust(&mut self, name: &str, bundle: &str) -> TrustId {
        let bundle = self.write(&format!("{name}.ca"), bundle);
        self.trust_of(name, &bundle)
    }

    pub(crate) fn trust_of(&mut self, name: &str, bundle: &Path) -> TrustId {
        self.plan.trust.push(TrustPlan {
            name: name.to_owned(),
            bundle: bundle.to_owned(),
            revocation_lists: Vec::new(),
            revocation: RevocationPolicy::default(),
            still_trusted: StillTrusted::Keep,
        });
        TrustId(self.plan.trust.len() - 1)
    }
}
