//! Streams of both kinds, opened by either end, with their identifiers.

use quinn::{Connection, VarInt};

use crate::support::{
    tunnel::{Tunnel, WAYS},
    wait::within,
};

/// The ends in turn as opener and acceptor.
fn both_ends(tunnel: &Tunnel) -> [(&Connection, &Connection); 2] {
    [(&tunnel.near, &tunnel.far), (&tunnel.far, &tunnel.near)]
}

#[tokio::test]
async fn bidirectional_streams_of_either_end_carry_both_ways_and_keep_their_numbers() {
    for way in WAYS {
        let tunnel = Tunnel::plain(way).await;
        for (opener, acceptor) in both_ends(&tunnel) {
            for round in 0..50_u8 {
                within("one request", async {
                    let (mut send, mut recv) = opener.open_bi().await.unwrap();
                    send.write_all(&[round; 1000]).await.unwrap();
                    send.finish().unwrap();
                    let (mut far_send, mut far_recv) = acceptor.accept_bi().await.unwrap();
                    assert_eq!(far_send.id(), send.id(), "{way:?}");
                    assert_eq!(far_recv.read_to_end(2000).await.unwrap(), [round; 1000]);
                    far_send.write_all(&[round; 10]).await.unwrap();
                    far_send.finish().unwrap();
                    assert_eq!(recv.read_to_end(20).await.unwrap(), [round; 10]);
                })
                .await;
            }
        }
    }
}

#[tokio::test]
async fn unidirectional_streams_of_either_end_keep_their_numbers() {
    for way in WAYS {
        let tunnel = Tunnel::plain(way).await;
        for (opener, acceptor) in both_ends(&tunnel) {
            for round in 0..50_u8 {
                within("one message", async {
                    let mut send = opener.open_uni().await.unwrap();
                    send.write_all(&[round; 3000]).await.unwrap();
                    send.finish().unwrap();
                    let mut recv = acceptor.accept_uni().await.unwrap();
                    assert_eq!(recv.id(), send.id(), "{way:?}");
                    assert_eq!(recv.read_to_end(4000).await.unwrap(), [round; 3000]);
                })
                .await;
            }
        }
    }
}

#[tokio::test]
async fn half_closed_streams_still_carry_the_other_way() {
    for way in WAYS {
        let tunnel = Tunnel::plain(way).await;
        for (opener, acceptor) in both_ends(&tunnel) {
            within("a long answer to a finished request", async {
                let (mut send, mut recv) = opener.open_bi().await.unwrap();
                send.write_all(b"question").await.unwrap();
                send.finish().unwrap();
                let (mut far_send, mut far_recv) = acceptor.accept_bi().await.unwrap();
                assert_eq!(far_recv.read_to_end(100).await.unwrap(), b"question");
                let answer = vec![7; 1 << 20];
                let (written, read) = tokio::join!(
                    async {
                        far_send.write_all(&answer).await.unwrap();
                        far_send.finish().unwrap();
                    },
                    recv.read_to_end(2 << 20)
                );
                let () = written;
                assert_eq!(read.unwrap(), answer);
            })
            .await;
        }
    }
}

/// Streams that carry nothing but an end, a reset or a stop still appear on the other side, in order.
#[tokio::test]
async fn streams_reset_before_any_data_keep_the_numbers_in_step() {
    for way in WAYS {
        let tunnel = Tunnel::plain(way).await;
        for (opener, acceptor) in both_ends(&tunnel) {
            within("resets, an empty stream, and one with data", async {
                let mut ids = Vec::new();
                for code in 0..5_u32 {
                    let mut send = opener.open_uni().await.unwrap();
                    send.reset(code.into()).unwrap();
                    ids.push(send.id());
                }
                let mut empty = opener.open_uni().await.unwrap();
                empty.finish().unwrap();
                ids.push(empty.id());
                let mut full = opener.open_uni().await.unwrap();
                full.write_all(b"data").await.unwrap();
                full.finish().unwrap();
                ids.push(full.id());
                for (position, id) in ids.iter().enumerate() {
                    let mut recv = acceptor.accept_uni().await.unwrap();
                    assert_eq!(recv.id(), *id, "{way:?}");
                    match position {
                        0..5 => assert_eq!(
                            recv.read_to_end(10).await.unwrap_err(),
                            quinn::ReadToEndError::Read(quinn::ReadError::Reset(VarInt::from_u32(position as u32)))
                        ),
                        5 => assert_eq!(recv.read_to_end(10).await.unwrap(), b""),
                        _ => assert_eq!(recv.read_to_end(10).await.unwrap(), b"data"),
                    }
                }
            })
            .await;
        }
    }
}

/// A slow reader stops the writer: what lies between is bounded by windows, not by memory.
#[tokio::test]
async fn back_pressure_reaches_the_writer_and_everything_arrives() {
    for way in WAYS {
        let tunnel = Tunnel::plain(way).await;
        let mut send = tunnel.near.open_uni().await.unwrap();
        send.write_all(b"x").await.unwrap();
        let mut recv = tunnel.far.accept_uni().await.unwrap();
        let chunk = vec![1; 64 * 1024];
        let mut written = 1_usize;
        // The writer stands still when every window on the way is full.
        while let Ok(done) = tokio::time::timeout(std::time::Duration::from_secs(1), send.write(&chunk)).await {
            written += done.unwrap();
            assert!(written < 64 << 20, "{way:?}: 64 MiB are on the way to a reader that reads nothing");
        }
        send.finish().unwrap();
        let read = within("the rest to arrive", recv.read_to_end(64 << 20)).await.unwrap();
        assert_eq!(read.len(), written, "{way:?}");
    }
}
