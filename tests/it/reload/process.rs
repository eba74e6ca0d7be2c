//! The log of a reload, SIGHUP, and that a drain ends it all.

use std::{
    fs,
    time::{Duration, Instant},
};

use tempfile::TempDir;

use super::rig::{Ingress, Mode, pair};
use crate::support::{
    app::Iris,
    kubelet::Volume,
    peer,
    pki::{Ca, Leaf},
    process::Running,
    wait::until,
};

/// `iris run` with an identity in a volume.
struct Process {
    ca: Ca,
    volume: Volume,
    running: Running,
    _files: TempDir,
}

impl Process {
    fn start() -> (Self, Leaf) {
        let (files, ca) = (TempDir::new().unwrap(), Ca::new("ca"));
        let (volume, leaf) = (Volume::mount(files.path().join("edge")), ca.leaf(&["iris.test", "spiffe://test/edge"]));
        volume.publish(&pair(&leaf.chain_pem, &leaf.key_pem()));
        let config = files.path().join("iris.yaml");
        let text = format!(
            "log: {{ format: json }}\n\
             identities:\n  edge: {{ certificate: {}, private_key: {} }}\n\
             listeners:\n  - {{ name: in, listen: 'quic://127.0.0.1:0', tls: {{ identities: [ edge ] }}, routes: [ {{ upstream: out }} ] }}\n\
             upstreams:\n  - {{ name: out, dial: 'quic+plaintext://127.0.0.1:1' }}\n",
            volume.path("tls.crt").display(),
            volume.path("tls.key").display(),
        );
        fs::write(&config, text).unwrap();
        let running = Running::start(config.to_str().unwrap());
        (Self { ca, volume, running, _files: files }, leaf)
    }

    fn publish(&self, leaf: &Leaf) {
        self.volume.publish(&pair(&leaf.chain_pem, &leaf.key_pem()));
    }
}

#[test]
fn c21_the_log_tells_what_was_activated_or_refused_and_never_a_key() {
    let (mut process, first) = Process::start();
    process.running.wait_for("material in use");
    let next = process.ca.leaf(&["iris.test", "spiffe://test/edge"]);
    process.publish(&next);
    let line = process.running.wait_for("material in use");
    for (field, value) in [
        ("component", "in"),
        ("material", "identity"),
        ("name", "edge"),
        ("result", "success"),
        ("names", "iris.test,spiffe://test/edge"),
        ("level", "INFO"),
    ] {
        assert_eq!(line[field], value, "{field}: {line}");
    }
    assert_eq!(line["sequence"], 2, "{line}");
    assert!(line["subject"].as_str().unwrap().contains("leaf"), "{line}");
    let sha256: String = rustls::crypto::aws_lc_rs::default_provider()
        .cipher_suites
        .iter()
        .find_map(|suite| suite.tls13().filter(|suite| suite.common.hash_provider.output_len() == 32))
        .map(|suite| suite.common.hash_provider.hash(&next.chain[0]))
        .unwrap()
        .as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_eq!(line["sha256"], sha256.as_str(), "{line}");
    for field in ["serial", "not_before", "not_after"] {
        assert!(line[field].as_str().is_some_and(|text| !text.is_empty()), "{field}: {line}");
    }
    let stranger = process.ca.leaf(&["iris.test"]);
    process.volume.publish(&pair(&next.chain_pem, &stranger.key_pem()));
    let line = process.running.wait_for("material refused");
    assert_eq!((&line["result"], &line["reason"]), (&"rejected".into(), &"key-mismatch".into()), "{line}");
    process.running.signal("-TERM");
    process.running.wait_for("drained");
    assert_eq!(process.running.wait().code(), Some(0));
    for secret in [&first, &next, &stranger] {
        let (chain, key) = (&secret.chain_pem, secret.key_pem());
        for text in chain.lines().chain(key.lines()) {
            assert!(!process.running.log.contains(text), "in the log: {text}");
        }
    }
}

#[test]
fn sighup_reads_everything_again_and_ends_nothing() {
    let (mut process, _) = Process::start();
    process.running.wait_for("material in use");
    process.running.wait_for("watching for file events");
    for _ in 0..3 {
        process.running.signal("-HUP");
        process.running.wait_for("reading all materials again");
    }
    let next = process.ca.leaf(&["iris.test"]);
    process.publish(&next);
    process.running.signal("-HUP");
    process.running.wait_for("material in use");
    process.running.signal("-TERM");
    process.running.signal("-HUP");
    process.running.wait_for("drained");
    assert_eq!(process.running.wait().code(), Some(0));
}

/// What SIGHUP does: neither events nor the poll would be as soon.
#[tokio::test]
async fn a_word_has_everything_read_at_once() {
    let files = TempDir::new().unwrap();
    let (iris, volume, ca) = watcher(&files, "reload: { poll: 20s }\n");
    let started = Instant::now();
    for sequence in 2..=4 {
        publish(&volume, &ca);
        iris.reread();
        until("it to be read", || iris.material("identity", "edge")["sequence"] == sequence).await;
    }
    assert!(started.elapsed() < Duration::from_secs(15), "before the poll: {:?}", started.elapsed());
}

/// An Iris without events, over a volume with an identity.
fn watcher(files: &TempDir, settings: &str) -> (Iris, Volume, Ca) {
    let (volume, ca) = (Volume::mount(files.path().join("edge")), Ca::new("ca"));
    publish(&volume, &ca);
    (over(&volume, settings), volume, ca)
}

fn publish(volume: &Volume, ca: &Ca) {
    let leaf = ca.leaf(&["iris.test"]);
    volume.publish(&pair(&leaf.chain_pem, &leaf.key_pem()));
}

fn over(volume: &Volume, settings: &str) -> Iris {
    let yaml = format!(
        "identities:\n  edge: {{ certificate: {}, private_key: {} }}\n\
         listeners:\n  - {{ name: in, listen: 'quic://127.0.0.1:0', tls: {{ identities: [ edge ] }}, routes: [ {{ upstream: out }} ] }}\n\
         upstreams:\n  - {{ name: out, dial: 'quic+plaintext://127.0.0.1:1' }}\n{settings}",
        volume.path("tls.crt").display(),
        volume.path("tls.key").display(),
    );
    Iris::start_watching(&yaml, Mode::Poll.watching())
}

#[tokio::test]
async fn while_draining_nothing_is_reloaded_whatever_happens() {
    let (rig, leaf) = Ingress::start(Mode::Events);
    // Another Iris over the same volume shows that there was something to see.
    let control = over(&rig.edge, Mode::Poll.settings());
    let live = rig.connect().await;
    rig.iris.begin_drain(Duration::from_secs(3600));
    until("the drain", || !rig.iris.readiness().0).await;
    for sequence in 2..=6 {
        rig.renew(&rig.ca.leaf(&["iris.test"]));
        rig.iris.reread();
        until("the control", || control.material("identity", "edge")["sequence"] == sequence).await;
    }
    assert_eq!(rig.iris.material("identity", "edge")["sequence"], 1);
    assert_eq!(rig.iris.reloads("in", "server_identity", "success"), 0);
    assert!(!rig.iris.readiness().0, "a drain is not taken back");
    assert_eq!(peer::shown_by(&live), leaf.chain[0]);
    peer::request(&live).await.unwrap();
    live.close(0_u32.into(), b"");
    until("the app to end", || rig.iris.has_ended()).await;
}
