//! What both ends learn from one another, and what they refuse.

use std::sync::Arc;

use iris_loopback::{
    ClientHello, ConnectError, DatagramSize, HandshakeData, PeerCertificate, PeerInfo, PeerLimits, VERSION,
    client_endpoint, connect_default, connect_with, server_endpoint, transport_config,
};
use quinn::{Connection, ConnectionError, TransportErrorCode};

use crate::support::{anywhere, client, offering, server, soon};

fn data(connection: &Connection) -> HandshakeData {
    *connection.handshake_data().expect("connected").downcast().expect("a loopback connection")
}

fn peer() -> PeerInfo {
    PeerInfo {
        address: Some("[2001:db8::1]:4433".parse().expect("an address")),
        server_name: Some("stargate-0.stargate.example.com".into()),
        alpn: Some(b"h3".to_vec()),
        tls_version: Some(0x0304),
        certificate: Some(PeerCertificate {
            sha256: [7; 32],
            dns_names: vec!["worker-1.workers.example".into()],
            uris: vec!["spiffe://prod/worker".into()],
            names_truncated: false,
        }),
        datagram_size: Some(1200),
    }
}

#[tokio::test]
async fn a_component_learns_everything_that_the_client_says() {
    let (server, addr) = server(&["x", "h3"]);
    let client = client();
    let hello = ClientHello {
        server_name: Some("stargate".into()),
        alpn: vec![b"h3".to_vec(), b"other".to_vec()],
        destination: Some("10.0.0.7:50072".into()),
        peer: Some(peer()),
    };
    let (outgoing, incoming) = soon(async {
        tokio::join!(connect_default(&client, addr, hello.clone()).expect("starts"), async {
            server.accept().await.expect("open").await
        })
    })
    .await;
    let (outgoing, incoming) = (outgoing.expect("connects"), incoming.expect("accepts"));

    let (client_sees, server_sees) = (data(&outgoing), data(&incoming));
    assert_eq!(server_sees.server_name, hello.server_name);
    assert_eq!(server_sees.offered_alpn, hello.alpn);
    assert_eq!(server_sees.destination, hello.destination);
    assert_eq!(server_sees.peer, hello.peer);
    assert_eq!(client_sees.peer, None);
    for sees in [client_sees, server_sees] {
        assert_eq!(sees.alpn.as_deref(), Some(&b"h3"[..]));
        let PeerLimits { bidi_streams, uni_streams, max_datagram_frame_size } = sees.limits;
        assert_eq!((bidi_streams, uni_streams), (100, 100));
        assert!(max_datagram_frame_size.expect("datagrams are on") > 1200);
    }
}

#[tokio::test]
async fn streams_and_datagrams_pass_both_ways() {
    let (server, addr) = server(&[]);
    let echo = tokio::spawn(async move {
        let connection = server.accept().await.expect("open").await.expect("accepts");
        let datagram = connection.read_datagram().await.expect("a datagram");
        connection.send_datagram(datagram).expect("fits");
        let (mut send, mut recv) = connection.accept_bi().await.expect("a stream");
        let request = recv.read_to_end(1 << 21).await.expect("whole");
        send.write_all(&request).await.expect("written");
        send.finish().expect("open");
        connection.closed().await
    });
    soon(async {
        let connection =
            connect_default(&client(), addr, ClientHello::default()).expect("starts").await.expect("connects");
        let size = connection.max_datagram_size().expect("datagrams are on");
        assert!(size > 6400, "{size}");
        connection.send_datagram(vec![3; size].into()).expect("fits");
        assert_eq!(connection.read_datagram().await.expect("echoed").len(), size);
        let (mut send, mut recv) = connection.open_bi().await.expect("a stream");
        let body = vec![5; 1 << 20];
        send.write_all(&body).await.expect("written");
        send.finish().expect("open");
        assert_eq!(recv.read_to_end(1 << 21).await.expect("whole"), body);
        connection.close(7u32.into(), b"done");
        match echo.await.expect("no panic") {
            ConnectionError::ApplicationClosed(close) => {
                assert_eq!((u64::from(close.error_code), &close.reason[..]), (7, &b"done"[..]));
            }
            other => panic!("{other:?}"),
        }
    })
    .await;
}

#[tokio::test]
async fn no_protocol_in_common_is_the_tls_alert_for_it() {
    for (serves, offers) in [(&["h3"][..], &["x"][..]), (&["h3"], &[]), (&[], &["h3"])] {
        let (server, addr) = server(serves);
        let client = client();
        let (outgoing, incoming) = soon(async {
            tokio::join!(connect_default(&client, addr, offering(offers)).expect("starts"), async {
                server.accept().await.expect("open").await
            })
        })
        .await;
        match outgoing.expect_err("refused") {
            ConnectionError::ConnectionClosed(close) => {
                assert_eq!(close.error_code, TransportErrorCode::crypto(120));
                assert_eq!(&close.reason[..], b"no application protocol in common");
            }
            other => panic!("{other:?}"),
        }
        incoming.expect_err("refused");
    }
}

#[tokio::test]
async fn a_smaller_datagram_size_is_what_the_other_side_sees() {
    for (size, expected) in [
        (DatagramSize::Unchanged, None),
        (DatagramSize::None, Some(None)),
        (DatagramSize::Limit(1162), Some(Some(1162))),
        (DatagramSize::from(None), Some(None)),
    ] {
        let (server, addr) = server(&[]);
        let client = client();
        let transport = Arc::new(transport_config());
        let connecting = connect_with(&client, addr, ClientHello::default(), size, transport).expect("starts");
        let (outgoing, incoming) =
            soon(async { tokio::join!(connecting, async { server.accept().await.expect("open").await }) }).await;
        let (_outgoing, incoming) = (outgoing.expect("connects"), incoming.expect("accepts"));
        match expected {
            None => assert!(incoming.max_datagram_size().expect("on") > 6000),
            Some(expected) => assert_eq!(incoming.max_datagram_size(), expected),
        }
    }
}

#[tokio::test]
async fn only_loopback_is_bound_and_dialled() {
    for address in ["0.0.0.0:0", "192.0.2.1:0", "[::]:0", "[::ffff:127.0.0.1]:0"] {
        let address = address.parse().expect("an address");
        for error in [server_endpoint(address, Default::default()).err(), client_endpoint(address).err()] {
            let error = error.expect("refused");
            assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
            assert!(error.to_string().contains("not a loopback address"), "{error}");
        }
    }
    let remote = "192.0.2.1:443".parse().expect("an address");
    let refused = connect_default(&client(), remote, ClientHello::default()).err();
    assert_eq!(refused, Some(ConnectError::NotLoopback(remote)));
    client_endpoint(anywhere()).expect("loopback is");
}

#[tokio::test]
async fn ipv6_is_loopback_as_well() {
    let anywhere = "[::1]:0".parse().expect("an address");
    let Ok(server) = server_endpoint(anywhere, Default::default()) else {
        println!("skipped: this host has no IPv6");
        return;
    };
    let addr = server.local_addr().expect("bound");
    let client = client_endpoint(anywhere).expect("binds");
    let connecting = connect_default(&client, addr, ClientHello::default()).expect("starts");
    let (outgoing, incoming) =
        soon(async { tokio::join!(connecting, async { server.accept().await.expect("open").await }) }).await;
    assert!(outgoing.is_ok() && incoming.is_ok());

    let other_family = "127.0.0.1:443".parse().expect("an address");
    let refused = connect_default(&client, other_family, ClientHello::default()).err();
    assert_eq!(refused, Some(quinn::ConnectError::InvalidRemoteAddress(other_family).into()));
}

#[tokio::test]
async fn a_hello_that_cannot_be_sent_is_refused_before_anything_is() {
    let long = ClientHello { destination: Some("x".repeat(301)), ..ClientHello::default() };
    match connect_default(&client(), "127.0.0.1:9".parse().expect("an address"), long) {
        Err(ConnectError::Hello(_)) => {}
        other => panic!("{other:?}"),
    }
    assert_ne!(VERSION, 1);
}
