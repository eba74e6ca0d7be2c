//! Endpoints, and deadlines that a healthy test never meets.

use std::future::Future;
use std::net::SocketAddr;
use std::time::Duration;

use iris_loopback::{ClientHello, ServerConfig, client_endpoint, server_endpoint};
use quinn::Endpoint;

/// Any port of 127.0.0.1.
pub(crate) fn anywhere() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

/// Fails the test when `future` takes longer than any healthy machine needs.
pub(crate) async fn soon<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(Duration::from_secs(20), future).await.expect("done long before the deadline")
}

/// A listening endpoint with this ALPN list, and its address.
pub(crate) fn server(alpn: &[&str]) -> (Endpoint, SocketAddr) {
    let alpn = alpn.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
    let endpoint = server_endpoint(anywhere(), ServerConfig { alpn, ..ServerConfig::default() }).expect("binds");
    let addr = endpoint.local_addr().expect("bound");
    (endpoint, addr)
}

/// An endpoint that only dials.
pub(crate) fn client() -> Endpoint {
    client_endpoint(anywhere()).expect("binds")
}

/// A hello with these protocols on offer.
pub(crate) fn offering(alpn: &[&str]) -> ClientHello {
    ClientHello { alpn: alpn.iter().map(|protocol| protocol.as_bytes().to_vec()).collect(), ..ClientHello::default() }
}
