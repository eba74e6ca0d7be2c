//! What each identity is used for, so that its usage extensions can be checked against that.

use crate::plan::{IdentityId, ListenerEnd, ListenerTls, Plan, UpstreamEnd, UpstreamTls};

/// The uses of an identity.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Roles {
    /// A listener shows it.
    pub server: bool,
    /// An upstream shows it.
    pub client: bool,
}

impl Roles {
    /// The uses of one identity in a plan.
    pub fn of(plan: &Plan, id: IdentityId) -> Self {
        Self {
            server: plan.listeners.iter().filter_map(|l| listener_tls(&l.end)).any(|tls| tls.identities.contains(&id)),
            client: plan.upstreams.iter().filter_map(|u| upstream_tls(&u.end)).any(|tls| tls.identity == Some(id)),
        }
    }
}

/// TLS of an accepting end, if it is secured.
pub fn listener_tls(end: &ListenerEnd) -> Option<&ListenerTls> {
    match end {
        ListenerEnd::Quic(tls) => Some(tls),
        ListenerEnd::LoopbackQuic => None,
    }
}

/// TLS of an opening end, if it is secured.
pub fn upstream_tls(end: &UpstreamEnd) -> Option<&UpstreamTls> {
    match end {
        UpstreamEnd::Quic { tls, .. } => Some(tls),
        UpstreamEnd::LoopbackQuic(_) => None,
    }
}
