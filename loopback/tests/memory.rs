//! Memory, in a process of its own so that nothing else of the tests moves it.

#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "tests own their tasks: each ends with the runtime of its test")]

#[allow(dead_code, reason = "shared with the other tests, which use more of it")]
#[path = "it/raw.rs"]
mod raw;

use iris_loopback::{ServerConfig, server_endpoint};
use quinn::{ConnectionError, TransportErrorCode};
use raw::{FINISH, Raw, crypto, hello};

/// Resident memory of this process, in bytes.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    let pages: u64 = statm.split(' ').nth(1).expect("the second number").parse().expect("a number");
    pages * 4096
}

/// CRYPTO frames have no flow control, so 62 MiB of them after the handshake must end the connection, not be kept.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn crypto_frames_after_the_handshake_are_not_kept() {
    let server = server_endpoint(([127, 0, 0, 1], 0).into(), ServerConfig::default()).expect("binds");
    let addr = server.local_addr().expect("bound");
    let accepting = tokio::spawn(async move { (server.accept().await.expect("open").await.expect("accepts"), server) });
    let raw = tokio::task::spawn_blocking(move || {
        let mut raw = Raw::new(addr);
        raw.initial(0, &crypto(0, &hello(&[])));
        raw.answer();
        raw.handshake(0, &crypto(0, FINISH));
        raw
    })
    .await
    .expect("no panic");
    let (connection, _server) = accepting.await.expect("no panic");

    let flooding = tokio::task::spawn_blocking(move || {
        // A few megabytes first, so that the receive buffer of the endpoint is in memory before the measuring starts.
        for number in 0..4_000 {
            raw.short(number, &[&[0x01][..], &[0; 1100]].concat());
        }
        let before = resident();
        for number in 0..60_000u32 {
            raw.short(4_000 + number, &crypto(number as usize * 1100, &[5; 1100]));
        }
        resident().saturating_sub(before)
    });
    let error = connection.closed().await;
    let grown = flooding.await.expect("no panic");
    match error {
        // The first of them is no hello. Where the flood swept it away, the others are too far ahead (RFC 9000 section 7.5).
        ConnectionError::TransportError(error) => assert!(
            [TransportErrorCode::PROTOCOL_VIOLATION, TransportErrorCode::CRYPTO_BUFFER_EXCEEDED].contains(&error.code),
            "{error}"
        ),
        other => panic!("{other:?}"),
    }
    // Kept frames would be 62 MiB and more. What may grow is what was not touched before: 13 MiB of the endpoint's receive
    // buffer, and the allocator's share of bursts.
    assert!(grown < 32 << 20, "{grown} bytes for 62 MiB of CRYPTO frames");
}
