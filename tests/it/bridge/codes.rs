//! RESET_STREAM and STOP_SENDING pass with their codes, promptly even while the relay is blocked.

use std::time::{Duration, Instant};

use quinn::{ReadError, StoppedError, VarInt, WriteError};

use crate::support::{
    tunnel::{Tunnel, WAYS, Way},
    wait::within,
};

const CODES: [VarInt; 3] = [VarInt::from_u32(0), VarInt::from_u32(7), VarInt::MAX];

/// Ten times what it takes on a busy machine.
const PROMPT: Duration = Duration::from_millis(500);

#[tokio::test]
async fn reset_codes_pass_each_way() {
    for way in WAYS {
        let tunnel = Tunnel::plain(way).await;
        for (from, to) in [(&tunnel.near, &tunnel.far), (&tunnel.far, &tunnel.near)] {
            for code in CODES {
                within("a reset to pass", async {
                    let (mut send, _recv) = from.open_bi().await.unwrap();
                    send.write_all(b"begun").await.unwrap();
                    let (_far_send, mut far_recv) = to.accept_bi().await.unwrap();
                    far_recv.read_exact(&mut [0; 5]).await.unwrap();
                    send.reset(code).unwrap();
                    assert_eq!(far_recv.read(&mut [0]).await, Err(ReadError::Reset(code)), "{way:?}");
                })
                .await;
            }
        }
    }
}

#[tokio::test]
async fn stop_codes_pass_each_way() {
    for way in WAYS {
        let tunnel = Tunnel::plain(way).await;
        for (from, to) in [(&tunnel.near, &tunnel.far), (&tunnel.far, &tunnel.near)] {
            for code in CODES {
                within("a stop to pass", async {
                    let (mut send, _recv) = from.open_bi().await.unwrap();
                    send.write_all(b"begun").await.unwrap();
                    let (_far_send, mut far_recv) = to.accept_bi().await.unwrap();
                    far_recv.stop(code).unwrap();
                    assert_eq!(send.stopped().await, Ok::<_, StoppedError>(Some(code)), "{way:?}");
                })
                .await;
            }
        }
    }
}

/// Fills every window on the way of one stream, so that the relay is blocked in a write.
async fn blocked(way: Way) -> (Tunnel, quinn::SendStream, quinn::RecvStream) {
    let tunnel = Tunnel::plain(way).await;
    let mut send = tunnel.near.open_uni().await.unwrap();
    let chunk = vec![1; 64 * 1024];
    while let Ok(written) = tokio::time::timeout(Duration::from_millis(500), send.write(&chunk)).await {
        written.unwrap();
    }
    let recv = within("the blocked stream", tunnel.far.accept_uni()).await.unwrap();
    (tunnel, send, recv)
}

#[tokio::test]
async fn a_reset_passes_a_blocked_relay() {
    for way in WAYS {
        let (_tunnel, mut send, mut recv) = blocked(way).await;
        let start = Instant::now();
        send.reset(7_u32.into()).unwrap();
        let code = within("the reset", recv.received_reset()).await.unwrap();
        let took = start.elapsed();
        println!("{way:?}: a reset passed a blocked relay in {took:?}");
        assert_eq!(code, Some(7_u32.into()));
        assert!(took < PROMPT, "{way:?}: {took:?}");
    }
}

#[tokio::test]
async fn a_stop_passes_a_blocked_relay() {
    for way in WAYS {
        let (_tunnel, mut send, mut recv) = blocked(way).await;
        let start = Instant::now();
        recv.stop(9_u32.into()).unwrap();
        let stopped = within("the stop", send.stopped()).await.unwrap();
        let took = start.elapsed();
        println!("{way:?}: a stop passed a blocked relay in {took:?}");
        assert_eq!(stopped, Some(9_u32.into()));
        assert_eq!(send.write(b"x").await, Err(WriteError::Stopped(9_u32.into())));
        assert!(took < PROMPT, "{way:?}: {took:?}");
    }
}
