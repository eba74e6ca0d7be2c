//! QUIC without TLS between a component and the Iris beside it.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod congestion;
mod endpoint;
mod fuzzing;
mod hello;
mod keys;
mod listener;
mod parameters;
mod peek;
mod policy;
mod provider;
mod session;
mod socket;
mod token;
mod transport;
mod version;

pub use endpoint::{
    ConnectError, ServerConfig, client_config, client_endpoint, connect, connect_default, connect_with,
    endpoint_config, endpoint_with, server_config, server_endpoint,
};
#[doc(hidden)]
pub use fuzzing::fuzz_hello;
pub use hello::{ClientHello, EncodeError, HELLO_FORMAT, HelloError, MAX_HELLO, PeerCertificate, PeerInfo};
pub use listener::{Answer, Listener, Pending};
pub use parameters::{DatagramSize, PeerLimits};
pub use session::HandshakeData;
pub use socket::{BufferReport, SOCKET_BUFFER};
pub use transport::{DATAGRAM_SIZE, transport_config};
pub use version::VERSION;
