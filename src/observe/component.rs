//! One listener or upstream as it is observed.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    ops::Deref,
    sync::{Arc, Mutex},
    time::SystemTime,
};

use super::{
    labels::{Label, Material, Transport},
    limit::PeerLines,
    lock,
    metrics::{ComponentMetrics, Metrics},
    ready::{ComponentReadiness, Condition},
    role::Role,
};

/// The condition of a listener that its socket is bound.
const BOUND: &str = "bound";

/// Which of the two a component is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Iris accepts there. Not ready until its socket is bound.
    Listener,
    /// Iris dials it.
    Upstream,
}

/// What an [`Observer`](super::Observer) is told of a listener or upstream before the start.
#[derive(Debug, Clone)]
pub struct ComponentSetup {
    /// Its name: the label `component`.
    pub name: String,
    /// What it is carried by.
    pub transport: Transport,
    /// Its address as configured, for the status.
    pub address: String,
    /// The materials that it needs, one for each role.
    pub materials: Vec<Material>,
}

/// One listener or upstream: its metrics, its roles and what keeps it from being ready. Counting methods are those of
/// [`ComponentMetrics`].
#[derive(Debug)]
pub struct Component {
    name: String,
    kind: Kind,
    transport: Transport,
    address: String,
    metrics: ComponentMetrics,
    roles: Vec<Role>,
    bound: Mutex<Option<SocketAddr>>,
    obstacles: Mutex<BTreeMap<&'static str, String>>,
    /// What was last told: `Some` when it was not ready.
    told: Mutex<Option<String>>,
    lines: Arc<PeerLines>,
}

impl Component {
    pub(super) fn new(
        metrics: &Metrics,
        kind: Kind,
        setup: ComponentSetup,
        expiring_share: f64,
        lines: Arc<PeerLines>,
    ) -> Self {
        let roles = setup
            .materials
            .iter()
            .map(|material| Role::new(*material, metrics.role(&setup.name, *material), expiring_share))
            .collect();
        let unbound = (kind == Kind::Listener).then(|| (BOUND, "no socket yet".to_owned()));
        Self {
            metrics: metrics.component(kind, &setup.name, setup.transport),
            name: setup.name,
            kind,
            transport: setup.transport,
            address: setup.address,
            roles,
            bound: Mutex::default(),
            obstacles: Mutex::new(unbound.into_iter().collect()),
            told: Mutex::default(),
            lines,
        }
    }

    /// Its name: the label `component`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is carried by.
    pub fn transport(&self) -> Transport {
        self.transport
    }

    /// Its address as configured.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The role that this material has in it; `None` when it needs none of the kind.
    pub fn role(&self, material: Material) -> Option<&Role> {
        self.roles.iter().find(|role| role.material() == material)
    }

    /// All its roles.
    pub fn roles(&self) -> &[Role] {
        &self.roles
    }

    /// The listener's socket is bound here.
    pub fn set_bound(&self, address: SocketAddr) {
        *lock(&self.bound) = Some(address);
        self.clear_obstacle(BOUND);
    }

    /// The listener's socket is bound to the path of its configuration.
    pub fn set_bound_to_path(&self) {
        self.clear_obstacle(BOUND);
    }

    /// Where the listener's socket is bound. `None` while it is not, and where it is bound to a path.
    pub fn bound(&self) -> Option<SocketAddr> {
        *lock(&self.bound)
    }

    /// Something keeps the component from its work until [`clear_obstacle`](Self::clear_obstacle) is called with the
    /// same condition. `why` is for people, without secrets.
    pub fn set_obstacle(&self, condition: &'static str, why: &str) {
        lock(&self.obstacles).insert(condition, why.to_owned());
    }

    /// The condition holds again.
    pub fn clear_obstacle(&self, condition: &'static str) {
        lock(&self.obstacles).remove(condition);
    }

    /// Every condition at `now`.
    pub fn readiness(&self, now: SystemTime) -> ComponentReadiness {
        let obstacles = lock(&self.obstacles);
        let bound = (self.kind == Kind::Listener).then_some(Condition { name: BOUND, unmet: None });
        let others = obstacles.iter().map(|(name, why)| Condition { name, unmet: Some(why.clone()) });
        let roles =
            self.roles.iter().map(|role| Condition { name: role.material().as_str(), unmet: role.unusable(now) });
        let conditions =
            bound.filter(|_| !obstacles.contains_key(BOUND)).into_iter().chain(others).chain(roles).collect();
        ComponentReadiness { name: self.name.clone(), conditions }
    }

    /// The limiter of lines that peers cause.
    pub(super) fn lines(&self) -> &PeerLines {
        &self.lines
    }

    /// Logs that the component became ready, or is not, when that differs from what was told before.
    pub(super) fn tell(&self, now: SystemTime) {
        let reason = self.readiness(now).reason();
        let before = std::mem::replace(&mut *lock(&self.told), reason.clone());
        match reason {
            Some(why) if before.as_ref() != Some(&why) => {
                tracing::warn!(component = self.name, reason = why, "component is not ready");
            }
            None if before.is_some() => tracing::info!(component = self.name, "component is ready"),
            _ => {}
        }
    }

    /// Brings the gauges that follow the wall clock up to `now`.
    pub(super) fn refresh(&self, now: SystemTime) {
        for role in &self.roles {
            role.refresh(now);
        }
        self.metrics.set_ready(self.readiness(now).is_ready());
    }
}

impl Deref for Component {
    type Target = ComponentMetrics;

    fn deref(&self) -> &ComponentMetrics {
        &self.metrics
    }
}
