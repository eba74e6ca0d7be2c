//! Identities, trust bundles and revocation lists, as `/status` tells of them.

use std::time::{Duration, SystemTime};

use serde::Serialize;

use super::{rfc3339, seconds_between};
use crate::observe::{labels::Label, standing::Standing};

/// The most certificates of one material that are listed.
const CERTIFICATES: usize = 16;

/// A kind of material.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MaterialKind {
    /// A chain and its key.
    Identity,
    /// Anchors.
    Trust,
    /// Revocation lists.
    Revocation,
}

impl MaterialKind {
    /// As it stands in the status.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Trust => "trust",
            Self::Revocation => "revocation",
        }
    }
}

/// What is told of one certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateFacts {
    /// Its subject.
    pub subject: String,
    /// Its names: DNS, URI and IP.
    pub names: Vec<String>,
    /// Its serial number, hexadecimal.
    pub serial: String,
    /// The SHA-256 of its DER form, hexadecimal.
    pub sha256: String,
    /// Its start.
    pub not_before: SystemTime,
    /// Its end.
    pub not_after: SystemTime,
}

/// What is told of a refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Its class.
    pub reason: &'static str,
    /// The file at fault.
    pub file: String,
    /// In words for a person, without secrets.
    pub detail: String,
    /// When it happened.
    pub at: SystemTime,
}

/// What is told of one material.
#[derive(Debug, Clone)]
pub struct MaterialFacts {
    /// Which kind.
    pub kind: MaterialKind,
    /// Its name.
    pub name: String,
    /// What kind of source it is read from, such as `directory link` or `plain files`; never contents.
    pub source: &'static str,
    /// The number of the generation in use; 0 while there is none.
    pub sequence: u64,
    /// When the generation in use was read.
    pub read_at: Option<SystemTime>,
    /// How it stands.
    pub standing: Standing,
    /// The chain or the anchors in use.
    pub certificates: Vec<CertificateFacts>,
    /// The last refusal, also when a good one has come since.
    pub refusal: Option<Refusal>,
    /// What is odd about the generation in use, each as its class.
    pub warnings: Vec<&'static str>,
    /// The components that it serves.
    pub used_by: Vec<String>,
}

/// One material.
#[derive(Debug, Clone, Serialize)]
pub struct MaterialRow {
    /// Which kind.
    pub kind: MaterialKind,
    /// Its name.
    pub name: String,
    /// What kind of source it is read from.
    pub source: &'static str,
    /// The number of the generation in use; 0 while there is none.
    pub sequence: u64,
    /// When the generation in use was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_at: Option<String>,
    /// How it stands.
    pub state: &'static str,
    /// Its first end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
    /// Seconds until its first end, negative behind it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_in_seconds: Option<i64>,
    /// When a replacement that waits starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_until: Option<String>,
    /// Whether what is on disk is refused now.
    pub candidate_rejected: bool,
    /// The last refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_refusal: Option<RefusalRow>,
    /// What is odd about the generation in use.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<&'static str>,
    /// The components that it serves.
    pub used_by: Vec<String>,
    /// How many certificates are in use.
    pub certificates_total: usize,
    /// The first of them.
    pub certificates: Vec<CertificateRow>,
}

/// One refusal.
#[derive(Debug, Clone, Serialize)]
pub struct RefusalRow {
    /// Its class.
    pub reason: &'static str,
    /// The file at fault.
    pub file: String,
    /// In words.
    pub detail: String,
    /// When it happened.
    pub at: String,
    /// How long ago that is.
    pub age_seconds: u64,
}

/// One certificate.
#[derive(Debug, Clone, Serialize)]
pub struct CertificateRow {
    /// Its subject.
    pub subject: String,
    /// Its names.
    pub names: Vec<String>,
    /// Its serial number, hexadecimal.
    pub serial: String,
    /// The SHA-256 of its DER form, hexadecimal.
    pub sha256: String,
    /// Its start.
    pub not_before: String,
    /// Its end.
    pub not_after: String,
}

impl MaterialFacts {
    /// The row for it as of `now`; `expiring_share` is the part of its life left at which it is near its end.
    pub fn row(&self, now: SystemTime, expiring_share: f64) -> MaterialRow {
        let first_end = self.standing.in_use.map(|life| life.first_end);
        MaterialRow {
            kind: self.kind,
            name: self.name.clone(),
            source: self.source,
            sequence: self.sequence,
            read_at: self.read_at.map(rfc3339),
            state: self.standing.state(now, expiring_share).as_str(),
            expires: first_end.map(rfc3339),
            expires_in_seconds: first_end.map(|end| seconds_between(now, end)),
            held_until: self.standing.held_until.map(rfc3339),
            candidate_rejected: self.standing.refused.is_some(),
            last_refusal: self.refusal.as_ref().map(|refusal| RefusalRow {
                reason: refusal.reason,
                file: refusal.file.clone(),
                detail: refusal.detail.clone(),
                at: rfc3339(refusal.at),
                age_seconds: now.duration_since(refusal.at).unwrap_or(Duration::ZERO).as_secs(),
            }),
            warnings: self.warnings.clone(),
            used_by: self.used_by.clone(),
            certificates_total: self.certificates.len(),
            certificates: self.certificates.iter().take(CERTIFICATES).map(CertificateRow::of).collect(),
        }
    }
}

impl CertificateRow {
    fn of(facts: &CertificateFacts) -> Self {
        Self {
            subject: facts.subject.clone(),
            names: facts.names.clone(),
            serial: facts.serial.clone(),
            sha256: facts.sha256.clone(),
            not_before: rfc3339(facts.not_before),
            not_after: rfc3339(facts.not_after),
        }
    }
}
