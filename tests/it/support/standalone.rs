//! `iris run` as a process of its own, seen through its sockets alone: handshakes, the operator's HTTP, and the log.

use std::{
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Command,
};

use quinn::{Connection, ConnectionError, Endpoint};
use rustls::pki_types::CertificateDer;
use tempfile::TempDir;

use super::{
    http,
    kubelet::Volume,
    peer::{self, PeerSpec},
    pki::{Ca, Leaf},
    process::{Running, iris},
    wait::within,
};

/// An ingress with an identity in one volume and a bundle in another. If nobody is behind it, handshakes still show what
/// there is to see.
pub(crate) struct Standalone {
    pub(crate) ca: Ca,
    pub(crate) running: Running,
    pub(crate) config: PathBuf,
    admin: SocketAddr,
    address: SocketAddr,
    client: Endpoint,
    /// `tls.crt` and `tls.key`.
    pub(crate) edge: Volume,
    /// `ca.crt`.
    pub(crate) trust: Volume,
    files: TempDir,
}

/// What is different from the usual.
pub(crate) struct Spec<'a> {
    /// More of the file.
    pub(crate) settings: &'a str,
    /// More of the listener's `tls`.
    pub(crate) auth: &'a str,
    /// The component behind it.
    pub(crate) component: SocketAddr,
    /// Writes what is there at the start, into the volumes of identity and bundle. A folder of its own comes first.
    pub(crate) before: &'a dyn Fn(&Path, &Ca, &Volume, &Volume),
    /// Makes the command that runs a configuration.
    pub(crate) command: &'a dyn Fn(&Path, &str) -> Command,
}

impl Default for Spec<'_> {
    fn default() -> Self {
        Self {
            settings: "reload: { poll: 14s }\n",
            auth: "",
            component: SocketAddr::from(([127, 0, 0, 1], 1)),
            before: &|_, _, _, _| (),
            command: &|_, config| iris(&["run", "--config", config]),
        }
    }
}

impl Standalone {
    /// With a leaf in its volume.
    pub(crate) fn start(settings: &str) -> (Self, Leaf) {
        let first = std::cell::RefCell::new(None);
        let before = |_: &Path, ca: &Ca, edge: &Volume, trust: &Volume| {
            let leaf = ca.leaf(&["iris.test"]);
            publish(edge, &leaf);
            trust.publish(&[("ca.crt", &ca.pem())]);
            first.replace(Some(leaf));
        };
        let standalone = Self::of(Spec { settings, before: &before, ..Spec::default() });
        (standalone, first.into_inner().expect("written before the start"))
    }

    pub(crate) fn of(spec: Spec<'_>) -> Self {
        let (files, ca) = (TempDir::new().unwrap(), Ca::new("servers"));
        let (edge, trust) = (Volume::mount(files.path().join("edge")), Volume::mount(files.path().join("trust")));
        (spec.before)(files.path(), &ca, &edge, &trust);
        let config = files.path().join("iris.yaml");
        let text = format!(
            "log: {{ format: json }}\n\
             admin: {{ listen: 'http://127.0.0.1:0' }}\n\
             identities:\n  edge: {{ certificate: {}, private_key: {} }}\n\
             trust:\n  workers: {{ bundle: {} }}\n\
             listeners:\n  - {{ name: in, listen: 'quic://127.0.0.1:0', tls: {{ identities: [ edge ]{} }}, routes: [ {{ upstream: out }} ] }}\n\
             upstreams:\n  - {{ name: out, dial: 'quic+plaintext://{}' }}\n{}",
            edge.path("tls.crt").display(),
            edge.path("tls.key").display(),
            trust.path("ca.crt").display(),
            spec.auth,
            spec.component,
            spec.settings,
        );
        fs::write(&config, text).unwrap();
        let mut running = Running::spawn((spec.command)(files.path(), config.to_str().unwrap()));
        let [address, admin] = ["in", "admin.listen"].map(|component| {
            loop {
                let line = running.wait_for("listening");
                if line["component"] == component {
                    break line["address"].as_str().unwrap().parse().unwrap();
                }
            }
        });
        Self { ca, running, config, admin, address, client: peer::client_endpoint(), edge, trust, files }
    }

    pub(crate) fn files(&self) -> &Path {
        self.files.path()
    }

    pub(crate) fn renew(&self, leaf: &Leaf) {
        publish(&self.edge, leaf);
    }

    /// The value of one series.
    pub(crate) fn metric(&self, series: &str) -> f64 {
        let text = self.metrics();
        let line = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no series {series} in\n{text}")).parse().unwrap()
    }

    pub(crate) fn metrics(&self) -> String {
        http::get(self.admin, "/metrics").1
    }

    /// The state of the listener's identity that is 1.
    pub(crate) fn state(&self) -> String {
        let text = self.metrics();
        let prefix = "iris_tls_material_state{component=\"in\",material=\"server_identity\",state=\"";
        let state = text.lines().find_map(|line| line.strip_prefix(prefix)?.strip_suffix("\"} 1"));
        state.expect("one state is 1").to_owned()
    }

    /// Whether `/readyz` says so, and what it says.
    pub(crate) fn readiness(&self) -> (bool, String) {
        let (status, body) = http::get(self.admin, "/readyz");
        assert!(status == 200 || status == 503, "{status}");
        (status == 200, body)
    }

    /// Whether `/livez` says so.
    pub(crate) fn lives(&self) -> bool {
        http::get(self.admin, "/livez").0 == 200
    }

    pub(crate) fn status(&self) -> serde_json::Value {
        serde_json::from_str(&http::get(self.admin, "/status").1).unwrap()
    }

    /// What `/status` says of a material.
    pub(crate) fn material(&self, kind: &str) -> serde_json::Value {
        let status = self.status();
        let rows = status["materials"].as_array().unwrap();
        rows.iter().find(|row| row["kind"] == kind).expect("the material").clone()
    }

    /// One handshake.
    pub(crate) async fn connect_with(&self, identity: Option<&Leaf>) -> Result<Connection, ConnectionError> {
        let config = peer::client_config(&self.ca, identity, &PeerSpec::default());
        within("the handshake", self.client.connect_with(config, self.address, "iris.test").unwrap()).await
    }

    /// What the next handshake is shown.
    pub(crate) async fn served(&self) -> CertificateDer<'static> {
        peer::shown_by(&self.connect_with(None).await.unwrap())
    }

    /// Connects until this leaf is shown.
    pub(crate) async fn until_served(&self, leaf: &Leaf) {
        within("the new leaf to be served", async { while self.served().await != leaf.chain[0] {} }).await;
    }
}

/// The two files of an identity, in one step.
pub(crate) fn publish(volume: &Volume, leaf: &Leaf) {
    volume.publish(&[("tls.crt", &leaf.chain_pem), ("tls.key", &leaf.key_pem())]);
}
