//! Where Iris accepts.

use std::net::SocketAddr;

use super::{ClientAuthMode, DnsPattern, IdentityId, NamePatterns, TrustId, UpstreamId};

/// One listener.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListenerPlan {
    /// Its name, which is also its `component` label.
    pub name: String,
    /// The address to bind. Port 0 takes a free one.
    pub address: SocketAddr,
    /// What it speaks.
    pub end: ListenerEnd,
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
        let own = match &self.end {
            ListenerEnd::Quic(tls) => tls.client_auth.as_ref(),
            ListenerEnd::LoopbackQuic => None,
        };
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
