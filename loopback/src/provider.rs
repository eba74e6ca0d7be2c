//! The crypto provider as quinn wants it: one configuration for clients, one for servers.

use std::sync::Arc;

use quinn_proto::crypto::{self, Keys, UnsupportedVersion};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, Side};

use crate::hello::{ClientHello, EncodeError, HELLO_FORMAT, encode};
use crate::parameters::{self, DatagramSize};
use crate::policy::Policy;
use crate::session::{HandshakeData, Session};
use crate::{keys, version};

/// Makes the client sessions of one hello.
pub(crate) struct Client {
    /// The fields of the hello but for the transport parameters, which each connection has its own of.
    fields: Vec<u8>,
    /// What the hello asks for, to compare with the answer and to show in [`HandshakeData`].
    pub(crate) asked: HandshakeData,
    datagrams: DatagramSize,
    /// The newest hello format of this side.
    pub(crate) speaks: u8,
}

impl Client {
    pub(crate) fn new(hello: ClientHello, datagrams: DatagramSize) -> Result<Self, EncodeError> {
        Self::speaking(HELLO_FORMAT, hello, datagrams)
    }

    /// A client of an older format, as tests need one.
    pub(crate) fn speaking(speaks: u8, hello: ClientHello, datagrams: DatagramSize) -> Result<Self, EncodeError> {
        let fields = encode::client_fields(&hello, speaks)?;
        let ClientHello { server_name, alpn, destination, peer: _ } = hello;
        let asked = HandshakeData { server_name, offered_alpn: alpn, destination, ..HandshakeData::default() };
        Ok(Self { fields, asked, datagrams, speaks })
    }
}

impl crypto::ClientConfig for Client {
    /// The server name is in the hello; what quinn hands over is not looked at.
    fn start_session(
        self: Arc<Self>,
        version: u32,
        _server_name: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn crypto::Session>, ConnectError> {
        version::check(version)?;
        let parameters = parameters::encode(params, Side::Client, self.datagrams);
        let hello = encode::client(self.speaks, &parameters, &self.fields)
            .map_err(|error| ConnectError::InvalidServerName(error.to_string()))?;
        Ok(Box::new(Session::client(self, hello)))
    }
}

/// Makes the server sessions of one policy.
pub(crate) struct Server {
    /// Which protocol to choose, or why to refuse.
    pub(crate) policy: Policy,
    /// The datagram size to announce.
    pub(crate) datagrams: DatagramSize,
    /// The newest hello format of this side.
    pub(crate) speaks: u8,
}

impl Server {
    pub(crate) fn new(policy: Policy) -> Self {
        Self { policy, datagrams: DatagramSize::Unchanged, speaks: HELLO_FORMAT }
    }
}

impl crypto::ServerConfig for Server {
    fn initial_keys(&self, version: u32, _dst_cid: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        version::check(version)?;
        Ok(keys::keys())
    }

    /// Never sent: there is no Retry over loopback.
    fn retry_tag(&self, _version: u32, _orig_dst_cid: &ConnectionId, _packet: &[u8]) -> [u8; 16] {
        [0; 16]
    }

    fn start_session(self: Arc<Self>, _version: u32, params: &TransportParameters) -> Box<dyn crypto::Session> {
        let parameters = parameters::encode(params, Side::Server, self.datagrams);
        Box::new(Session::server(self, parameters))
    }
}
