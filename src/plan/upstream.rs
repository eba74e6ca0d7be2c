//! Where Iris dials.

use std::net::SocketAddr;

use super::{DestinationRules, HostPort, IdentityId, ServerNameRule, TrustId};

/// One upstream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpstreamPlan {
    /// Its name, which is also its `component` label.
    pub name: String,
    /// What is dialled, and how.
    pub end: UpstreamEnd,
}

/// What an upstream speaks.
#[derive(Debug, Clone, PartialEq, Eq)]
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// The file says.
    Fixed(HostPort),
    /// The component says, within these rules.
    Requested(DestinationRules),
}

/// TLS of an opening end.
#[derive(Debug, Clone, PartialEq, Eq)]
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
