//! Bundles: whoever dials or accepts judges by the one on disk now.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::Duration,
};

use iris_loopback::ClientHello;
use quinn::Connection;
use tempfile::TempDir;

use super::rig::{Egress, Ingress, MODES, Mode, echoing_peer, pair};
use crate::support::{
    app::Iris,
    component::{Caller, Component, hello},
    kubelet::Volume,
    peer,
    pki::Ca,
    wait::{until, within},
};

/// Behind Stargate, which dials Pylons and relays: the component opens streams. Behind Pylon, which dials reverse
/// endpoints: the dialled side does.
#[tokio::test]
async fn c03_c04_dials_judge_by_the_bundle_on_disk_now() {
    for mode in MODES {
        let (old, new) = (Ca::new("one"), Ca::new("two"));
        let (under_old, under_new) = (echoing_peer(&old.leaf(&["peer.test"])), echoing_peer(&new.leaf(&["peer.test"])));
        let egress = Egress::start(mode, &old.pem());
        within("an echo", peer::request(&egress.dial(&under_old).await.unwrap())).await.unwrap();
        egress.dial(&under_new).await.unwrap_err();

        egress.trust.publish(&[("ca.crt", &new.pem())]);
        within("the new bundle", async { while egress.dial(&under_new).await.is_err() {} }).await;
        let refused = egress.dial(&under_old).await.unwrap_err();
        assert!(refused.to_string().contains("UnknownIssuer"), "{mode:?}: {refused}");
        within("an echo", peer::request(&egress.dial(&under_new).await.unwrap())).await.unwrap();
        until("the count", || egress.iris.reloads("any", "trust", "success") == 1).await;
    }
}

#[tokio::test]
async fn c08_a_ca_taken_out_is_refused_for_new_connections() {
    for mode in MODES {
        let (rig, _) = Ingress::guarded(mode);
        let other = Ca::new("other");
        let worker = rig.workers.leaf(&["a.workers.test"]);
        let successor = other.leaf(&["a.workers.test"]);
        rig.connect_with(&[&rig.ca], Some(&worker)).await.unwrap();
        rig.trust.publish(&[("ca.crt", &other.pem())]);
        within("the old CA to be refused", async {
            while rig.connect_with(&[&rig.ca], Some(&worker)).await.is_ok() {}
        })
        .await;
        // One step: where the old one is refused the new one is let in.
        rig.connect_with(&[&rig.ca], Some(&successor)).await.unwrap();
        // Whoever was the first to be refused may have been let in and closed again, which is another count.
        within("a refused handshake to be counted", async {
            while rig.iris.failures("in", "unknown_issuer") == 0 {
                rig.connect_with(&[&rig.ca], Some(&worker)).await.expect_err("its CA is gone");
            }
        })
        .await;
    }
}

/// Two Irises back to back, each with an identity and a bundle of its own, as between two pods.
struct Pods {
    near: Volume,
    far: Volume,
    ingress: Iris,
    egress: Iris,
    caller: Caller,
    _component: quinn::Endpoint,
    _files: TempDir,
}

impl Pods {
    fn start(mode: Mode, ca: &Ca) -> Self {
        let files = TempDir::new().unwrap();
        let (near, far) = (Volume::mount(files.path().join("near")), Volume::mount(files.path().join("far")));
        issue(&near, &[ca], ca, "caller.test");
        issue(&far, &[ca], ca, "peer.test");
        let component = Component::plain();
        peer::serve_echo(&component.endpoint);
        let ingress = Iris::start_watching(
            &format!(
                "{}listeners:\n  - {{ name: in, listen: 'quic://127.0.0.1:0', tls: {{ identities: [ own ], client_auth: {{ trust: all, mode: required }} }}, routes: [ {{ upstream: component }} ] }}\n\
                 upstreams:\n  - {{ name: component, dial: 'quic+plaintext://{}' }}\n{}",
                materials(&far),
                component.address,
                mode.settings()
            ),
            mode.watching(),
        );
        let egress = Iris::start_watching(
            &format!(
                "{}listeners:\n  - {{ name: out, listen: 'quic+plaintext://127.0.0.1:0', routes: [ {{ upstream: peer }} ] }}\n\
                 upstreams:\n  - {{ name: peer, dial: 'quic://{}', tls: {{ trust: all, identity: own, server_name: requested }} }}\n{}",
                materials(&near),
                ingress.address("in"),
                mode.settings()
            ),
            mode.watching(),
        );
        let (caller, component) = (Caller::new(), component.endpoint);
        Self { near, far, ingress, egress, caller, _component: component, _files: files }
    }

    async fn connect(&self) -> Result<Connection, quinn::ConnectionError> {
        let hello: ClientHello = hello("peer.test");
        within("an answer", self.caller.connect(self.egress.address("out"), hello)).await
    }

    /// One connection and one request over it. A connection that is recycled may be made again at once.
    async fn request(&self, recycled: &AtomicU64) -> Result<(), String> {
        loop {
            let connection = self.connect().await.map_err(|error| format!("connect: {error}"))?;
            let Err(error) = within("an echo", peer::request(&connection)).await else { return Ok(()) };
            match connection.close_reason() {
                Some(reason) if reason.to_string().contains("recycled for trust") => {
                    recycled.fetch_add(1, Ordering::Relaxed);
                }
                reason => return Err(format!("request: {error}, {reason:?}")),
            }
        }
    }

    /// Waits until both have taken up this many generations of a material.
    async fn taken_up(&self, kind: &str, name: &str, sequence: u64) {
        for iris in [&self.ingress, &self.egress] {
            until(&format!("{kind} {name} {sequence}"), || iris.material(kind, name)["sequence"] == sequence).await;
        }
    }
}

fn materials(volume: &Volume) -> String {
    let path = |name| volume.path(name).display().to_string();
    format!(
        "identities:\n  own: {{ certificate: {}, private_key: {} }}\ntrust:\n  all: {{ bundle: {} }}\n",
        path("tls.crt"),
        path("tls.key"),
        path("ca.crt")
    )
}

/// Everything in one volume, as cert-manager writes it.
fn issue(volume: &Volume, trusted: &[&Ca], issuer: &Ca, name: &str) {
    let leaf = issuer.leaf(&[name]);
    let bundle: String = trusted.iter().map(|ca| ca.pem()).collect();
    let (chain, key) = (leaf.chain_pem.clone(), leaf.key_pem());
    let [certificate, key] = pair(&chain, &key);
    volume.publish(&[certificate, key, ("ca.crt", &bundle)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c07_an_overlapping_rotation_fails_no_request() {
    for mode in MODES {
        let (old, new) = (Ca::new("old"), Ca::new("new"));
        let pods = Pods::start(mode, &old);
        let (over, recycled, requests) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
        let steady = async {
            let mut pace = tokio::time::interval(Duration::from_millis(25));
            while !over.load(Ordering::Relaxed) {
                pace.tick().await;
                if let Err(error) = pods.request(&recycled).await {
                    panic!("{mode:?}: after {requests:?} requests: {error}");
                }
                requests.fetch_add(1, Ordering::Relaxed);
            }
        };
        // Some requests in each step.
        let more = async || {
            let seen = requests.load(Ordering::Relaxed);
            until("more requests", || requests.load(Ordering::Relaxed) >= seen + 5).await;
        };
        let rotation = async {
            more().await;
            // Both CAs are believed everywhere before anything is issued by the new one.
            issue(&pods.near, &[&old, &new], &old, "caller.test");
            issue(&pods.far, &[&old, &new], &old, "peer.test");
            pods.taken_up("trust", "all", 2).await;
            more().await;
            // Both ends show leaves of the new one.
            issue(&pods.near, &[&old, &new], &new, "caller.test");
            issue(&pods.far, &[&old, &new], &new, "peer.test");
            pods.taken_up("identity", "own", 3).await;
            more().await;
            // Nothing needs the old one any more.
            issue(&pods.near, &[&new], &new, "caller.test");
            issue(&pods.far, &[&new], &new, "peer.test");
            pods.taken_up("trust", "all", 3).await;
            more().await;
            over.store(true, Ordering::Relaxed);
        };
        tokio::join!(steady, rotation);
        println!("c07 {mode:?}: {requests:?} requests, none failed, {recycled:?} made again");
        assert_eq!(pods.ingress.all_failures("in"), [""; 0]);
        assert_eq!(pods.egress.all_failures("peer"), [""; 0]);
    }
}
