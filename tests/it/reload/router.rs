//! The router between peers and pods: secured on both sides, and both reload.

use quinn::{Connection, ConnectionError, Endpoint};
use tempfile::TempDir;

use super::rig::{MODES, Mode, echoing_peer, pair};
use crate::support::{
    app::Iris,
    kubelet::Volume,
    peer::{self, PeerSpec},
    pki::Ca,
    wait::within,
};

struct Router {
    servers: Ca,
    identity: Volume,
    trust: Volume,
    iris: Iris,
    client: Endpoint,
    _files: TempDir,
}

impl Router {
    /// In front of one pod, whose CA is `pods`.
    fn start(mode: Mode, pods: &Ca, pod: &Endpoint) -> Self {
        let (files, servers) = (TempDir::new().unwrap(), Ca::new("servers"));
        let (identity, trust) = (Volume::mount(files.path().join("edge")), Volume::mount(files.path().join("pods")));
        let leaf = servers.leaf(&["*.stargate.test"]);
        identity.publish(&pair(&leaf.chain_pem, &leaf.key_pem()));
        trust.publish(&[("ca.crt", &pods.pem())]);
        let yaml = format!(
            "identities:\n  edge: {{ certificate: {}, private_key: {} }}\n\
             trust:\n  pods: {{ bundle: {} }}\n\
             listeners:\n  - {{ name: in, listen: 'quic://127.0.0.1:0', tls: {{ identities: [ edge ] }}, routes: [ {{ sni: '*.stargate.test', upstream: pod }} ] }}\n\
             upstreams:\n  - {{ name: pod, dial: 'quic://{}', tls: {{ trust: pods, server_name: requested }} }}\n{}",
            identity.path("tls.crt").display(),
            identity.path("tls.key").display(),
            trust.path("ca.crt").display(),
            pod.local_addr().unwrap(),
            mode.settings(),
        );
        let iris = Iris::start_watching(&yaml, mode.watching());
        Self { servers, identity, trust, iris, client: peer::client_endpoint(), _files: files }
    }

    async fn connect(&self) -> Result<Connection, ConnectionError> {
        let config = peer::client_config(&self.servers, None, &PeerSpec::default());
        let name = "stargate-0.stargate.test";
        within("the handshake", self.client.connect_with(config, self.iris.address("in"), name).unwrap()).await
    }

    /// Whether a request through both sides is answered.
    async fn relays(&self) -> bool {
        let connection = self.connect().await.unwrap();
        within("an answer or the end", peer::request(&connection)).await.is_ok()
    }
}

/// Raw QUIC on both sides of the router.
#[tokio::test]
async fn c05_both_sides_of_a_router_reload() {
    for mode in MODES {
        let (old, new) = (Ca::new("pods"), Ca::new("pods, the next"));
        let pod = echoing_peer(&old.leaf(&["stargate-0.stargate.test"]));
        let router = Router::start(mode, &old, &pod);
        assert!(router.relays().await, "{mode:?}");

        // Towards peers: the identity that it shows.
        let next = router.servers.leaf(&["*.stargate.test"]);
        router.identity.publish(&pair(&next.chain_pem, &next.key_pem()));
        within("the new leaf", async { while peer::shown_by(&router.connect().await.unwrap()) != next.chain[0] {} })
            .await;
        assert!(router.relays().await, "{mode:?}");

        // Towards pods: whom it believes.
        router.trust.publish(&[("ca.crt", &new.pem())]);
        within("the old pods to be refused", async { while router.relays().await {} }).await;
        // The first that failed may have been dialled before and closed by the change, which is another count.
        within("a refused pod to be counted", async {
            while router.iris.failures("pod", "unknown_issuer") == 0 {
                assert!(!router.relays().await, "{mode:?}: its CA is gone");
            }
        })
        .await;
        router.trust.publish(&[("ca.crt", &format!("{}{}", old.pem(), new.pem()))]);
        within("the old pods to be believed again", async { while !router.relays().await {} }).await;
    }
}
