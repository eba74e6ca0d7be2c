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
        let answer = Answer { alpn: Some(b"x".to_vec()), datagram_size: DatagramSize::Limit(1162) };
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

#[tokio::test]
async fn a_long_reason_is_cut_and_an_attempt_that_is_dropped_is_refused() {
    let (listener, addr) = listener();
    let client = client();
    for reason in [Some("because ".repeat(400)), None] {
        let connecting = tokio::spawn(connect_default(&client, addr, ClientHello::default()).expect("starts"));
        let pending = soon(listener.accept()).await.expect("open");
        match &reason {
            Some(reason) => pending.refuse(0x2, reason),
            None => drop(pending),
        }
        match soon(connecting).await.expect("no panic").expect_err("refused") {
            ConnectionError::ConnectionClosed(close) => {
                assert_eq!(close.error_code, TransportErrorCode::CONNECTION_REFUSED);
                let reason = reason.unwrap_or_default();
                assert!(reason.as_bytes().starts_with(&close.reason));
                assert_eq!(close.reason.is_empty(), reason.is_empty());
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn an_answer_that_was_not_offered_fails_on_both_sides() {
    let (listener, addr) = listener();
    let client = client();
    let connecting = tokio::spawn(connect_default(&client, addr, offering(&["h3"])).expect("starts"));
    let pending = soon(listener.accept()).await.expect("open");
    let answer = Answer { alpn: Some(b"x".to_vec()), ..Answer::default() };
    let error = pending.accept(answer, Arc::new(transport_config())).expect_err("not offered");
    assert!(matches!(error, ConnectionError::TransportError(_)), "{error:?}");
    match soon(connecting).await.expect("no panic").expect_err("refused") {
        ConnectionError::ConnectionClosed(close) => assert_eq!(close.error_code, TransportErrorCode::crypto(120)),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn each_attempt_comes_with_its_own_hello_and_may_move_to_another_thread() {
    let (listener, addr) = listener();
    let client = client();
    let mut clients = tokio::task::JoinSet::new();
    for n in 0..50 {
        let hello = ClientHello { server_name: Some(format!("pod-{n}")), ..ClientHello::default() };
        let connecting = connect_default(&client, addr, hello).expect("starts");
        clients.spawn(async move { (n, connecting.await.expect("connects")) });
    }
    // The connections live on the runtime of another thread, as in Iris.
    let (hand_over, mut accepted) = tokio::sync::mpsc::unbounded_channel::<iris_loopback::Pending>();
    let worker = tokio::task::spawn_blocking(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let mut connections = tokio::task::JoinSet::new();
            while let Some(pending) = accepted.recv().await {
                let name = pending.hello().expect("whole").server_name.clone().expect("asked for");
                let connecting = pending.accept(Answer::default(), Arc::new(transport_config())).expect("accepts");
                connections.spawn(async move {
                    let connection = connecting.await.expect("completes");
                    let mut send = connection.open_uni().await.expect("a stream");
                    send.write_all(name.as_bytes()).await.expect("written");
                    send.finish().expect("open");
                    connection.closed().await
                });
            }
            while connections.join_next().await.is_some() {}
        });
    });
    for _ in 0..50 {
        hand_over.send(soon(listener.accept()).await.expect("open")).expect("wanted");
    }
    drop(hand_over);
    while let Some(connected) = soon(clients.join_next()).await {
        let (n, connection) = connected.expect("no panic");
        let mut recv = soon(connection.accept_uni()).await.expect("a stream");
        assert_eq!(soon(recv.read_to_end(100)).await.expect("whole"), format!("pod-{n}").as_bytes());
        connection.close(0u32.into(), b"");
    }
    soon(worker).await.expect("no panic");
}

#[tokio::test]
async fn closing_ends_accept_and_says_why() {
    let (listener, addr) = listener();
    let client = client();
    let connecting = connect_default(&client, addr, ClientHello::default()).expect("starts");
    let connecting = tokio::spawn(connecting);
    let pending = soon(listener.accept()).await.expect("open");
    let accepted = pending.accept(Answer::default(), Arc::new(transport_config())).expect("accepts");
    let (connection, _accepted) = (soon(connecting).await.expect("no panic").expect("connects"), soon(accepted).await);
    listener.close(9u32.into(), b"drained");
    assert!(soon(listener.accept()).await.is_none());
    match soon(connection.closed()).await {
        ConnectionError::ApplicationClosed(close) => {
            assert_eq!((u64::from(close.error_code), &close.reason[..]), (9, &b"drained"[..]));
        }
        other => panic!("{other:?}"),
    }
}
