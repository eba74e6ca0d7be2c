//! Endpoints and connections for components, and the pieces of them for those who build their own.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use quinn::{
    Connecting, Endpoint, EndpointConfig, NoneTokenStore, TokioRuntime, TransportConfig, ValidationTokenConfig,
};
use quinn_proto::{RandomConnectionIdGenerator, crypto};

use crate::hello::{ClientHello, EncodeError};
use crate::parameters::DatagramSize;
use crate::policy::Policy;
use crate::provider::{Client, Server};
use crate::socket::{self, BufferReport, SOCKET_BUFFER};
use crate::token::{NoTokens, ResetKey};
use crate::transport::{DATAGRAM_SIZE, transport_config};
use crate::version::VERSION;

/// Connection attempts that may wait for the program to take them. quinn ignores more, and their clients try again.
pub(crate) const MAX_WAITING: usize = 1024;

/// Bytes of a connection ID, all of them random.
const CONNECTION_ID_LEN: usize = 8;

/// Bytes kept of what a client sends while its attempt waits: its hello again, a few times.
const WAITING_BUFFER: u64 = 64 * 1024;
/// The same for all attempts together.
const WAITING_BUFFER_TOTAL: u64 = 16 * 1024 * 1024;

/// How a component listens.
#[derive(Debug, Clone)]
pub struct ServerConfig {
    /// The application protocols that it speaks, the preferred one first. Empty, the default: only callers that offer none
    /// are accepted. As with TLS, a caller with whom there is no protocol in common is refused with alert 120.
    pub alpn: Vec<Vec<u8>>,
    /// Accept a caller that offers no protocol although `alpn` is not empty. Default: false.
    pub alpn_optional: bool,
    /// Transport settings; [`transport_config`] by default.
    pub transport: Arc<TransportConfig>,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self { alpn: Vec::new(), alpn_optional: false, transport: Arc::new(transport_config()) }
    }
}

/// Why a connection could not be started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The address is not on this host's loopback interface, and the endpoint is.
    #[error("{0} is not a loopback address: loopback QUIC carries no TLS")]
    NotLoopback(SocketAddr),
    /// The hello cannot be sent.
    #[error(transparent)]
    Hello(#[from] EncodeError),
    /// quinn refuses to start the connection.
    #[error(transparent)]
    Quinn(#[from] quinn::ConnectError),
}

/// An endpoint that accepts loopback connections, and can make some with [`connect`] too.
///
/// `addr` is a loopback address; port 0 lets the kernel choose. Call it within a tokio runtime. A warning is logged when the
/// kernel gives smaller socket buffers than [`SOCKET_BUFFER`].
///
/// # Errors
///
/// `InvalidInput` when the address is not a loopback address; otherwise what the kernel says.
pub fn server_endpoint(addr: SocketAddr, config: ServerConfig) -> io::Result<Endpoint> {
    open(addr, Some(server_config(config)))
}

/// An endpoint that makes loopback connections with [`connect`]. `addr` is its own address: loopback, mostly port 0.
///
/// # Errors
///
/// As for [`server_endpoint`].
pub fn client_endpoint(addr: SocketAddr) -> io::Result<Endpoint> {
    open(addr, None)
}

fn open(addr: SocketAddr, server: Option<quinn::ServerConfig>) -> io::Result<Endpoint> {
    let (endpoint, buffers) = endpoint_with(addr, server, false, SOCKET_BUFFER)?;
    if buffers.clamped() {
        tracing::warn!(%addr, "{buffers}: raise net.core.rmem_max and net.core.wmem_max to avoid losses under load");
    }
    Ok(endpoint)
}

/// An endpoint with every choice open: the full form of [`server_endpoint`] and [`client_endpoint`].
///
/// With `allow_remote` the address need not be a loopback address, and packets of remote hosts are taken: plaintext on the
/// network, for development only. `buffer` is the size of the socket's buffers in bytes; 0 leaves the kernel's default.
///
/// # Errors
///
/// As for [`server_endpoint`].
pub fn endpoint_with(
    addr: SocketAddr,
    server: Option<quinn::ServerConfig>,
    allow_remote: bool,
    buffer: usize,
) -> io::Result<(Endpoint, BufferReport)> {
    let (socket, buffers) = socket::bind(addr, allow_remote, buffer)?;
    let socket = socket::wrap(socket, allow_remote)?;
    let endpoint = Endpoint::new_with_abstract_socket(endpoint_config(), server, socket, Arc::new(TokioRuntime))?;
    Ok((endpoint, buffers))
}

/// What every loopback endpoint has in common: the version, alone, and the receive size.
#[must_use]
pub fn endpoint_config() -> EndpointConfig {
    let mut config = EndpointConfig::new(Arc::new(ResetKey));
    config.supported_versions(vec![VERSION]);
    // Not quinn's default, which recognises its own: a restarted component must answer for those of its predecessor.
    config.cid_generator(|| Box::new(RandomConnectionIdGenerator::new(CONNECTION_ID_LEN)));
    config.max_udp_payload_size(DATAGRAM_SIZE).expect("between 1,200 and 65,527");
    config
}

/// The server side of an endpoint, for `Endpoint::set_server_config` for instance.
#[must_use]
pub fn server_config(config: ServerConfig) -> quinn::ServerConfig {
    let ServerConfig { alpn, alpn_optional, transport } = config;
    server_with(Arc::new(Server::new(Policy::Choose { alpn, optional: alpn_optional })), transport)
}

pub(crate) fn server_with(
    crypto: Arc<dyn crypto::ServerConfig>,
    transport: Arc<TransportConfig>,
) -> quinn::ServerConfig {
    let mut tokens = ValidationTokenConfig::default();
    tokens.sent(0);
    let mut server = quinn::ServerConfig::new(crypto, Arc::new(NoTokens));
    server
        .transport_config(transport)
        .validation_token_config(tokens)
        .migration(false)
        .max_incoming(MAX_WAITING)
        .incoming_buffer_size(WAITING_BUFFER)
        .incoming_buffer_size_total(WAITING_BUFFER_TOTAL);
    server
}

/// The client side of connections with this hello, for `Endpoint::connect_with` or `set_default_client_config`. The server
/// name that quinn asks for there is not looked at: the hello has it.
///
/// # Errors
///
/// When the hello has something in it that cannot be sent.
pub fn client_config(
    hello: ClientHello,
    datagrams: DatagramSize,
    transport: Arc<TransportConfig>,
) -> Result<quinn::ClientConfig, EncodeError> {
    Ok(client_with(Arc::new(Client::new(hello, datagrams)?), transport))
}

pub(crate) fn client_with(client: Arc<Client>, transport: Arc<TransportConfig>) -> quinn::ClientConfig {
    let mut config = quinn::ClientConfig::new(client);
    config.version(VERSION).transport_config(transport).token_store(Arc::new(NoneTokenStore));
    config
}

/// Connects to a component, or to an Iris that listens on loopback.
///
/// # Errors
///
/// At once when the address is not a loopback address, the hello cannot be sent or the endpoint is closing. What the other
/// side says comes with the future: when an Iris refuses because its own dial failed, that is
/// [`ConnectionClosed`](quinn::ConnectionError::ConnectionClosed) with code and reason.
pub fn connect(
    endpoint: &Endpoint,
    to: SocketAddr,
    hello: ClientHello,
    transport: Arc<TransportConfig>,
) -> Result<Connecting, ConnectError> {
    connect_with(endpoint, to, hello, DatagramSize::Unchanged, transport)
}

/// [`connect`] with the settings of [`transport_config`].
///
/// # Errors
///
/// As for [`connect`].
pub fn connect_default(endpoint: &Endpoint, to: SocketAddr, hello: ClientHello) -> Result<Connecting, ConnectError> {
    connect(endpoint, to, hello, Arc::new(transport_config()))
}

/// [`connect`] that announces another datagram size than its own: Iris announces that of the secured peer.
///
/// An address off this host is dialled only from an endpoint that was bound, on purpose, to an address that is not
/// loopback ([`endpoint_with`]).
///
/// # Errors
///
/// As for [`connect`].
pub fn connect_with(
    endpoint: &Endpoint,
    to: SocketAddr,
    hello: ClientHello,
    datagrams: DatagramSize,
    transport: Arc<TransportConfig>,
) -> Result<Connecting, ConnectError> {
    let confined = endpoint.local_addr().ok().filter(|local| local.ip().is_loopback());
    if confined.is_some() && !to.ip().is_loopback() {
        return Err(ConnectError::NotLoopback(to));
    }
    // 127.0.0.1 cannot be reached from [::1]; quinn would try until its timer ends it.
    if confined.is_some_and(|local| local.is_ipv6() != to.is_ipv6()) {
        return Err(quinn::ConnectError::InvalidRemoteAddress(to).into());
    }
    let config = client_config(hello, datagrams, transport)?;
    Ok(endpoint.connect_with(config, to, "")?)
}
