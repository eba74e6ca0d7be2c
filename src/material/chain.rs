//! The certificates behind a leaf: put in order, each signed by the next.

use super::{
    certificate::{BasicConstraints, Certificate},
    provider::{self, SignatureFault},
    reason::{Fault, Reason, Warning},
    roles::Roles,
};

/// The most that a chain may weigh, in bytes: a Certificate message has to fit a handshake (RFC 8446 section 4.4.2), and
/// rustls takes 64 KiB of one.
const WEIGHT_LIMIT: usize = 60_000;

/// The certificates of an identity as they will be served.
pub(crate) struct Chain {
    pub(crate) certificates: Vec<Certificate>,
    /// How many of them lead upwards from the leaf, itself included. Behind those stand roots of others.
    pub(crate) linked: usize,
    pub(crate) warnings: Vec<Warning>,
}

/// Orders `certificates`, leaf first, and verifies every link. What certifies nothing is an error, unless it is a root,
/// which peers ignore: that stays, at the end.
pub(crate) fn order(certificates: Vec<Certificate>) -> Result<Chain, Fault> {
    let weight: usize = certificates.iter().map(|certificate| certificate.der.len()).sum();
    if weight > WEIGHT_LIMIT {
        let detail = format!("{weight} bytes of certificates; a handshake carries {WEIGHT_LIMIT}");
        return Err(Fault::new(Reason::TooManyCertificates, detail));
    }
    let given: Vec<_> = certificates.iter().map(|certificate| certificate.der.clone()).collect();
    let mut rest = without_duplicates(certificates);
    let mut extra = rest.len() < given.len();
    let mut chain = vec![rest.remove(0)];
    while let Some(next) = issuer_of(chain.last().expect("it begins with the leaf"), &rest)? {
        chain.push(rest.remove(next));
    }
    if let Some(gap) = rest.iter().find(|certificate| !certificate.is_self_issued()) {
        let last = chain.last().expect("it begins with the leaf");
        let detail = format!(
            "nothing in the file is the issuer of \"{}\", and \"{}\" certifies nothing",
            last.facts.subject, gap.facts.subject
        );
        return Err(Fault::new(Reason::ChainBroken, detail));
    }
    let linked = chain.len();
    extra |= !rest.is_empty();
    chain.extend(rest);
    let mut warnings = Vec::new();
    if extra {
        warnings.push(Warning::ChainExtra);
    } else if chain.iter().map(|certificate| &certificate.der).ne(&given) {
        warnings.push(Warning::ChainReordered);
    }
    if chain.len() == 1 && !chain[0].is_self_issued() {
        warnings.push(Warning::IncompleteChain);
    }
    Ok(Chain { certificates: chain, linked, warnings })
}

/// Whether those that sign others may, and for these roles.
pub(crate) fn check_issuers(chain: &Chain, roles: Roles) -> Result<(), Fault> {
    for (below, issuer) in chain.certificates[1..chain.linked].iter().enumerate() {
        let fault = |reason, what: &str| Err(Fault::new(reason, format!("\"{}\" {what}", issuer.facts.subject)));
        let BasicConstraints::Ca { path_len } = issuer.constraints else {
            return fault(Reason::NotACa, "signs another certificate and is no CA");
        };
        if issuer.key_usage.is_some_and(|usage| !usage.cert_sign) {
            return fault(Reason::KeyUsage, "signs another certificate without keyCertSign");
        }
        if path_len.is_some_and(|limit| below > usize::try_from(limit).unwrap_or(usize::MAX)) {
            return fault(Reason::ChainBroken, "permits fewer CAs below it (RFC 5280 section 4.2.1.9)");
        }
        if let Some(lacks) = issuer.lacks_usage(roles) {
            return fault(Reason::ExtKeyUsage, &format!("has an extended key usage that lacks {lacks}"));
        }
    }
    Ok(())
}

fn without_duplicates(certificates: Vec<Certificate>) -> Vec<Certificate> {
    let mut kept: Vec<Certificate> = Vec::with_capacity(certificates.len());
    for certificate in certificates {
        if !kept.iter().any(|other| other.der == certificate.der) {
            kept.push(certificate);
        }
    }
    kept
}

/// Which of `candidates` signed `certificate`. A candidate of the right name with another key is an error: peers would
/// try it and fail.
fn issuer_of(certificate: &Certificate, candidates: &[Certificate]) -> Result<Option<usize>, Fault> {
    if certificate.is_self_issued() {
        return Ok(None);
    }
    let mut fault = None;
    for (position, candidate) in candidates.iter().enumerate() {
        if candidate.subject != certificate.issuer {
            continue;
        }
        match provider::verify(&certificate.signed(), &candidate.spki) {
            Ok(()) => return Ok(Some(position)),
            Err(found) => fault = Some(found),
        }
    }
    let subject = &certificate.facts.subject;
    match fault {
        None => Ok(None),
        Some(SignatureFault::Bad) => {
            let detail = format!("\"{subject}\" is not signed by the key of \"{}\"", certificate.facts.issuer);
            Err(Fault::new(Reason::ChainBroken, detail))
        }
        Some(SignatureFault::Unsupported) => Err(signature_fault(certificate)),
    }
}

/// Whether peers could verify the signature on `certificate` at all, with whatever key.
pub(crate) fn check_signature_algorithm(certificate: &Certificate) -> Result<(), Fault> {
    if provider::knows_signature(certificate.signed().algorithm) { Ok(()) } else { Err(signature_fault(certificate)) }
}

fn signature_fault(certificate: &Certificate) -> Fault {
    let subject = &certificate.facts.subject;
    if is_weak(certificate.signed().algorithm) {
        Fault::new(Reason::WeakSignature, format!("\"{subject}\" is signed with MD5 or SHA-1"))
    } else {
        Fault::new(Reason::UnsupportedSignature, format!("\"{subject}\" is signed in a way that cannot be verified"))
    }
}

/// Whether an `AlgorithmIdentifier` names MD2, MD4, MD5 or SHA-1 with RSA, DSA or ECDSA.
fn is_weak(algorithm: &[u8]) -> bool {
    const WEAK: [&[u8]; 6] = [
        &[0x06, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 2],
        &[0x06, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 3],
        &[0x06, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 4],
        &[0x06, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 5],
        &[0x06, 7, 0x2a, 0x86, 0x48, 0xce, 0x38, 4, 3],
        &[0x06, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 1],
    ];
    WEAK.iter().any(|oid| algorithm.starts_with(oid))
}
