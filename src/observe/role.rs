//! One material in one role of a component: its series, and whether it makes the component ready.

use std::{sync::Mutex, time::SystemTime};

use super::{
    labels::{Material, MaterialState, ReloadResult},
    lock,
    metrics::RoleMetrics,
    standing::{Lifetime, Standing},
};

/// One material in one role of a listener or upstream.
///
/// What follows the wall clock (state, readiness) is worked out when it is asked for, so an end needs no file event and
/// no timer (`iris_tls_material_state`, `/readyz`).
#[derive(Debug)]
pub struct Role {
    material: Material,
    metrics: RoleMetrics,
    expiring_share: f64,
    standing: Mutex<Standing>,
}

impl Role {
    pub(super) fn new(material: Material, metrics: RoleMetrics, expiring_share: f64) -> Self {
        metrics.set_state(MaterialState::InitialFailed);
        Self { material, metrics, expiring_share, standing: Mutex::default() }
    }

    /// Which material this is.
    pub fn material(&self) -> Material {
        self.material
    }

    /// The first load, at start. Not counted as a reload.
    pub fn loaded(&self, life: Lifetime, now: SystemTime) {
        self.activate(life, now);
    }

    /// A new generation is in use, also when it is the first after a start without any.
    pub fn reloaded(&self, life: Lifetime, now: SystemTime) {
        self.metrics.count(ReloadResult::Success);
        self.activate(life, now);
    }

    /// What is in use is the same, and lasts otherwise than it did: what it is used with has changed. Does nothing while
    /// nothing is in use.
    pub fn lasts(&self, life: Lifetime) {
        if let Some(in_use) = &mut lock(&self.standing).in_use {
            *in_use = life;
        }
    }

    /// What is on disk is refused; what is in use stays. Called once for each distinct content, since it counts.
    /// `reason` is for people, without secrets.
    pub fn rejected(&self, reason: &str) {
        self.metrics.count(ReloadResult::Rejected);
        self.still_rejected(reason);
    }

    /// What is on disk is refused, and that was counted already.
    pub fn still_rejected(&self, reason: &str) {
        self.metrics.set_candidate_rejected(true);
        let mut standing = lock(&self.standing);
        standing.refused = Some(reason.to_owned());
        standing.held_until = None;
    }

    /// What is on disk is what is in use again, so nothing is refused or held.
    pub fn settled(&self) {
        self.metrics.set_candidate_rejected(false);
        let mut standing = lock(&self.standing);
        standing.refused = None;
        standing.held_until = None;
    }

    /// What is on disk is good and starts at `until`.
    pub fn held(&self, until: SystemTime) {
        self.metrics.set_candidate_rejected(false);
        let mut standing = lock(&self.standing);
        standing.refused = None;
        standing.held_until = Some(until);
    }

    /// How it stands at `now`.
    pub fn state(&self, now: SystemTime) -> MaterialState {
        lock(&self.standing).state(now, self.expiring_share)
    }

    /// Why the role cannot be filled at `now`; `None` when it can.
    pub fn unusable(&self, now: SystemTime) -> Option<String> {
        lock(&self.standing).unusable(now)
    }

    /// Brings the gauges that follow the wall clock up to `now`.
    pub(super) fn refresh(&self, now: SystemTime) {
        self.metrics.set_state(self.state(now));
    }

    fn activate(&self, life: Lifetime, now: SystemTime) {
        self.metrics.set_in_use(life.first_end, now);
        self.metrics.set_candidate_rejected(false);
        *lock(&self.standing) = Standing { in_use: Some(life), held_until: None, refused: None };
        self.refresh(now);
    }
}
