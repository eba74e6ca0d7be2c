//! Every metric of the process, in a registry of its own. The only place that names `prometheus`.
//!
//! A component's handles are looked up once, when it is made, so that counting costs one atomic addition. Each series
//! exists from the start, and no label value comes from anything but the configuration's names and the closed sets of
//! [`labels`](super::labels): what peers send can never make a series. `docs/metrics.md` describes each, and a test
//! compares it with this module.

mod component;
mod families;
mod role;

use std::{fmt, time::SystemTime};

use prometheus::{Registry, TextEncoder};

pub use component::{ComponentMetrics, PendingRecycle};
pub use role::RoleMetrics;

use self::families::Families;
use super::{
    component::Kind,
    labels::{Label, Material, ReloadResult, Transport},
};

/// The content type of what [`Observer::expose`](super::Observer::expose) returns.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The metrics of one process.
pub struct Metrics {
    registry: Registry,
    families: Families,
}

impl Metrics {
    /// A registry with every family in it. `development` is what `iris_development_mode` says for the life of the
    /// process.
    pub fn new(version: &str, development: bool) -> Self {
        let registry = Registry::new();
        let families = Families::register(&registry);
        families.build_info.with_label_values(&[version]).set(1);
        families.development_mode.set(i64::from(development));
        for result in ReloadResult::ALL {
            families.config_reloads.with_label_values(&[result.as_str()]);
        }
        Self { registry, families }
    }

    /// The handles of a listener or an upstream; its series exist from here on.
    pub fn component(&self, kind: Kind, name: &str, transport: Transport) -> ComponentMetrics {
        ComponentMetrics::new(&self.families, kind, name, transport)
    }

    /// The handles of one material in one role of a component; its series exist from here on.
    pub fn role(&self, component: &str, material: Material) -> RoleMetrics {
        RoleMetrics::new(&self.families, component, material)
    }

    /// Whether file events arrive; without them the poll still finds every change.
    pub fn set_watcher_up(&self, up: bool) {
        self.families.watcher_up.set(i64::from(up));
    }

    /// Counts a reload of the configuration.
    pub fn config_reloaded(&self, result: ReloadResult) {
        self.families.config_reloads.with_label_values(&[result.as_str()]).inc();
    }

    /// Everything in the text exposition format 0.0.4. What follows the wall clock must be refreshed before; see
    /// [`Observer::expose`](super::Observer::expose).
    pub(super) fn expose(&self, now: SystemTime) -> String {
        self.families.clock.set(role::unix_seconds(now));
        // Encoding to a string fails only for a family without samples, which `gather` leaves out.
        TextEncoder::new().encode_to_string(&self.registry.gather()).unwrap_or_default()
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}
