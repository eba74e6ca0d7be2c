//! Who is refused, with which reason in the counter, and that nothing else is disturbed.

use iris_loopback::ClientHello;
use quinn::{ClientConfig, Connection, ConnectionError};
use tempfile::TempDir;

use crate::support::{
    app::Iris,
    component::{Caller, Component, hello},
    peer::{self, PeerSpec},
    pki::{Ca, LeafSpec},
    wait::{until, within},
};

/// An ingress that demands client certificates of `workers`, with two application protocols and one name.
struct Guarded {
    ca: Ca,
    workers: Ca,
    component: Component,
    iris: Iris,
    _files: TempDir,
}

impl Guarded {
    fn start() -> Self {
        let (files, ca, workers) = (TempDir::new().unwrap(), Ca::new("servers"), Ca::new("workers"));
        let (certificate, key) = ca.leaf(&["iris.test"]).write(files.path(), "edge");
        let bundle = files.path().join("workers.crt");
        std::fs::write(&bundle, workers.pem()).unwrap();
        let component = Component::listen(&[b"one".to_vec(), b"two".to_vec()], iris_loopback::transport_config());
        let iris = Iris::start(&format!(
            "identities:\n  edge: {{ certificate: {}, private_key: {} }}\n\
             trust:\n  workers: {{ bundle: {} }}\n\
             listeners:\n\
             \x20 - name: in\n\
             \x20   listen: quic://127.0.0.1:0\n\
             \x20   tls:\n\
             \x20     identities: [ edge ]\n\
             \x20     alpn: [ one, two ]\n\
             \x20     client_auth: {{ trust: workers, mode: required, allow: {{ dns: [ '*.workers.test' ], uri: [ 'spiffe://prod/*' ] }} }}\n\
             \x20   routes: [ {{ sni: iris.test, upstream: component }} ]\n\
             upstreams:\n  - {{ name: component, dial: 'quic+plaintext://{}' }}\n",
            certificate.display(),
            key.display(),
            bundle.display(),
            component.address,
        ));
        Self { ca, workers, component, iris, _files: files }
    }

    fn client(&self, issuer: &Ca, leaf: Option<LeafSpec>, alpn: &[&str]) -> ClientConfig {
        let leaf = leaf.map(|spec| issuer.issue(spec));
        peer::client_config(&self.ca, leaf.as_ref(), &PeerSpec::alpn(alpn))
    }

    async fn connect(&self, config: ClientConfig, name: &str) -> Result<Connection, ConnectionError> {
        let connection = peer::connect(self.iris.address("in"), name, config).await?;
        within("the verdict", peer::admitted(connection)).await
    }
}

/// The TLS alert in a close of the handshake (RFC 9001 section 4.8).
fn alert(error: &ConnectionError) -> Option<u64> {
    match error {
        ConnectionError::ConnectionClosed(close) => u64::from(close.error_code).checked_sub(0x100),
        ConnectionError::TransportError(error) => u64::from(error.code).checked_sub(0x100),
        _ => None,
    }
}

#[tokio::test]
async fn c10_an_ingress_refuses_each_with_its_reason_and_disturbs_nobody() {
    let guarded = Guarded::start();
    let worker = || LeafSpec::named(&["pylon-0.workers.test"]);
    let good = guarded.client(&guarded.workers, Some(worker()), &["one"]);
    let witness = guarded.connect(good.clone(), "iris.test").await.unwrap();
    let witnessed = within("the witness", guarded.component.accept()).await.unwrap();
    let stranger = Ca::new("workers");
    let cases = [
        ("unknown_issuer", guarded.client(&stranger, Some(worker()), &["one"]), "iris.test"),
        ("no_client_certificate", guarded.client(&guarded.workers, None, &["one"]), "iris.test"),
        ("expired", guarded.client(&guarded.workers, Some(worker().expired()), &["one"]), "iris.test"),
        ("not_yet_valid", guarded.client(&guarded.workers, Some(worker().valid(3600, 7200)), &["one"]), "iris.test"),
        (
            "name_not_allowed",
            guarded.client(&guarded.workers, Some(LeafSpec::named(&["pylon.other.test", "spiffe://dev/a"])), &["one"]),
            "iris.test",
        ),
        ("no_alpn", guarded.client(&guarded.workers, Some(worker()), &["three"]), "iris.test"),
        ("no_alpn", guarded.client(&guarded.workers, Some(worker()), &[]), "iris.test"),
        ("no_route", guarded.client(&guarded.workers, Some(worker()), &["one"]), "other.test"),
    ];
    for (reason, config, name) in cases {
        let before = guarded.iris.failures("in", reason);
        let error = guarded.connect(config, name).await.expect_err(reason);
        assert!(alert(&error).is_some(), "{reason}: {error:?}");
        until(reason, || guarded.iris.failures("in", reason) == before + 1).await;
    }
    // A URI will do as well as a DNS name.
    let by_uri = guarded.client(&guarded.workers, Some(LeafSpec::named(&["spiffe://prod/pylon"])), &["two"]);
    guarded.connect(by_uri, "iris.test").await.unwrap();
    // Whoever was connected has noticed nothing.
    let mut send = witness.open_uni().await.unwrap();
    send.write_all(b"still here").await.unwrap();
    send.finish().unwrap();
    let mut recv = within("the witness's stream", witnessed.accept_uni()).await.unwrap();
    assert_eq!(recv.read_to_end(100).await.unwrap(), b"still here");
}

/// An egress to a server of our making, and what the component is told.
async fn egress(upstream: &str, ca: &Ca, hello: ClientHello) -> (Result<Connection, ConnectionError>, Iris) {
    let files = TempDir::new().unwrap();
    let bundle = files.path().join("ca.crt");
    std::fs::write(&bundle, ca.pem()).unwrap();
    let (certificate, key) = ca.leaf(&["pylon.workers.test"]).write(files.path(), "client");
    let iris = Iris::start(&format!(
        "identities:\n  client: {{ certificate: {}, private_key: {} }}\n\
         trust:\n  peers: {{ bundle: {} }}\n\
         timeouts: {{ connect: 3s }}\n\
         listeners:\n  - {{ name: out, listen: 'quic+plaintext://127.0.0.1:0', routes: [ {{ sni: '*.test', upstream: peer }} ] }}\n\
         upstreams:\n  - {{ name: peer, {upstream} }}\n",
        certificate.display(),
        key.display(),
        bundle.display(),
    ));
    let connected = within("an answer", Caller::new().connect(iris.address("out"), hello)).await;
    (connected, iris)
}

/// The words that a component's connect fails with.
fn words(result: Result<Connection, ConnectionError>) -> String {
    match result {
        Ok(connection) => panic!("connected to {}", connection.remote_address()),
        Err(ConnectionError::ConnectionClosed(close)) => String::from_utf8_lossy(&close.reason).into_owned(),
        Err(other) => panic!("not refused but: {other:?}"),
    }
}

#[tokio::test]
async fn c10_a_dial_that_fails_is_a_failed_connect_with_a_reason() {
    let (ca, stranger) = (Ca::new("ca"), Ca::new("stranger"));
    let trusted = "tls: { trust: peers, server_name: requested, identity: client }";
    let listen = |leaf, client_ca, alpn: &[&str]| {
        let server = peer::server(&leaf, client_ca, &PeerSpec::alpn(alpn));
        let accepting = server.clone();
        tokio::spawn(async move {
            while let Some(incoming) = accepting.accept().await {
                let _ = incoming.await;
            }
        });
        server
    };
    let dial = |server: &quinn::Endpoint| format!("dial: 'quic://{}', {trusted}", server.local_addr().unwrap());
    let wrong_root = listen(stranger.leaf(&["peer.test"]), None, &[]);
    let wrong_name = listen(ca.leaf(&["other.test"]), None, &[]);
    let expired = listen(ca.issue(LeafSpec::named(&["peer.test"]).expired()), None, &[]);
    let other_protocol = listen(ca.leaf(&["peer.test"]), None, &["other"]);
    let demanding = listen(ca.leaf(&["peer.test"]), Some(&stranger), &[]);
    let asking = hello("peer.test");
    let with_alpn = ClientHello { alpn: vec![b"mine".to_vec()], ..asking.clone() };
    let nowhere = {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        format!("dial: 'quic://{}', {trusted}", socket.local_addr().unwrap())
    };
    let requested = format!("dial: 'quic://requested', allow: {{ destinations: [ '10.0.0.0/8:*' ] }}, {trusted}");
    let elsewhere = ClientHello { destination: Some("127.0.0.1:1".into()), ..asking.clone() };
    let cases = [
        ("unknown_issuer", dial(&wrong_root), asking.clone()),
        ("name_mismatch", dial(&wrong_name), asking.clone()),
        ("expired", dial(&expired), asking.clone()),
        ("no_alpn", dial(&other_protocol), with_alpn),
        ("unknown_issuer", dial(&demanding), asking.clone()),
        ("timeout", nowhere, asking.clone()),
        ("destination_not_allowed", requested.clone(), elsewhere),
        ("destination_not_allowed", requested, asking),
    ];
    for (reason, upstream, hello) in cases {
        let (result, iris) = egress(&upstream, &ca, hello).await;
        let said = words(result);
        assert!(said.starts_with("iris: upstream peer: "), "{reason}: {said}");
        println!("{reason}: {said} {:?}", iris.all_failures("peer"));
        until(reason, || iris.failures("peer", reason) == 1).await;
    }
    for server in [wrong_root, wrong_name, expired, other_protocol, demanding] {
        server.close(0_u32.into(), b"");
    }
}

#[tokio::test]
async fn a_component_without_a_route_is_refused_in_words() {
    let ca = Ca::new("ca");
    let upstream = "dial: 'quic://127.0.0.1:1', tls: { trust: peers, server_name: requested }";
    for hello in [hello("peer.elsewhere"), ClientHello::default()] {
        let (result, iris) = egress(upstream, &ca, hello).await;
        let said = words(result);
        assert!(said.contains("no route of listener out"), "{said}");
        until("the count", || iris.failures("out", "no_route") == 1).await;
    }
}

#[tokio::test]
async fn c18_without_material_a_listener_refuses_and_is_not_ready() {
    let component = Component::plain();
    let iris = Iris::start(&format!(
        "identities:\n  edge: {{ certificate: /nowhere/tls.crt, private_key: /nowhere/tls.key }}\n\
         listeners:\n  - {{ name: in, listen: 'quic://127.0.0.1:0', tls: {{ identities: [ edge ] }}, routes: [ {{ upstream: component }} ] }}\n\
         upstreams:\n  - {{ name: component, dial: 'quic+plaintext://{}' }}\n",
        component.address
    ));
    let readiness = iris.observer().readiness(std::time::SystemTime::now());
    assert!(!readiness.is_ready());
    assert!(readiness.reasons().iter().any(|reason| reason.contains("in")), "{:?}", readiness.reasons());
    let config = peer::client_config(&Ca::new("ca"), None, &PeerSpec::default());
    let refused = within("a refusal", peer::connect(iris.address("in"), "iris.test", config)).await.unwrap_err();
    assert!(matches!(refused, ConnectionError::ConnectionClosed(_)), "{refused:?}");
    until("the count", || iris.failures("in", "not_ready") == 1).await;
}
