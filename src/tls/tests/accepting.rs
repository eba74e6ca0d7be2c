//! What a listener takes: application protocols, routes, long first flights, and what both ends learn of the other.

use std::sync::Arc;

use quinn::{TransportConfig, VarInt};

use super::rig::{Ends, Rig, bytes};
use crate::{
    material::testing::Ca,
    observe::labels::HandshakeFailure,
    plan::{DnsPattern, RoutePlan, UpstreamId},
    tls::{Alert, PeerIdentity, PeerLimits, is_late_handshake_failure},
};

#[tokio::test]
async fn without_application_protocols_both_ends_know_each_other() {
    let shaken = Rig::new().shake("server.example", &[]).await;
    let (server, client) = (shaken.server.expect("accepted"), shaken.client.expect("connected"));
    let chosen = shaken.accepted.chosen().expect("chosen");
    assert_eq!((chosen.server_name.as_deref(), &chosen.alpn, chosen.route), (Some("server.example"), &None, 0));
    assert_eq!((shaken.accepted.failure(), shaken.dialled.failure()), (None, None));
    let peer = PeerIdentity::of(&client).expect("the server shows a certificate");
    assert_eq!(peer.dns_names, ["server.example"]);
    assert_eq!(PeerIdentity::of(&server), None);
}

#[tokio::test]
async fn one_listener_takes_peers_with_and_without_application_protocols() {
    let mut rig = Rig::new();
    rig.alpn(true, &["h3", "custom"]);
    let mut ends = Ends::new(&rig.configs());
    for (offered, agreed) in [
        (&[][..], None),
        (&["h3"][..], Some("h3")),
        (&["custom", "h3"], Some("h3")),
        (&["foo", "custom"], Some("custom")),
    ] {
        let shaken = ends.shake("server.example", &bytes(offered)).await;
        let agreed = agreed.map(|protocol| protocol.as_bytes().to_vec());
        assert_eq!(shaken.accepted.chosen().expect("chosen").alpn, agreed);
        assert_eq!(shaken.dialled.alpn(), agreed);
        let client = shaken.client.expect("connected").handshake_data().expect("handshake data");
        let client = client.downcast::<quinn::crypto::rustls::HandshakeData>().expect("of rustls");
        assert_eq!(client.protocol, agreed, "{offered:?}");
        shaken.server.expect("accepted");
    }
}

#[tokio::test]
async fn no_protocol_in_common_is_alert_120() {
    let mut rig = Rig::new();
    for (none, protocols, offered) in [(true, &[][..], &["h3"][..]), (false, &["h3"], &[]), (true, &["h3"], &["foo"])] {
        rig.alpn(none, protocols);
        let shaken = rig.shake("server.example", offered).await;
        let quinn::ConnectionError::ConnectionClosed(close) = shaken.client.as_ref().expect_err("refused") else {
            panic!("{:?}", shaken.client)
        };
        assert_eq!(Alert::of_code(close.error_code), Some(Alert::NO_APPLICATION_PROTOCOL));
        assert!(shaken.accepted.chosen().is_none());
        assert_eq!(shaken.failures().await, (HandshakeFailure::NoAlpn, HandshakeFailure::NoAlpn));
    }
}

#[tokio::test]
async fn a_server_name_without_a_route_is_alert_112() {
    let mut rig = Rig::new();
    rig.routes()[0].sni = DnsPattern::parse("*.elsewhere.example");
    let shaken = rig.shake("server.example", &[]).await;
    let quinn::ConnectionError::ConnectionClosed(close) = shaken.client.as_ref().expect_err("refused") else {
        panic!("{:?}", shaken.client)
    };
    assert_eq!(Alert::of_code(close.error_code), Some(Alert::UNRECOGNIZED_NAME));
    assert!(is_late_handshake_failure(shaken.client.as_ref().expect_err("refused")));
    assert_eq!(shaken.failures().await, (HandshakeFailure::NoRoute, HandshakeFailure::NoRoute));
    rig.routes().push(RoutePlan { sni: None, client_auth: None, upstream: UpstreamId(0) });
    assert_eq!(rig.shake("server.example", &[]).await.accepted.chosen().expect("chosen").route, 1);
}

#[tokio::test]
async fn a_client_hello_of_several_datagrams_is_collected() {
    let mut rig = Rig::new();
    rig.alpn(false, &["h3"]);
    let mut offered: Vec<Vec<u8>> = (0..100).map(|n| format!("padding-protocol-number-{n:06}").into_bytes()).collect();
    offered.push(b"h3".to_vec());
    let shaken = Ends::new(&rig.configs()).shake("server.example", &offered).await;
    shaken.client.expect("connected");
    shaken.server.expect("accepted");
    assert_eq!(shaken.accepted.chosen().expect("chosen").alpn.as_deref(), Some(&b"h3"[..]));
    // And refused ones as well: the alert comes with a later datagram.
    offered.pop();
    let shaken = Ends::new(&rig.configs()).shake("server.example", &offered).await;
    assert_eq!(shaken.failures().await, (HandshakeFailure::NoAlpn, HandshakeFailure::NoAlpn));
}

#[tokio::test]
async fn a_certificate_of_twelve_kilobytes_gets_through() {
    let ca = Ca::new("rig root");
    let names: Vec<String> = (0..400).map(|n| format!("host-{n}.server.example")).collect();
    let leaf = ca.leaf(&names.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(leaf.der.len() > 10_000);
    Rig::with_server(ca, &leaf).shake("host-399.server.example", &[]).await.client.expect("connected");
}

#[tokio::test]
async fn both_ends_learn_the_limits_of_the_other() {
    let mut ends = Ends::new(&Rig::new().configs());
    let mut transport = TransportConfig::default();
    transport.max_concurrent_bidi_streams(VarInt::from_u32(7)).max_concurrent_uni_streams(VarInt::from_u32(300));
    transport.datagram_receive_buffer_size(None);
    ends.transport.0 = transport;
    let mut transport = TransportConfig::default();
    transport.max_concurrent_bidi_streams(VarInt::from_u32(100_000)).max_concurrent_uni_streams(VarInt::from_u32(0));
    ends.transport.1 = transport;
    let shaken = ends.shake("server.example", &[]).await;
    let server = PeerLimits { bidi_streams: 7, uni_streams: 300, max_datagram_frame_size: None };
    assert_eq!(shaken.dialled.limits(), Some(server));
    let client = shaken.accepted.limits().expect("known");
    assert_eq!((client.bidi_streams, client.uni_streams), (100_000, 0));
    assert!(client.max_datagram_frame_size.is_some_and(|size| size > 1200));
}

#[tokio::test]
async fn protocols_that_cannot_be_written_are_not_offered() {
    let rig = Rig::new();
    let ends = Ends::new(&rig.configs());
    for alpn in [vec![Vec::new()], vec![vec![b'x'; 256]], vec![vec![b'x'; 255]; 40]] {
        let (crypto, outcome) = rig.configs().upstream(UpstreamId(0)).expect("ready").dial(&alpn);
        let config = quinn::ClientConfig::new(crypto);
        assert!(ends.client.connect_with(config, ends.address(), "server.example").is_err());
        assert_eq!(outcome.failure(), Some(HandshakeFailure::NoAlpn));
    }
}

#[tokio::test]
async fn an_endpoint_as_such_lets_nobody_in() {
    let rig = Rig::new();
    let ends = Ends::new(&rig.configs());
    let (crypto, _) = rig.configs().upstream(UpstreamId(0)).expect("ready").dial(&[]);
    let connecting = ends.client.connect_with(quinn::ClientConfig::new(crypto), ends.address(), "server.example");
    // The hello may come in more than one datagram.
    let accepting = async { ends.incoming().await.accept()?.await.map(|_| ()) };
    let (server, client) = tokio::join!(accepting, connecting.expect("connect"));
    server.expect_err("refused");
    client.expect_err("refused");
}

#[tokio::test]
async fn other_versions_than_one_have_no_keys() {
    let crypto = crate::tls::initial_only();
    let id = quinn::ConnectionId::new(&[1; 8]);
    assert!(crypto.initial_keys(1, &id).is_ok());
    for version in [0xff00_001d, 0x6b33_43cf, iris_loopback::VERSION] {
        assert!(crypto.initial_keys(version, &id).is_err(), "{version:#x}");
    }
    let (crypto, _) = Rig::new().configs().upstream(UpstreamId(0)).expect("ready").dial(&[]);
    let mut config = quinn::ClientConfig::new(crypto);
    config.version(0xff00_001d);
    let ends = Ends::new(&Rig::new().configs());
    assert!(ends.client.connect_with(config, ends.address(), "server.example").is_err());
    assert_eq!(Arc::strong_count(&crate::tls::initial_only()), 1);
}
