//! When connections that were dialled under an earlier client identity must go.

use std::{
    collections::BTreeMap,
    time::{Duration, SystemTime},
};

use crate::{
    material::{Generation, Identity},
    plan::{IdentityId, Plan, UpstreamId},
    tls::Configs,
};

/// The bounds of the margin before an identity's end; within them it is a tenth of the identity's life.
const MARGIN: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(600));

/// The window for those that come too late for any other.
pub(super) const LATE: Duration = Duration::from_secs(2);

/// One generation of a client identity.
pub(super) type Shown = (IdentityId, u64);

/// The client identities that upstreams were dialled under, until each is retired.
#[derive(Debug, Default)]
pub(super) struct Retirements {
    /// Those in use, and earlier ones whose window has not begun.
    known: BTreeMap<Shown, Window>,
    /// The latest of each.
    current: BTreeMap<IdentityId, u64>,
}

/// When the connections under one generation are closed, by wall clock: well before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window {
    from: SystemTime,
    to: SystemTime,
}

impl Window {
    fn of(identity: &Generation<Identity>) -> Self {
        let facts = &identity.value.facts;
        let life = facts.not_after.duration_since(facts.not_before).unwrap_or_default();
        let margin = (life / 10).clamp(MARGIN.0, MARGIN.1);
        Self { from: facts.not_after - margin, to: facts.not_after - margin / 2 }
    }

    /// How long it still is at `now`.
    fn left(&self, now: SystemTime) -> Duration {
        self.to.duration_since(now).unwrap_or_default().max(LATE)
    }
}

impl Retirements {
    /// Takes note of the client identities of `configs`. Must see every publication.
    pub(super) fn note(&mut self, plan: &Plan, configs: &Configs) {
        let upstreams = (0..plan.upstreams.len()).filter_map(|id| configs.upstream(UpstreamId(id)));
        for (id, identity) in upstreams.filter_map(|upstream| upstream.identity()) {
            let current = self.current.entry(id).or_default();
            if *current < identity.sequence {
                *current = identity.sequence;
                self.known.insert((id, identity.sequence), Window::of(identity));
            }
        }
    }

    /// Whether an earlier identity waits for its window.
    pub(super) fn are_waited_for(&self) -> bool {
        self.known.len() > self.current.len()
    }

    /// The earlier identities whose window has begun, each with how long it still is. Each is told once.
    pub(super) fn begun(&mut self, now: SystemTime) -> Vec<(Shown, Duration)> {
        let current = &self.current;
        let begun: Vec<_> = self
            .known
            .iter()
            .filter(|(shown, window)| current[&shown.0] > shown.1 && window.from <= now)
            .map(|(shown, window)| (*shown, window.left(now)))
            .collect();
        for (shown, _) in &begun {
            self.known.remove(shown);
        }
        begun
    }

    /// Whether connections under this one have been told to go.
    pub(super) fn is_over(&self, shown: Shown) -> bool {
        self.current.get(&shown.0).is_some_and(|current| shown.1 < *current) && !self.known.contains_key(&shown)
    }
}
