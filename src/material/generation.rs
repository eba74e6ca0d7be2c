//! Generations: validated, immutable snapshots, numbered a material.

use std::{collections::BTreeMap, sync::Arc, time::SystemTime};

use super::{
    authority::Authority, identity::Identity, reason::Rejection, revocation::RevocationLists, trust::TrustBundle,
};
use crate::plan::{IdentityId, Plan, TrustId};

/// One validated, immutable snapshot of a material.
#[derive(Debug, Clone)]
pub struct Generation<T> {
    /// Counted from 1 for each material.
    pub sequence: u64,
    /// How many of them, this one included, no longer accepted something that their predecessor accepted. Whoever was
    /// judged under a smaller number must be judged again.
    pub contractions: u64,
    /// What was read and checked.
    pub value: T,
    /// When it was read.
    pub read_at: SystemTime,
}

/// One material of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MaterialId {
    /// An identity.
    Identity(IdentityId),
    /// The anchors of a trust bundle.
    Trust(TrustId),
    /// The revocation lists beside a trust bundle.
    Revocation(TrustId),
}

impl MaterialId {
    /// Every material of a plan, in the order in which they depend on one another: expectations name bundles, and
    /// revocation lists are judged by their bundle's anchors.
    pub fn all(plan: &Plan) -> impl Iterator<Item = Self> {
        let trust = (0..plan.trust.len()).map(|id| Self::Trust(TrustId(id)));
        let lists = (0..plan.trust.len())
            .filter(|id| !plan.trust[*id].revocation_lists.is_empty())
            .map(|id| Self::Revocation(TrustId(id)));
        let identities = (0..plan.identities.len()).map(|id| Self::Identity(IdentityId(id)));
        trust.chain(lists).chain(identities)
    }

    /// The name in the configuration.
    pub fn name(self, plan: &Plan) -> &str {
        match self {
            Self::Identity(id) => &plan.identity(id).name,
            Self::Trust(id) | Self::Revocation(id) => &plan.trust(id).name,
        }
    }
}

/// What is in use of every material of a plan, and what was refused. Immutable: a reload makes the next one of it.
#[derive(Debug, Clone, Default)]
pub struct Generations {
    identities: BTreeMap<IdentityId, Arc<Generation<Identity>>>,
    trust: BTreeMap<TrustId, Arc<Generation<TrustBundle>>>,
    revocation: BTreeMap<TrustId, Arc<Generation<RevocationLists>>>,
    rejections: BTreeMap<MaterialId, Rejection>,
}

/// One material, read and found good.
#[derive(Debug)]
pub enum Built {
    /// An identity.
    Identity(Identity),
    /// The anchors of a bundle.
    Trust(TrustBundle),
    /// Revocation lists.
    Revocation(RevocationLists),
}

impl Generations {
    /// The identity in use, if any.
    pub fn identity(&self, id: IdentityId) -> Option<&Arc<Generation<Identity>>> {
        self.identities.get(&id)
    }

    /// The anchors in use, if any.
    pub fn trust(&self, id: TrustId) -> Option<&Arc<Generation<TrustBundle>>> {
        self.trust.get(&id)
    }

    /// The revocation lists in use, if any.
    pub fn revocation(&self, id: TrustId) -> Option<&Arc<Generation<RevocationLists>>> {
        self.revocation.get(&id)
    }

    /// Why what lies on disk now is not in use.
    pub fn rejection(&self, id: MaterialId) -> Option<&Rejection> {
        self.rejections.get(&id)
    }

    /// Every refusal.
    pub fn rejections(&self) -> impl Iterator<Item = (MaterialId, &Rejection)> {
        self.rejections.iter().map(|(id, rejection)| (*id, rejection))
    }

    /// Whom a role with this bundle believes. `None` while the bundle, or a revocation list that the plan names for it,
    /// is missing: without its list a bundle would believe too much.
    pub fn authority(&self, plan: &Plan, id: TrustId) -> Option<Authority> {
        let trust = self.trust(id)?.clone();
        let revocation = self.revocation(id).cloned();
        if revocation.is_none() && !plan.trust(id).revocation_lists.is_empty() {
            return None;
        }
        Some(Authority::new(&plan.trust(id).name, trust, revocation))
    }

    /// These, with `outcome` in place of what there was of one material: a good one is its next generation, a refusal
    /// stands beside the last good one.
    pub fn record(&mut self, id: MaterialId, outcome: Result<Built, Rejection>, read_at: SystemTime) {
        match (id, outcome) {
            (id, Err(rejection)) => {
                self.rejections.insert(id, rejection);
                return;
            }
            (MaterialId::Identity(id), Ok(Built::Identity(value))) => {
                advance(&mut self.identities, id, value, read_at, |_, _| false);
            }
            (MaterialId::Trust(id), Ok(Built::Trust(value))) => {
                advance(&mut self.trust, id, value, read_at, TrustBundle::contracts_to);
            }
            (MaterialId::Revocation(id), Ok(Built::Revocation(value))) => {
                advance(&mut self.revocation, id, value, read_at, RevocationLists::contracts_to);
            }
            (id, Ok(_)) => unreachable!("{id:?} was built as another kind"),
        }
        self.rejections.remove(&id);
    }

    /// What lies on disk is what is in use: nothing of this material is refused.
    pub fn settle(&mut self, id: MaterialId) {
        self.rejections.remove(&id);
    }
}

fn advance<K: Ord, T>(
    slots: &mut BTreeMap<K, Arc<Generation<T>>>,
    id: K,
    value: T,
    read_at: SystemTime,
    contracts: impl Fn(&T, &T) -> bool,
) {
    let (sequence, contractions) = match slots.get(&id) {
        None => (1, 0),
        Some(last) => (last.sequence + 1, last.contractions + u64::from(contracts(&last.value, &value))),
    };
    slots.insert(id, Arc::new(Generation { sequence, contractions, value, read_at }));
}
