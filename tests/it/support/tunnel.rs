//! Two ends and an Iris between them, in either direction.

use std::net::{SocketAddr, UdpSocket};

use quinn::{Connection, ConnectionError, Endpoint, TransportConfig};
use tempfile::TempDir;

use super::{
    app::Iris,
    component::{Caller, Component, hello},
    peer::{self, PeerSpec},
    pki::Ca,
    wait::within,
};

/// What stands at the two ends.
pub(crate) struct TunnelSpec {
    /// The secured peer's transport.
    pub(crate) peer: TransportConfig,
    /// The component's transport.
    pub(crate) component: TransportConfig,
    /// Application protocols of all.
    pub(crate) alpn: Vec<Vec<u8>>,
    /// More of the configuration, as YAML of the top level.
    pub(crate) settings: String,
}

impl Default for TunnelSpec {
    fn default() -> Self {
        Self {
            peer: peer::transport(|_| ()),
            component: iris_loopback::transport_config(),
            alpn: Vec::new(),
            settings: String::new(),
        }
    }
}

/// A connection through Iris.
pub(crate) struct Tunnel {
    /// The end that dialled.
    pub(crate) near: Connection,
    /// The end that accepted.
    pub(crate) far: Connection,
    pub(crate) iris: Iris,
    endpoints: Vec<Endpoint>,
    _caller: Option<Caller>,
    _files: TempDir,
}

/// Which way a tunnel is dialled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// A secured peer dials, a component accepts.
    Ingress,
    /// A component dials, a secured peer accepts.
    Egress,
}

/// Both, for tests that hold each way.
pub(crate) const WAYS: [Way; 2] = [Way::Ingress, Way::Egress];

impl Tunnel {
    pub(crate) async fn open(way: Way, spec: TunnelSpec) -> Self {
        within("a tunnel to be opened", async {
            match way {
                Way::Ingress => Self::ingress(spec).await,
                Way::Egress => Self::egress(spec).await,
            }
        })
        .await
    }

    /// With nothing special.
    pub(crate) async fn plain(way: Way) -> Self {
        Self::open(way, TunnelSpec::default()).await
    }

    /// The socket of the accepting end goes away without a word.
    pub(crate) fn vanish_far(&self) {
        let far = self.endpoints.last().expect("the accepting end's endpoint comes last");
        far.rebind(UdpSocket::bind("127.0.0.1:0").unwrap()).unwrap();
    }

    async fn ingress(spec: TunnelSpec) -> Self {
        let (files, ca) = (TempDir::new().unwrap(), Ca::new("ca"));
        let component = Component::listen(&spec.alpn, spec.component);
        let iris = Iris::start(&ingress_yaml(&files, &ca, component.address, &spec.alpn, &spec.settings));
        let peer = PeerSpec { alpn: spec.alpn, transport: spec.peer.into() };
        let client = peer::client_endpoint();
        let config = peer::client_config(&ca, None, &peer);
        let connecting = client.connect_with(config, iris.address("in"), "iris.test").unwrap();
        let (near, far) = tokio::join!(connecting, component.accept());
        Self {
            near: near.unwrap(),
            far: far.unwrap(),
            iris,
            endpoints: vec![client, component.endpoint],
            _caller: None,
            _files: files,
        }
    }

    async fn egress(spec: TunnelSpec) -> Self {
        let (files, ca) = (TempDir::new().unwrap(), Ca::new("ca"));
        let bundle = files.path().join("ca.crt");
        std::fs::write(&bundle, ca.pem()).unwrap();
        let peer = PeerSpec { alpn: spec.alpn.clone(), transport: spec.peer.into() };
        let server = peer::server(&ca.leaf(&["peer.test"]), None, &peer);
        let iris = Iris::start(&format!(
            "trust:\n  peers: {{ bundle: {} }}\n\
             listeners:\n  - {{ name: out, listen: 'quic+plaintext://127.0.0.1:0', routes: [ {{ upstream: peer }} ] }}\n\
             upstreams:\n  - {{ name: peer, dial: 'quic://{}', tls: {{ trust: peers, server_name: requested }} }}\n{}",
            bundle.display(),
            server.local_addr().unwrap(),
            spec.settings,
        ));
        let caller = Caller::new();
        let mut hello = hello("peer.test");
        hello.alpn = spec.alpn;
        let accept = async { server.accept().await.unwrap().await };
        let (near, far) = tokio::join!(caller.connect_with(iris.address("out"), hello, spec.component), accept);
        Self {
            near: near.unwrap(),
            far: far.unwrap(),
            iris,
            endpoints: vec![server],
            _caller: Some(caller),
            _files: files,
        }
    }
}

fn ingress_yaml(files: &TempDir, ca: &Ca, component: SocketAddr, alpn: &[Vec<u8>], settings: &str) -> String {
    let (certificate, key) = ca.leaf(&["iris.test"]).write(files.path(), "edge");
    format!(
        "identities:\n  edge: {{ certificate: {}, private_key: {} }}\n\
         listeners:\n  - {{ name: in, listen: 'quic://127.0.0.1:0', tls: {{ identities: [ edge ], alpn: [ {} ] }}, routes: [ {{ upstream: component }} ] }}\n\
         upstreams:\n  - {{ name: component, dial: 'quic+plaintext://{component}' }}\n{settings}",
        certificate.display(),
        key.display(),
        alpn_list(alpn),
    )
}

/// An ingress in front of `component`, which need not be there, and how a peer's connection to it ends.
pub(crate) async fn ingress_to(component: SocketAddr) -> (ConnectionError, Iris) {
    let (files, ca) = (TempDir::new().unwrap(), Ca::new("ca"));
    let iris = Iris::start(&ingress_yaml(&files, &ca, component, &[], ""));
    let config = peer::client_config(&ca, None, &PeerSpec::default());
    let connection = within("the handshake", peer::connect(iris.address("in"), "iris.test", config)).await.unwrap();
    (within("the close", connection.closed()).await, iris)
}

fn alpn_list(alpn: &[Vec<u8>]) -> String {
    alpn.iter().map(|protocol| String::from_utf8(protocol.clone()).unwrap()).collect::<Vec<_>>().join(", ")
}
