//! One X.509 certificate, parsed twice: by webpki, whose verdict is the one that peers like ours give, and for the
//! facts that webpki keeps to itself.

use std::{
    fmt,
    net::IpAddr,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rustls::pki_types::CertificateDer;
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate, X509Version};
use x509_parser::public_key::PublicKey;

use super::{
    der::{self, Signed},
    provider::sha256,
    reason::{Fault, Reason},
    roles::Roles,
};

/// What may be told of a certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateFacts {
    /// Its subject, at most 256 characters, control characters replaced.
    pub subject: String,
    /// Its issuer, likewise.
    pub issuer: String,
    /// Names of the subject alternative name extension.
    pub names: Names,
    /// Its serial number in hexadecimal.
    pub serial: String,
    /// SHA-256 over the whole certificate, in hexadecimal.
    pub sha256: String,
    /// When it begins.
    pub not_before: SystemTime,
    /// When it ends.
    pub not_after: SystemTime,
}

/// Names of a subject alternative name extension (RFC 5280 section 4.2.1.6).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    /// DNS names.
    pub dns: Vec<String>,
    /// URIs.
    pub uri: Vec<String>,
    /// IP addresses.
    pub ip: Vec<IpAddr>,
}

impl Names {
    /// Whether there is no name at all.
    pub fn is_empty(&self) -> bool {
        self.dns.is_empty() && self.uri.is_empty() && self.ip.is_empty()
    }
}

impl fmt::Display for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ips = self.ip.iter().map(ToString::to_string);
        let all = self.dns.iter().cloned().chain(self.uri.iter().cloned()).chain(ips);
        for (position, name) in all.enumerate() {
            write!(f, "{}{name}", if position == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

/// A certificate and all that the checks need to know of it.
#[derive(Debug, Clone)]
pub struct Certificate {
    pub(crate) der: CertificateDer<'static>,
    pub(crate) facts: CertificateFacts,
    /// 1 or 3.
    pub(crate) version: u32,
    /// DER of the name, header included.
    pub(crate) subject: Vec<u8>,
    pub(crate) issuer: Vec<u8>,
    /// Contents of the `SubjectPublicKeyInfo`.
    pub(crate) spki: Vec<u8>,
    /// Bits of the modulus, when it is an RSA key.
    pub(crate) rsa_bits: Option<usize>,
    pub(crate) constraints: BasicConstraints,
    pub(crate) key_usage: Option<KeyUsage>,
    pub(crate) extended_usage: Option<ExtendedUsage>,
    /// Zero, negative, or longer than 20 octets.
    pub(crate) odd_serial: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BasicConstraints {
    Absent,
    EndEntity,
    Ca { path_len: Option<u32> },
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct KeyUsage {
    pub(crate) digital_signature: bool,
    pub(crate) cert_sign: bool,
    pub(crate) crl_sign: bool,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct ExtendedUsage {
    pub(crate) server: bool,
    pub(crate) client: bool,
}

impl Certificate {
    /// Parses one. Version 1 is let through here: whether it will do depends on the use.
    pub(crate) fn parse(der: Vec<u8>) -> Result<Self, Fault> {
        let bad = |what: &str| Fault::new(Reason::BadDer, what);
        let (rest, parsed) = X509Certificate::from_der(&der).map_err(|_| bad("not a certificate"))?;
        if !rest.is_empty() {
            return Err(bad("bytes behind the certificate"));
        }
        Signed::parse(&der).ok_or_else(|| bad("not a certificate"))?;
        let version = match parsed.version() {
            X509Version::V1 => 1,
            X509Version::V3 => 3,
            _ => return Err(Fault::new(Reason::UnsupportedVersion, "neither version 1 nor 3")),
        };
        // The parser takes a name that breaks off, and tells only the part before that: two such are alike, whatever they are.
        if ![parsed.subject(), parsed.issuer()].into_iter().all(|name| der::is_one_sequence(name.as_raw())) {
            return Err(bad("a name that cannot be read"));
        }
        let (spki, _) = der::expect(der::SEQUENCE, parsed.public_key().raw).ok_or_else(|| bad("not a public key"))?;
        let extension = |_| bad("an extension cannot be read");
        let constraints = match parsed.basic_constraints().map_err(extension)? {
            None => BasicConstraints::Absent,
            Some(found) if found.value.ca => BasicConstraints::Ca { path_len: found.value.path_len_constraint },
            Some(_) => BasicConstraints::EndEntity,
        };
        let key_usage = parsed.key_usage().map_err(extension)?.map(|found| KeyUsage {
            digital_signature: found.value.digital_signature(),
            cert_sign: found.value.key_cert_sign(),
            crl_sign: found.value.crl_sign(),
        });
        let extended_usage = parsed
            .extended_key_usage()
            .map_err(extension)?
            .map(|found| ExtendedUsage { server: found.value.server_auth, client: found.value.client_auth });
        let rsa_bits = match parsed.public_key().parsed() {
            Ok(PublicKey::RSA(key)) => Some(bits(key.modulus)),
            _ => None,
        };
        let serial = parsed.raw_serial();
        Ok(Self {
            facts: CertificateFacts {
                subject: printable(&parsed.subject().to_string()),
                issuer: printable(&parsed.issuer().to_string()),
                names: names(&parsed)?,
                serial: hex(serial),
                sha256: hex(&sha256(&der)),
                not_before: time(parsed.validity().not_before.timestamp()),
                not_after: time(parsed.validity().not_after.timestamp()),
            },
            version,
            subject: parsed.subject().as_raw().to_vec(),
            issuer: parsed.issuer().as_raw().to_vec(),
            spki: spki.contents.to_vec(),
            rsa_bits,
            constraints,
            key_usage,
            extended_usage,
            odd_serial: serial.len() > 20 || serial.iter().all(|b| *b == 0) || serial[0] & 0x80 != 0,
            der: CertificateDer::from(der),
        })
    }

    /// Whether subject and issuer are the same name.
    pub(crate) fn is_self_issued(&self) -> bool {
        self.subject == self.issuer
    }

    /// What its extended key usage lacks for these roles, if it bears one (RFC 5280 section 4.2.1.12).
    pub(crate) fn lacks_usage(&self, roles: Roles) -> Option<&'static str> {
        let usage = self.extended_usage?;
        match (roles.server && !usage.server, roles.client && !usage.client) {
            (true, _) => Some("serverAuth, and a listener shows it"),
            (_, true) => Some("clientAuth, and an upstream shows it"),
            _ if !usage.server && !usage.client => Some("both serverAuth and clientAuth"),
            _ => None,
        }
    }

    /// The signed envelope.
    pub(crate) fn signed(&self) -> Signed<'_> {
        Signed::parse(&self.der).expect("parsed once before")
    }
}

/// From when to when a certificate is valid. `None` when it cannot be read.
pub fn validity(der: &CertificateDer<'_>) -> Option<(SystemTime, SystemTime)> {
    let (_, parsed) = X509Certificate::from_der(der).ok()?;
    Some((time(parsed.validity().not_before.timestamp()), time(parsed.validity().not_after.timestamp())))
}

/// The common name in the subject of a certificate (RFC 5280 section 4.1.2.6), the last if there are several, which is the
/// most specific. `None` when there is none that is text, or the certificate cannot be read.
pub fn common_name(der: &CertificateDer<'_>) -> Option<String> {
    let (_, parsed) = X509Certificate::from_der(der).ok()?;
    parsed.subject().iter_common_name().last()?.as_str().ok().map(str::to_owned)
}

fn names(parsed: &X509Certificate<'_>) -> Result<Names, Fault> {
    let bad = |_| Fault::new(Reason::BadDer, "the subject alternative name extension cannot be read");
    let mut names = Names::default();
    let Some(extension) = parsed.subject_alternative_name().map_err(bad)? else { return Ok(names) };
    for name in &extension.value.general_names {
        match name {
            GeneralName::DNSName(name) => names.dns.push(printable(name)),
            GeneralName::URI(uri) => names.uri.push(printable(uri)),
            GeneralName::IPAddress(octets) => names.ip.extend(ip(octets)),
            GeneralName::Invalid(..) => return Err(bad(x509_parser::error::X509Error::InvalidExtensions)),
            _ => {}
        }
    }
    Ok(names)
}

fn ip(octets: &[u8]) -> Option<IpAddr> {
    match octets.len() {
        4 => <[u8; 4]>::try_from(octets).ok().map(IpAddr::from),
        16 => <[u8; 16]>::try_from(octets).ok().map(IpAddr::from),
        _ => None,
    }
}

/// Bits of an unsigned big-endian number.
fn bits(number: &[u8]) -> usize {
    let first = number.iter().position(|byte| *byte != 0).unwrap_or(number.len());
    number.get(first).map_or(0, |byte| (number.len() - first) * 8 - byte.leading_zeros() as usize)
}

/// A time before or after 1970, as X.509 has both.
pub(crate) fn time(seconds: i64) -> SystemTime {
    let distance = Duration::from_secs(seconds.unsigned_abs());
    if seconds < 0 { UNIX_EPOCH - distance } else { UNIX_EPOCH + distance }
}

/// Text of a certificate, fit for a log line.
pub(crate) fn printable(text: &str) -> String {
    const LIMIT: usize = 256;
    let mut out: String =
        text.chars().take(LIMIT).map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect();
    if text.chars().nth(LIMIT).is_some() {
        out.push('…');
    }
    out
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
