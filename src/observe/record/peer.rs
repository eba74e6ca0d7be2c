//! What a peer says of itself, and as much of it as may be shown.

use crate::observe::escape;

/// What is known of the accepted side. All of it comes from peers and is bounded and escaped before it is shown.
#[derive(Debug, Clone, Default)]
pub struct PeerFacts {
    /// The server name that it asked for.
    pub server_name: Option<String>,
    /// The application protocol that was agreed.
    pub alpn: Option<Vec<u8>>,
    /// The names in its certificate.
    pub names: Vec<String>,
    /// The destination that it asked for.
    pub destination: Option<String>,
}

/// Peer facts as they may be shown.
pub(super) struct Shown {
    pub(super) server_name: Option<String>,
    pub(super) alpn: Option<String>,
    pub(super) names: Option<String>,
    pub(super) destination: Option<String>,
}

impl Shown {
    pub(super) fn of(facts: &PeerFacts) -> Self {
        Self {
            server_name: facts.server_name.as_deref().map(|name| escape::text(name, escape::NAME)),
            alpn: facts.alpn.as_deref().map(|alpn| escape::bytes(alpn, escape::NAME)),
            names: (!facts.names.is_empty()).then(|| escape::names(&facts.names)),
            destination: facts.destination.as_deref().map(|name| escape::text(name, escape::NAME)),
        }
    }
}
