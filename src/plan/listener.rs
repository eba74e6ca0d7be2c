//! Where Iris accepts.

use std::time::Duration;

use super::{ClientAuthMode, DnsPattern, IdentityId, NamePatterns, Place, TlsPolicy, TrustId, Unit, UpstreamId};

/// One listener.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListenerPlan {
    /// Its name, which is also its `component` label.
    pub name: String,
    /// What to bind.
    pub place: Place,
    /// What it speaks.
    pub end: ListenerEnd,
    /// Silence after which a connection is closed. `None`: never, which is the only choice where the transport has an
    /// idle timeout of its own.
    pub idle_timeout: Option<Duration>,
    /// Tried in order; the first that fits decides.
    pub routes: Vec<RoutePlan>,
}

/// What a listener speaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListenerEnd {
    /// `quic://`
    Quic(ListenerTls),
    /// `quic+plaintext://`
    LoopbackQuic,
    /// `tls://`
    Tls(ListenerTls),
    /// `tcp://`
    Tcp,
    /// `unix:`
    Unix {
        /// The mode of the socket, as `chmod` takes it.
        mode: u32,
    },
}

impl ListenerEnd {
    /// Its TLS. `None` where it is plaintext.
    pub fn tls(&self) -> Option<&ListenerTls> {
        match self {
            Self::Quic(tls) | Self::Tls(tls) => Some(tls),
            Self::LoopbackQuic | Self::Tcp | Self::Unix { .. } => None,
        }
    }

    /// What one of its connections carries.
    pub fn unit(&self) -> Unit {
        match self {
            Self::Quic(_) | Self::LoopbackQuic => Unit::Session,
            Self::Tls(_) | Self::Tcp | Self::Unix { .. } => Unit::Stream,
        }
    }
}

/// TLS of an accepting end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListenerTls {
    /// Chosen by SNI against the certificates' names; the first is the default. Never empty.
    pub identities: Vec<IdentityId>,
    /// Application protocols.
    pub alpn: AlpnPolicy,
    /// Whether peers must show a certificate.
    pub client_auth: Option<ClientAuth>,
    /// Versions, suites and groups.
    pub policy: TlsPolicy,
}

/// Which application protocols a listener takes (RFC 7301).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AlpnPolicy {
    /// Peers that offer none are taken.
    pub none: bool,
    /// Protocols in order of preference. A peer that offers some must share one.
    pub protocols: Vec<Vec<u8>>,
}

/// Client authentication.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientAuth {
    /// Anchors that a peer's chain must reach.
    pub trust: TrustId,
    /// Whether a peer may come without a certificate.
    pub mode: ClientAuthMode,
    /// Names of which the peer's certificate must bear one. `None`: any name.
    pub allow: Option<NamePatterns>,
}

/// One rule of a listener that names an upstream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoutePlan {
    /// The server name that the peer (or component) asked for. `None`: any, also none at all.
    pub sni: Option<DnsPattern>,
    /// Client authentication of this route in place of the listener's.
    pub client_auth: Option<ClientAuth>,
    /// Where it leads.
    pub upstream: UpstreamId,
}

impl ListenerPlan {
    /// Its own client authentication and that of its routes, as far as there is any.
    pub fn client_auths(&self) -> impl Iterator<Item = &ClientAuth> {
        let own = self.end.tls().and_then(|tls| tls.client_auth.as_ref());
        own.into_iter().chain(self.routes.iter().filter_map(|route| route.client_auth.as_ref()))
    }

    /// The first route that fits a requested server name, with its position.
    pub fn route_for(&self, server_name: Option<&str>) -> Option<(usize, &RoutePlan)> {
        self.routes.iter().enumerate().find(|(_, route)| match (&route.sni, server_name) {
            (None, _) => true,
            (Some(pattern), Some(name)) => pattern.matches(name),
            (Some(_), None) => false,
        })
    }
}
