//! Metrics, log and status rows. Imports nothing of the others.
//!
//! [`Observer`] is the one object that the process is observed by. A listener or upstream counts through its
//! [`Component`], a material through a [`Role`] of it, a connection through an [`Attempt`] that becomes a
//! [`ConnectionRecord`].

pub mod component;
pub mod escape;
pub mod labels;
pub mod limit;
pub mod log;
pub mod metrics;
pub mod observer;
pub mod peer;
pub mod ready;
pub mod record;
pub mod role;
pub mod standing;
pub mod status;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use component::{Component, ComponentSetup};
pub use metrics::PendingRecycle;
pub use observer::{Observer, Setup};
pub use peer::PeerAddress;
pub use ready::{Phase, Readiness};
pub use record::{Attempt, ConnectionRecord, Ending, PeerFacts, Side, Traffic};
pub use role::Role;
pub use standing::{Lifetime, Standing};

/// A lock on what is observed. What a panic elsewhere left behind is still whole: each holder writes a field or two.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
