//! An Iris between a TLS peer and a plaintext component, either way.

use std::{net::SocketAddr, path::PathBuf, sync::Arc};

use rustls::pki_types::ServerName;
use tempfile::TempDir;
use tokio::{
    io::AsyncReadExt,
    net::{TcpListener, TcpStream},
};
use tokio_rustls::{TlsAcceptor, TlsConnector, client, server};

use crate::support::{
    app::Iris,
    peer::{self, PeerSpec},
    pki::{Ca, Leaf},
    wait::{until, within},
};

/// `tls://` in, `tcp://` out, to a component that the test plays.
pub(super) struct Ingress {
    pub(super) ca: Ca,
    pub(super) workers: Ca,
    pub(super) iris: Iris,
    pub(super) component: TcpListener,
    _files: TempDir,
}

impl Ingress {
    /// With these lines more in the `tls` block and at the top level.
    pub(super) async fn start(tls: &str, settings: &str) -> Self {
        Self::of(&format!("tls: {{ identities: [ edge ]{tls} }}, routes: [ {{ upstream: component }} ]"), settings)
            .await
    }

    /// With a route for one family of names alone.
    pub(super) async fn routed() -> Self {
        Self::of("tls: { identities: [ edge ] }, routes: [ { sni: '*.stargate.test', upstream: component } ]", "").await
    }

    /// With an idle timeout.
    pub(super) async fn with_idle(time: &str) -> Self {
        let listener =
            format!("tls: {{ identities: [ edge ] }}, idle_timeout: {time}, routes: [ {{ upstream: component }} ]");
        Self::of(&listener, "").await
    }

    /// With a header of the PROXY protocol for the component.
    pub(super) async fn told(tls: &str) -> Self {
        let listener = format!("tls: {{ identities: [ edge ]{tls} }}, routes: [ {{ upstream: component }} ]");
        Self::with(&listener, ", proxy_protocol: v2", "").await
    }

    async fn of(listener: &str, settings: &str) -> Self {
        Self::with(listener, "", settings).await
    }

    async fn with(listener: &str, upstream: &str, settings: &str) -> Self {
        let (files, ca, workers) = (TempDir::new().unwrap(), Ca::new("servers"), Ca::new("workers"));
        let (certificate, key) = ca.leaf(&["iris.test", "*.stargate.test"]).write(files.path(), "edge");
        let bundle = files.path().join("workers.crt");
        std::fs::write(&bundle, workers.pem()).unwrap();
        let component = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let iris = Iris::start(&format!(
            "identities:\n  edge: {{ certificate: {}, private_key: {} }}\n\
             trust:\n  workers: {{ bundle: {} }}\n\
             listeners:\n  - {{ name: in, listen: 'tls://127.0.0.1:0', {listener} }}\n\
             upstreams:\n  - {{ name: component, dial: 'tcp://{}'{upstream} }}\n{settings}",
            certificate.display(),
            key.display(),
            bundle.display(),
            component.local_addr().unwrap(),
        ));
        Self { ca, workers, iris, component, _files: files }
    }

    /// Both ends of a connection through Iris: the peer's and the component's. Iris has joined them: the component's
    /// end exists before that.
    pub(super) async fn pair(&self) -> (client::TlsStream<TcpStream>, TcpStream) {
        let established =
            || self.iris.metric("iris_connections_total{component=\"in\",result=\"established\",transport=\"tls\"}");
        let before = established();
        let config = client_config(&self.ca, None, &[]);
        let connecting = self.connect("iris.test", &config);
        let (peer, component) = tokio::join!(connecting, async { self.component.accept().await.unwrap().0 });
        until("the two to be joined", || established() > before).await;
        (peer.unwrap(), component)
    }

    /// One handshake.
    pub(super) async fn connect(
        &self,
        name: &str,
        config: &rustls::ClientConfig,
    ) -> std::io::Result<client::TlsStream<TcpStream>> {
        within("the handshake", connect(self.iris.address("in"), name, config)).await
    }
}

/// `tcp://` or `unix:` in, `tls://` out, to a peer that the test plays.
pub(super) struct Egress {
    pub(super) iris: Iris,
    pub(super) peer: TcpListener,
    pub(super) path: PathBuf,
    acceptor: TlsAcceptor,
    _files: TempDir,
}

impl Egress {
    /// The peer shows `leaf` of `ca`, which Iris trusts, and speaks `alpn`.
    pub(super) async fn start(ca: &Ca, leaf: &Leaf, alpn: &[&str], tls: &str) -> Self {
        Self::trusting(ca, leaf, alpn, tls).await
    }

    /// The peer shows `leaf`; Iris trusts `ca`.
    pub(super) async fn trusting(ca: &Ca, leaf: &Leaf, alpn: &[&str], tls: &str) -> Self {
        let files = TempDir::new().unwrap();
        let bundle = files.path().join("ca.crt");
        std::fs::write(&bundle, ca.pem()).unwrap();
        let peer = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let path = files.path().join("iris.sock");
        let iris = Iris::start(&format!(
            "trust:\n  peers: {{ bundle: {} }}\n\
             listeners:\n  - {{ name: out, listen: 'tcp://127.0.0.1:0', routes: [ {{ upstream: peer }} ] }}\n  - {{ name: local, listen: 'unix:{}', routes: [ {{ upstream: peer }} ] }}\n\
             upstreams:\n  - {{ name: peer, dial: 'tls://{}', tls: {{ trust: peers, server_name: peer.test{tls} }} }}\n",
            bundle.display(),
            path.display(),
            peer.local_addr().unwrap(),
        ));
        let key = rustls::crypto::aws_lc_rs::sign::any_supported_type(&leaf.key_der()).unwrap();
        let shown = rustls::sign::CertifiedKey::new(leaf.chain.clone(), key);
        let mut config = peer::server_tls(Arc::new(rustls::sign::SingleCertAndKey::from(shown)), None);
        config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
        Self { iris, peer, path, acceptor: TlsAcceptor::from(Arc::new(config)), _files: files }
    }

    /// The next connection that reaches the peer.
    pub(super) async fn accept(&self) -> std::io::Result<server::TlsStream<TcpStream>> {
        let (stream, _) = self.peer.accept().await?;
        self.acceptor.accept(stream).await
    }
}

/// A client that trusts `ca` and offers `alpn`.
pub(crate) fn client_config(ca: &Ca, identity: Option<&Leaf>, alpn: &[&str]) -> rustls::ClientConfig {
    peer::client_tls(&[ca], identity, &PeerSpec::alpn(alpn))
}

pub(crate) async fn connect(
    to: SocketAddr,
    name: &str,
    config: &rustls::ClientConfig,
) -> std::io::Result<client::TlsStream<TcpStream>> {
    let stream = TcpStream::connect(to).await?;
    let name = ServerName::try_from(name.to_owned()).unwrap();
    TlsConnector::from(Arc::new(config.clone())).connect(name, stream).await
}

/// Reads to the clean end.
pub(crate) async fn read_all(stream: &mut (impl AsyncReadExt + Unpin)) -> std::io::Result<Vec<u8>> {
    let mut all = Vec::new();
    within("the end", stream.read_to_end(&mut all)).await.map(|_| all)
}
