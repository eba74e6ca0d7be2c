//! Stream limits and credit: nothing leaks, nothing stands still.

use std::time::Duration;

use quinn::{Connection, TransportConfig};

use crate::support::{
    peer,
    tunnel::{Tunnel, TunnelSpec, WAYS, Way},
    wait::{until, within},
};

/// Answers every request with its own bytes.
fn echo(connection: Connection) {
    tokio::spawn(async move {
        while let Ok((mut send, mut recv)) = connection.accept_bi().await {
            tokio::spawn(async move {
                let body = recv.read_to_end(8 << 20).await?;
                send.write_all(&body).await?;
                send.finish()?;
                Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
            });
        }
    });
}

async fn request(connection: &Connection, body: &[u8]) {
    let (mut send, mut recv) = within("room for a stream", connection.open_bi()).await.unwrap();
    send.write_all(body).await.unwrap();
    send.finish().unwrap();
    let answer = within("the answer", recv.read_to_end(8 << 20)).await.unwrap();
    assert!(answer == body);
}

#[tokio::test]
async fn ten_times_the_limit_opened_and_cancelled_leaves_room_for_a_good_one() {
    for way in WAYS {
        let tunnel = Tunnel::plain(way).await;
        echo(tunnel.far.clone());
        for round in 0..1000_u32 {
            let (mut send, mut recv) = within("room for a stream", tunnel.near.open_bi()).await.unwrap();
            send.write_all(b"never finished").await.unwrap();
            send.reset(round.into()).unwrap();
            recv.stop(round.into()).unwrap();
        }
        request(&tunnel.near, b"good").await;
    }
}

#[tokio::test]
async fn streams_stopped_with_unread_data_give_their_credit_back() {
    for way in WAYS {
        let tunnel = Tunnel::plain(way).await;
        for _ in 0..200 {
            let mut send = within("room for a stream", tunnel.near.open_uni()).await.unwrap();
            send.write_all(&[1; 50_000]).await.unwrap();
            let mut recv = within("the stream", tunnel.far.accept_uni()).await.unwrap();
            recv.stop(1_u32.into()).unwrap();
            within("the stop", send.stopped()).await.unwrap();
        }
        echo(tunnel.far.clone());
        request(&tunnel.near, &vec![2; 1 << 20]).await;
    }
}

fn permitting(streams: u32, mut transport: TransportConfig) -> TransportConfig {
    transport.max_concurrent_bidi_streams(streams.into());
    transport
}

/// One side permits 100 streams, the other 8: unpaired streams must not hold the credit that paired ones need.
#[tokio::test]
async fn a_hundred_streams_through_a_limit_of_eight_are_all_answered() {
    for (way, near, far) in [(Way::Ingress, 100, 8), (Way::Egress, 100, 8), (Way::Ingress, 8, 100)] {
        let (peer, component) = match way {
            Way::Ingress => (near, far),
            Way::Egress => (far, near),
        };
        let spec = TunnelSpec {
            peer: permitting(peer, peer::transport(|_| ())),
            component: permitting(component, iris_loopback::transport_config()),
            ..TunnelSpec::default()
        };
        let tunnel = Tunnel::open(way, spec).await;
        echo(tunnel.far.clone());
        within("all hundred", async {
            let mut all = tokio::task::JoinSet::new();
            for _ in 0..100 {
                let near = tunnel.near.clone();
                all.spawn(async move { request(&near, &[4; 128 * 1024]).await });
            }
            while let Some(done) = all.join_next().await {
                done.unwrap();
            }
        })
        .await;
    }
}

/// How many streams may be open at a time without any of them being answered.
async fn room(connection: &Connection) -> usize {
    let mut open = Vec::new();
    while let Ok(stream) = tokio::time::timeout(Duration::from_millis(300), connection.open_bi()).await {
        open.push(stream.unwrap());
    }
    open.len()
}

#[tokio::test]
async fn a_component_that_dials_sees_the_limits_of_the_far_side() {
    let spec = TunnelSpec { peer: permitting(7, peer::transport(|_| ())), ..TunnelSpec::default() };
    let tunnel = Tunnel::open(Way::Egress, spec).await;
    assert_eq!(room(&tunnel.near).await, 7);
}

#[tokio::test]
async fn a_peer_that_dials_gets_as_many_streams_as_the_component_permits() {
    let spec = TunnelSpec { component: permitting(500, iris_loopback::transport_config()), ..TunnelSpec::default() };
    let tunnel = Tunnel::open(Way::Ingress, spec).await;
    // The first limits are raised when the component's are known.
    assert_eq!(room(&tunnel.near).await, 500);
}

#[tokio::test]
async fn many_mebibytes_pass_through_one_stream() {
    for way in WAYS {
        let tunnel = Tunnel::plain(way).await;
        const TOTAL: usize = 64 << 20;
        let near = tunnel.near.clone();
        let writer = tokio::spawn(async move {
            let mut send = near.open_uni().await.unwrap();
            let chunk = vec![9; 1 << 20];
            for _ in 0..TOTAL >> 20 {
                send.write_all(&chunk).await.unwrap();
            }
            send.finish().unwrap();
            send.stopped().await.unwrap();
        });
        let mut recv = within("the stream", tunnel.far.accept_uni()).await.unwrap();
        let mut total = 0;
        while let Some(chunk) = within("more bytes", recv.read_chunk(usize::MAX, true)).await.unwrap() {
            total += chunk.bytes.len();
        }
        assert_eq!(total, TOTAL, "{way:?}");
        writer.await.unwrap();
        let direction = "upstream";
        let (listener, sum) = match way {
            Way::Ingress => ("in", TOTAL as f64),
            Way::Egress => ("out", TOTAL as f64),
        };
        let series = format!("iris_bytes_total{{component=\"{listener}\",direction=\"{direction}\"}}");
        until("all bytes to be counted", || tunnel.iris.metric(&series) >= sum).await;
    }
}
