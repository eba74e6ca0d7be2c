//! Accepting ends: from a bound socket to a session, a held attempt or a stream, with a route.

pub mod arrival;
pub mod loopback;
pub mod quic;
pub mod stream;

use std::{io, net::SocketAddr};

pub use arrival::{Arrival, ArrivalEnd};
pub use stream::{StreamArrival, StreamListener};

use crate::plan::ListenerPlan;

/// The address to bind. A plan has one wherever the transport needs one.
fn socket_of(listener: &ListenerPlan) -> io::Result<SocketAddr> {
    let no_address = || io::Error::new(io::ErrorKind::InvalidInput, "a path, where an address is needed");
    listener.place.socket().ok_or_else(no_address)
}
