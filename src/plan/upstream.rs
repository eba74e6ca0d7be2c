//! Where Iris dials.

use std::{fmt, net::SocketAddr};

use super::{DestinationRules, IdentityId, TrustId};

/// One upstream.
#[derive(Debug, Clone)]
pub struct UpstreamPlan {
    /// Its name, which is also its `component` label.
    pub name: String,
    /// What is dialled, and how.
    pub end: UpstreamEnd,
}

/// What an upstream speaks.
#[derive(Debug, Clone)]
pub enum UpstreamEnd {
    /// `quic://`
    Quic {
        /// Where to.
        destination: Destination,
        /// How it is secured.
        tls: UpstreamTls,
    },
    /// `quic+plaintext://`
    LoopbackQuic(SocketAddr),
}

/// The place to dial.
#[derive(Debug, Clone)]
pub enum Destination {
    /// The file says.
    Fixed(HostPort),
    /// The component says, within these rules.
    Requested(DestinationRules),
}

/// A host, name or IP literal, and a port.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HostPort {
    /// A DNS name in lower case, or an IP literal without brackets.
    pub host: String,
    /// The port, never 0.
    pub port: u16,
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// TLS of an opening end.
#[derive(Debug, Clone)]
pub struct UpstreamTls {
    /// How the peer's certificate is judged.
    pub verification: Verification,
    /// The name that is sent as SNI and must stand in the peer's certificate.
    pub server_name: ServerNameRule,
    /// The identity shown when the peer asks for one.
    pub identity: Option<IdentityId>,
}

/// How a peer's certificate is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verification {
    /// Its chain must reach an anchor of this bundle and it must bear the server name.
    Trust(TrustId),
    /// Not at all: `development.allow_unverified_peers` only.
    Disabled,
}

/// Which server name an upstream is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerNameRule {
    /// The one that the component (or, from a secured listener, the peer) asked for.
    Requested,
    /// Always this one: a DNS name in lower case or an IP literal.
    Fixed(String),
}
