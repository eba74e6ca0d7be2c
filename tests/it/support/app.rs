//! The app, as `iris run` runs it, on a thread of its own.

use std::{net::SocketAddr, sync::Arc, thread::JoinHandle, time::Duration, time::SystemTime};

use iris::{
    app::{App, Materials},
    observe::Observer,
    plan,
    runtime::drain::{self, DrainTrigger},
};

/// A running Iris. Dropping it drains it at once.
pub(crate) struct Iris {
    addresses: Vec<(String, SocketAddr)>,
    observer: Arc<Observer>,
    materials: Arc<Materials>,
    trigger: DrainTrigger,
    thread: Option<JoinHandle<()>>,
}

impl Iris {
    /// Runs what `yaml` says.
    pub(crate) fn start(yaml: &str) -> Self {
        let plan = plan::from_yaml(yaml).unwrap_or_else(|problems| panic!("{problems}\n{yaml}"));
        let names: Vec<_> = plan.listeners.iter().map(|listener| listener.name.clone()).collect();
        let (trigger, signal) = drain::channel();
        let app = App::bind(plan, signal).unwrap();
        let addresses = names.into_iter().map(|name| (name.clone(), app.address(&name).unwrap())).collect();
        let (observer, materials) = (app.observer().clone(), app.materials().clone());
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(app.serve());
        });
        Self { addresses, observer, materials, trigger, thread: Some(thread) }
    }

    /// Where a listener is bound.
    pub(crate) fn address(&self, listener: &str) -> SocketAddr {
        let found = self.addresses.iter().find(|(name, _)| name == listener);
        found.unwrap_or_else(|| panic!("no listener {listener}")).1
    }

    /// The value of one series, written as in the exposition: `name{label="value",...}`.
    pub(crate) fn metric(&self, series: &str) -> f64 {
        let text = self.observer.expose(SystemTime::now());
        let line = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no series {series} in\n{text}")).parse().unwrap()
    }

    /// How many handshakes failed for this reason at this component.
    pub(crate) fn failures(&self, component: &str, reason: &str) -> u64 {
        self.metric(&format!("iris_handshake_failures_total{{component=\"{component}\",reason=\"{reason}\"}}")) as u64
    }

    /// Every failed handshake of this component, by reason, for messages.
    pub(crate) fn all_failures(&self, component: &str) -> Vec<String> {
        let text = self.observer.expose(SystemTime::now());
        let prefix = format!("iris_handshake_failures_total{{component=\"{component}\",");
        text.lines().filter(|line| line.starts_with(&prefix) && !line.ends_with(" 0")).map(str::to_owned).collect()
    }

    /// How many connections of this component ended for this reason.
    pub(crate) fn closes(&self, component: &str, reason: &str) -> u64 {
        self.metric(&format!("iris_connection_closes_total{{component=\"{component}\",reason=\"{reason}\"}}")) as u64
    }

    /// How many connections of this component are still to be recycled.
    pub(crate) fn recycle_pending(&self, component: &str) -> u64 {
        self.metric(&format!("iris_recycle_pending{{component=\"{component}\"}}")) as u64
    }

    /// Has what changed on disk read and published now.
    pub(crate) fn republish(&self) {
        self.materials.republish_now().unwrap();
    }

    pub(crate) fn observer(&self) -> &Arc<Observer> {
        &self.observer
    }

    /// Begins the drain, to be over within `time`.
    pub(crate) fn begin_drain(&self, time: Duration) {
        self.trigger.begin(time);
    }

    /// Whether it has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

impl Drop for Iris {
    fn drop(&mut self) {
        self.trigger.begin(Duration::ZERO);
        if let Some(thread) = self.thread.take() {
            let outcome = thread.join();
            if !std::thread::panicking() {
                outcome.expect("the app must not panic");
            }
        }
    }
}
