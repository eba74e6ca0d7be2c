//! Stopping is a one-way street: once begun, nothing takes it back.

use std::time::{Duration, Instant};

use tokio::sync::watch;

/// Begins the drain.
#[derive(Debug)]
pub struct DrainTrigger(watch::Sender<Option<Instant>>);

/// Tells whether the drain has begun.
#[derive(Debug, Clone)]
pub struct DrainSignal(watch::Receiver<Option<Instant>>);

/// A drain that has not begun.
pub fn channel() -> (DrainTrigger, DrainSignal) {
    let (sender, receiver) = watch::channel(None);
    (DrainTrigger(sender), DrainSignal(receiver))
}

impl DrainTrigger {
    /// Begins the drain, to be over within `time`. The first call decides.
    pub fn begin(&self, time: Duration) {
        self.0.send_if_modified(|deadline| {
            let first = deadline.is_none();
            deadline.get_or_insert(Instant::now() + time);
            first
        });
    }
}

impl DrainSignal {
    /// Whether it has begun.
    pub fn has_begun(&self) -> bool {
        self.0.borrow().is_some()
    }

    /// Completes with the deadline when it has begun.
    pub async fn begun(&mut self) -> Instant {
        // The deadline is taken out here: what `wait_for` returns holds a lock.
        let deadline = self.0.wait_for(Option::is_some).await.map(|deadline| *deadline);
        match deadline {
            Ok(deadline) => deadline.expect("waited for it"),
            // The trigger is gone without having been pulled: there will be no drain.
            Err(_) => std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_first_deadline_stands() {
        let (trigger, mut signal) = channel();
        assert!(!signal.has_begun());
        trigger.begin(Duration::from_secs(1));
        let deadline = signal.begun().await;
        trigger.begin(Duration::from_secs(100));
        assert_eq!(signal.begun().await, deadline);
        assert!(signal.has_begun());
    }
}
