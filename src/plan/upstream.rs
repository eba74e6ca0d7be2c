//! Where Iris dials.

use std::{net::SocketAddr, path::PathBuf};

use super::{DestinationRules, HostPort, IdentityId, ServerNameRule, TlsPolicy, TrustId, Unit};

/// One upstream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpstreamPlan {
    /// Its name, which is also its `component` label.
    pub name: String,
    /// What is dialled, and how.
    pub end: UpstreamEnd,
    /// Each stream to it begins with a header of the PROXY protocol, version 2.
    pub proxy_header: bool,
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
    /// `tls://`
    Tls {
        /// Where to.
        to: HostPort,
        /// How it is secured.
        tls: UpstreamTls,
    },
    /// `tcp://`
    Tcp(SocketAddr),
    /// `unix:`
    Unix(PathBuf),
}

impl UpstreamEnd {
    /// Its TLS. `None` where it is plaintext.
    pub fn tls(&self) -> Option<&UpstreamTls> {
        match self {
            Self::Quic { tls, .. } | Self::Tls { tls, .. } => Some(tls),
            Self::LoopbackQuic(_) | Self::Tcp(_) | Self::Unix(_) => None,
        }
    }

    /// What one connection to it carries.
    pub fn unit(&self) -> Unit {
        match self {
            Self::Quic { .. } | Self::LoopbackQuic(_) => Unit::Session,
            Self::Tls { .. } | Self::Tcp(_) | Self::Unix(_) => Unit::Stream,
        }
    }
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
    /// The application protocols that are offered, in order of preference. Empty: those that the other side agreed on or,
    /// when it is a component over loopback QUIC, offers.
    pub alpn: Vec<Vec<u8>>,
    /// Versions, suites and groups.
    pub policy: TlsPolicy,
}

/// How a peer's certificate is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verification {
    /// Its chain must reach an anchor of this bundle and it must bear the server name.
    Trust(TrustId),
    /// Not at all: `development.allow_unverified_peers` only.
    Disabled,
}
