//! TLS and loopback QUIC never meet: a version mismatch at once, both ways. And what one listener offers to many.

use std::time::{Duration, Instant};

use quinn::ConnectionError;
use tempfile::TempDir;

use crate::support::{
    app::Iris,
    component::{Caller, Component, hello},
    peer::{self, PeerSpec},
    pki::Ca,
    tunnel::{Tunnel, TunnelSpec, Way},
    wait::{until, within},
};

/// Ten times what it takes on a busy machine, and far below any timeout.
const AT_ONCE: Duration = Duration::from_secs(1);

#[tokio::test]
async fn a_tls_peer_on_a_loopback_port_fails_at_once() {
    let tunnel = Tunnel::plain(Way::Egress).await;
    let config = peer::client_config(&Ca::new("ca"), None, &PeerSpec::default());
    let start = Instant::now();
    let error = within("an answer", peer::connect(tunnel.iris.address("out"), "iris.test", config)).await.unwrap_err();
    assert_eq!(error, ConnectionError::VersionMismatch);
    println!("a TLS peer on a loopback port: version mismatch after {:?}", start.elapsed());
    assert!(start.elapsed() < AT_ONCE);
}

#[tokio::test]
async fn a_component_on_a_tls_port_fails_at_once() {
    let tunnel = Tunnel::plain(Way::Ingress).await;
    let start = Instant::now();
    let connecting = Caller::new();
    let error =
        within("an answer", connecting.connect(tunnel.iris.address("in"), hello("iris.test"))).await.unwrap_err();
    assert_eq!(error, ConnectionError::VersionMismatch);
    println!("a component on a TLS port: version mismatch after {:?}", start.elapsed());
    assert!(start.elapsed() < AT_ONCE);
}

/// `alpn: [ none, h3 ]`: peers that offer none and peers that offer `h3` on one listener; the component is offered only
/// what was chosen.
#[tokio::test]
async fn one_listener_serves_peers_with_and_without_alpn() {
    let (files, ca) = (TempDir::new().unwrap(), Ca::new("ca"));
    let (certificate, key) = ca.leaf(&["iris.test"]).write(files.path(), "edge");
    let component = Component::listen(&[b"h3".to_vec()], iris_loopback::transport_config());
    let iris = Iris::start(&format!(
        "identities:\n  edge: {{ certificate: {}, private_key: {} }}\n\
         listeners:\n  - {{ name: in, listen: 'quic://127.0.0.1:0', tls: {{ identities: [ edge ], alpn: [ none, h3 ] }}, routes: [ {{ upstream: component }} ] }}\n\
         upstreams:\n  - {{ name: component, dial: 'quic+plaintext://{}' }}\n",
        certificate.display(),
        key.display(),
        component.address
    ));
    for (offer, expected) in
        [(vec![], None), (vec!["h3"], Some(b"h3".to_vec())), (vec!["x", "h3"], Some(b"h3".to_vec()))]
    {
        let client = peer::client_endpoint();
        let config = peer::client_config(&ca, None, &PeerSpec::alpn(&offer));
        let connecting = client.connect_with(config, iris.address("in"), "iris.test").unwrap();
        let (near, far) = within("a connection", async { tokio::join!(connecting, component.accept()) }).await;
        let (_near, far) = (near.unwrap(), far.unwrap());
        let data = far.handshake_data().unwrap().downcast::<iris_loopback::HandshakeData>().unwrap();
        assert_eq!(data.alpn, expected);
        assert_eq!(data.offered_alpn, expected.into_iter().collect::<Vec<_>>());
        assert_eq!(data.server_name.as_deref(), Some("iris.test"));
        assert_eq!(data.peer.unwrap().address, Some(client.local_addr().unwrap()));
    }
    let config = peer::client_config(&ca, None, &PeerSpec::alpn(&["other"]));
    within("a refusal", peer::connect(iris.address("in"), "iris.test", config)).await.unwrap_err();
    until("the count", || iris.failures("in", "no_alpn") == 1).await;
}

/// The component names the destination, within the rules.
#[tokio::test]
async fn a_component_names_the_destination() {
    let (files, ca) = (TempDir::new().unwrap(), Ca::new("ca"));
    let bundle = files.path().join("ca.crt");
    std::fs::write(&bundle, ca.pem()).unwrap();
    let iris = Iris::start(&format!(
        "trust:\n  peers: {{ bundle: {} }}\n\
         listeners:\n  - {{ name: out, listen: 'quic+plaintext://127.0.0.1:0', routes: [ {{ upstream: any }} ] }}\n\
         upstreams:\n  - {{ name: any, dial: 'quic://requested', allow: {{ destinations: [ '127.0.0.0/8:*' ] }}, tls: {{ trust: peers, server_name: requested }} }}\n",
        bundle.display()
    ));
    for name in ["one.test", "two.test"] {
        let server = peer::server(&ca.leaf(&[name]), None, &PeerSpec::default());
        let mut hello = hello(name);
        hello.destination = Some(server.local_addr().unwrap().to_string());
        let accept = async { server.accept().await.unwrap().await };
        let caller = Caller::new();
        let connect = caller.connect(iris.address("out"), hello);
        let (near, far) = within("a connection", async { tokio::join!(connect, accept) }).await;
        drop((near.unwrap(), far.unwrap()));
    }
}

/// Re-encryption: a secured peer to a secured upstream, with the name that it asked for.
#[tokio::test]
async fn a_router_re_encrypts_by_server_name() {
    let (files, ca) = (TempDir::new().unwrap(), Ca::new("ca"));
    let (certificate, key) = ca.leaf(&["*.stargate.test"]).write(files.path(), "edge");
    let bundle = files.path().join("ca.crt");
    std::fs::write(&bundle, ca.pem()).unwrap();
    let pods = ["stargate-0.stargate.test", "stargate-1.stargate.test"]
        .map(|name| (name, peer::server(&ca.leaf(&[name]), None, &PeerSpec::default())));
    let upstreams: String = pods
        .iter()
        .enumerate()
        .map(|(number, (_, pod))| {
            let address = pod.local_addr().unwrap();
            format!("  - {{ name: pod-{number}, dial: 'quic://{address}', tls: {{ trust: pods, server_name: requested }} }}\n")
        })
        .collect();
    let iris = Iris::start(&format!(
        "identities:\n  edge: {{ certificate: {}, private_key: {} }}\n\
         trust:\n  pods: {{ bundle: {} }}\n\
         listeners:\n\
         \x20 - name: in\n\
         \x20   listen: quic://127.0.0.1:0\n\
         \x20   tls: {{ identities: [ edge ] }}\n\
         \x20   routes: [ {{ sni: stargate-0.stargate.test, upstream: pod-0 }}, {{ sni: stargate-1.stargate.test, upstream: pod-1 }} ]\n\
         upstreams:\n{upstreams}",
        certificate.display(),
        key.display(),
        bundle.display(),
    ));
    for (name, pod) in &pods {
        let client = peer::client_endpoint();
        let config = peer::client_config(&ca, None, &PeerSpec::default());
        let connecting = client.connect_with(config, iris.address("in"), name).unwrap();
        let accept = async { pod.accept().await.unwrap().await };
        let (near, far) = within("a connection", async { tokio::join!(connecting, accept) }).await;
        let (near, far) = (near.unwrap(), far.unwrap());
        let mut send = far.open_uni().await.unwrap();
        send.write_all(name.as_bytes()).await.unwrap();
        send.finish().unwrap();
        let mut recv = within("the pod's stream", near.accept_uni()).await.unwrap();
        assert_eq!(recv.read_to_end(100).await.unwrap(), name.as_bytes());
    }
}

#[tokio::test]
async fn limits_on_connections_hold() {
    let settings = "limits: { connections: 1 }\n".to_owned();
    let tunnel = Tunnel::open(Way::Egress, TunnelSpec { settings, ..TunnelSpec::default() }).await;
    let error =
        within("a refusal", Caller::new().connect(tunnel.iris.address("out"), hello("peer.test"))).await.unwrap_err();
    assert!(error.to_string().contains("limits.connections"), "{error}");
    until("the count", || tunnel.iris.failures("out", "limit") == 1).await;
}
