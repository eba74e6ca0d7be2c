//! Ends that are set for later, carried out in time. Whoever runs [`Pacer::run`] owns them all.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::{Duration, Instant},
};

use tokio::{sync::Notify, time::sleep_until};

use super::{
    Connection, Order,
    pace::{Random, last, moments, shuffle},
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
    due: BTreeMap<(Instant, u64), (Weak<Connection>, Order, When)>,
    next: u64,
    stopped: bool,
}

/// What becomes of a connection in its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum When {
    /// It ends.
    Now,
    /// It is asked to take no more work, and ends then at the latest.
    By(Instant),
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

impl Queue {
    fn push(&mut self, at: Instant, entry: (Weak<Connection>, Order, When)) {
        let number = self.next;
        self.next += 1;
        self.due.insert((at, number), entry);
    }
}

impl Pacer {
    /// Sets the end of each connection of a batch, evenly spread over its window and in any order. One whose end is set for
    /// within the window already keeps its time. Says how many were set.
    pub(super) fn set(&self, batch: Batch) -> usize {
        let Batch { mut ends, from, to } = batch;
        let mut random = Random::new();
        shuffle(&mut ends, &mut random);
        let window = to.saturating_duration_since(from);
        let (moments, last) = (moments(ends.len(), window, &mut random), from + last(window));
        let mut queue = self.lock();
        if queue.stopped {
            return 0;
        }
        let mut set = 0;
        for ((connection, order, pending), moment) in ends.into_iter().zip(moments) {
            // What can finish its work gets the second half of the window for it.
            let (at, when) = match connection.finishes() {
                true => (from + moment / 2, When::By(last)),
                false => (from + moment, When::Now),
            };
            if connection.set_due(at, to, pending) {
                queue.push(at, (Arc::downgrade(&connection), order, when));
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
        due.into_values().filter_map(|(connection, ..)| connection.upgrade()).for_each(|one| one.clear_due());
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
            let (connection, order, when) = first.remove();
            if let When::By(last) = when {
                queue.push(last, (connection.clone(), order.clone(), When::Now));
            }
            drop(queue);
            match (connection.upgrade(), when) {
                (Some(connection), When::Now) => connection.order(order),
                (Some(connection), When::By(_)) => connection.wind_down(order),
                (None, _) => {}
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
