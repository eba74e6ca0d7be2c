//! The rows of `/status`. Nothing secret is ever in them, and what peers sent is escaped.

use std::{
    net::SocketAddr,
    time::{Duration, SystemTime},
};

use serde::Serialize;
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use super::{
    Component,
    labels::{Label, MaterialState},
    standing::Standing,
};

/// The most certificates of one material that are listed.
pub const CERTIFICATES: usize = 16;

/// The most connections that are listed.
pub const CONNECTIONS: usize = 100;

/// All of `/status`.
#[derive(Debug, Clone, Serialize)]
pub struct Status {
    /// The version that runs.
    pub version: &'static str,
    /// Since the process started.
    pub uptime_seconds: u64,
    /// Now, by the clock that validity is judged by.
    pub clock: String,
    /// Whether the configuration permits what no production system should.
    pub development: bool,
    /// Which configuration runs: 1 is the one of the start.
    pub generation: u64,
    /// Whether `/readyz` says so.
    pub ready: bool,
    /// What stands in the way.
    pub reasons: Vec<String>,
    /// Where Iris accepts.
    pub listeners: Vec<ComponentRow>,
    /// Where Iris dials.
    pub upstreams: Vec<ComponentRow>,
    /// Identities, trust bundles and revocation lists.
    pub materials: Vec<MaterialRow>,
    /// Who is connected.
    pub connections: ConnectionsRow,
}

/// One listener or upstream.
#[derive(Debug, Clone, Serialize)]
pub struct ComponentRow {
    /// Its name.
    pub name: String,
    /// What it is carried by.
    pub transport: &'static str,
    /// Its address as configured.
    pub address: String,
    /// Where the socket is bound; listeners only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound: Option<SocketAddr>,
    /// Whether it is able to do its work.
    pub ready: bool,
    /// What stands in the way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Its roles and how each stands.
    pub roles: Vec<RoleRow>,
    /// Established connections now.
    pub active: u64,
    /// Established connections since the start.
    pub established: u64,
}

/// One material in one role.
#[derive(Debug, Clone, Serialize)]
pub struct RoleRow {
    /// Which role.
    pub material: &'static str,
    /// How it stands.
    pub state: &'static str,
}

impl ComponentRow {
    pub(super) fn of(component: &Component, now: SystemTime) -> Self {
        let readiness = component.readiness(now);
        Self {
            name: component.name().to_owned(),
            transport: component.transport().as_str(),
            address: component.address().to_owned(),
            bound: component.bound(),
            ready: readiness.is_ready(),
            reason: readiness.reason(),
            roles: component
                .roles()
                .iter()
                .map(|role| RoleRow { material: role.material().as_str(), state: role.state(now).as_str() })
                .collect(),
            active: component.active(),
            established: component.established_total(),
        }
    }
}

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
    pub(super) fn row(&self, now: SystemTime, expiring_share: f64) -> MaterialRow {
        let first_end = self.standing.in_use.map(|life| life.first_end);
        let state: MaterialState = self.standing.state(now, expiring_share);
        MaterialRow {
            kind: self.kind,
            name: self.name.clone(),
            source: self.source,
            sequence: self.sequence,
            read_at: self.read_at.map(rfc3339),
            state: state.as_str(),
            expires: first_end.map(rfc3339),
            expires_in_seconds: first_end.map(|end| seconds_between(now, end)),
            held_until: self.standing.held_until.map(rfc3339),
            candidate_rejected: self.standing.refused.is_some(),
            last_refusal: self.refusal.as_ref().map(|refusal| RefusalRow {
                reason: refusal.reason,
                detail: refusal.detail.clone(),
                at: rfc3339(refusal.at),
                age_seconds: now.duration_since(refusal.at).unwrap_or(Duration::ZERO).as_secs(),
            }),
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

/// Who is connected.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ConnectionsRow {
    /// How many pairs of connections there are.
    pub total: usize,
    /// The first of them, at most [`CONNECTIONS`].
    pub first: Vec<ConnectionRow>,
}

/// One pair of connections.
#[derive(Debug, Clone, Serialize)]
pub struct ConnectionRow {
    /// The listener.
    pub listener: String,
    /// The upstream.
    pub upstream: String,
    /// The address of the listener's peer.
    pub peer: SocketAddr,
    /// The server name that it asked for, escaped.
    pub server_name: Option<String>,
    /// The application protocol, escaped.
    pub alpn: Option<String>,
    /// Since it was established.
    pub age_seconds: u64,
    /// Streams so far.
    pub streams: u64,
    /// Bytes to the upstream so far.
    pub bytes_upstream: u64,
    /// Bytes from the upstream so far.
    pub bytes_downstream: u64,
    /// The generations that it stands on, as `material name#sequence`.
    pub generations: Vec<String>,
}

/// A time as RFC 3339 in UTC; as Unix seconds when it has no such form (a year above 9999).
pub fn rfc3339(time: SystemTime) -> String {
    let whole = OffsetDateTime::from(time).replace_nanosecond(0);
    match whole.map(|time| time.format(&Rfc3339)) {
        Ok(Ok(text)) => text,
        _ => format!("@{}", seconds_between(SystemTime::UNIX_EPOCH, time)),
    }
}

/// Seconds from `from` to `to`, negative when `to` is before.
fn seconds_between(from: SystemTime, to: SystemTime) -> i64 {
    let seconds = |duration: Duration| i64::try_from(duration.as_secs()).unwrap_or(i64::MAX);
    match to.duration_since(from) {
        Ok(after) => seconds(after),
        Err(before) => -seconds(before.duration()),
    }
}
