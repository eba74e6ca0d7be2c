//! The only composer: bind everything, run, drain.

mod accept;
mod error;
mod materials;
mod setup;

use std::{
    net::{SocketAddr, TcpListener},
    sync::{Arc, atomic::AtomicUsize},
    time::{Duration, Instant},
};

use tokio::time::{sleep_until, timeout};

pub use error::StartError;

use accept::{Gate, accept_loopback, accept_quic};

use crate::{
    bridge::Bridge,
    dial::Dialer,
    listen::{loopback::LoopbackListener, quic::QuicListener},
    live::{Admission, Order, Registry},
    observe::{Observer, Phase},
    plan::{ListenerEnd, ListenerId, Plan},
    runtime::{DrainSignal, Worker, Workers},
    tls,
};

/// How long closes are given to get out when time is up.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// A process whose sockets are all bound and which serves nobody yet.
pub struct App {
    plan: Arc<Plan>,
    observer: Arc<Observer>,
    registry: Arc<Registry>,
    listeners: Vec<Bound>,
    gate: Arc<Gate>,
    admin: Admin,
    // Last: its drop waits for the workers' threads, when nothing above uses them any more.
    workers: Workers,
}

struct Admin {
    listen: Option<TcpListener>,
    scrape: Option<TcpListener>,
}

#[derive(Clone)]
enum Bound {
    Quic(Arc<QuicListener>),
    Loopback(Arc<LoopbackListener>),
}

impl App {
    /// Loads the materials and binds every socket, each listener on a worker of its own as far as there are enough. A
    /// material that cannot be loaded leaves its listeners bound and refusing.
    ///
    /// # Errors
    ///
    /// A socket or a thread cannot be had.
    pub fn bind(plan: Plan, drain: DrainSignal) -> Result<Self, StartError> {
        let plan = Arc::new(plan);
        let observer = Observer::new(setup::setup(&plan));
        let workers = Workers::start(plan.workers).map_err(StartError::Workers)?;
        let configs = materials::load(&plan, &observer)?;
        let registry = Arc::new(Registry::default());
        let bridge = |worker: &Worker| {
            let dialer = worker.enter(|| Dialer::open(plan.clone(), configs.clone())).map_err(StartError::Workers)?;
            let (plan, registry, observer) = (plan.clone(), registry.clone(), observer.clone());
            Ok(Arc::new(Bridge { plan, registry, observer, dialer, tasks: worker.tasks().clone() }))
        };
        let bridges = workers.iter().map(bridge).collect::<Result<Vec<_>, _>>()?;
        let listeners = bind_listeners(&plan, &observer, &workers)?;
        let admin = Admin {
            listen: bind_admin("admin.listen", plan.admin.listen)?,
            scrape: bind_admin("admin.scrape", plan.admin.scrape)?,
        };
        let gate = Gate { bridges, next: AtomicUsize::new(0), admission: Admission::new(&plan.limits), configs, drain };
        Ok(Self { plan, observer, registry, listeners, gate: Arc::new(gate), admin, workers })
    }

    /// The address that a listener is bound to.
    pub fn address(&self, listener: &str) -> Option<SocketAddr> {
        let position = self.plan.listeners.iter().position(|plan| plan.name == listener)?;
        self.observer.listener(position).bound()
    }

    /// The addresses of the operator's HTTP: everything, and the scrape alone.
    pub fn admin_addresses(&self) -> (Option<SocketAddr>, Option<SocketAddr>) {
        let address = |listener: &Option<TcpListener>| listener.as_ref().and_then(|bound| bound.local_addr().ok());
        (address(&self.admin.listen), address(&self.admin.scrape))
    }

    /// Metrics, readiness and status.
    pub fn observer(&self) -> &Arc<Observer> {
        &self.observer
    }

    /// Serves until the drain has begun and is over: no new connections from then on; those that live may end by
    /// themselves until the deadline and are closed there.
    pub async fn serve(mut self) {
        for (bound, worker) in self.listeners.iter().zip(self.workers.iter().cycle()) {
            let gate = self.gate.clone();
            match bound.clone() {
                Bound::Quic(listener) => worker.tasks().spawn(accept_quic(gate, listener)),
                Bound::Loopback(listener) => worker.tasks().spawn(accept_loopback(gate, listener)),
            }
        }
        self.observer.enter(Phase::Running);
        let mut drain = self.gate.drain.clone();
        let deadline = drain.begun().await;
        self.drain(deadline).await;
    }

    async fn drain(&mut self, deadline: Instant) {
        self.observer.enter(Phase::Draining);
        tracing::info!(connections = self.registry.len(), "draining");
        tokio::select! {
            () = sleep_until(deadline.into()) => {}
            () = self.registry.emptied() => {}
        }
        let closed = self.registry.close_all(&Order::drain());
        let emptied = timeout(LAST_WORDS, self.registry.emptied()).await.is_ok();
        for bound in &self.listeners {
            bound.endpoint().close(Order::drain().close.code, &Order::drain().close.reason);
        }
        let idle = async {
            for bound in &self.listeners {
                bound.endpoint().wait_idle().await;
            }
            for bridge in &self.gate.bridges {
                bridge.dialer.idle().await;
            }
            self.workers.idle().await;
        };
        // A peer that is gone never acknowledges: the wait is bounded (RFC 9000 section 10.2).
        let quiet = timeout(LAST_WORDS, idle).await.is_ok();
        self.observer.finish();
        tracing::info!(closed, clean = emptied && quiet, "drained");
    }
}

impl Bound {
    fn endpoint(&self) -> &quinn::Endpoint {
        match self {
            Self::Quic(listener) => listener.endpoint(),
            Self::Loopback(listener) => listener.endpoint(),
        }
    }
}

fn bind_listeners(plan: &Plan, observer: &Observer, workers: &Workers) -> Result<Vec<Bound>, StartError> {
    let template = quinn::ServerConfig::with_crypto(tls::initial_only());
    let mut listeners = Vec::with_capacity(plan.listeners.len());
    for ((position, listener), worker) in plan.listeners.iter().enumerate().zip(workers.iter().cycle()) {
        let id = ListenerId(position);
        let bound = worker.enter(|| match &listener.end {
            ListenerEnd::Quic(_) => QuicListener::bind(plan, id, &template).map(Arc::new).map(Bound::Quic),
            ListenerEnd::LoopbackQuic => LoopbackListener::bind(plan, id).map(Arc::new).map(Bound::Loopback),
        });
        let address = bound.and_then(|bound| bound.endpoint().local_addr().map(|address| (bound, address)));
        let (bound, address) = address.map_err(|source| StartError::Bind {
            what: format!("listener {}", listener.name),
            address: listener.address,
            source,
        })?;
        observer.listener(position).set_bound(address);
        tracing::info!(component = listener.name, %address, "listening");
        listeners.push(bound);
    }
    Ok(listeners)
}

fn bind_admin(what: &str, address: Option<SocketAddr>) -> Result<Option<TcpListener>, StartError> {
    let Some(address) = address else { return Ok(None) };
    let bound = TcpListener::bind(address).and_then(|bound| bound.local_addr().map(|local| (bound, local)));
    let (bound, local) =
        bound.map_err(|source| StartError::Bind { what: what.to_owned(), address, source })?;
    tracing::info!(component = what, address = %local, "listening");
    Ok(Some(bound))
}
