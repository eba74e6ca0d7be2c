//! A registry behind an ingress whose files kubelet writes, and the workers that reach it.

use rustls::pki_types::CertificateDer;
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use super::client::Client;
use crate::{
    streams::rig::{client_config, connect},
    support::{
        app::Iris,
        kubelet::Volume,
        pki::{Ca, Leaf},
        registry::{Registry, Settings, journal::Journal},
        secrets,
        wait::until,
    },
};

/// The name that the certificate bears, and that is no pod's.
pub(super) const SNI: &str = "registry.test";

/// `tls://` in, `tcp://` to a registry out. Identity and client trust are in volumes.
pub(super) struct Ingress {
    pub(super) servers: Ca,
    pub(super) workers: Ca,
    /// `tls.crt` and `tls.key`.
    pub(super) edge: Volume,
    /// `ca.crt`.
    pub(super) trust: Volume,
    pub(super) iris: Iris,
    pub(super) registry: Registry,
    _files: TempDir,
}

/// More of an ingress' file.
#[derive(Default, Clone, Copy)]
pub(super) struct More<'a> {
    /// Of the identity.
    pub(super) identity: &'a str,
    /// Of the trust bundle.
    pub(super) trust: &'a str,
    /// Of the listener's `tls`.
    pub(super) tls: &'a str,
    /// At the top level, and further listeners before that.
    pub(super) file: &'a str,
    /// Further listeners.
    pub(super) listeners: &'a str,
    /// Further upstreams.
    pub(super) upstreams: &'a str,
}

/// Workers must show a certificate.
pub(super) const GUARDED: &str =
    ", client_auth: { trust: workers, mode: required, allow: { dns: [ '*.workers.test' ] } }";

impl Ingress {
    pub(super) async fn start(more: More<'_>, registry: Settings) -> Self {
        let (files, servers, workers) = (TempDir::new().unwrap(), Ca::new("servers"), Ca::new("workers"));
        let (edge, trust) = (Volume::mount(files.path().join("edge")), Volume::mount(files.path().join("trust")));
        publish(&edge, &servers.leaf(&[SNI]));
        trust.publish(&[("ca.crt", &workers.pem())]);
        secrets::note_token(&format!("Bearer {}", registry.token));
        let registry = Registry::start(registry, Journal::new(|_| ())).await.unwrap();
        let iris = Iris::start(&format!(
            "identities:\n  edge: {{ certificate: {}, private_key: {}{} }}\n\
             trust:\n  workers: {{ bundle: {}{} }}\n\
             listeners:\n  - {{ name: in, listen: 'tls://127.0.0.1:0', tls: {{ identities: [ edge ], alpn: [ h2 ]{} }}, routes: [ {{ upstream: registry }} ] }}\n{}\
             upstreams:\n  - {{ name: registry, dial: 'tcp://{}' }}\n{}{}",
            edge.path("tls.crt").display(),
            edge.path("tls.key").display(),
            more.identity,
            trust.path("ca.crt").display(),
            more.trust,
            more.tls,
            more.listeners,
            registry.address,
            more.upstreams,
            more.file,
        ));
        Self { servers, workers, edge, trust, iris, registry, _files: files }
    }

    /// With client authentication, snapshots ten times a second, and a spread of 2 s.
    pub(super) async fn guarded() -> Self {
        let more = More { tls: GUARDED, trust: ", on_contraction: { spread: 2s }", ..More::default() };
        Self::start(more, often()).await
    }

    pub(super) fn worker(&self) -> Leaf {
        self.workers.leaf(&["w1.workers.test"])
    }

    /// One handshake.
    pub(super) async fn connect(
        &self,
        identity: Option<&Leaf>,
        alpn: &[&str],
    ) -> std::io::Result<TlsStream<TcpStream>> {
        connect(self.iris.address("in"), SNI, &client_config(&self.servers, identity, alpn)).await
    }

    /// A worker that offers h2.
    pub(super) async fn client(&self, identity: Option<&Leaf>) -> Client {
        Client::over(self.connect(identity, &["h2"]).await.unwrap(), None).await
    }

    /// Publishes an identity and completes when it is in use.
    pub(super) async fn renew(&self, leaf: &Leaf) {
        self.iris.reload("in", "server_identity", || publish(&self.edge, leaf)).await;
    }

    /// Publishes a bundle and completes when it is in use: the last moment at which it was not.
    pub(super) async fn trust(&self, cas: &[&Ca]) -> std::time::Instant {
        let bundle: String = cas.iter().map(|ca| ca.pem()).collect();
        self.iris
            .reload("in", "trust", || {
                self.trust.publish(&[("ca.crt", &bundle)]);
            })
            .await
    }

    /// Waits for this many events at the registry.
    pub(super) async fn seen(&self, event: &str, count: usize) {
        until(event, || self.registry.journal.events(event).len() >= count).await;
    }

    /// Waits until this many connections are bridged.
    pub(super) async fn active(&self, count: usize) {
        let series = "iris_connections_active{component=\"in\",transport=\"tls\"}";
        until("connections", || self.iris.metric(series) as usize == count).await;
    }
}

/// A registry whose snapshots come ten times a second.
pub(super) fn often() -> Settings {
    Settings { every: std::time::Duration::from_millis(100), ..Settings::default() }
}

/// Writes an identity as kubelet does.
pub(super) fn publish(volume: &Volume, leaf: &Leaf) {
    volume.publish(&[("tls.crt", &leaf.chain_pem), ("tls.key", &leaf.key_pem())]);
}

/// The leaf that a server has shown.
pub(super) fn shown(stream: &TlsStream<TcpStream>) -> CertificateDer<'static> {
    stream.get_ref().1.peer_certificates().unwrap()[0].clone().into_owned()
}
