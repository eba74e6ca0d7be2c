//! Which generations a connection stands on.

use crate::{
    material::{Authority, Generation, Identity},
    plan::{IdentityId, TrustId},
};

/// The generations under which a connection was made, each with its sequence number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Standing {
    /// The identity that we showed or would have shown.
    pub identity: Option<(IdentityId, u64)>,
    /// The bundle by which the peer was judged.
    pub trust: Option<(TrustId, u64)>,
    /// The revocation lists beside that bundle.
    pub revocation: Option<(TrustId, u64)>,
    /// [`Authority::contractions`] when the peer was judged.
    pub contractions: u64,
}

impl Standing {
    /// On an identity and an authority.
    pub(crate) fn new(
        identity: Option<(IdentityId, &Generation<Identity>)>,
        authority: Option<(TrustId, &Authority)>,
    ) -> Self {
        Self {
            identity: identity.map(|(id, generation)| (id, generation.sequence)),
            trust: authority.map(|(id, authority)| (id, authority.trust().sequence)),
            contractions: authority.map_or(0, |(_, authority)| authority.contractions()),
            revocation: authority.and_then(|(id, authority)| authority.revocation().map(|lists| (id, lists.sequence))),
        }
    }
}
