//! What becomes of calls, and of handshakes, when files change.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use rustls::{ProtocolVersion, pki_types::CertificateDer};
use tempfile::TempDir;
use tokio::{io::AsyncWriteExt, net::TcpStream};
use tonic::Streaming;

use super::{
    client::{Client, next, turned_away},
    egress::secured,
    rig::{GUARDED, Ingress, More, SNI, often, shown},
};
use crate::{
    streams::rig::{client_config, connect, read_all},
    support::{
        app::Iris,
        component::Component,
        kubelet::Volume,
        peer::{self, PeerSpec},
        pki::{Ca, Leaf},
        registry::messages::Snapshot,
        wait::{until, within},
    },
};

/// Ten times the second within which what is no longer trusted must be closed.
const AT_ONCE: Duration = Duration::from_secs(10);
const SPREAD: Duration = Duration::from_secs(2);

/// Everything but the material: what new handshakes come to, and what they are refused for. Returns the leaf shown.
async fn terms(rig: &Ingress, worker: &Leaf) -> CertificateDer<'static> {
    let good = rig.connect(Some(worker), &["http/1.1", "h2"]).await.unwrap();
    let session = good.get_ref().1;
    assert_eq!(session.alpn_protocol(), Some(&b"h2"[..]));
    assert_eq!(session.protocol_version(), Some(ProtocolVersion::TLSv1_3));
    let leaf = shown(&good);
    Client::over(good, None).await.list_models().await.unwrap();
    let error = rig.connect(Some(worker), &["http/1.1"]).await.unwrap_err();
    assert!(error.to_string().contains("NoApplicationProtocol"), "{error}");
    let mut nobody = rig.connect(None, &["h2"]).await.unwrap();
    let _ = nobody.write_all(b"x").await;
    let error = read_all(&mut nobody).await.unwrap_err();
    assert!(error.to_string().contains("CertificateRequired"), "{error}");
    let mut roots = rustls::RootCertStore::empty();
    roots.add(rig.servers.certificate()).unwrap();
    let mut old = rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS12])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    old.alpn_protocols = vec![b"h2".to_vec()];
    let error = within("an alert", connect(rig.iris.address("in"), SNI, &old)).await.unwrap_err();
    assert!(error.to_string().contains("ProtocolVersion"), "{error}");
    leaf
}

/// A worker's connection and its Watch, which has begun.
async fn watching(rig: &Ingress, worker: &Leaf) -> (Client, Streaming<Snapshot>) {
    let mut client = rig.client(Some(worker)).await;
    let mut watch = client.watch().await.unwrap();
    next(&mut watch).await;
    (client, watch)
}

/// How long after `from` a Watch is cut.
async fn cut(from: Instant, watch: &mut Streaming<Snapshot>) -> Duration {
    within("the cut", async {
        loop {
            match watch.message().await {
                Ok(Some(_)) => {}
                Ok(None) => panic!("a clean end, of what was cut"),
                Err(_) => return from.elapsed(),
            }
        }
    })
    .await
}

#[tokio::test]
async fn c25_renewals_close_nothing_and_new_handshakes_show_the_new_leaf() {
    let rig = Ingress::guarded().await;
    let worker = rig.worker();
    let (mut client, mut watch) = watching(&rig, &worker).await;
    let mut served = vec![terms(&rig, &worker).await];
    for _ in 0..3 {
        let renewed = rig.servers.leaf(&[SNI]);
        rig.renew(&renewed).await;
        let leaf = terms(&rig, &worker).await;
        assert_eq!(leaf, renewed.chain[0]);
        assert!(!served.contains(&leaf));
        served.push(leaf);
        next(&mut watch).await;
    }
    client.list_models().await.unwrap();
    let watches = rig.registry.journal.events("cancelled");
    assert!(watches.is_empty(), "{watches:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c25_an_overlap_closes_nothing_and_a_contraction_what_stood_on_the_old_ca() {
    let rig = Ingress::guarded().await;
    let (old, successor) = (rig.worker(), Ca::new("successor"));
    let (_old_client, mut on_old) = watching(&rig, &old).await;
    // Both are believed before anybody shows a certificate of the new one.
    rig.trust(&[&rig.workers, &successor]).await;
    let new = successor.leaf(&["w1.workers.test"]);
    let (_new_client, mut on_new) = watching(&rig, &new).await;
    for worker in [&old, &new] {
        terms(&rig, worker).await;
    }
    next(&mut on_old).await;
    next(&mut on_new).await;
    assert_eq!(rig.registry.journal.events("cancelled"), [serde_json::Value::Null; 0]);
    // Nothing needs the old one any more.
    let swapped = rig.trust(&[&successor]).await;
    let (removed, recycled) = tokio::join!(cut(swapped, &mut on_old), cut(swapped, &mut on_new));
    println!("a Watch on the removed CA was cut after {removed:?}, one on the other after {recycled:?} of {SPREAD:?}");
    assert!(removed < AT_ONCE, "{removed:?}");
    assert!(recycled < SPREAD + AT_ONCE, "{recycled:?}");
    until("the counts", || rig.iris.closes("in", "trust_removed") == 1 && rig.iris.closes("in", "trust_recycled") >= 1)
        .await;
    rig.seen("cancelled", 2).await;
    // Welcome again at once, under the same terms; the other is not.
    terms(&rig, &new).await;
    let (_client, mut again) = watching(&rig, &new).await;
    next(&mut again).await;
    let mut gone = rig.connect(Some(&old), &["h2"]).await.unwrap();
    let _ = gone.write_all(b"x").await;
    let error = read_all(&mut gone).await.unwrap_err();
    assert!(error.to_string().contains("UnknownCA"), "{error}");
}

/// The other way: the servers that were dialled are judged again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c25_a_contraction_cuts_calls_to_servers_that_stood_on_the_old_ca() {
    let (files, old, new) = (TempDir::new().unwrap(), Ca::new("old"), Ca::new("new"));
    let trust = Volume::mount(files.path().join("trust"));
    trust.publish(&[("ca.crt", &(old.pem() + &new.pem()))]);
    let (on_old, on_new) = (secured(&old.leaf(&[SNI]), &["h2"]).await, secured(&new.leaf(&[SNI]), &["h2"]).await);
    let tls = format!("tls: {{ trust: servers, server_name: {SNI}, alpn: [ h2 ] }}");
    let iris = Iris::start(&format!(
        "trust:\n  servers: {{ bundle: {}, on_contraction: {{ spread: 2s }} }}\n\
         listeners:\n  - {{ name: a, listen: 'tcp://127.0.0.1:0', routes: [ {{ upstream: old }} ] }}\n  - {{ name: b, listen: 'tcp://127.0.0.1:0', routes: [ {{ upstream: new }} ] }}\n\
         upstreams:\n  - {{ name: old, dial: 'tls://{}', {tls} }}\n  - {{ name: new, dial: 'tls://{}', {tls} }}\n",
        trust.path("ca.crt").display(),
        on_old.address,
        on_new.address,
    ));
    let dial = async |listener: &str| {
        let mut client = Client::over(TcpStream::connect(iris.address(listener)).await.unwrap(), None).await;
        let mut watch = client.watch().await.unwrap();
        next(&mut watch).await;
        (client, watch)
    };
    let ((_a, mut first), (_b, mut second)) = (dial("a").await, dial("b").await);
    let swapped = iris
        .reload("old", "trust", || {
            trust.publish(&[("ca.crt", &new.pem())]);
        })
        .await;
    let (removed, recycled) = tokio::join!(cut(swapped, &mut first), cut(swapped, &mut second));
    println!(
        "a Watch to the removed CA's server was cut after {removed:?}, the other after {recycled:?} of {SPREAD:?}"
    );
    assert!(removed < AT_ONCE && recycled < SPREAD + AT_ONCE, "{removed:?}, {recycled:?}");
    until("the counts", || iris.closes("old", "trust_removed") == 1 && iris.closes("new", "trust_recycled") == 1).await;
    let (_client, mut again) = dial("b").await;
    next(&mut again).await;
    turned_away(iris.address("a")).await;
    until("the refusal", || iris.failures("old", "unknown_issuer") == 1).await;
}

/// One Secret for both ports: no transport keeps what another has let go of.
#[tokio::test]
async fn c06_one_swap_changes_tls_and_quic_together() {
    let component = Component::plain();
    let listeners = "  - { name: tunnels, listen: 'quic://127.0.0.1:0', tls: { identities: [ edge ], alpn: [ none, h3 ] }, routes: [ { upstream: component } ] }\n";
    let upstreams = format!("  - {{ name: component, dial: 'quic+plaintext://{}' }}\n", component.address);
    let more = More { tls: GUARDED, listeners, upstreams: &upstreams, ..More::default() };
    let rig = Ingress::start(more, often()).await;
    let worker = rig.worker();
    let quic = async || {
        let config = peer::client_config(&rig.servers, None, &PeerSpec::alpn(&["h3"]));
        let connection = within("QUIC", peer::connect(rig.iris.address("tunnels"), SNI, config)).await.unwrap();
        peer::shown_by(&connection)
    };
    for _ in 0..3 {
        let renewed = rig.servers.leaf(&[SNI]);
        rig.renew(&renewed).await;
        // Whoever looks first: where one shows it, so does the other.
        assert_eq!((quic().await, terms(&rig, &worker).await), (renewed.chain[0].clone(), renewed.chain[0].clone()));
        let again = rig.connect(Some(&worker), &["h2"]).await.unwrap();
        assert_eq!(shown(&again), renewed.chain[0]);
    }
    let over_tcp = client_config(&rig.servers, Some(&worker), &["h3"]);
    let error = connect(rig.iris.address("in"), SNI, &over_tcp).await.unwrap_err();
    assert!(error.to_string().contains("NoApplicationProtocol"), "each listener has protocols of its own: {error}");
}
