//! What Iris decides about a connection that lives.

use crate::{
    observe::{
        Side,
        labels::{CloseReason, HandshakeFailure},
    },
    transport::{Close, Code},
};

/// A decision to end a connection. It is carried out at once, without the wait that a peer's own close gets.
#[derive(Debug, Clone)]
pub struct Order {
    /// The side that it is about. The other one ends because of it.
    pub side: Side,
    /// What it is counted under.
    pub reason: CloseReason,
    /// What both sides are told.
    pub close: Close,
}

impl Order {
    /// The process is stopping and its time is up.
    pub fn drain() -> Self {
        Self { side: Side::Both, reason: CloseReason::Drain, close: Code::Drain.close() }
    }

    /// The peer of this side is no longer believed, for this reason.
    pub fn untrusted(side: Side, why: HandshakeFailure) -> Self {
        match why {
            HandshakeFailure::Revoked => Self {
                side,
                reason: CloseReason::Revoked,
                close: Code::TrustRemoved.close_because("certificate revoked"),
            },
            _ => Self { side, reason: CloseReason::TrustRemoved, close: Code::TrustRemoved.close() },
        }
    }

    /// The trust of this side has shrunk, and its peer is welcome again at once.
    pub fn recycle(side: Side) -> Self {
        Self { side, reason: CloseReason::TrustRecycled, close: Code::RecycledForTrust.close() }
    }

    /// The identity that the upstream was dialled under is about to end.
    pub fn retire() -> Self {
        Self { side: Side::Dialled, reason: CloseReason::IdentityRetired, close: Code::IdentityRetired.close() }
    }

    /// The same for a connection that was not established yet.
    pub fn failure(&self) -> HandshakeFailure {
        match self.reason {
            CloseReason::TrustRemoved => HandshakeFailure::UnknownIssuer,
            CloseReason::Revoked => HandshakeFailure::Revoked,
            _ => HandshakeFailure::NotReady,
        }
    }
}
