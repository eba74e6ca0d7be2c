//! Why a pair ended, which is also the label that it is counted under.

use quinn::ConnectionError;

use crate::{
    live::Order,
    observe::{Ending, Side, labels::CloseReason},
};

/// Why a pair ended.
#[derive(Debug, Clone)]
pub enum PairEnd {
    /// One side closed or was lost; the other followed.
    Closed {
        /// Which side was first.
        side: Side,
        /// How.
        error: ConnectionError,
    },
    /// Iris closed both.
    Ordered(Order),
}

impl PairEnd {
    /// As it is recorded.
    pub fn ending(&self) -> Ending {
        match self {
            Self::Ordered(order) => {
                Ending::new(order.side, order.reason).with_code(order.close.code.into_inner(), &order.close.reason)
            }
            Self::Closed { side, error: ConnectionError::ApplicationClosed(close) } => {
                Ending::new(*side, CloseReason::Peer).with_code(close.error_code.into_inner(), &close.reason)
            }
            Self::Closed { side, error } => {
                let reason = match error {
                    ConnectionError::TimedOut => CloseReason::Idle,
                    ConnectionError::ConnectionClosed(_) | ConnectionError::Reset => CloseReason::Peer,
                    _ => CloseReason::Error,
                };
                let mut ending = Ending::new(*side, reason);
                ending.text = error.to_string().into_bytes();
                ending
            }
        }
    }
}
