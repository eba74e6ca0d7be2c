//! Why two joined streams ended, which is also the label that they are counted under.

use std::io;

use crate::{
    live::Order,
    observe::{
        Ending, Side,
        labels::{CloseReason, HandshakeFailure},
    },
    tls::stream::late_failure,
};

/// Why two joined streams ended.
#[derive(Debug)]
pub(in crate::bridge) enum StreamEnd {
    /// Both directions came to their end.
    Ended {
        /// Which side had finished first.
        first: Side,
    },
    /// One stream broke, and the other was cut.
    Broken {
        /// Which.
        side: Side,
        /// How.
        error: io::Error,
    },
    /// Nothing passed for the idle timeout.
    Idle,
    /// Iris cut both.
    Ordered(Order),
}

impl StreamEnd {
    /// As it is recorded.
    pub(in crate::bridge) fn ending(&self) -> Ending {
        match self {
            Self::Ended { first } => Ending::new(*first, CloseReason::Peer),
            Self::Broken { side, error } => {
                let mut ending = Ending::new(*side, reason(error));
                ending.text = error.to_string().into_bytes();
                ending
            }
            Self::Idle => Ending::new(Side::Both, CloseReason::Idle),
            Self::Ordered(order) => {
                Ending::new(order.side, order.reason).with_code(order.close.code.into_inner(), &order.close.reason)
            }
        }
    }

    /// Why the server that was dialled turned out not to have let us in, if that is how it broke.
    pub(in crate::bridge) fn late_failure(&self) -> Option<HandshakeFailure> {
        match self {
            Self::Broken { side: Side::Dialled, error } => late_failure(error),
            _ => None,
        }
    }
}

fn reason(error: &io::Error) -> CloseReason {
    match error.kind() {
        // Reset, or gone without the word that TLS has for an end.
        io::ErrorKind::ConnectionReset
        | io::ErrorKind::ConnectionAborted
        | io::ErrorKind::BrokenPipe
        | io::ErrorKind::UnexpectedEof => CloseReason::Peer,
        // Keep-alive probes, or what was sent, went unanswered.
        io::ErrorKind::TimedOut | io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => {
            CloseReason::Idle
        }
        _ => CloseReason::Error,
    }
}
