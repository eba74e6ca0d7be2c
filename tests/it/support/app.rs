//! The app, as `iris run` runs it, on a thread of its own.

use std::{net::SocketAddr, sync::Arc, time::Duration, time::SystemTime};

use iris::{app::Running, observe::Observer, plan};

/// A running Iris. Dropping it drains it at once.
pub(crate) struct Iris(Running);

impl Iris {
    /// Runs what `yaml` says.
    pub(crate) fn start(yaml: &str) -> Self {
        let plan = plan::from_yaml(yaml).unwrap_or_else(|problems| panic!("{problems}\n{yaml}"));
        Self(Running::start(plan).unwrap())
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
