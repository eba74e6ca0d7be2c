//! How a material stands at a moment: one rule for metrics, readiness and status, so that they cannot disagree.

use std::time::{Duration, SystemTime};

use super::labels::MaterialState;

/// The part of a certificate's life left at which `expiring` begins, unless the configuration says otherwise.
pub const EXPIRING_AT: f64 = 0.2;

/// When something in use begins and ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lifetime {
    /// Its start.
    pub begins: SystemTime,
    /// The first end of any of its parts: of a chain's certificates, of a bundle's anchors. Shown as the expiry.
    pub first_end: SystemTime,
    /// From here on nothing of it is usable. A chain ends with its first part, a bundle with its last anchor.
    pub last_end: SystemTime,
    /// From here on a role that needs it cannot be filled. `None`: it still serves when it is over, as a revocation list
    /// does, whose serials stay refused.
    pub unusable_from: Option<SystemTime>,
}

impl Lifetime {
    /// Something that ends as a whole.
    pub fn whole(begins: SystemTime, ends: SystemTime) -> Self {
        Self { begins, first_end: ends, last_end: ends, unusable_from: Some(ends) }
    }

    /// The same, of no use from another moment on than its end.
    #[must_use]
    pub fn unusable_from(self, from: Option<SystemTime>) -> Self {
        Self { unusable_from: from, ..self }
    }

    /// Both together: what a listener with several identities shows.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            begins: self.begins.max(other.begins),
            first_end: self.first_end.min(other.first_end),
            last_end: self.last_end.min(other.last_end),
            unusable_from: [self.unusable_from, other.unusable_from].into_iter().flatten().min(),
        }
    }

    /// When `expiring` begins: `share` of the life before its first end.
    fn expiring_from(&self, share: f64) -> SystemTime {
        let life = self.first_end.duration_since(self.begins).unwrap_or(Duration::ZERO);
        self.first_end.checked_sub(life.mul_f64(share.clamp(0.0, 1.0))).unwrap_or(self.begins)
    }
}

/// What is known of one material.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Standing {
    /// What is in use.
    pub in_use: Option<Lifetime>,
    /// A replacement waits for this moment, its start.
    pub held_until: Option<SystemTime>,
    /// Why what is on disk is refused, in words for a person.
    pub refused: Option<String>,
}

impl Standing {
    /// The one state that is true at `now`. An end outweighs a replacement that waits, and that outweighs a near end.
    pub fn state(&self, now: SystemTime, expiring_share: f64) -> MaterialState {
        match (&self.in_use, self.held_until) {
            (None, Some(_)) => MaterialState::Held,
            (None, None) => MaterialState::InitialFailed,
            (Some(life), _) if now >= life.last_end => MaterialState::Expired,
            (Some(_), Some(_)) => MaterialState::Held,
            (Some(life), None) if now >= life.expiring_from(expiring_share) => MaterialState::Expiring,
            (Some(_), None) => MaterialState::Active,
        }
    }

    /// Why the material cannot be used at `now`; `None` when it can.
    pub fn unusable(&self, now: SystemTime) -> Option<String> {
        let refused = |otherwise: &str| match &self.refused {
            Some(reason) => format!("{otherwise}; what is on disk is refused: {reason}"),
            None => otherwise.to_owned(),
        };
        match (&self.in_use, self.held_until) {
            (None, Some(_)) => Some("what is on disk starts in the future".to_owned()),
            (None, None) => Some(refused("never loaded")),
            (Some(life), _) if life.unusable_from.is_some_and(|from| now >= from) => Some(refused("expired")),
            (Some(_), _) => None,
        }
    }
}
