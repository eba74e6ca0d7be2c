//! Clients that send what no well-behaved one does, on the wire.

use std::net::UdpSocket;

use iris_loopback::{ClientHello, HelloError, Listener, MAX_HELLO, connect_default};
use quinn::{ConnectionError, TransportErrorCode};

use crate::raw::{FINISH, Raw, crypto, hello};
use crate::support::{anywhere, client, server, soon};

/// Runs a client that blocks.
async fn blocking<T: Send + 'static>(client: impl FnOnce() -> T + Send + 'static) -> T {
    soon(tokio::task::spawn_blocking(client)).await.expect("no panic")
}

/// A hello of exactly so many bytes, by way of a field that nobody knows.
fn hello_of(bytes: usize) -> Vec<u8> {
    let padding = bytes - hello(&[(0x0077, Vec::new())]).len();
    hello(&[(0x0077, vec![0; padding])])
}

#[tokio::test]
async fn a_hello_comes_in_pieces_and_out_of_order() {
    for size in [300, MAX_HELLO] {
        let (server, addr) = server(&[]);
        let accepting = tokio::spawn(async move { server.accept().await.expect("open").await });
        blocking(move || {
            let (mut raw, hello) = (Raw::new(addr), hello_of(size));
            let mut pieces: Vec<_> = hello.chunks(1000.min(size / 3)).enumerate().collect();
            let piece = pieces[0].1.len();
            pieces.swap(0, 1);
            for (number, (index, bytes)) in pieces.into_iter().enumerate() {
                raw.initial(u32::try_from(number).expect("few"), &crypto(index * piece, bytes));
            }
            // The server's own hello comes when it has the whole of ours, perhaps after bare acknowledgements.
            while !raw.answer().windows(4).any(|bytes| bytes == b"ILBH") {}
            raw.handshake(0, &crypto(0, FINISH));
        })
        .await;
        let connection = soon(accepting).await.expect("no panic").expect("accepts");
        assert!(connection.handshake_data().is_some());
    }
}

#[tokio::test]
async fn what_is_no_hello_is_a_transport_error_at_once() {
    let trailing = [hello(&[]), vec![0]].concat();
    let mut too_long = hello_of(MAX_HELLO);
    too_long[7] += 1;
    for (bytes, error) in [
        (b"\x16\x03\x01".to_vec(), HelloError::Magic),
        (trailing, HelloError::Trailing),
        (too_long[..1000].to_vec(), HelloError::TooLong),
        (hello(&[(0x8077, Vec::new())]), HelloError::UnknownCritical(0x8077)),
        (hello(&[(0x8002, b"a\nb".to_vec())]), HelloError::Invalid(0x8002)),
        (b"ILBH\x09\x03\x00\x00".to_vec(), HelloError::Format { lowest: 3 }),
        (b"ILBH\x02\x01\x00\x00".to_vec(), HelloError::Missing(0x8001)),
    ] {
        let (server, addr) = server(&[]);
        let accepting = tokio::spawn(async move {
            let refused = server.accept().await.expect("open").await.map(drop);
            // And the endpoint still works.
            let connection = server.accept().await.expect("open").await.expect("a good hello");
            (refused, connection)
        });
        let (code, reason) = blocking(move || {
            let raw = Raw::new(addr);
            raw.initial(0, &crypto(0, &bytes));
            raw.closed()
        })
        .await;
        assert_eq!(code, 0x0a, "PROTOCOL_VIOLATION");
        assert!(reason.starts_with(&error.to_string()), "{reason:?} is not {error}");
        let good = soon(connect_default(&client(), addr, ClientHello::default()).expect("starts")).await;
        let (refused, _connection) = soon(accepting).await.expect("no panic");
        good.expect("connects");
        match refused.expect_err("refused") {
            ConnectionError::TransportError(error) => assert_eq!(error.code, TransportErrorCode::PROTOCOL_VIOLATION),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn bytes_behind_the_hello_are_refused_in_a_packet_of_their_own_too() {
    let (server, addr) = server(&[]);
    let accepting = tokio::spawn(async move { server.accept().await.expect("open").await.map(drop) });
    blocking(move || {
        let raw = Raw::new(addr);
        let hello = hello(&[]);
        raw.initial(0, &[crypto(0, &hello), crypto(hello.len(), FINISH)].concat());
        raw.closed()
    })
    .await;
    soon(accepting).await.expect("no panic").expect_err("refused");
}

#[tokio::test]
async fn a_listener_shows_why_there_is_no_hello() {
    let listener = Listener::bind(anywhere()).expect("binds");
    let addr = listener.local_addr().expect("bound");
    for (frames, error) in [
        (crypto(0, &hello(&[])[..20]), HelloError::Incomplete),
        (vec![0x01], HelloError::Incomplete),
        (crypto(0, b"GET /"), HelloError::Magic),
        // A STREAM frame, which has no place here.
        (vec![0x08, 0, 1], HelloError::Trailing),
    ] {
        let sending = tokio::task::spawn_blocking(move || {
            let mut raw = Raw::new(addr);
            raw.initial(0, &frames);
            raw.answer()
        });
        let pending = soon(listener.accept()).await.expect("open");
        assert_eq!(pending.hello(), Err(error));
        assert_eq!(pending.limits(), None);
        pending.refuse(0x2, "no hello");
        // Told so, whatever it was.
        let answer = soon(sending).await.expect("an answer");
        assert!(answer.contains(&0x1c), "a CONNECTION_CLOSE");
    }
    // Nothing stays behind.
    soon(listener.endpoint().wait_idle()).await;
}

#[tokio::test]
async fn a_process_that_comes_from_another_address_of_the_host_is_not_heard() {
    // No packet is sent by connecting: the kernel only chooses the address that it would come from.
    let probe = UdpSocket::bind("0.0.0.0:0").expect("binds");
    let outside = probe.connect("192.0.2.1:9").and_then(|()| probe.local_addr());
    let Ok(outside) = outside else {
        println!("skipped: this host has no address but loopback");
        return;
    };
    let (server, addr) = server(&[]);
    let accepting = tokio::spawn(async move { server.accept().await.expect("open").remote_address() });
    let heard = blocking(move || {
        let socket = UdpSocket::bind((outside.ip(), 0)).expect("an address of this host");
        let raw = Raw::from(socket, addr);
        raw.initial(0, &crypto(0, &hello(&[])));
        !raw.silence()
    })
    .await;
    assert!(!heard);
    let client = client();
    let _connecting = connect_default(&client, addr, ClientHello::default()).expect("starts");
    assert_eq!(
        soon(accepting).await.expect("no panic"),
        client.local_addr().expect("bound"),
        "the first that is heard"
    );
}
