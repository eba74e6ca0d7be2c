//! A trust bundle: the anchors that peers' chains must reach. Pure: bytes and the time go in.

use std::{
    collections::{HashMap, HashSet},
    hash::Hash,
    sync::Arc,
    time::SystemTime,
};

use rustls::RootCertStore;

use super::{
    certificate::{BasicConstraints, Certificate, CertificateFacts},
    identity::{RSA_BITS, no_certificate, reject_strangers},
    pem::{self, Label},
    provider::knows_key,
    reason::{Fault, Reason, Warning},
};
use crate::observe::status::rfc3339;

/// Anchors that a path search tries for one subject: webpki gives up after 100 signatures.
pub const ANCHORS_OF_ONE_SUBJECT: usize = 32;
/// Certificates in one bundle.
const BUNDLE_LIMIT: usize = 4096;

/// The anchors in effect.
#[derive(Debug, Clone)]
pub struct TrustBundle {
    /// Each once, whatever the file's order and repetitions.
    pub anchors: Vec<Anchor>,
    /// The same, in the same order, as verifiers take them.
    pub roots: Arc<RootCertStore>,
    /// When the first anchor ends that is in effect; when the last one did, after all have.
    pub earliest_end: SystemTime,
    /// When all have ended.
    pub latest_end: SystemTime,
    /// What is odd about it.
    pub warnings: Vec<Warning>,
}

/// One anchor.
#[derive(Debug, Clone)]
pub struct Anchor {
    /// What may be told of it.
    pub facts: CertificateFacts,
    /// CAs that may stand between it and a leaf. `None`: any number.
    pub path_len: Option<u32>,
    /// Whether its key usage lets it sign revocation lists.
    pub signs_revocation_lists: bool,
    /// DER of its name constraints (RFC 5280 section 4.2.1.10), if it has some.
    pub(crate) name_constraints: Option<Vec<u8>>,
    /// DER of its subject, header included.
    pub(crate) subject: Vec<u8>,
    /// Contents of its `SubjectPublicKeyInfo`.
    pub(crate) spki: Vec<u8>,
}

impl TrustBundle {
    /// Whether something that `self` accepted may be refused by `successor`: an anchor is gone, as a set of subjects,
    /// keys and constraints. Order, repetition and comments of the files are nothing.
    pub fn contracts_to(&self, successor: &Self) -> bool {
        let kept: HashSet<_> = successor.anchors.iter().map(Anchor::substance).collect();
        !self.anchors.iter().all(|anchor| kept.contains(&anchor.substance()))
    }

    /// The same with the anchors left out that have ended, which may be all: then nobody is trusted.
    #[must_use]
    pub fn without_ended(&self, now: SystemTime) -> Self {
        let kept = |(anchor, _): &(&Anchor, _)| now <= anchor.facts.not_after;
        let (anchors, roots): (Vec<_>, Vec<_>) = self.anchors.iter().zip(&self.roots.roots).filter(kept).unzip();
        let anchors: Vec<Anchor> = anchors.into_iter().cloned().collect();
        let earliest_end = anchors.iter().map(|anchor| anchor.facts.not_after).min().unwrap_or(self.latest_end);
        let roots = RootCertStore { roots: roots.into_iter().cloned().collect() };
        Self { anchors, roots: Arc::new(roots), earliest_end, ..self.clone() }
    }
}

impl Anchor {
    /// What makes it the anchor that it is. The same CA issued again, with the same key and constraints, is the same.
    fn substance(&self) -> impl Eq + Hash {
        (&self.subject, &self.spki, &self.name_constraints, self.path_len)
    }

    /// Whether it counts at `now`.
    pub fn is_valid_at(&self, now: SystemTime) -> bool {
        self.facts.not_before <= now && now <= self.facts.not_after
    }
}

/// Builds a bundle, or says why this file makes none. One bad block refuses the whole: to skip it would be a
/// contraction that nobody asked for.
pub fn build(bytes: &[u8], now: SystemTime) -> Result<TrustBundle, Fault> {
    let certificates = certificates(bytes)?;
    let mut warnings = Vec::new();
    for (number, certificate) in certificates.iter().enumerate() {
        check(certificate, &mut warnings).map_err(|fault| {
            let detail = format!("certificate {} (\"{}\"): {}", number + 1, certificate.facts.subject, fault.detail);
            Fault { detail, ..fault }
        })?;
    }
    let mut anchors: Vec<(Certificate, rustls::pki_types::TrustAnchor<'static>)> = Vec::new();
    let mut last_end = None;
    let mut known = HashMap::new();
    for certificate in certificates {
        let end = certificate.facts.not_after;
        last_end = last_end.max(Some(end));
        if end < now {
            warnings.push(Warning::ExpiredAnchor);
            continue;
        }
        let anchor = anchor(&certificate)?;
        let constraints = anchor.name_constraints.as_ref().map(|der| der.to_vec());
        let key = (certificate.subject.clone(), certificate.spki.clone(), constraints, path_len(&certificate));
        // The same anchor issued again: what counts is the one that lasts.
        let position = *known.entry(key).or_insert(anchors.len());
        match anchors.get_mut(position) {
            None => anchors.push((certificate, anchor)),
            Some(kept) => widen(&mut kept.0.facts, certificate.facts),
        }
    }
    check_effective(&anchors, last_end, now, &mut warnings)?;
    Ok(bundle(anchors, warnings))
}

fn bundle(
    anchors: Vec<(Certificate, rustls::pki_types::TrustAnchor<'static>)>,
    mut warnings: Vec<Warning>,
) -> TrustBundle {
    warnings.sort_by_key(|warning| warning.as_str());
    warnings.dedup();
    let ends = || anchors.iter().map(|(certificate, _)| certificate.facts.not_after);
    TrustBundle {
        earliest_end: ends().min().expect("checked not to be empty"),
        latest_end: ends().max().expect("checked not to be empty"),
        roots: Arc::new(RootCertStore { roots: anchors.iter().map(|(_, anchor)| anchor.clone()).collect() }),
        anchors: anchors
            .into_iter()
            .map(|(certificate, anchor)| Anchor {
                name_constraints: anchor.name_constraints.as_ref().map(|der| der.to_vec()),
                path_len: path_len(&certificate),
                signs_revocation_lists: certificate.key_usage.is_none_or(|usage| usage.crl_sign),
                facts: certificate.facts,
                subject: certificate.subject,
                spki: certificate.spki,
            })
            .collect(),
        warnings,
    }
}

fn certificates(bytes: &[u8]) -> Result<Vec<Certificate>, Fault> {
    let blocks = pem::read(bytes)?;
    let found = blocks.iter().any(|block| block.label == Label::Certificate);
    reject_strangers(&blocks, found, |_| false)?;
    if !found {
        return Err(no_certificate(&blocks));
    }
    if blocks.len() > BUNDLE_LIMIT {
        let detail = format!("{} certificates; a bundle has at most {BUNDLE_LIMIT}", blocks.len());
        return Err(Fault::new(Reason::TooManyCertificates, detail));
    }
    blocks
        .into_iter()
        .map(|block| {
            Certificate::parse(block.content).map_err(|fault| {
                let detail = format!("certificate of line {}: {}", block.line, fault.detail);
                Fault { detail, ..fault }
            })
        })
        .collect()
}

/// Whether a certificate may be an anchor. webpki takes any (RFC 5280 section 6.2 leaves it to policy).
fn check(certificate: &Certificate, warnings: &mut Vec<Warning>) -> Result<(), Fault> {
    match certificate.constraints {
        BasicConstraints::Ca { .. } => {}
        BasicConstraints::Absent if certificate.version == 1 && certificate.is_self_issued() => {
            warnings.push(Warning::VersionOneRoot);
        }
        BasicConstraints::Absent if certificate.version == 1 => {
            return Err(Fault::new(Reason::UnsupportedVersion, "X.509 version 1 and not a root"));
        }
        BasicConstraints::Absent => return Err(Fault::new(Reason::NotACa, "no basic constraints")),
        BasicConstraints::EndEntity => return Err(Fault::new(Reason::NotACa, "basic constraints say CA:FALSE")),
    }
    if certificate.key_usage.is_some_and(|usage| !usage.cert_sign) {
        return Err(Fault::new(Reason::KeyUsage, "key usage without keyCertSign"));
    }
    if let Some(bits) = certificate.rsa_bits.filter(|bits| *bits < RSA_BITS) {
        return Err(Fault::new(Reason::WeakKey, format!("an RSA key of {bits} bits; no peer could be verified by it")));
    }
    if !knows_key(&certificate.spki) {
        return Err(Fault::new(Reason::UnsupportedKey, "a kind of key by which no peer could be verified"));
    }
    if certificate.facts.not_after < certificate.facts.not_before {
        return Err(Fault::new(Reason::BadValidity, "it ends before it begins"));
    }
    if certificate.odd_serial {
        warnings.push(Warning::OddSerial);
    }
    Ok(())
}

fn anchor(certificate: &Certificate) -> Result<rustls::pki_types::TrustAnchor<'static>, Fault> {
    webpki::anchor_from_trusted_cert(&certificate.der)
        .map(|anchor| anchor.to_owned())
        .map_err(|_| Fault::new(Reason::BadDer, format!("\"{}\" cannot be parsed", certificate.facts.subject)))
}

fn path_len(certificate: &Certificate) -> Option<u32> {
    match certificate.constraints {
        BasicConstraints::Ca { path_len } => path_len,
        _ => None,
    }
}

fn widen(kept: &mut CertificateFacts, other: CertificateFacts) {
    let not_before = kept.not_before.min(other.not_before);
    if other.not_after > kept.not_after {
        *kept = other;
    }
    kept.not_before = not_before;
}

fn check_effective(
    anchors: &[(Certificate, rustls::pki_types::TrustAnchor<'static>)],
    last_end: Option<SystemTime>,
    now: SystemTime,
    warnings: &mut Vec<Warning>,
) -> Result<(), Fault> {
    if anchors.is_empty() {
        let days = last_end.and_then(|end| now.duration_since(end).ok()).map_or(0, |ago| ago.as_secs() / 86_400);
        return Err(Fault::new(Reason::Expired, format!("every anchor has ended, the last one {days} days ago")));
    }
    let starts = anchors.iter().map(|(certificate, _)| certificate.facts.not_before);
    let first = starts.clone().min().expect("checked not to be empty");
    if first > now {
        let detail = format!("no anchor has begun, the first one begins {}", rfc3339(first));
        return Err(Fault::new(Reason::NotYetValid, detail).until(first));
    }
    if starts.clone().any(|start| start > now) {
        warnings.push(Warning::FutureAnchor);
    }
    let mut subjects: HashMap<&[u8], usize> = HashMap::new();
    for (certificate, _) in anchors {
        let count = subjects.entry(&certificate.subject).or_default();
        *count += 1;
        if *count > ANCHORS_OF_ONE_SUBJECT {
            let detail = format!(
                "more than {ANCHORS_OF_ONE_SUBJECT} anchors with the subject \"{}\"; a path search could not try all",
                certificate.facts.subject
            );
            return Err(Fault::new(Reason::PathBudget, detail));
        }
    }
    Ok(())
}
