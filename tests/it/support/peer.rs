//! Secured peers: plain quinn with rustls, as the components have today.

use std::{net::SocketAddr, sync::Arc};

use quinn::{
    ClientConfig, Connection, ConnectionError, Endpoint, EndpointConfig, ServerConfig, TransportConfig,
    crypto::rustls::{QuicClientConfig, QuicServerConfig},
};
use rustls::{
    RootCertStore,
    crypto::aws_lc_rs,
    pki_types::CertificateDer,
    server::{ResolvesServerCert, WebPkiClientVerifier},
    sign::{CertifiedKey, SingleCertAndKey},
};

use super::{
    pki::{Ca, Leaf},
    secrets,
};

/// What a peer is like. Each test changes what it is about.
#[derive(Clone)]
pub(crate) struct PeerSpec {
    pub(crate) alpn: Vec<Vec<u8>>,
    pub(crate) transport: Arc<TransportConfig>,
}

impl Default for PeerSpec {
    fn default() -> Self {
        Self { alpn: Vec::new(), transport: Arc::new(transport(|_| ())) }
    }
}

impl PeerSpec {
    pub(crate) fn alpn(protocols: &[&str]) -> Self {
        Self { alpn: protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect(), ..Self::default() }
    }

    pub(crate) fn transport(change: impl FnOnce(&mut TransportConfig)) -> Self {
        Self { transport: Arc::new(transport(change)), ..Self::default() }
    }
}

/// quinn's defaults, changed.
pub(crate) fn transport(change: impl FnOnce(&mut TransportConfig)) -> TransportConfig {
    let mut config = TransportConfig::default();
    change(&mut config);
    config
}

/// A client that trusts `ca` and shows `identity` when asked.
pub(crate) fn client_config(ca: &Ca, identity: Option<&Leaf>, spec: &PeerSpec) -> ClientConfig {
    client_config_of(&[ca], identity, spec)
}

/// The same, with trust in several.
pub(crate) fn client_config_of(cas: &[&Ca], identity: Option<&Leaf>, spec: &PeerSpec) -> ClientConfig {
    client_of(client_tls(cas, identity, spec), spec)
}

/// The TLS part of it.
pub(crate) fn client_tls(cas: &[&Ca], identity: Option<&Leaf>, spec: &PeerSpec) -> rustls::ClientConfig {
    let mut roots = RootCertStore::empty();
    for ca in cas {
        roots.add(ca.certificate()).unwrap();
    }
    let builder = rustls::ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_root_certificates(roots);
    let mut tls = match identity {
        Some(leaf) => builder.with_client_auth_cert(leaf.chain.clone(), leaf.key_der()).unwrap(),
        None => builder.with_no_client_auth(),
    };
    tls.alpn_protocols.clone_from(&spec.alpn);
    tls
}

/// A client with this TLS part.
pub(crate) fn client_of(tls: rustls::ClientConfig, spec: &PeerSpec) -> ClientConfig {
    let mut config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls).unwrap()));
    config.transport_config(spec.transport.clone());
    config
}

/// Whether the server let a client in: it judges a client's certificate when the client believes to be connected already.
pub(crate) async fn admitted(connection: Connection) -> Result<Connection, ConnectionError> {
    let confirmed = async {
        while connection.stats().frame_rx.handshake_done == 0 {
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
    };
    tokio::select! {
        error = connection.closed() => return Err(error),
        () = confirmed => {}
    }
    Ok(connection)
}

/// A client endpoint on any port.
pub(crate) fn client_endpoint() -> Endpoint {
    Endpoint::client("127.0.0.1:0".parse().unwrap()).unwrap()
}

/// Connects with a throwaway endpoint.
pub(crate) async fn connect(to: SocketAddr, name: &str, config: ClientConfig) -> Result<Connection, ConnectionError> {
    client_endpoint().connect_with(config, to, name).unwrap().await
}

/// The leaf that the other end showed.
pub(crate) fn shown_by(connection: &Connection) -> CertificateDer<'static> {
    let chain = connection.peer_identity().expect("a certificate was shown");
    chain.downcast::<Vec<CertificateDer<'static>>>().expect("as rustls gives it")[0].clone()
}

/// Completes when the server has accepted the client's certificate too; with the error when it has not.
pub(crate) async fn verdict(connection: &Connection) -> Result<(), ConnectionError> {
    let confirmed = async {
        while connection.stats().frame_rx.handshake_done == 0 {
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
    };
    tokio::select! {
        error = connection.closed() => {
            secrets::search("what a peer is told", error.to_string().as_bytes());
            Err(error)
        }
        () = confirmed => Ok(()),
    }
}

/// Asks over a stream of its own for an echo.
pub(crate) async fn request(connection: &Connection) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let (mut send, mut recv) = connection.open_bi().await?;
    send.write_all(b"are you there?").await?;
    send.finish()?;
    let answer = recv.read_to_end(100).await?;
    if answer == b"are you there?" { Ok(()) } else { Err(format!("not an echo: {answer:?}").into()) }
}

/// Answers every stream of a connection with what it brings, until it ends.
pub(crate) async fn echo(connection: Connection) {
    while let Ok((mut send, mut recv)) = connection.accept_bi().await {
        tokio::spawn(async move {
            if let Ok(bytes) = recv.read_to_end(1 << 20).await {
                let _ = send.write_all(&bytes).await;
                let _ = send.finish();
            }
        });
    }
}

/// Accepts and echoes, until the endpoint is dropped or closed.
pub(crate) fn serve_echo(endpoint: &Endpoint) {
    let endpoint = endpoint.clone();
    tokio::spawn(async move {
        while let Some(incoming) = endpoint.accept().await {
            tokio::spawn(async move {
                if let Ok(connection) = incoming.await {
                    echo(connection).await;
                }
            });
        }
    });
}

/// A server that shows `identity`, and asks clients for a certificate of `client_ca` when there is one.
pub(crate) fn server(identity: &Leaf, client_ca: Option<&Ca>, spec: &PeerSpec) -> Endpoint {
    let key = aws_lc_rs::sign::any_supported_type(&identity.key_der()).unwrap();
    let certified = CertifiedKey::new(identity.chain.clone(), key);
    let mut tls = server_tls(Arc::new(SingleCertAndKey::from(certified)), client_ca);
    tls.alpn_protocols.clone_from(&spec.alpn);
    server_of(tls, spec)
}

/// The TLS part of it.
pub(crate) fn server_tls(shown: Arc<dyn ResolvesServerCert>, client_ca: Option<&Ca>) -> rustls::ServerConfig {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = rustls::ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap();
    let builder = match client_ca {
        None => builder.with_no_client_auth(),
        Some(ca) => {
            let mut roots = RootCertStore::empty();
            roots.add(ca.certificate()).unwrap();
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
            builder.with_client_cert_verifier(verifier)
        }
    };
    builder.with_cert_resolver(shown)
}

/// A server with this TLS part.
pub(crate) fn server_of(tls: rustls::ServerConfig, spec: &PeerSpec) -> Endpoint {
    let mut config = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls).unwrap()));
    config.transport_config(spec.transport.clone());
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    Endpoint::new(EndpointConfig::default(), Some(config), socket, Arc::new(quinn::TokioRuntime)).unwrap()
}
