//! Components: plaintext processes beside Iris.

use std::{net::SocketAddr, sync::Arc};

use iris_loopback::{ClientHello, ServerConfig};
use quinn::{Connection, ConnectionError, Endpoint, TransportConfig};

use super::secrets;

/// A component that listens.
pub(crate) struct Component {
    pub(crate) endpoint: Endpoint,
    pub(crate) address: SocketAddr,
}

impl Component {
    /// With these application protocols and transport.
    pub(crate) fn listen(alpn: &[Vec<u8>], transport: TransportConfig) -> Self {
        let config = ServerConfig { alpn: alpn.to_vec(), alpn_optional: true, transport: Arc::new(transport) };
        let endpoint = iris_loopback::server_endpoint("127.0.0.1:0".parse().unwrap(), config).unwrap();
        let address = endpoint.local_addr().unwrap();
        Self { endpoint, address }
    }

    /// With nothing special.
    pub(crate) fn plain() -> Self {
        Self::listen(&[], iris_loopback::transport_config())
    }

    /// The next connection.
    pub(crate) async fn accept(&self) -> Result<Connection, ConnectionError> {
        self.endpoint.accept().await.expect("the endpoint is open").await
    }
}

/// A component that calls.
pub(crate) struct Caller(Endpoint);

impl Caller {
    pub(crate) fn new() -> Self {
        Self(iris_loopback::client_endpoint("127.0.0.1:0".parse().unwrap()).unwrap())
    }

    pub(crate) async fn connect(&self, to: SocketAddr, hello: ClientHello) -> Result<Connection, ConnectionError> {
        self.connect_with(to, hello, iris_loopback::transport_config()).await
    }

    pub(crate) async fn connect_with(
        &self,
        to: SocketAddr,
        hello: ClientHello,
        transport: TransportConfig,
    ) -> Result<Connection, ConnectionError> {
        let connected = iris_loopback::connect(&self.0, to, hello, Arc::new(transport)).unwrap().await;
        connected.inspect_err(|error| secrets::search("what a component is told", error.to_string().as_bytes()))
    }
}

/// Asks for `name`.
pub(crate) fn hello(name: &str) -> ClientHello {
    ClientHello { server_name: Some(name.to_owned()), ..ClientHello::default() }
}
