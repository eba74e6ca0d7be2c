//! QUIC without TLS, for a component that has an Iris beside it.
//!
//! Iris speaks QUIC with TLS to the world and this to the components of its pod: the QUIC of
//! [quinn](https://docs.rs/quinn), with its streams, resets, datagrams and close codes, over the loopback interface only,
//! and without a certificate anywhere. A component exchanges how it makes endpoints and connections, and keeps the rest:
//!
//! ```
//! use iris_loopback::{ClientHello, HandshakeData, ServerConfig, client_endpoint, connect_default, server_endpoint};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // A component that an ingress Iris dials. In place of quinn's `Endpoint::server`:
//! let config = ServerConfig { alpn: vec![b"h3".to_vec()], ..ServerConfig::default() };
//! let server = server_endpoint("127.0.0.1:0".parse()?, config)?;
//! let address = server.local_addr()?;
//!
//! // A component that dials through an egress Iris. In place of `Endpoint::client` and `connect`:
//! let client = client_endpoint("127.0.0.1:0".parse()?)?;
//! let hello = ClientHello {
//!     server_name: Some("stargate-0.stargate.example.com".into()),
//!     alpn: vec![b"h3".to_vec()],
//!     destination: Some("10.0.0.7:50072".into()),
//!     ..ClientHello::default()
//! };
//! let connecting = connect_default(&client, address, hello)?;
//!
//! // From here on it is quinn.
//! let accepting = async { server.accept().await.expect("the endpoint is open").await };
//! let (outgoing, incoming) = tokio::try_join!(connecting, accepting)?;
//! let (mut send, _recv) = outgoing.open_bi().await?;
//! send.write_all(b"hello").await?;
//! send.finish()?;
//! let (_send, mut recv) = incoming.accept_bi().await?;
//! assert_eq!(recv.read_to_end(100).await?, b"hello");
//!
//! // What the other side said: names, protocols and, behind an Iris, who its peer is.
//! let data = incoming.handshake_data().expect("there once the connection is");
//! let data = data.downcast::<HandshakeData>().expect("a loopback connection");
//! assert_eq!(data.server_name.as_deref(), Some("stargate-0.stargate.example.com"));
//! assert_eq!(data.alpn.as_deref(), Some(&b"h3"[..]));
//! # Ok(())
//! # }
//! ```
//!
//! # What is different from quinn with TLS
//!
//! - There is no encryption and no authentication. The endpoints therefore bind, send to and hear loopback addresses only.
//! - The protocol has a [QUIC version number of its own](VERSION). A TLS endpoint that is reached by mistake, or reaches this
//!   one, fails within milliseconds with a version mismatch. quinn's own constructors (`Endpoint::client`,
//!   `ServerConfig::with_single_cert`, and so on) speak version 1 and cannot be mixed in; [`endpoint_config`],
//!   [`server_config`] and [`client_config`] are there for those who build endpoints themselves.
//! - `handshake_data()` gives [`HandshakeData`]; `peer_identity()` is always `None`. What Iris knows about the certificate of
//!   its peer is in [`HandshakeData::peer`].
//! - No Retry, no address validation tokens, no migration, no 0-RTT.
//! - An acknowledgement, and what depends on it such as `SendStream::stopped`, means that Iris has the data. Iris may not have
//!   delivered it yet.
//! - [`transport_config`] is made for loopback. Stream limits and windows may be changed on it.
//!
//! [`Listener`] is for Iris itself: it reads what a component asks for before it accepts.
//!
//! The wire format is specified in `docs/loopback-quic.md` of the project.

mod congestion;
mod endpoint;
mod fuzzing;
mod hello;
mod keys;
mod listener;
mod parameters;
mod peek;
mod policy;
mod probe;
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
pub use probe::nobody_listens;
pub use session::HandshakeData;
pub use socket::{BufferReport, SOCKET_BUFFER};
pub use transport::{DATAGRAM_SIZE, transport_config};
pub use version::VERSION;
