//! What still has to reach one side before that side may be closed.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::sync::Notify;

/// Counts what is under way in one direction.
#[derive(Debug, Clone, Default)]
pub(super) struct Work(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    under_way: AtomicUsize,
    done: Notify,
}

/// One thing under way, until it is dropped: on every path, a panic included.
#[derive(Debug)]
pub(super) struct Item(Arc<Inner>);

impl Work {
    /// Begins one thing.
    pub(super) fn begin(&self) -> Item {
        self.0.under_way.fetch_add(1, Ordering::Relaxed);
        Item(self.0.clone())
    }

    /// Completes when nothing is under way.
    pub(super) async fn idle(&self) {
        loop {
            // Made before the look, so that an end between look and wait is not missed.
            let done = self.0.done.notified();
            if self.0.under_way.load(Ordering::Acquire) == 0 {
                return;
            }
            done.await;
        }
    }
}

impl Drop for Item {
    fn drop(&mut self) {
        if self.0.under_way.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.done.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{pin::pin, task::Poll};

    #[tokio::test]
    async fn idle_waits_for_the_last_item() {
        let work = Work::default();
        work.idle().await;
        let (first, second) = (work.begin(), work.begin());
        let mut idle = pin!(work.idle());
        let poll = std::future::poll_fn(|cx| Poll::Ready(idle.as_mut().poll(cx).is_pending()));
        assert!(poll.await);
        drop(first);
        drop(second);
        idle.await;
    }
}
