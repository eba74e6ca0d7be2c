//! What each identity is used for, so that its usage extensions can be checked against that.

use crate::plan::{
    ClientAuth, IdentityId, ListenerEnd, ListenerTls, Plan, TrustId, UpstreamEnd, UpstreamTls, Verification,
};

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

/// Whether anything judges peers by this bundle.
pub fn trust_is_used(plan: &Plan, id: TrustId) -> bool {
    let by_listener = plan.listeners.iter().any(|listener| {
        let routes = listener.routes.iter().filter_map(|route| route.client_auth.as_ref());
        let own = listener_tls(&listener.end).and_then(|tls| tls.client_auth.as_ref());
        routes.chain(own).any(|auth: &ClientAuth| auth.trust == id)
    });
    by_listener
        || plan
            .upstreams
            .iter()
            .filter_map(|upstream| upstream_tls(&upstream.end))
            .any(|tls| tls.verification == Verification::Trust(id))
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
