//! Dial before accept: a listener shows the hello, and the answer decides what the client gets.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use iris_loopback::{Answer, ClientHello, DatagramSize, Listener, connect_default, transport_config};
use quinn::{ConnectionError, TransportErrorCode};

use crate::support::{anywhere, client, offering, soon};

fn listener() -> (Listener, SocketAddr) {
    let listener = Listener::bind(anywhere()).expect("binds");
    let addr = listener.local_addr().expect("bound");
    (listener, addr)
}

#[tokio::test]
async fn the_hello_is_read_before_the_attempt_is_accepted() {
    let (listener, addr) = listener();
    let client = client();
    let hello = ClientHello {
        server_name: Some("stargate-0.example.com".into()),
        destination: Some("10.0.0.7:50072".into()),
        ..offering(&["h3", "x"])
    };
    soon(async {
        let connecting = connect_default(&client, addr, hello.clone()).expect("starts");
        let connecting = tokio::spawn(connecting);
        let pending = listener.accept().await.expect("open");
        assert_eq!(pending.hello().expect("whole"), &hello);
        assert_eq!(pending.limits().expect("there").bidi_streams, 100);
        assert_eq!(pending.remote_address(), client.local_addr().expect("bound"));
        // The far side takes a while, longer than the client waits before it sends its hello again.
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert!(!connecting.is_finished());

        let mut transport = transport_config();
        transport.max_concurrent_bidi_streams(7u32.into());
        let answer = Answer { alpn: Some(b"x".to_vec()), datagrams: DatagramSize::Limit(1162) };
        let accepted = pending.accept(answer, Arc::new(transport)).expect("accepts").await.expect("completes");
        let connection = connecting.await.expect("no panic").expect("connects");
        assert_eq!(connection.max_datagram_size(), Some(1162));
        let data: iris_loopback::HandshakeData =
            *connection.handshake_data().expect("connected").downcast().expect("loopback");
        assert_eq!(data.alpn.as_deref(), Some(&b"x"[..]));
        assert_eq!(data.limits.bidi_streams, 7);
        drop(accepted);
    })
    .await;
}

#[tokio::test]
async fn a_refusal_is_a_failed_connect_with_code_and_reason() {
    let (listener, addr) = listener();
    let client = client();
    for (code, seen) in [
        (0x2, TransportErrorCode::CONNECTION_REFUSED),
        (0x178, TransportErrorCode::crypto(0x78)),
        (0x99, TransportErrorCode::CONNECTION_REFUSED),
    ] {
        soon(async {
            let connecting = tokio::spawn(connect_default(&client, addr, offering(&["h3"])).expect("starts"));
            let pending = listener.accept().await.expect("open");
            let refused = Instant::now();
            pending.refuse(code, "upstream not trusted: unknown issuer");
            match connecting.await.expect("no panic").expect_err("refused") {
                ConnectionError::ConnectionClosed(close) => {
                    assert_eq!(close.error_code, seen);
                    assert_eq!(&close.reason[..], b"upstream not trusted: unknown issuer");
                }
                other => panic!("{other:?}"),
            }
            assert!(refused.elapsed() < Duration::from_secs(1), "{:?}", refused.elapsed());
        })
        .await;
    }
}
