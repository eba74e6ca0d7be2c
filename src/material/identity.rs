//! An identity: a chain and its key, checked to be something that peers will take. Pure: bytes and the time go in.

use std::{
    fmt,
    path::Path,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use rustls::{
    pki_types::{CertificateDer, UnixTime},
    sign::CertifiedKey,
};

use super::{
    authority::{Authority, Usage},
    certificate::{BasicConstraints, Certificate, CertificateFacts},
    chain::{self, Chain},
    key,
    pem::{self, Block, Label},
    provider::knows_key,
    reason::{Fault, Reason, Warning},
    roles::Roles,
};
use crate::{
    observe::status::rfc3339,
    plan::{DnsPattern, is_dns_name},
};

/// The smallest RSA key that the provider, and today's peers, take.
pub(crate) const RSA_BITS: usize = 2048;
/// Certificates in one chain. Peers give up long before.
const CHAIN_LIMIT: usize = 16;

/// A chain and its key.
#[derive(Clone)]
pub struct Identity {
    /// As it is served: leaf first, each signed by the next.
    pub chain: Vec<CertificateDer<'static>>,
    /// The chain and the key that signs for it.
    pub certified: Arc<CertifiedKey>,
    /// Facts of the leaf, its validity narrowed to the time in which the whole chain is valid.
    pub facts: CertificateFacts,
    /// What is odd about it.
    pub warnings: Vec<Warning>,
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").field("facts", &self.facts).field("warnings", &self.warnings).finish_non_exhaustive()
    }
}

/// What is read from the files of an identity. Twice the same when one file holds everything.
#[derive(Clone, Copy)]
pub struct IdentityFiles<'a> {
    /// Where the chain stands, and its bytes.
    pub certificate: (&'a Path, &'a [u8]),
    /// Where the key stands, and its bytes.
    pub private_key: (&'a Path, &'a [u8]),
}

/// What a generation of an identity must satisfy.
#[derive(Clone, Copy, Default)]
pub struct Requirements<'a> {
    /// What it is used for.
    pub roles: Roles,
    /// Names that the leaf must cover.
    pub names: &'a [DnsPattern],
    /// Whom the chain must reach. `Some(None)`: somebody who is not there.
    pub chains_to: Option<Option<&'a Authority>>,
}

/// Builds an identity, or says why these files make none.
pub fn build(files: IdentityFiles<'_>, requirements: Requirements<'_>, now: SystemTime) -> Result<Identity, Fault> {
    let (certificate_file, key_file) = (files.certificate.0, files.private_key.0);
    let certificates = certificates(files.certificate.1).map_err(|fault| fault.of_file(certificate_file))?;
    let blocks = pem::read(files.private_key.1).map_err(|fault| fault.of_file(key_file))?;
    let block = key::select(&blocks).map_err(|fault| fault.of_file(key_file))?;
    check_key_kind(&certificates[0]).map_err(|fault| fault.of_file(certificate_file))?;
    let key = key::load(block).map_err(|fault| fault.of_file(key_file))?;
    check_pair(&certificates, &key).map_err(|fault| fault.of_file(key_file))?;
    checked(certificates, key, requirements, now).map_err(|fault| fault.of_file(certificate_file))
}

fn checked(
    certificates: Vec<Certificate>,
    key: Arc<dyn rustls::sign::SigningKey>,
    requirements: Requirements<'_>,
    now: SystemTime,
) -> Result<Identity, Fault> {
    // What a root says of itself is verified by nobody.
    for certificate in certificates.iter().filter(|certificate| !certificate.is_self_issued()) {
        check_key_kind(certificate)?;
        chain::check_signature_algorithm(certificate)?;
    }
    check_leaf(&certificates[0], requirements.roles)?;
    let chain = chain::order(certificates)?;
    check_validity(&chain.certificates, now)?;
    chain::check_issuers(&chain, requirements.roles)?;
    let Chain { certificates, mut warnings, .. } = chain;
    let leaf = &certificates[0];
    if leaf.facts.names.dns.iter().any(|name| !is_dns_name(name.strip_prefix("*.").unwrap_or(name))) {
        warnings.push(Warning::OddName);
    }
    if certificates.iter().any(|certificate| certificate.odd_serial) {
        warnings.push(Warning::OddSerial);
    }
    check_names(leaf, requirements.names)?;
    let chain: Vec<_> = certificates.iter().map(|certificate| certificate.der.clone()).collect();
    if let Some(authority) = requirements.chains_to {
        check_issuer(&chain, requirements.roles, authority, now)?;
    }
    let mut facts = leaf.facts.clone();
    for certificate in &certificates[1..] {
        facts.not_before = facts.not_before.max(certificate.facts.not_before);
        facts.not_after = facts.not_after.min(certificate.facts.not_after);
    }
    Ok(Identity { certified: Arc::new(CertifiedKey::new(chain.clone(), key)), chain, facts, warnings })
}

/// The certificates of a file, which may hold the key too.
fn certificates(bytes: &[u8]) -> Result<Vec<Certificate>, Fault> {
    let blocks = pem::read(bytes)?;
    let certificates: Vec<&Block> = blocks.iter().filter(|block| block.label == Label::Certificate).collect();
    reject_strangers(&blocks, !certificates.is_empty(), |label| label.is_private_key() || *label == Label::Parameters)?;
    if certificates.is_empty() {
        return Err(no_certificate(&blocks));
    }
    if certificates.len() > CHAIN_LIMIT {
        let detail = format!("{} certificates; a chain has at most {CHAIN_LIMIT}", certificates.len());
        return Err(Fault::new(Reason::TooManyCertificates, detail));
    }
    certificates.into_iter().map(parse_for_chain).collect()
}

/// Blocks that are neither certificates nor `permitted` would be skipped in silence. Refused when there are
/// certificates beside them; without any, the lack of those is the better word.
pub(crate) fn reject_strangers(blocks: &[Block], found: bool, permitted: impl Fn(&Label) -> bool) -> Result<(), Fault> {
    for block in blocks {
        match &block.label {
            Label::TrustedCertificate => {
                let detail =
                    format!("TRUSTED CERTIFICATE in line {}; write it with openssl x509 -in ... -out", block.line);
                return Err(Fault::new(Reason::PemLabel, detail));
            }
            Label::Certificate => {}
            label if permitted(label) || !found => {}
            label => {
                let detail = format!("a block {} in line {} has no business here", label.name(), block.line);
                return Err(Fault::new(Reason::UnexpectedBlock, detail));
            }
        }
    }
    Ok(())
}

/// The fault of a file without certificates, in words that help.
pub(crate) fn no_certificate(blocks: &[Block]) -> Fault {
    let labels: Vec<&str> = blocks.iter().map(|block| block.label.name()).collect();
    let detail = match labels.as_slice() {
        [] => "text without any PEM block (encoded twice? an error page?)".to_owned(),
        labels => format!("expected CERTIFICATE blocks; the blocks are {}", labels.join(", ")),
    };
    Fault::new(Reason::NoCertificate, detail)
}

fn parse_for_chain(block: &Block) -> Result<Certificate, Fault> {
    let at = |fault: Fault| Fault { detail: format!("certificate of line {}: {}", block.line, fault.detail), ..fault };
    let certificate = Certificate::parse(block.content.clone()).map_err(at)?;
    if certificate.version != 3 {
        return Err(at(Fault::new(Reason::UnsupportedVersion, "X.509 version 1, which can bear no names")));
    }
    // The verdict of the library that peers like ours verify with.
    match webpki::EndEntityCert::try_from(&certificate.der) {
        Ok(_) => {}
        Err(webpki::Error::UnsupportedCriticalExtension) => {
            return Err(at(Fault::new(Reason::UnsupportedExtension, "an unknown critical extension")));
        }
        Err(webpki::Error::UnsupportedCertVersion) => {
            return Err(at(Fault::new(Reason::UnsupportedVersion, "not X.509 version 3")));
        }
        Err(_) => return Err(at(Fault::new(Reason::BadDer, "it cannot be parsed"))),
    }
    Ok(certificate)
}

/// Whether peers like ours could verify what a key signs.
fn check_key_kind(certificate: &Certificate) -> Result<(), Fault> {
    match certificate.rsa_bits {
        Some(bits) if bits < RSA_BITS => {
            let subject = &certificate.facts.subject;
            Err(Fault::new(
                Reason::WeakKey,
                format!("\"{subject}\" has an RSA key of {bits} bits; {RSA_BITS} is the least"),
            ))
        }
        _ if !knows_key(&certificate.spki) => {
            let detail = format!("the key of \"{}\" is of a kind that cannot be verified", certificate.facts.subject);
            Err(Fault::new(Reason::UnsupportedKey, detail))
        }
        _ => Ok(()),
    }
}

fn check_pair(certificates: &[Certificate], key: &Arc<dyn rustls::sign::SigningKey>) -> Result<(), Fault> {
    let fits = |certificate: &Certificate| CertifiedKey::new(vec![certificate.der.clone()], key.clone()).keys_match();
    match fits(&certificates[0]) {
        Ok(()) => Ok(()),
        Err(rustls::Error::InconsistentKeys(rustls::InconsistentKeys::KeyMismatch)) => {
            let hint = match certificates.iter().position(|certificate| fits(certificate).is_ok()) {
                Some(position) => format!("it belongs to certificate {}: the leaf must come first", position + 1),
                None => "it belongs to none of the file (written one after the other?)".to_owned(),
            };
            let detail = format!("not the key of \"{}\"; {hint}", certificates[0].facts.subject);
            Err(Fault::new(Reason::KeyMismatch, detail))
        }
        // A pair that cannot be compared is a pair that nobody checked.
        Err(_) => Err(Fault::new(Reason::UnsupportedKey, "key and certificate cannot be compared")),
    }
}

fn check_leaf(leaf: &Certificate, roles: Roles) -> Result<(), Fault> {
    if matches!(leaf.constraints, BasicConstraints::Ca { .. }) {
        return Err(Fault::new(Reason::CaAsLeaf, "the first certificate is a CA"));
    }
    if leaf.facts.names.is_empty() {
        return Err(Fault::new(Reason::NoSan, "no subject alternative name; peers do not look at the common name"));
    }
    if leaf.key_usage.is_some_and(|usage| !usage.digital_signature) {
        return Err(Fault::new(Reason::KeyUsage, "key usage without digitalSignature (RFC 8446 section 4.4.2.2)"));
    }
    match leaf.lacks_usage(roles) {
        Some(lacks) => Err(Fault::new(Reason::ExtKeyUsage, format!("extended key usage lacks {lacks}"))),
        None => Ok(()),
    }
}

fn check_validity(chain: &[Certificate], now: SystemTime) -> Result<(), Fault> {
    for (position, certificate) in chain.iter().enumerate() {
        let (facts, subject) = (&certificate.facts, &certificate.facts.subject);
        if facts.not_after < facts.not_before {
            return Err(Fault::new(Reason::BadValidity, format!("\"{subject}\" ends before it begins")));
        }
        if now > facts.not_after {
            let reason = if position == 0 { Reason::Expired } else { Reason::ChainExpired };
            return Err(Fault::new(reason, format!("\"{subject}\" ended {}", rfc3339(facts.not_after))));
        }
    }
    let starts = chain.iter().map(|certificate| certificate.facts.not_before).max();
    match starts.filter(|starts| *starts > now) {
        Some(starts) => Err(Fault::new(Reason::NotYetValid, format!("it begins {}", rfc3339(starts))).until(starts)),
        None => Ok(()),
    }
}

fn check_names(leaf: &Certificate, expected: &[DnsPattern]) -> Result<(), Fault> {
    let missing = expected.iter().find(|name| !leaf.facts.names.dns.iter().any(|san| name.is_covered_by(san)));
    match missing {
        Some(name) => Err(Fault::new(Reason::NameNotCovered, format!("the leaf does not cover {name}"))),
        None => Ok(()),
    }
}

fn check_issuer(
    chain: &[CertificateDer<'static>],
    roles: Roles,
    authority: Option<&Authority>,
    now: SystemTime,
) -> Result<(), Fault> {
    let Some(authority) = authority else {
        return Err(Fault::new(Reason::TrustUnavailable, "the bundle of expect.chains_to is not loaded"));
    };
    let usage = if roles.client && !roles.server { Usage::Client } else { Usage::Server };
    let (leaf, rest) = chain.split_first().expect("a chain has a leaf");
    let now = UnixTime::since_unix_epoch(now.duration_since(UNIX_EPOCH).unwrap_or_default());
    authority.verify(leaf, rest, usage, now).map_err(|error| {
        let detail = format!("the chain does not reach {}: {error:?}", authority.trust_name());
        Fault::new(Reason::WrongIssuer, detail)
    })?;
    Ok(())
}
