//! Kubelet's way, and writers that are not kubelet.

use std::fs;

use tempfile::TempDir;

use super::rig::{Ingress, MODES, Mode, pair};
use crate::support::{
    app::Iris,
    component::Component,
    kubelet::Volume,
    peer::{self, PeerSpec},
    pki::Ca,
    wait::{until, within},
};

#[tokio::test]
async fn c11_swap_after_swap_after_swap_is_seen() {
    for mode in MODES {
        let (rig, _) = Ingress::start(mode);
        for number in 1..=4 {
            let next = rig.ca.leaf(&["iris.test"]);
            rig.renew(&next);
            rig.until_served(&next).await;
            // Published first, told after.
            until("the count", || rig.iris.reloads("in", "server_identity", "success") == number).await;
        }
        assert_eq!(rig.iris.reloads("in", "server_identity", "rejected"), 0, "{mode:?}");
    }
}

#[tokio::test]
async fn c11_c18_a_secret_that_arrives_late_makes_its_listener_ready_by_itself() {
    for mode in MODES {
        let rig = Ingress::empty(mode);
        let (ready, reasons) = rig.iris.readiness();
        assert!(!ready && reasons.iter().any(|reason| reason.contains("missing-file")), "{reasons:?}");
        assert_eq!(rig.iris.state("in", "server_identity"), "initial_failed");
        rig.connect_with(&[&rig.ca], None).await.unwrap_err();
        until("the refusal to be counted", || rig.iris.failures("in", "not_ready") == 1).await;
        let leaf = rig.ca.leaf(&["iris.test"]);
        rig.renew(&leaf);
        until("it to be ready", || rig.iris.readiness().0).await;
        assert_eq!(rig.served().await, leaf.chain[0], "{mode:?}");
        // Filled for the first time is a reload too: the load at start had nothing.
        until("the count", || rig.iris.reloads("in", "server_identity", "success") == 1).await;
        // And from here on as any other.
        let next = rig.ca.leaf(&["iris.test"]);
        rig.renew(&next);
        rig.until_served(&next).await;
    }
}

/// Identity and trust in one volume change in one step: whoever is shown the new leaf is judged by the new bundle.
#[tokio::test]
async fn c11_trust_and_identity_in_one_volume_change_together() {
    for mode in MODES {
        let (files, ca, component) = (TempDir::new().unwrap(), Ca::new("servers"), Component::plain());
        peer::serve_echo(&component.endpoint);
        let volume = Volume::mount(files.path().join("all"));
        let publish = |leaf: &crate::support::pki::Leaf, workers: &Ca| {
            let (chain, key) = (leaf.chain_pem.clone(), leaf.key_pem());
            let [certificate, key] = pair(&chain, &key);
            volume.publish(&[certificate, key, ("ca.crt", &workers.pem())]);
        };
        let mut workers = Ca::new("workers 0");
        publish(&ca.leaf(&["iris.test"]), &workers);
        let path = |name| volume.path(name).display().to_string();
        let iris = Iris::start_watching(
            &format!(
                "identities:\n  edge: {{ certificate: {}, private_key: {} }}\n\
                 trust:\n  workers: {{ bundle: {} }}\n\
                 listeners:\n  - {{ name: in, listen: 'quic://127.0.0.1:0', tls: {{ identities: [ edge ], client_auth: {{ trust: workers, mode: required }} }}, routes: [ {{ upstream: component }} ] }}\n\
                 upstreams:\n  - {{ name: component, dial: 'quic+plaintext://{}' }}\n{}",
                path("tls.crt"),
                path("tls.key"),
                path("ca.crt"),
                component.address,
                mode.settings()
            ),
            mode.watching(),
        );
        for number in 1..=3 {
            let (next, successor) = (ca.leaf(&["iris.test"]), Ca::new(&format!("workers {number}")));
            let (old_worker, new_worker) = (workers.leaf(&["a.test"]), successor.leaf(&["a.test"]));
            publish(&next, &successor);
            within("the new generation", async {
                loop {
                    let config = peer::client_config(&ca, Some(&old_worker), &PeerSpec::default());
                    let connection = peer::connect(iris.address("in"), "iris.test", config).await.unwrap();
                    let verdict = within("the verdict", peer::verdict(&connection)).await;
                    let is_new = peer::shown_by(&connection) == next.chain[0];
                    // A handshake in flight across the swap is closed by the sweep that follows.
                    let swept = |error: &quinn::ConnectionError| error.to_string().contains("no longer trusted");
                    let accepted = verdict.as_ref().err().is_none_or(swept);
                    assert_ne!(
                        accepted, is_new,
                        "{mode:?}: the new leaf with the old bundle, or the reverse: {verdict:?}"
                    );
                    if is_new {
                        break;
                    }
                }
            })
            .await;
            let config = peer::client_config(&ca, Some(&new_worker), &PeerSpec::default());
            let connection = peer::connect(iris.address("in"), "iris.test", config).await.unwrap();
            within("the verdict", peer::verdict(&connection)).await.unwrap();
            workers = successor;
        }
    }
}

/// Pods whose directories come and go: the mount is missing at start, and is made again under its name later.
#[tokio::test]
async fn c11_a_directory_that_is_made_again_is_watched_again() {
    let rig = Ingress::empty(Mode::Events);
    let directory = rig.edge.path("");
    fs::remove_dir_all(&directory).unwrap();
    for _ in 0..3 {
        let volume = Volume::mount(&directory);
        let leaf = rig.ca.leaf(&["iris.test"]);
        volume.publish(&pair(&leaf.chain_pem, &leaf.key_pem()));
        within("a usable listener", async { while rig.connect_with(&[&rig.ca], None).await.is_err() {} }).await;
        rig.until_served(&leaf).await;
        fs::remove_dir_all(&directory).unwrap();
        until("the loss to be met", || rig.iris.material("identity", "edge")["candidate_rejected"] == true).await;
        assert_eq!(rig.served().await, leaf.chain[0], "the last good one stays");
    }
}

/// Truncated and rewritten in place, key and certificate with a pause between.
#[tokio::test]
async fn c11_plain_files_rewritten_in_place_are_seen_too() {
    for mode in MODES {
        let rig = Ingress::empty(mode);
        for _ in 0..3 {
            let leaf = rig.ca.leaf(&["iris.test"]);
            fs::write(rig.edge.path("tls.key"), "").unwrap();
            let before = rig.iris.reloads("in", "server_identity", "rejected");
            until("something to be refused", || {
                rig.iris.reloads("in", "server_identity", "rejected") > before
                    || rig.iris.material("identity", "edge")["candidate_rejected"] == true
            })
            .await;
            fs::write(rig.edge.path("tls.key"), leaf.key_pem()).unwrap();
            fs::write(rig.edge.path("tls.crt"), &leaf.chain_pem).unwrap();
            within("a usable listener", async { while rig.connect_with(&[&rig.ca], None).await.is_err() {} }).await;
            rig.until_served(&leaf).await;
            until("the warning", || {
                let row = rig.iris.material("identity", "edge");
                row["warnings"].as_array().is_some_and(|all| all.contains(&"plain-files".into()))
            })
            .await;
        }
    }
}
