//! The certificates behind a leaf: put in order, each signed by the next.

use super::{
    certificate::Certificate,
    provider::{self, SignatureFault},
    reason::{Fault, Reason, Warning},
};

/// Orders `certificates`, leaf first, and verifies every link. What certifies nothing is an error, unless it is a root,
/// which peers ignore: that stays, at the end.
pub(crate) fn order(certificates: Vec<Certificate>) -> Result<(Vec<Certificate>, Vec<Warning>), Fault> {
    let mut warnings = Vec::new();
    let given: Vec<String> = certificates.iter().map(|certificate| certificate.facts.sha256.clone()).collect();
    let mut rest = without_duplicates(certificates);
    if rest.len() < given.len() {
        warnings.push(Warning::ChainExtra);
    }
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
    if !rest.is_empty() {
        warnings.push(Warning::ChainExtra);
    }
    chain.extend(rest);
    let in_order = chain.iter().map(|certificate| &certificate.facts.sha256);
    if in_order.ne(given.iter().take(chain.len())) && !warnings.contains(&Warning::ChainExtra) {
        warnings.push(Warning::ChainReordered);
    }
    if chain.len() == 1 && !chain[0].is_self_issued() {
        warnings.push(Warning::IncompleteChain);
    }
    warnings.dedup();
    Ok((chain, warnings))
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
