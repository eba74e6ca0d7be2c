//! Ends that are set for later, carried out in time. Whoever runs [`Pacer::run`] owns them all.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::{Duration, Instant},
};

use tokio::{sync::Notify, time::sleep_until};

use super::{
    Connection, Order,
    pace::{Random, moments, shuffle},
};
use crate::observe::PendingRecycle;

/// Ends that are set for later.
#[derive(Debug, Default)]
pub(super) struct Pacer {
    queue: Mutex<Queue>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Queue {
    /// By time, and by number where two have the same. A connection that has gone by itself stays until its time.
    due: BTreeMap<(Instant, u64), (Weak<Connection>, Order)>,
    next: u64,
    stopped: bool,
}

/// Connections to be ended within one window.
pub(super) struct Batch {
    /// Each with the order that it will be given, and what counts it until then.
    pub(super) ends: Vec<(Arc<Connection>, Order, Vec<PendingRecycle>)>,
    /// From when on.
    pub(super) from: Instant,
    /// Until when, at the latest.
    pub(super) to: Instant,
}

impl Pacer {
    /// Sets the end of each connection of a batch, evenly spread over its window and in any order. One whose end is set for
    /// within the window already keeps its time. Says how many were set.
    pub(super) fn set(&self, batch: Batch) -> usize {
        let Batch { mut ends, from, to } = batch;
        let mut random = Random::new();
        shuffle(&mut ends, &mut random);
        let moments = moments(ends.len(), to.saturating_duration_since(from), &mut random);
        let mut queue = self.lock();
        if queue.stopped {
            return 0;
        }
        let mut set = 0;
        for ((connection, order, pending), moment) in ends.into_iter().zip(moments) {
            let at = from + moment;
            if connection.set_due(at, to, pending) {
                let number = queue.next;
                queue.next += 1;
                queue.due.insert((at, number), (Arc::downgrade(&connection), order));
                set += 1;
            }
        }
        drop(queue);
        self.changed.notify_one();
        set
    }

    /// Carries out each end in its time, without end.
    pub(super) async fn run(&self) {
        loop {
            let next = self.carry_out(Instant::now());
            let sleep = async {
                match next {
                    Some(next) => sleep_until(next.into()).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = sleep => {}
                () = self.changed.notified() => {}
            }
        }
    }

    /// Nothing is carried out from now on, and nothing set.
    pub(super) fn stop(&self) {
        let mut queue = self.lock();
        queue.stopped = true;
        let due = std::mem::take(&mut queue.due);
        drop(queue);
        due.into_values().filter_map(|(connection, _)| connection.upgrade()).for_each(|one| one.clear_due());
    }

    /// Carries out what is due, and says when the next is.
    pub(super) fn carry_out(&self, now: Instant) -> Option<Instant> {
        loop {
            let mut queue = self.lock();
            let first = queue.due.first_entry()?;
            let at = first.key().0;
            if at > now {
                return Some(at);
            }
            let (connection, order) = first.remove();
            drop(queue);
            if let Some(connection) = connection.upgrade() {
                connection.order(order);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        // No critical section can panic half-way.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The window of `spread` that began when something was published.
pub(super) fn window(published: Instant, spread: Duration, now: Instant) -> (Instant, Instant) {
    let to = published + spread;
    (now.min(to).max(published), to)
}
