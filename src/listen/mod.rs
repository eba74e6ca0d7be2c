//! Accepting ends: from a bound socket to a session, or a held attempt, with a route.

pub mod arrival;
pub mod loopback;
pub mod quic;

pub use arrival::{Arrival, ArrivalEnd};
