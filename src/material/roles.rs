//! What each identity is used for, so that its usage extensions can be checked against that.

use crate::plan::{IdentityId, Plan};

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
            server: plan.listeners.iter().filter_map(|l| l.end.tls()).any(|tls| tls.identities.contains(&id)),
            client: plan.upstreams.iter().filter_map(|u| u.end.tls()).any(|tls| tls.identity == Some(id)),
        }
    }
}
