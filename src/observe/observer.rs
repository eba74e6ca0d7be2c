//! The one object that a process is observed by.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Instant, SystemTime},
};

use super::{
    Component, ComponentSetup,
    component::Kind,
    labels::ReloadResult,
    limit::PeerLines,
    lock,
    metrics::Metrics,
    ready::{Phase, Readiness},
    standing::EXPIRING_AT,
    status::{ComponentRow, ConnectionsRow, MaterialFacts, Status},
};

/// What an [`Observer`] is told before the start.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Where Iris accepts, indexed as in the plan.
    pub listeners: Vec<ComponentSetup>,
    /// Where Iris dials, indexed as in the plan.
    pub upstreams: Vec<ComponentSetup>,
    /// Whether the configuration permits what no production system should.
    pub development: bool,
    /// The part of a life left at which `expiring` begins: 0.2 unless configured.
    pub expiring_share: f64,
}

impl Default for Setup {
    fn default() -> Self {
        Self { listeners: Vec::new(), upstreams: Vec::new(), development: false, expiring_share: EXPIRING_AT }
    }
}

/// Metrics, readiness and status of one process.
#[derive(Debug)]
pub struct Observer {
    metrics: Metrics,
    listeners: Vec<Arc<Component>>,
    upstreams: Vec<Arc<Component>>,
    development: bool,
    expiring_share: f64,
    started: Instant,
    generation: AtomicU64,
    phase: Mutex<Phase>,
    materials: Mutex<Vec<MaterialFacts>>,
    lines: Arc<PeerLines>,
}

impl Observer {
    /// Every series exists from here on; nothing is ready yet.
    pub fn new(setup: Setup) -> Arc<Self> {
        let metrics = Metrics::new(env!("CARGO_PKG_VERSION"), setup.development);
        let lines = Arc::new(PeerLines::default());
        let component = |kind: Kind, one: ComponentSetup| {
            let lines = Arc::clone(&lines);
            Arc::new(Component::new(&metrics, kind, one, setup.expiring_share, lines))
        };
        let listeners = setup.listeners.into_iter().map(|listener| component(Kind::Listener, listener)).collect();
        let upstreams = setup.upstreams.into_iter().map(|upstream| component(Kind::Upstream, upstream)).collect();
        Arc::new(Self {
            listeners,
            upstreams,
            development: setup.development,
            expiring_share: setup.expiring_share,
            started: Instant::now(),
            generation: AtomicU64::new(1),
            phase: Mutex::new(Phase::Starting),
            materials: Mutex::default(),
            lines,
            metrics,
        })
    }

    /// The listener at this position of the plan.
    pub fn listener(&self, position: usize) -> &Arc<Component> {
        &self.listeners[position]
    }

    /// The upstream at this position of the plan.
    pub fn upstream(&self, position: usize) -> &Arc<Component> {
        &self.upstreams[position]
    }

    /// Listeners, then upstreams.
    pub fn components(&self) -> impl Iterator<Item = &Arc<Component>> {
        self.listeners.iter().chain(&self.upstreams)
    }

    /// Metrics of the process that belong to no component.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// The process enters this phase. It never goes back: a late call for an earlier phase changes nothing.
    pub fn enter(&self, phase: Phase) {
        let mut current = lock(&self.phase);
        *current = phase.max(*current);
    }

    /// A new configuration runs, or was refused and the old one does.
    pub fn config_reloaded(&self, result: ReloadResult) {
        self.metrics.config_reloaded(result);
        if result == ReloadResult::Success {
            self.generation.fetch_add(1, Relaxed);
        }
    }

    /// What is told of all materials, in place of what was told before.
    pub fn set_materials(&self, materials: Vec<MaterialFacts>) {
        *lock(&self.materials) = materials;
    }

    /// Whether the process takes work at `now`, and what stands in the way.
    pub fn readiness(&self, now: SystemTime) -> Readiness {
        let components = self.components().map(|component| component.readiness(now)).collect();
        Readiness { phase: *lock(&self.phase), components }
    }

    /// All metrics in the text exposition format, those that follow the wall clock as of `now`.
    pub fn expose(&self, now: SystemTime) -> String {
        self.refresh(now);
        self.metrics.expose(now)
    }

    /// The body of `/status` as of `now`. Connections are told by who keeps them.
    pub fn status(&self, now: SystemTime, connections: ConnectionsRow) -> Status {
        let readiness = self.readiness(now);
        let rows = |components: &[Arc<Component>]| components.iter().map(|one| ComponentRow::of(one, now)).collect();
        Status {
            version: env!("CARGO_PKG_VERSION"),
            uptime_seconds: self.started.elapsed().as_secs(),
            clock: super::status::rfc3339(now),
            development: self.development,
            generation: self.generation.load(Relaxed),
            ready: readiness.is_ready(),
            reasons: readiness.reasons(),
            listeners: rows(&self.listeners),
            upstreams: rows(&self.upstreams),
            materials: lock(&self.materials).iter().map(|facts| facts.row(now, self.expiring_share)).collect(),
            connections,
        }
    }

    /// To be called about once a second: logs what was left out of the log, and components that became ready or are no
    /// longer, also by the wall clock alone.
    pub fn tick(&self, now: SystemTime) {
        self.lines.tell(false);
        for component in self.components() {
            component.tell(now);
        }
    }

    /// To be called when everything has ended: says the rest of what was left out of the log.
    pub fn finish(&self) {
        self.lines.tell(true);
    }

    fn refresh(&self, now: SystemTime) {
        for component in self.components() {
            component.refresh(now);
        }
    }
}
