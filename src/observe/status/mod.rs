//! The rows of `/status`. Nothing secret is ever in them, and what peers sent is escaped.

mod material;

use std::{
    fmt,
    net::SocketAddr,
    time::{Duration, SystemTime},
};

use serde::Serialize;
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

pub use material::{CertificateFacts, CertificateRow, MaterialFacts, MaterialKind, MaterialRow, Refusal, RefusalRow};

use super::{Component, PeerAddress, labels::Label};

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
    pub peer: PeerAddress,
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

/// Seconds as two units that a person reads at a glance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span(pub u64);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (days, hours, minutes, seconds) = (self.0 / 86_400, self.0 / 3_600 % 24, self.0 / 60 % 60, self.0 % 60);
        match (days, hours, minutes) {
            (0, 0, 0) => write!(f, "{seconds} s"),
            (0, 0, _) => write!(f, "{minutes} min {seconds} s"),
            (0, ..) => write!(f, "{hours} h {minutes} min"),
            _ => write!(f, "{days} d {hours} h"),
        }
    }
}
