//! The operator's HTTP: liveness, readiness, metrics and status.
//!
//! Two kinds of listener: one with everything, for loopback, and one for kubelet and Prometheus with nothing about
//! peers in it ([`Scope`]). Liveness follows nothing but the process; readiness and metrics are worked out by the wall
//! clock when they are asked for.
//!
//! Anyone who reaches a listener can hold at most one of [`CONNECTIONS`] connections for [`EXCHANGE`], and the newest
//! connection always gets in, so that a slow or hostile client cannot starve a probe.

mod answer;
mod page;
mod server;

use std::{fmt, io, net, sync::Arc, time::Duration};

use crate::observe::{Observer, status::ConnectionsRow};

pub use server::serve;

/// The most connections of one listener at a time. One more cuts the oldest.
pub const CONNECTIONS: usize = 64;

/// The longest time that a client may take for its request head.
pub const HEAD: Duration = Duration::from_secs(5);

/// The longest time for one request and its answer. Each connection carries one.
pub const EXCHANGE: Duration = Duration::from_secs(15);

/// The most bytes of a request head.
pub const HEAD_BYTES: usize = 16 * 1024;

/// The most header fields of a request.
pub const HEADERS: usize = 64;

/// What a listener answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// `/`, `/livez`, `/readyz`, `/metrics`, `/status`.
    Everything,
    /// `/livez`, `/readyz`, `/metrics`.
    Scrape,
}

/// What is shown.
pub struct View {
    observer: Arc<Observer>,
    connections: Box<dyn Fn() -> ConnectionsRow + Send + Sync>,
}

impl View {
    /// Shows what `observer` knows; `connections` is asked who is connected for each `/status`.
    pub fn new(observer: Arc<Observer>, connections: impl Fn() -> ConnectionsRow + Send + Sync + 'static) -> Self {
        Self { observer, connections: Box::new(connections) }
    }
}

impl fmt::Debug for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("View").finish_non_exhaustive()
    }
}

/// Binds a listener for [`serve`].
///
/// # Errors
///
/// What the operating system says.
pub fn bind(address: net::SocketAddr) -> io::Result<net::TcpListener> {
    let listener = net::TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

#[cfg(test)]
mod tests;
