//! What stands on trust or an identity that is gone does not stay: newcomers are compared when they register, all others
//! are swept after each publication.
//!
//! The order of things leaves no gap. A publication comes before its sweep looks at the registry; a connection enters the
//! registry before it is compared with what is published. Whoever the sweep does not see yet will see the publication.

use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
    time::{Duration, Instant, SystemTime},
};

use super::{
    Connection, FarSide, Order, Registry, Ticket,
    pacer::{Batch, Pacer},
    retire::{LATE, Retirements},
    sweep::{Sweep, pending},
};
use crate::{
    material::publish::Reader,
    observe::{Observer, Side},
    plan::Plan,
    tls::Configs,
};

/// How often the wall clock is looked at while an earlier identity waits for its end.
const LOOK: Duration = Duration::from_secs(1);

/// The guard over what live connections stand on. Its sweeps have a thread of their own, off the workers and off the thread
/// that publishes.
#[derive(Debug)]
pub struct Contraction {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    plan: Arc<Plan>,
    registry: Arc<Registry>,
    observer: Arc<Observer>,
    configs: Reader<Configs>,
    pacer: Pacer,
    retirements: Mutex<Retirements>,
    post: Mutex<Post>,
    posted: Condvar,
}

/// What the sweeping thread is to do next.
#[derive(Debug, Default)]
struct Post {
    /// The latest publication that was not swept after, and when the first such was: its window is not to be exceeded.
    published: Option<(Arc<Configs>, Instant)>,
    stopped: bool,
}

impl Contraction {
    /// Guards the connections of `registry`.
    ///
    /// # Errors
    ///
    /// The operating system refuses a thread.
    pub fn start(
        plan: Arc<Plan>,
        registry: Arc<Registry>,
        observer: Arc<Observer>,
        configs: Reader<Configs>,
    ) -> io::Result<Self> {
        let mut retirements = Retirements::default();
        retirements.note(&plan, &configs.load());
        let shared = Arc::new(Shared {
            plan,
            registry,
            observer,
            configs,
            pacer: Pacer::default(),
            retirements: Mutex::new(retirements),
            post: Mutex::default(),
            posted: Condvar::new(),
        });
        let sweeping = shared.clone();
        let thread = std::thread::Builder::new().name("iris-sweep".into()).spawn(move || sweeping.sweep_on())?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// To be called after each publication, with what was published. Returns at once; the sweep follows on its own thread.
    /// While draining it changes nothing.
    pub fn after_publish(&self, configs: &Arc<Configs>) {
        let shared = &*self.shared;
        lock(&shared.retirements).note(&shared.plan, configs);
        let mut post = lock(&shared.post);
        let since = post.published.as_ref().map_or_else(Instant::now, |(_, since)| *since);
        post.published = Some((configs.clone(), since));
        shared.posted.notify_one();
    }

    /// Registers a connection whose accepted side's handshake is over. When that side was judged under fewer contractions
    /// than there are, it has been judged again: look at [`Connection::decided`].
    pub fn enter(&self, connection: Connection) -> Ticket {
        let ticket = self.shared.registry.enter(connection);
        self.shared.compare(ticket.connection(), Side::Accepted);
        ticket
    }

    /// Registers the dialled side of a connection, likewise.
    pub fn connected(&self, ticket: &Ticket, far: FarSide) {
        let shown = far.footing.standing.identity;
        ticket.connected(far);
        self.shared.compare(ticket.connection(), Side::Dialled);
        if shown.is_some_and(|shown| lock(&self.shared.retirements).is_over(shown)) {
            self.shared.retire(vec![ticket.connection().clone()], LATE);
        }
    }

    /// Closes in time what is to be closed later, without end.
    pub async fn pace(&self) {
        self.shared.pacer.run().await;
    }

    /// From now on nothing is swept and nothing closed: for the drain, which closes everything in its own time. A sweep
    /// that has begun still closes at once whom it finds untrusted.
    pub fn stop(&self) {
        lock(&self.shared.post).stopped = true;
        self.shared.posted.notify_one();
        self.shared.pacer.stop();
    }
}

impl Drop for Contraction {
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            // Its own panic was reported when it happened.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn sweep_with<'a>(&'a self, configs: &'a Configs, published: Instant) -> Sweep<'a> {
        Sweep { plan: &self.plan, observer: &self.observer, pacer: &self.pacer, configs, published }
    }

    fn compare(&self, connection: &Arc<Connection>, side: Side) {
        let configs = self.configs.load();
        self.sweep_with(&configs, Instant::now()).newcomer(connection, side, SystemTime::now());
    }

    /// The work of the sweeping thread.
    fn sweep_on(&self) {
        while let Some(published) = self.next() {
            // After a panic, which was reported where it happened, whoever was not judged is asked about again next time.
            let _ = catch_unwind(AssertUnwindSafe(|| self.work(published)));
        }
    }

    fn work(&self, published: Option<(Arc<Configs>, Instant)>) {
        if let Some((configs, since)) = published {
            self.sweep_with(&configs, since).run(&self.registry.snapshot(), SystemTime::now());
        }
        // Told to be over first and looked for after: whoever registers in between is told by `connected`.
        let begun = lock(&self.retirements).begun(SystemTime::now());
        for (shown, left) in begun {
            let under = |connection: &Arc<Connection>| {
                connection.far().is_some_and(|far| far.footing.standing.identity == Some(shown))
            };
            let connections: Vec<_> = self.registry.snapshot().into_iter().filter(under).collect();
            let (identity, count) = (&self.plan.identity(shown.0).name, connections.len());
            let retired = self.retire(connections, left);
            tracing::info!(identity, count, retired, "connections under an earlier client identity are retired");
        }
    }

    /// Waits for work. `None` when there will be none.
    fn next(&self) -> Option<Option<(Arc<Configs>, Instant)>> {
        let mut post = lock(&self.post);
        loop {
            if post.stopped {
                return None;
            }
            if let Some(published) = post.published.take() {
                return Some(Some(published));
            }
            if !lock(&self.retirements).are_waited_for() {
                post = self.posted.wait(post).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let (woken, timeout) = self.posted.wait_timeout(post, LOOK).unwrap_or_else(PoisonError::into_inner);
            post = woken;
            if timeout.timed_out() && post.published.is_none() && !post.stopped {
                return Some(None);
            }
        }
    }

    fn retire(&self, connections: Vec<Arc<Connection>>, left: Duration) -> usize {
        let end = |connection: Arc<Connection>| {
            let pending = pending(&self.observer, &connection, Side::Dialled);
            (connection, Order::retire(), pending)
        };
        let from = Instant::now();
        self.pacer.set(Batch { ends: connections.into_iter().map(end).collect(), from, to: from + left })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No critical section can panic half-way.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
