//! Bounds on connections and on handshakes in flight, over all listeners.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::plan::Limits;

/// Lets connections in while there is room.
#[derive(Debug)]
pub struct Admission {
    connections: Arc<Semaphore>,
    handshakes: Arc<Semaphore>,
    handshake_limit: usize,
}

/// Room for one connection and, until [`handshake_done`](Self::handshake_done), for its handshake.
#[derive(Debug)]
pub struct Admitted {
    _connection: OwnedSemaphorePermit,
    handshake: Option<OwnedSemaphorePermit>,
}

/// Why there is no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// `limits.connections` is reached.
    #[error("limits.connections is reached")]
    Connections,
    /// `limits.handshakes` is reached.
    #[error("limits.handshakes is reached")]
    Handshakes,
}

impl Admission {
    /// With the bounds of `limits`.
    pub fn new(limits: &Limits) -> Self {
        let semaphore = |permits: usize| Arc::new(Semaphore::new(permits.min(Semaphore::MAX_PERMITS)));
        Self {
            connections: semaphore(limits.connections),
            handshakes: semaphore(limits.handshakes),
            handshake_limit: limits.handshakes,
        }
    }

    /// Room for one more, without waiting.
    ///
    /// # Errors
    ///
    /// The bound that is reached.
    pub fn admit(&self) -> Result<Admitted, Refusal> {
        let connection = self.connections.clone().try_acquire_owned().map_err(|_| Refusal::Connections)?;
        let handshake = self.handshakes.clone().try_acquire_owned().map_err(|_| Refusal::Handshakes)?;
        Ok(Admitted { _connection: connection, handshake: Some(handshake) })
    }

    /// Whether more than half of the handshakes that may be in flight are: time to ask for proof of address.
    pub fn is_pressed(&self) -> bool {
        self.handshakes.available_permits() < self.handshake_limit.div_ceil(2)
    }
}

impl Admitted {
    /// Makes room for the next handshake.
    pub fn handshake_done(&mut self) {
        self.handshake = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bound_holds_and_gives_back() {
        let admission = Admission::new(&Limits { connections: 2, handshakes: 1, ..Limits::default() });
        let mut first = admission.admit().unwrap();
        assert!(admission.is_pressed());
        assert_eq!(admission.admit().unwrap_err(), Refusal::Handshakes);
        first.handshake_done();
        let _second = admission.admit().unwrap();
        assert_eq!(admission.admit().unwrap_err(), Refusal::Connections);
        drop(first);
        assert_eq!(admission.admit().unwrap_err(), Refusal::Handshakes);
    }
}
