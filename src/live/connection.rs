//! One live connection: what it stands on, and what was decided about it.

use std::{
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Instant,
};

use tokio::sync::Notify;

use super::Order;
use crate::{
    observe::{PeerAddress, PendingRecycle, Side, Traffic},
    plan::{ListenerId, UpstreamId},
    tls::{Judged, Standing},
};

/// What is known of one connection.
#[derive(Debug)]
pub struct Connection {
    /// Where it was accepted.
    pub listener: ListenerId,
    /// Position of its route in the listener's plan.
    pub route: usize,
    /// Where it leads.
    pub upstream: UpstreamId,
    /// Who opened it.
    pub peer: PeerAddress,
    /// The server name that it asked for.
    pub server_name: Option<String>,
    /// Since when it is here.
    pub since: Instant,
    /// What the accepted side stands on.
    pub accepted: Footing,
    far: OnceLock<FarSide>,
    traffic: OnceLock<Arc<Traffic>>,
    order: OnceLock<Order>,
    ordered: Notify,
    winding: OnceLock<Order>,
    /// Its protocol has a word for "no more", so that its work can end by itself.
    finishes: AtomicBool,
    due: Mutex<Option<Due>>,
}

/// What one side of a connection stands on.
#[derive(Debug, Default)]
pub struct Footing {
    /// The generations that its handshake stood on.
    pub standing: Standing,
    /// The chain that its peer was judged by. `None` where nobody was judged.
    pub judged: Option<Judged>,
    /// [`Authority::contractions`](crate::material::Authority::contractions) when it was judged last.
    judged_under: AtomicU64,
}

/// The dialled side of a connection.
#[derive(Debug)]
pub struct FarSide {
    /// What it stands on.
    pub footing: Footing,
    /// The application protocol that was agreed.
    pub alpn: Option<Vec<u8>>,
}

/// An end that is set for later.
#[derive(Debug)]
struct Due {
    at: Instant,
    /// Counted as long as it is held.
    _pending: Vec<PendingRecycle>,
}

impl Footing {
    /// As of a handshake.
    pub fn new(standing: Standing, judged: Option<Judged>) -> Self {
        Self { standing, judged, judged_under: AtomicU64::new(standing.contractions) }
    }

    /// The number of contractions under which it was judged last.
    pub(super) fn judged_under(&self) -> u64 {
        self.judged_under.load(Ordering::Acquire)
    }

    /// It was judged under this many contractions.
    pub(super) fn set_judged_under(&self, contractions: u64) {
        self.judged_under.fetch_max(contractions, Ordering::AcqRel);
    }
}

impl Connection {
    /// A connection that nothing has been decided about.
    pub fn new(
        (listener, route): (ListenerId, usize),
        upstream: UpstreamId,
        peer: impl Into<PeerAddress>,
        accepted: Footing,
    ) -> Self {
        Self {
            listener,
            route,
            upstream,
            peer: peer.into(),
            server_name: None,
            since: Instant::now(),
            accepted,
            far: OnceLock::new(),
            traffic: OnceLock::new(),
            order: OnceLock::new(),
            ordered: Notify::new(),
            winding: OnceLock::new(),
            finishes: AtomicBool::new(false),
            due: Mutex::default(),
        }
    }

    /// Its dialled side, once that is connected.
    pub fn far(&self) -> Option<&FarSide> {
        self.far.get()
    }

    /// The side that was dialled for it. Only the registry calls this, under its lock.
    pub(super) fn set_far(&self, far: FarSide) {
        // Not set before: an entry is dialled for once.
        let _ = self.far.set(far);
    }

    /// What passes, once it is established.
    pub fn traffic(&self) -> Option<&Arc<Traffic>> {
        self.traffic.get()
    }

    /// It is established; this counts what passes.
    pub fn established(&self, traffic: Arc<Traffic>) {
        let _ = self.traffic.set(traffic);
    }

    /// What one side stands on. `None` for a dialled side that is not there yet.
    pub(super) fn footing(&self, side: Side) -> Option<&Footing> {
        match side {
            Side::Accepted | Side::Both => Some(&self.accepted),
            Side::Dialled => self.far().map(|far| &far.footing),
        }
    }

    /// Decides its end. The first decision stands.
    pub fn order(&self, order: Order) {
        if self.order.set(order).is_ok() {
            *self.due() = None;
            self.ordered.notify_waiters();
        }
    }

    /// What was decided, if anything was.
    pub fn decided(&self) -> Option<&Order> {
        self.order.get()
    }

    /// Completes when its end has been decided.
    pub async fn ordered(&self) -> &Order {
        loop {
            // Made before the look, so that a decision between look and wait is not missed.
            let ordered = self.ordered.notified();
            if let Some(order) = self.order.get() {
                return order;
            }
            ordered.await;
        }
    }

    /// It can be told to take no more work and end when what it has is done: see [`winding`](Self::winding).
    pub fn can_finish(&self) {
        self.finishes.store(true, Ordering::Release);
    }

    /// Whether it can.
    pub(super) fn finishes(&self) -> bool {
        self.finishes.load(Ordering::Acquire)
    }

    /// Asks it to take no more work and to end when what it has is done. Whoever cannot goes on: what is to end in any
    /// case is ordered to. The first call counts.
    pub(super) fn wind_down(&self, order: Order) {
        if self.winding.set(order).is_ok() {
            self.ordered.notify_waiters();
        }
    }

    /// Completes when it was asked to take no more work, with the order that it would be given otherwise.
    pub async fn winding(&self) -> &Order {
        loop {
            // As in `ordered`.
            let ordered = self.ordered.notified();
            if let Some(order) = self.winding.get() {
                return order;
            }
            ordered.await;
        }
    }

    /// Sets its end for `at`, unless it is set for no later than `latest` already: what was promised is never put off, and
    /// a second contraction need not hurry it. Says whether `at` is to be kept.
    pub(super) fn set_due(&self, at: Instant, latest: Instant, pending: Vec<PendingRecycle>) -> bool {
        let mut due = self.due();
        if self.order.get().is_some() || due.as_ref().is_some_and(|due| due.at <= latest) {
            return false;
        }
        *due = Some(Due { at, _pending: pending });
        true
    }

    /// It need not be ended later any more.
    pub(super) fn clear_due(&self) {
        *self.due() = None;
    }

    fn due(&self) -> std::sync::MutexGuard<'_, Option<Due>> {
        self.due.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
