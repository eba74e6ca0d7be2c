//! The only place that spawns, so that no task is without an owner.

use std::future::Future;

use tokio::runtime::Handle;
use tokio_util::task::{TaskTracker, task_tracker::TaskTrackerWaitFuture};

/// The tasks of one worker. Whoever holds it can wait until all of them have ended.
///
/// A task is never cancelled: it ends when the connections that it serves are closed, so that every stream that it
/// holds is reset or finished on purpose and not by a drop.
#[derive(Debug, Clone)]
pub struct Tasks {
    tracker: TaskTracker,
    handle: Handle,
}

impl Tasks {
    /// Tasks that run on the runtime behind `handle`.
    pub fn new(handle: Handle) -> Self {
        let tracker = TaskTracker::new();
        tracker.close();
        Self { tracker, handle }
    }

    /// Runs `future` on this worker, whichever thread calls.
    pub fn spawn<F>(&self, future: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.tracker.spawn_on(future, &self.handle);
    }

    /// Completes when all have ended.
    pub fn idle(&self) -> TaskTrackerWaitFuture<'_> {
        self.tracker.wait()
    }
}
