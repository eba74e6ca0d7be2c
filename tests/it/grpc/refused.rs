//! Who is not who it must be is refused, each with a reason that is counted; and nothing falls back to plaintext.

use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::{
    client::{Client, turned_away},
    egress::secured,
    rig::{GUARDED, Ingress, More, SNI, often, publish},
};
use crate::{
    streams::rig::read_all,
    support::{
        app::Iris,
        kubelet::Volume,
        pki::{Ca, LeafSpec},
        registry::{Registry, journal::Journal},
        wait::{until, within},
    },
};

/// What a client of HTTP/2 without TLS says first (RFC 9113 section 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

#[tokio::test]
async fn c27_workers_that_may_not_enter_reach_nothing_and_are_counted() {
    let rig = Ingress::start(More { tls: GUARDED, ..More::default() }, often()).await;
    let other = Ca::new("other");
    for (leaf, reason) in [
        (None, "no_client_certificate"),
        (Some(other.leaf(&["w1.workers.test"])), "unknown_issuer"),
        (Some(rig.workers.leaf(&["w1.elsewhere.test"])), "name_not_allowed"),
        (Some(rig.workers.issue(LeafSpec::named(&["w1.workers.test"]).expired())), "expired"),
    ] {
        let mut stream = rig.connect(leaf.as_ref(), &["h2"]).await.unwrap();
        let _ = stream.write_all(PREFACE).await;
        read_all(&mut stream).await.unwrap_err();
        until(reason, || rig.iris.failures("in", reason) == 1).await;
    }
    let mut plain = TcpStream::connect(rig.iris.address("in")).await.unwrap();
    plain.write_all(PREFACE).await.unwrap();
    let mut heard = Vec::new();
    let _ = within("the refusal", plain.read_to_end(&mut heard)).await;
    assert!(heard.is_empty() || heard[0] == 21, "an alert or nothing: {heard:?}");
    until("plaintext", || rig.iris.failures("in", "protocol") == 1).await;
    // The good one is served, and is the only one that the registry has seen.
    rig.client(Some(&rig.worker())).await.list_models().await.unwrap();
    assert_eq!(rig.registry.journal.events("connected").len(), 1);
}

/// A server that is not who it must be, or that speaks no TLS at all: no call reaches it, not even in part.
#[tokio::test]
async fn c27_c28_no_call_reaches_a_server_that_is_not_proven() {
    let (ca, other) = (Ca::new("ca"), Ca::new("other"));
    let plaintext = Registry::start(often(), Journal::new(|_| ())).await.unwrap();
    for (registry, reason) in [
        (secured(&other.leaf(&[SNI]), &["h2"]).await, "unknown_issuer"),
        (secured(&ca.leaf(&["elsewhere.test"]), &["h2"]).await, "name_mismatch"),
        (secured(&ca.issue(LeafSpec::named(&[SNI]).expired()), &["h2"]).await, "expired"),
        (secured(&ca.leaf(&[SNI]), &[]).await, "no_alpn"),
        (plaintext, "protocol"),
    ] {
        let files = TempDir::new().unwrap();
        let bundle = files.path().join("ca.crt");
        std::fs::write(&bundle, ca.pem()).unwrap();
        let iris = egress(&bundle, &registry);
        turned_away(iris.address("out")).await;
        until(reason, || iris.failures("far", reason) == 1).await;
        assert_eq!(registry.journal.events("call"), [serde_json::Value::Null; 0], "{reason}");
    }
}

/// Without its material neither side does anything, until the material comes.
#[tokio::test]
async fn c28_without_material_nothing_passes() {
    let (files, ca) = (TempDir::new().unwrap(), Ca::new("ca"));
    let trust = Volume::mount(files.path().join("trust"));
    let registry = secured(&ca.leaf(&[SNI]), &["h2"]).await;
    let iris = egress(&trust.path("ca.crt"), &registry);
    turned_away(iris.address("out")).await;
    until("the refusal", || !iris.all_failures("far").is_empty() || !iris.all_failures("out").is_empty()).await;
    assert!(!iris.readiness().0);
    assert_eq!(registry.journal.events("connected"), [serde_json::Value::Null; 0]);
    iris.reload("far", "trust", || {
        trust.publish(&[("ca.crt", &ca.pem())]);
    })
    .await;
    let mut client = Client::over(TcpStream::connect(iris.address("out")).await.unwrap(), None).await;
    client.list_models().await.unwrap();

    let edge = Volume::mount(files.path().join("edge"));
    let registry = Registry::start(often(), Journal::new(|_| ())).await.unwrap();
    let iris = Iris::start(&format!(
        "identities:\n  edge: {{ certificate: {}, private_key: {} }}\n\
         listeners:\n  - {{ name: in, listen: 'tls://127.0.0.1:0', tls: {{ identities: [ edge ], alpn: [ h2 ] }}, routes: [ {{ upstream: registry }} ] }}\n\
         upstreams:\n  - {{ name: registry, dial: 'tcp://{}' }}\n",
        edge.path("tls.crt").display(),
        edge.path("tls.key").display(),
        registry.address,
    ));
    let mut plain = TcpStream::connect(iris.address("in")).await.unwrap();
    plain.write_all(PREFACE).await.unwrap();
    let mut heard = Vec::new();
    let _ = within("the refusal", plain.read_to_end(&mut heard)).await;
    until("the refusal", || !iris.all_failures("in").is_empty()).await;
    assert_eq!(registry.journal.events("connected"), [serde_json::Value::Null; 0]);
    iris.reload("in", "server_identity", || publish(&edge, &ca.leaf(&[SNI]))).await;
    assert!(iris.readiness().0);
}

fn egress(bundle: &std::path::Path, registry: &Registry) -> Iris {
    Iris::start(&format!(
        "trust:\n  servers: {{ bundle: {} }}\n\
         listeners:\n  - {{ name: out, listen: 'tcp://127.0.0.1:0', routes: [ {{ upstream: far }} ] }}\n\
         upstreams:\n  - {{ name: far, dial: 'tls://{}', tls: {{ trust: servers, server_name: {SNI}, alpn: [ h2 ] }} }}\n",
        bundle.display(),
        registry.address,
    ))
}
