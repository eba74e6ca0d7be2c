//! What Iris decides about a connection that lives.

use crate::{
    observe::labels::CloseReason,
    transport::{Close, Code},
};

/// A decision to end a connection. It is carried out at once, without the wait that a peer's own close gets.
#[derive(Debug, Clone)]
pub struct Order {
    /// What it is counted under.
    pub reason: CloseReason,
    /// What both sides are told.
    pub close: Close,
}

impl Order {
    /// The process is stopping and its time is up.
    pub fn drain() -> Self {
        Self { reason: CloseReason::Drain, close: Code::Drain.close() }
    }
}
