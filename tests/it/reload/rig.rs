//! An Iris whose materials are in volumes as kubelet writes them.

use std::{path::Path, time::Instant};

use iris::material::watch::Watching;
use quinn::{Connection, ConnectionError, Endpoint};
use rustls::pki_types::CertificateDer;
use tempfile::TempDir;

use crate::support::{
    app::Iris,
    component::{Caller, Component, hello},
    kubelet::Volume,
    peer::{self, PeerSpec},
    pki::{Ca, Leaf},
    wait::within,
};

/// How changes are found. Everything must hold both ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// By events; the poll is far away.
    Events,
    /// inotify is unusable: by the poll alone.
    Poll,
}

/// Both.
pub(super) const MODES: [Mode; 2] = [Mode::Events, Mode::Poll];

impl Mode {
    pub(super) fn watching(self) -> Watching {
        match self {
            Self::Events => Watching::Events,
            Self::Poll => Watching::Unusable,
        }
    }

    /// The section of the configuration.
    pub(super) fn settings(self) -> &'static str {
        match self {
            Self::Events => "reload: { poll: 14s }\n",
            Self::Poll => "reload: { poll: 300ms }\n",
        }
    }
}

/// A listener with an identity from a volume, whose peers must come from `workers`, and a component that echoes.
pub(super) struct Ingress {
    pub(super) ca: Ca,
    pub(super) workers: Ca,
    /// `tls.crt` and `tls.key`.
    pub(super) edge: Volume,
    /// `ca.crt`.
    pub(super) trust: Volume,
    pub(super) iris: Iris,
    client: Endpoint,
    _component: Endpoint,
    _files: TempDir,
}

impl Ingress {
    /// Both volumes written, trust for nobody in particular asked.
    pub(super) fn start(mode: Mode) -> (Self, Leaf) {
        let (rig, leaf) = Self::prepared(mode, "");
        (rig, leaf)
    }

    /// Peers need a certificate of `workers` with a name below `workers.test`.
    pub(super) fn guarded(mode: Mode) -> (Self, Leaf) {
        Self::prepared(mode, ", client_auth: { trust: workers, mode: required, allow: { dns: [ '*.workers.test' ] } }")
    }

    fn prepared(mode: Mode, auth: &str) -> (Self, Leaf) {
        let (ca, workers) = (Ca::new("servers"), Ca::new("workers"));
        let leaf = ca.leaf(&["iris.test"]);
        let rig = Self::over(mode, auth, ca, workers, |ca, workers, edge, trust| {
            let _ = ca;
            edge.publish(&pair(&leaf.chain_pem, &leaf.key_pem()));
            trust.publish(&[("ca.crt", &workers.pem())]);
        });
        (rig, leaf)
    }

    /// Both volumes are mounted and empty.
    pub(super) fn empty(mode: Mode) -> Self {
        Self::over(mode, "", Ca::new("servers"), Ca::new("workers"), |_, _, _, _| ())
    }

    /// With the files of the identity wherever `lay` says: it gets a folder of its own, and gives what stands for the identity
    /// in the configuration.
    pub(super) fn laid(mode: Mode, lay: impl FnOnce(&Path, &Ca) -> String) -> Self {
        let (files, ca) = (TempDir::new().unwrap(), Ca::new("servers"));
        let identity = lay(files.path(), &ca);
        Self::with(mode, "", &identity, ca, Ca::new("workers"), files)
    }

    fn over(mode: Mode, auth: &str, ca: Ca, workers: Ca, before: impl FnOnce(&Ca, &Ca, &Volume, &Volume)) -> Self {
        let files = TempDir::new().unwrap();
        let (edge, trust) = (Volume::mount(files.path().join("edge")), Volume::mount(files.path().join("trust")));
        before(&ca, &workers, &edge, &trust);
        let identity = files_of(&edge.path("tls.crt"), &edge.path("tls.key"));
        Self::with(mode, auth, &identity, ca, workers, files)
    }

    fn with(mode: Mode, auth: &str, identity: &str, ca: Ca, workers: Ca, files: TempDir) -> Self {
        let (edge, trust) = (Volume::mount(files.path().join("edge")), Volume::mount(files.path().join("trust")));
        let component = Component::plain();
        peer::serve_echo(&component.endpoint);
        let yaml = format!(
            "identities:\n  edge: {identity}\n\
             trust:\n  workers: {{ bundle: {} }}\n\
             listeners:\n  - {{ name: in, listen: 'quic://127.0.0.1:0', tls: {{ identities: [ edge ]{auth} }}, routes: [ {{ sni: iris.test, upstream: component }} ] }}\n\
             upstreams:\n  - {{ name: component, dial: 'quic+plaintext://{}' }}\n{}",
            trust.path("ca.crt").display(),
            component.address,
            mode.settings(),
        );
        let iris = Iris::start_watching(&yaml, mode.watching());
        let (client, component) = (peer::client_endpoint(), component.endpoint);
        Self { ca, workers, edge, trust, iris, client, _component: component, _files: files }
    }

    /// Publishes an identity; returns the moment of the rename.
    pub(super) fn renew(&self, leaf: &Leaf) -> Instant {
        self.edge.publish(&pair(&leaf.chain_pem, &leaf.key_pem()))
    }

    /// One handshake with trust in these.
    pub(super) async fn connect_with(
        &self,
        cas: &[&Ca],
        identity: Option<&Leaf>,
    ) -> Result<Connection, ConnectionError> {
        let config = peer::client_config_of(cas, identity, &PeerSpec::default());
        let connecting = self.client.connect_with(config, self.iris.address("in"), "iris.test").unwrap();
        let connection = within("the handshake", connecting).await?;
        within("the verdict", peer::verdict(&connection)).await.map(|()| connection)
    }

    pub(super) async fn connect(&self) -> Connection {
        self.connect_with(&[&self.ca], None).await.unwrap()
    }

    /// What the next connection is shown.
    pub(super) async fn served(&self) -> CertificateDer<'static> {
        let connection = self.connect().await;
        let leaf = peer::shown_by(&connection);
        // Whoever leaves while the component is dialled counts as a failure.
        within("an echo", peer::request(&connection)).await.unwrap();
        connection.close(0_u32.into(), b"");
        leaf
    }

    /// Connects until this leaf is shown.
    pub(super) async fn until_served(&self, leaf: &Leaf) {
        within("the new leaf to be served", async { while self.served().await != leaf.chain[0] {} }).await;
    }
}

/// An identity of two files, as it stands in the configuration.
pub(super) fn files_of(certificate: &Path, key: &Path) -> String {
    format!("{{ certificate: {}, private_key: {} }}", certificate.display(), key.display())
}

/// The two files of an identity.
pub(super) fn pair<'a>(chain: &'a str, key: &'a str) -> [(&'static str, &'a str); 2] {
    [("tls.crt", chain), ("tls.key", key)]
}

/// A component that dials secured peers through Iris, which judges them by a bundle from a volume.
pub(super) struct Egress {
    pub(super) trust: Volume,
    pub(super) iris: Iris,
    caller: Caller,
    _files: TempDir,
}

impl Egress {
    pub(super) fn start(mode: Mode, bundle: &str) -> Self {
        let files = TempDir::new().unwrap();
        let trust = Volume::mount(files.path().join("trust"));
        trust.publish(&[("ca.crt", bundle)]);
        let yaml = format!(
            "trust:\n  peers: {{ bundle: {} }}\n\
             listeners:\n  - {{ name: out, listen: 'quic+plaintext://127.0.0.1:0', routes: [ {{ upstream: any }} ] }}\n\
             upstreams:\n  - {{ name: any, dial: 'quic://requested', allow: {{ destinations: [ '127.0.0.0/8:*' ] }}, tls: {{ trust: peers, server_name: requested }} }}\n{}",
            trust.path("ca.crt").display(),
            mode.settings(),
        );
        let iris = Iris::start_watching(&yaml, mode.watching());
        Self { trust, iris, caller: Caller::new(), _files: files }
    }

    /// Dials a peer by the name `peer.test`.
    pub(super) async fn dial(&self, to: &Endpoint) -> Result<Connection, ConnectionError> {
        let mut hello = hello("peer.test");
        hello.destination = Some(to.local_addr().unwrap().to_string());
        within("an answer", self.caller.connect(self.iris.address("out"), hello)).await
    }
}

/// A secured peer that echoes.
pub(super) fn echoing_peer(leaf: &Leaf) -> Endpoint {
    let server = peer::server(leaf, None, &PeerSpec::default());
    peer::serve_echo(&server);
    server
}
