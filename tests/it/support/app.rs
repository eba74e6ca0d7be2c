//! The app, as `iris run` runs it, on a thread of its own.

use std::{
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use iris::{
    app::Running,
    material::watch::Watching,
    observe::{Observer, Phase, status::ConnectionsRow},
    plan,
};

use super::{
    secrets,
    wait::{PATIENCE, until},
};

/// A running Iris. Dropping it drains it at once; what it has said until then is searched for secrets.
pub(crate) struct Iris(Running);

impl Iris {
    /// Runs what `yaml` says.
    pub(crate) fn start(yaml: &str) -> Self {
        Self::start_watching(yaml, Watching::Events)
    }

    /// Runs what `yaml` says, with or without file events.
    pub(crate) fn start_watching(yaml: &str, watching: Watching) -> Self {
        secrets::watch_log();
        let plan = plan::from_yaml(yaml).unwrap_or_else(|problems| panic!("{problems}\n{yaml}"));
        let iris = Self(Running::start_watching(plan, watching).unwrap());
        iris.wait_until_it_serves();
        iris
    }

    /// Its thread has its first turn when the machine has one for it.
    fn wait_until_it_serves(&self) {
        let began = Instant::now();
        while self.observer().readiness(SystemTime::now()).phase == Phase::Starting {
            assert!(began.elapsed() < PATIENCE, "still starting after {PATIENCE:?}");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Where a listener is bound.
    pub(crate) fn address(&self, listener: &str) -> SocketAddr {
        self.0.address(listener).unwrap_or_else(|| panic!("no listener {listener}"))
    }

    /// The value of one series, written as in the exposition: `name{label="value",...}`.
    pub(crate) fn metric(&self, series: &str) -> f64 {
        let text = self.observer().expose(SystemTime::now());
        let line = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no series {series} in\n{text}")).parse().unwrap()
    }

    /// How many handshakes failed for this reason at this component.
    pub(crate) fn failures(&self, component: &str, reason: &str) -> u64 {
        self.metric(&format!("iris_handshake_failures_total{{component=\"{component}\",reason=\"{reason}\"}}")) as u64
    }

    /// Every failed handshake of this component, by reason, for messages.
    pub(crate) fn all_failures(&self, component: &str) -> Vec<String> {
        let text = self.observer().expose(SystemTime::now());
        let prefix = format!("iris_handshake_failures_total{{component=\"{component}\",");
        text.lines().filter(|line| line.starts_with(&prefix) && !line.ends_with(" 0")).map(str::to_owned).collect()
    }

    /// Reloads of this role with this result.
    pub(crate) fn reloads(&self, component: &str, material: &str, result: &str) -> u64 {
        let labels = format!("component=\"{component}\",material=\"{material}\",result=\"{result}\"");
        self.metric(&format!("iris_tls_reloads_total{{{labels}}}")) as u64
    }

    /// The one state of a role that is 1.
    pub(crate) fn state(&self, component: &str, material: &str) -> String {
        let text = self.observer().expose(SystemTime::now());
        let prefix = format!("iris_tls_material_state{{component=\"{component}\",material=\"{material}\",state=\"");
        let mut true_ones =
            text.lines().filter_map(|line| line.strip_prefix(&prefix)?.strip_suffix("\"} 1").map(str::to_owned));
        let state = true_ones.next().expect("one state is 1");
        assert_eq!(true_ones.next(), None, "two states are 1");
        state
    }

    /// Whether `/readyz` would say so, and what stands in the way.
    pub(crate) fn readiness(&self) -> (bool, Vec<String>) {
        let readiness = self.observer().readiness(SystemTime::now());
        (readiness.is_ready(), readiness.reasons())
    }

    /// What `/status` says of a material.
    pub(crate) fn material(&self, kind: &str, name: &str) -> serde_json::Value {
        let status =
            serde_json::to_value(self.observer().status(SystemTime::now(), ConnectionsRow::default())).unwrap();
        let rows = status["materials"].as_array().unwrap();
        rows.iter().find(|row| row["kind"] == kind && row["name"] == name).expect("the material").clone()
    }

    /// Has everything read again, as SIGHUP does.
    pub(crate) fn reread(&self) {
        self.0.reread();
    }

    /// How many connections of this component ended for this reason.
    pub(crate) fn closes(&self, component: &str, reason: &str) -> u64 {
        self.metric(&format!("iris_connection_closes_total{{component=\"{component}\",reason=\"{reason}\"}}")) as u64
    }

    /// How many connections of this component are still to be recycled.
    pub(crate) fn recycle_pending(&self, component: &str) -> u64 {
        self.metric(&format!("iris_recycle_pending{{component=\"{component}\"}}")) as u64
    }

    /// Lets `change` change files, and returns when the material of this component that they make is in use: the last
    /// moment at which it was not.
    pub(crate) async fn reload(&self, component: &str, material: &str, change: impl FnOnce()) -> Instant {
        let before = self.reloads(component, material, "success");
        change();
        let mut looked = Instant::now();
        self.reread();
        until("the reload", || {
            let look = Instant::now();
            let done = self.reloads(component, material, "success") > before;
            if !done {
                looked = look;
            }
            done
        })
        .await;
        looked
    }

    pub(crate) fn observer(&self) -> &Arc<Observer> {
        self.0.observer()
    }

    /// Begins the drain, to be over within `time`.
    pub(crate) fn begin_drain(&self, time: Duration) {
        self.0.begin_drain(time);
    }

    /// Whether it has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.0.has_ended()
    }
}

impl Drop for Iris {
    fn drop(&mut self) {
        let (observer, now) = (self.observer(), SystemTime::now());
        secrets::search("/metrics", observer.expose(now).as_bytes());
        let status = serde_json::to_string(&observer.status(now, ConnectionsRow::default())).unwrap_or_default();
        secrets::search("/status", status.as_bytes());
        secrets::search("/readyz", observer.readiness(now).reasons().concat().as_bytes());
        secrets::search_log();
    }
}
