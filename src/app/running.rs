//! An app on a thread of its own, for a process that does more than serve: the demo, and tests.

use std::{io, net::SocketAddr, sync::Arc, thread::JoinHandle, time::Duration};

use super::{App, StartError};
use crate::{
    material::{reload::Reread, watch::Watching},
    observe::Observer,
    plan::Plan,
    runtime::drain::{self, DrainTrigger},
};

/// An app that serves. Dropping it drains it at once.
#[derive(Debug)]
pub struct Running {
    observer: Arc<Observer>,
    listeners: Vec<String>,
    trigger: DrainTrigger,
    reread: Reread,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    /// Binds everything that `plan` says and serves.
    ///
    /// # Errors
    ///
    /// As [`App::bind`].
    pub fn start(plan: Plan) -> Result<Self, StartError> {
        Self::start_watching(plan, Watching::Events)
    }

    /// The same, with or without file events.
    ///
    /// # Errors
    ///
    /// As [`App::bind`].
    pub fn start_watching(plan: Plan, watching: Watching) -> Result<Self, StartError> {
        let listeners = plan.listeners.iter().map(|listener| listener.name.clone()).collect();
        let (trigger, signal) = drain::channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(StartError::Workers)?;
        let app = App::bind_watching(plan, signal, watching)?;
        let (observer, reread) = (app.observer().clone(), app.reread());
        let thread = std::thread::Builder::new().name("iris-app".into()).spawn(move || runtime.block_on(app.serve()));
        let thread: io::Result<_> = thread;
        Ok(Self { observer, listeners, trigger, reread, thread: Some(thread.map_err(StartError::Workers)?) })
    }

    /// Where a listener is bound.
    pub fn address(&self, listener: &str) -> Option<SocketAddr> {
        let position = self.listeners.iter().position(|name| name == listener)?;
        self.observer.listener(position).bound()
    }

    /// Metrics, readiness and status.
    pub fn observer(&self) -> &Arc<Observer> {
        &self.observer
    }

    /// Has all materials read again, as SIGHUP does.
    pub fn reread(&self) {
        self.reread.now();
    }

    /// Begins the drain, to be over within `time`.
    pub fn begin_drain(&self, time: Duration) {
        self.trigger.begin(time);
    }

    /// Whether the drain is over.
    pub fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.trigger.begin(Duration::ZERO);
        if let Some(thread) = self.thread.take() {
            // A panic was reported when it happened.
            let _ = thread.join();
        }
    }
}
