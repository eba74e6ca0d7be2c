//! The timer of silence, where the file asks for one.

use std::{pin::Pin, sync::Arc, time::Duration};

use tokio::time::{Instant, Sleep, sleep_until};

use crate::observe::{Traffic, labels::Direction};

/// The timer of silence. It is not set anew for every byte: when it goes off, what has passed since is looked at.
pub(super) struct Idle {
    time: Duration,
    sleep: Pin<Box<Sleep>>,
    traffic: Arc<Traffic>,
    passed: u64,
}

impl Idle {
    pub(super) fn new(time: Duration, traffic: Arc<Traffic>) -> Self {
        Self { time, sleep: Box::pin(sleep_until(Instant::now() + time)), traffic, passed: 0 }
    }

    /// Completes after silence: between one and two of the configured times after the last byte. Never, and without a
    /// timer, where there is none.
    pub(super) async fn over(idle: Option<&mut Self>) {
        let Some(idle) = idle else { return std::future::pending().await };
        loop {
            idle.sleep.as_mut().await;
            let passed =
                idle.traffic.bytes_passed(Direction::Upstream) + idle.traffic.bytes_passed(Direction::Downstream);
            if passed == idle.passed {
                return;
            }
            idle.passed = passed;
            idle.sleep.as_mut().reset(Instant::now() + idle.time);
        }
    }
}
