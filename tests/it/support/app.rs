//! The app, as `iris run` runs it, on a thread of its own.

use std::{
    net::SocketAddr,
    sync::Arc,
    thread::JoinHandle,
    time::{Duration, Instant, SystemTime},
};

use iris::{
    app::App,
    material::reload::Reread,
    observe::Observer,
    plan,
    runtime::drain::{self, DrainTrigger},
};

use super::wait::until;

/// A running Iris. Dropping it drains it at once.
pub(crate) struct Iris {
    addresses: Vec<(String, SocketAddr)>,
    observer: Arc<Observer>,
    reread: Reread,
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
        let (observer, reread) = (app.observer().clone(), app.reread());
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(app.serve());
        });
        Self { addresses, observer, reread, trigger, thread: Some(thread) }
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

    /// Has everything on disk read again now.
    pub(crate) fn reread(&self) {
        self.reread.now();
    }

    /// How many reloads of this material there were for this component.
    pub(crate) fn reloads(&self, component: &str, material: &str) -> u64 {
        let labels = format!("component=\"{component}\",material=\"{material}\",result=\"success\"");
        self.metric(&format!("iris_tls_reloads_total{{{labels}}}")) as u64
    }

    /// Lets `change` change files, and returns when the material of this component that they make is in use: the last
    /// moment at which it was not.
    pub(crate) async fn reload(&self, component: &str, material: &str, change: impl FnOnce()) -> Instant {
        let before = self.reloads(component, material);
        change();
        let mut looked = Instant::now();
        self.reread();
        until("the reload", || {
            let look = Instant::now();
            let done = self.reloads(component, material) > before;
            if !done {
                looked = look;
            }
            done
        })
        .await;
        looked
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
