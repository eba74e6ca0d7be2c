//! The handles of one material in one role.

use std::time::{SystemTime, UNIX_EPOCH};

use prometheus::{Gauge, IntCounter, IntGauge};

use super::families::Families;
use crate::observe::labels::{Label, Material, MaterialState, ReloadResult};

/// Counters and gauges of one material in one role of a component.
#[derive(Debug)]
pub struct RoleMetrics {
    success: IntCounter,
    rejected: IntCounter,
    candidate_rejected: IntGauge,
    states: Vec<IntGauge>,
    expiry: Gauge,
    last_success: Gauge,
}

impl RoleMetrics {
    pub(super) fn new(families: &Families, component: &str, material: Material) -> Self {
        let material = material.as_str();
        let reloads =
            |result: ReloadResult| families.reloads.with_label_values(&[component, material, result.as_str()]);
        Self {
            success: reloads(ReloadResult::Success),
            rejected: reloads(ReloadResult::Rejected),
            candidate_rejected: families.candidate_rejected.with_label_values(&[component, material]),
            states: MaterialState::ALL
                .iter()
                .map(|state| families.material_state.with_label_values(&[component, material, state.as_str()]))
                .collect(),
            expiry: families.expiry.with_label_values(&[component, material]),
            last_success: families.last_success.with_label_values(&[component, material]),
        }
    }

    pub(in crate::observe) fn count(&self, result: ReloadResult) {
        match result {
            ReloadResult::Success => self.success.inc(),
            ReloadResult::Rejected => self.rejected.inc(),
        }
    }

    pub(in crate::observe) fn set_candidate_rejected(&self, rejected: bool) {
        self.candidate_rejected.set(i64::from(rejected));
    }

    pub(in crate::observe) fn set_state(&self, state: MaterialState) {
        for value in MaterialState::ALL {
            self.states[value.index()].set(i64::from(*value == state));
        }
    }

    pub(in crate::observe) fn set_in_use(&self, expires: SystemTime, since: SystemTime) {
        self.expiry.set(unix_seconds(expires));
        self.last_success.set(unix_seconds(since));
    }
}

/// Seconds since 1970, negative before.
pub(super) fn unix_seconds(time: SystemTime) -> f64 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(since) => since.as_secs_f64(),
        Err(before) => -before.duration().as_secs_f64(),
    }
}
