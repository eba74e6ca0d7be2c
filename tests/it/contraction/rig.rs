//! An ingress whose trust changes, its visitors, and how each of them ended.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use iris::transport::Code;
use quinn::{ClientConfig, Connection, ConnectionError, Endpoint};
use tempfile::TempDir;
use tokio::sync::mpsc;

use crate::support::{
    app::Iris,
    component::Component,
    peer::{self, PeerSpec},
    pki::{Ca, Leaf},
    wait::{until, within},
};

/// How long "at once" may take on a busy machine. What it did take is printed.
pub(super) const AT_ONCE: Duration = Duration::from_secs(5);

/// An ingress that asks for client certificates of the bundle `workers`.
pub(super) struct Door {
    pub(super) iris: Iris,
    servers: Ca,
    clients: Endpoint,
    files: TempDir,
    /// Ends of the component's connections.
    pub(super) far_ends: mpsc::UnboundedReceiver<End>,
}

/// How one connection ended.
#[derive(Debug)]
pub(super) struct End {
    /// What whoever watched it calls it.
    pub(super) group: usize,
    pub(super) at: Instant,
    pub(super) error: ConnectionError,
}

impl End {
    /// Whether it was ended with this code of ours.
    pub(super) fn is(&self, code: Code) -> bool {
        let number = u64::from(code.number());
        matches!(&self.error, ConnectionError::ApplicationClosed(close) if u64::from(close.error_code) == number)
    }
}

impl Door {
    /// Trusts `cas`. `trust` is more of the bundle's settings, `extra` more of the file, in which `FILES` is the folder.
    pub(super) fn open(cas: &[&Ca], trust: &str) -> Self {
        let (files, servers) = (TempDir::new().unwrap(), Ca::new("servers"));
        let (certificate, key) = servers.leaf(&["iris.test"]).write(files.path(), "edge");
        let bundle = files.path().join("workers.crt");
        std::fs::write(&bundle, pem(cas)).unwrap();
        let trust = trust.replace("FILES", &files.path().display().to_string());
        let component = Component::plain();
        let iris = Iris::start(&format!(
            "identities:\n  edge: {{ certificate: {}, private_key: {} }}\n\
             trust:\n  workers: {{ bundle: {}{trust} }}\n\
             limits: {{ connections: 5000 }}\n\
             listeners:\n\
             \x20 - name: in\n\
             \x20   listen: quic://127.0.0.1:0\n\
             \x20   tls: {{ identities: [ edge ], client_auth: {{ trust: workers, mode: required, allow: {{ dns: [ '*.workers.test' ] }} }} }}\n\
             \x20   routes: [ {{ upstream: component }} ]\n\
             upstreams:\n  - {{ name: component, dial: 'quic+plaintext://{}' }}\n",
            certificate.display(),
            key.display(),
            bundle.display(),
            component.address,
        ));
        let far_ends = watch_arrivals(component.endpoint.clone());
        Self { iris, servers, clients: peer::client_endpoint(), files, far_ends }
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.iris.address("in")
    }

    /// A file beside the bundle.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.files.path().join(name)
    }

    pub(super) fn servers(&self) -> &Ca {
        &self.servers
    }

    /// Trusts these from now on, and says when it was told to.
    pub(super) async fn trust(&self, cas: &[&Ca]) -> Instant {
        self.iris.reload("in", "trust", || self.write_bundle(&pem(cas))).await
    }

    /// Replaces the bundle in one step, as whoever publishes files should.
    pub(super) fn write_bundle(&self, text: &str) {
        replace(&self.path("workers.crt"), text);
    }

    /// Completes when everything that lay on disk has been read.
    pub(super) async fn read(&self) {
        // The first of the two may have been begun before.
        for _ in 0..2 {
            let renew = || drop(self.servers.leaf(&["iris.test"]).write(self.files.path(), "edge"));
            self.iris.reload("in", "server_identity", renew).await;
        }
    }

    pub(super) fn config(&self, leaf: &Leaf) -> ClientConfig {
        peer::client_config(&self.servers, Some(leaf), &PeerSpec::default())
    }

    /// Whether a client is let in.
    pub(super) async fn knock(&self, config: ClientConfig) -> Result<Connection, ConnectionError> {
        let connecting = self.clients.connect_with(config, self.address(), "iris.test").unwrap();
        within("a verdict", async { peer::admitted(connecting.await?).await }).await
    }

    pub(super) async fn enter(&self, leaf: &Leaf) -> Connection {
        self.knock(self.config(leaf)).await.unwrap()
    }

    /// Lets in `count` clients with each leaf, and returns when all of them are bridged: position of the leaf and
    /// connection.
    pub(super) async fn fill(&self, leaves: &[&Leaf], count: usize) -> Vec<(usize, Connection)> {
        let mut visitors = Vec::new();
        for (group, leaf) in leaves.iter().enumerate() {
            for _ in 0..count {
                visitors.push((group, self.enter(leaf).await));
            }
        }
        self.settled(visitors.len()).await;
        visitors
    }

    /// Completes when this many connections are bridged.
    pub(super) async fn settled(&self, count: usize) {
        let series = "iris_connections_active{component=\"in\",transport=\"quic\"}";
        until("everybody to be bridged", || self.iris.metric(series) as usize == count).await;
    }
}

/// A name that the door lets in.
pub(super) fn worker(ca: &Ca) -> Leaf {
    ca.leaf(&["pylon.workers.test"])
}

/// Replaces a file in one step.
pub(super) fn replace(path: &Path, text: &str) {
    let beside = path.with_extension("new");
    std::fs::write(&beside, text).unwrap();
    std::fs::rename(beside, path).unwrap();
}

pub(super) fn pem(cas: &[&Ca]) -> String {
    cas.iter().map(|ca| ca.pem()).collect()
}

/// Tells how each of these ends, as it does.
pub(super) fn watch(connections: Vec<(usize, Connection)>) -> mpsc::UnboundedReceiver<End> {
    let (sender, ends) = mpsc::unbounded_channel();
    for (group, connection) in connections {
        let sender = sender.clone();
        tokio::spawn(async move {
            let error = connection.closed().await;
            drop(sender.send(End { group, at: Instant::now(), error }));
        });
    }
    ends
}

/// Tells how each connection that arrives ends.
pub(super) fn watch_arrivals(endpoint: Endpoint) -> mpsc::UnboundedReceiver<End> {
    let (sender, ends) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Some(incoming) = endpoint.accept().await {
            let sender = sender.clone();
            tokio::spawn(async move {
                let Ok(connection) = incoming.await else { return };
                let error = connection.closed().await;
                drop(sender.send(End { group: 0, at: Instant::now(), error }));
            });
        }
    });
    ends
}

/// The next ends, this many.
pub(super) async fn next_ends(what: &str, ends: &mut mpsc::UnboundedReceiver<End>, count: usize) -> Vec<End> {
    within(what, async {
        let mut all = Vec::new();
        while all.len() < count {
            all.push(ends.recv().await.expect("somebody is left"));
        }
        all
    })
    .await
}

/// How long after `from` the last of these ended.
pub(super) fn last_after(from: Instant, ends: &[&End]) -> Duration {
    ends.iter().map(|end| end.at.saturating_duration_since(from)).max().expect("there are some")
}

/// That recycled ends are spread over their window: none in its first twentieth, some in each third of it, all in it.
pub(super) fn assert_spread(swapped: Instant, spread: Duration, ends: &[&End]) {
    let mut thirds = [0; 3];
    for end in ends {
        assert!(end.is(Code::RecycledForTrust), "{end:?}");
        let after = end.at - swapped;
        assert!(after >= spread / 20, "in the same moment: {after:?}");
        assert!(after <= spread + Duration::from_secs(1), "outside of {spread:?}: {after:?}");
        thirds[((after.as_secs_f64() / spread.as_secs_f64() * 3.0) as usize).min(2)] += 1;
    }
    println!("{} recycled within {spread:?}, thirds {thirds:?}", ends.len());
    assert!(thirds.iter().all(|third| third * 20 >= ends.len()), "not spread: {thirds:?}");
}
