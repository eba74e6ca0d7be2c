//! The only composer: bind everything, run, drain.

mod accept;
mod error;
mod materials;
mod running;

use std::{
    io,
    net::{SocketAddr, TcpListener},
    sync::{Arc, atomic::AtomicUsize},
    time::{Duration, Instant, SystemTime},
};

use tokio::{
    sync::oneshot,
    time::{MissedTickBehavior, interval, sleep_until, timeout},
};

pub use error::StartError;
pub use running::Running;

use accept::{Gate, accept_loopback, accept_quic, accept_streams};
use materials::Sweeping;

use crate::{
    admin::{self, Scope, View},
    bridge::{Bridge, Pools},
    dial::Dialer,
    listen::{StreamListener, loopback::LoopbackListener, quic::QuicListener},
    live::{self, Admission, Contraction, Order, Registry},
    material::{
        observed,
        reload::{Reloader, Reread},
        watch::Watching,
    },
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
    admin: Vec<(TcpListener, Scope)>,
    contraction: Arc<Contraction>,
    reloader: Reloader,
    // Last: its drop waits for the workers' threads, when nothing above uses them any more.
    workers: Workers,
}

#[derive(Clone)]
enum Bound {
    Quic(Arc<QuicListener>),
    Loopback(Arc<LoopbackListener>),
    Stream(Arc<StreamListener>),
}

impl App {
    /// Loads the materials, which are kept up to date from then on, and binds every socket, each listener on a worker of
    /// its own as far as there are enough. A material that cannot be loaded leaves its listeners bound and refusing.
    ///
    /// # Errors
    ///
    /// A socket or a thread cannot be had.
    pub fn bind(plan: Plan, drain: DrainSignal) -> Result<Self, StartError> {
        Self::bind_watching(plan, drain, Watching::Events)
    }

    /// The same, with or without file events.
    ///
    /// # Errors
    ///
    /// A socket or a thread cannot be had.
    pub fn bind_watching(plan: Plan, drain: DrainSignal, watching: Watching) -> Result<Self, StartError> {
        let plan = Arc::new(plan);
        let observer = Observer::new(observed::setup(&plan));
        let workers = Workers::start(plan.workers).map_err(StartError::Workers)?;
        let registry = Arc::new(Registry::default());
        let sweeping = Sweeping::default();
        let (reloader, configs) =
            materials::start(&plan, &observer, sweeping.after_publish(), watching).map_err(StartError::Materials)?;
        let contraction = Contraction::start(plan.clone(), registry.clone(), observer.clone(), configs.clone());
        let contraction = Arc::new(contraction.map_err(StartError::Sweeper)?);
        sweeping.begin(contraction.clone(), &configs);
        let bridge = |worker: &Worker| {
            let dialer = worker.enter(|| Dialer::open(plan.clone(), configs.clone())).map_err(StartError::Workers)?;
            let (plan, contraction, observer) = (plan.clone(), contraction.clone(), observer.clone());
            let (pools, tasks, drain) = (Pools::default(), worker.tasks().clone(), drain.clone());
            Ok(Arc::new(Bridge { plan, contraction, observer, dialer, pools, tasks, drain }))
        };
        let bridges = workers.iter().map(bridge).collect::<Result<Vec<_>, _>>()?;
        let listeners = bind_listeners(&plan, &observer, &workers)?;
        let admin = [
            ("admin.listen", plan.admin.listen, Scope::Everything),
            ("admin.scrape", plan.admin.scrape, Scope::Scrape),
        ];
        let admin = admin
            .into_iter()
            .filter_map(|(what, address, scope)| address.map(|address| bind_admin(what, address, scope)))
            .collect::<Result<Vec<_>, _>>()?;
        let gate = Gate { bridges, next: AtomicUsize::new(0), admission: Admission::new(&plan.limits), configs, drain };
        Ok(Self { plan, observer, registry, listeners, gate: Arc::new(gate), admin, contraction, reloader, workers })
    }

    /// The address that a listener is bound to.
    pub fn address(&self, listener: &str) -> Option<SocketAddr> {
        let position = self.plan.listeners.iter().position(|plan| plan.name == listener)?;
        self.observer.listener(position).bound()
    }

    /// The address of the operator's HTTP of this scope.
    pub fn admin_address(&self, scope: Scope) -> Option<SocketAddr> {
        self.admin.iter().find(|(_, bound)| *bound == scope).and_then(|(listener, _)| listener.local_addr().ok())
    }

    /// Metrics, readiness and status.
    pub fn observer(&self) -> &Arc<Observer> {
        &self.observer
    }

    /// Has all materials read again at a word, until the drain begins.
    pub fn reread(&self) -> Reread {
        self.reloader.reread()
    }

    /// Serves until the drain has begun and is over: no new connections from then on; those that live may end by
    /// themselves until the deadline and are closed there.
    pub async fn serve(mut self) {
        let endpoints: Vec<_> = self.listeners.iter().filter_map(Bound::endpoint).cloned().collect();
        for (bound, worker) in std::mem::take(&mut self.listeners).into_iter().zip(self.workers.iter().cycle()) {
            let gate = self.gate.clone();
            match bound {
                Bound::Quic(listener) => worker.tasks().spawn(accept_quic(gate, listener)),
                Bound::Loopback(listener) => worker.tasks().spawn(accept_loopback(gate, listener)),
                // Its socket is closed with it, when the drain begins.
                Bound::Stream(listener) => worker.tasks().spawn(accept_streams(gate, listener)),
            }
        }
        self.observer.enter(Phase::Running);
        let (registry, plan) = (self.registry.clone(), self.plan.clone());
        let view = View::new(self.observer.clone(), move || live::rows(&registry, &plan));
        // The operator's HTTP answers until the very end, so that a drain can be watched.
        let (over, is_over) = oneshot::channel::<()>();
        let admin = admin::serve(std::mem::take(&mut self.admin), Arc::new(view), async { drop(is_over.await) });
        let work = async {
            let mut drain = self.gate.drain.clone();
            let deadline = tokio::select! {
                deadline = drain.begun() => deadline,
                () = self.contraction.pace() => unreachable!("it has no end"),
            };
            self.drain(deadline, &endpoints).await;
            drop(over);
        };
        let ticking = tick(self.observer.clone());
        tokio::select! {
            (served, ()) = async { tokio::join!(admin, work) } => {
                if let Err(error) = served {
                    tracing::error!(%error, "admin: cannot serve");
                }
            }
            () = ticking => {}
        }
    }

    async fn drain(&self, deadline: Instant, endpoints: &[quinn::Endpoint]) {
        // First: from here on nothing changes any more, whatever becomes of the files.
        self.reloader.stop();
        self.contraction.stop();
        self.observer.enter(Phase::Draining);
        tracing::info!(connections = self.registry.len(), "draining");
        self.registry.wind_down_all(&Order::drain());
        tokio::select! {
            () = sleep_until(deadline.into()) => {}
            () = self.registry.emptied() => {}
        }
        let closed = self.registry.close_all(&Order::drain());
        let emptied = timeout(LAST_WORDS, self.registry.emptied()).await.is_ok();
        for endpoint in endpoints {
            endpoint.close(Order::drain().close.code, &Order::drain().close.reason);
        }
        let idle = async {
            for endpoint in endpoints {
                endpoint.wait_idle().await;
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
    fn endpoint(&self) -> Option<&quinn::Endpoint> {
        match self {
            Self::Quic(listener) => Some(listener.endpoint()),
            Self::Loopback(listener) => Some(listener.endpoint()),
            Self::Stream(_) => None,
        }
    }

    fn local_addr(&self) -> io::Result<Option<SocketAddr>> {
        match self {
            Self::Quic(listener) => listener.local_addr().map(Some),
            Self::Loopback(listener) => listener.local_addr().map(Some),
            Self::Stream(listener) => listener.local_addr(),
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
            ListenerEnd::Tls(_) | ListenerEnd::Tcp | ListenerEnd::Unix { .. } => {
                StreamListener::bind(plan, id).map(Arc::new).map(Bound::Stream)
            }
        });
        let address = bound.and_then(|bound| bound.local_addr().map(|address| (bound, address)));
        let (bound, address) = address.map_err(|source| StartError::Bind {
            what: format!("listener {}", listener.name),
            address: listener.place.to_string(),
            source,
        })?;
        match address {
            Some(address) => observer.listener(position).set_bound(address),
            None => observer.listener(position).set_bound_to_path(),
        }
        let shown = address.map_or_else(|| listener.place.to_string(), |address| address.to_string());
        tracing::info!(component = listener.name, address = shown, "listening");
        listeners.push(bound);
    }
    Ok(listeners)
}

fn bind_admin(what: &str, address: SocketAddr, scope: Scope) -> Result<(TcpListener, Scope), StartError> {
    let bound = admin::bind(address).and_then(|bound| bound.local_addr().map(|local| (bound, local)));
    let (bound, local) =
        bound.map_err(|source| StartError::Bind { what: what.to_owned(), address: address.to_string(), source })?;
    tracing::info!(component = what, address = %local, "listening");
    Ok((bound, scope))
}

/// Once a second, without end: says what the log left out.
async fn tick(observer: Arc<Observer>) {
    let mut seconds = interval(Duration::from_secs(1));
    seconds.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        seconds.tick().await;
        observer.tick(SystemTime::now());
    }
}
