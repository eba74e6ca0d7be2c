//! Stopping: no new connections, those that live may end by themselves until the deadline, then a close with a code.

use std::time::Duration;

use quinn::ConnectionError;

use crate::support::{
    component::{Caller, hello},
    tunnel::{Tunnel, WAYS, Way},
    wait::{until, within},
};

fn code(error: ConnectionError) -> u64 {
    match error {
        ConnectionError::ApplicationClosed(close) => close.error_code.into_inner(),
        other => panic!("not an application close: {other}"),
    }
}

#[tokio::test]
async fn at_the_deadline_both_sides_are_closed_with_the_drain_code() {
    for way in WAYS {
        let tunnel = Tunnel::plain(way).await;
        tunnel.iris.begin_drain(Duration::from_millis(200));
        let (near, far) =
            within("both closes", async { tokio::join!(tunnel.near.closed(), tunnel.far.closed()) }).await;
        assert_eq!((code(near), code(far)), (0x4952_4900, 0x4952_4900), "{way:?}");
        until("the app to end", || tunnel.iris.has_ended()).await;
    }
}

#[tokio::test]
async fn a_session_that_ends_by_itself_ends_the_drain() {
    for way in WAYS {
        let tunnel = Tunnel::plain(way).await;
        tunnel.iris.begin_drain(Duration::from_secs(3600));
        let mut send = tunnel.near.open_uni().await.unwrap();
        send.write_all(b"work goes on").await.unwrap();
        send.finish().unwrap();
        let mut recv = within("a stream", tunnel.far.accept_uni()).await.unwrap();
        assert_eq!(recv.read_to_end(100).await.unwrap(), b"work goes on");
        assert!(!tunnel.iris.has_ended());
        tunnel.near.close(1_u32.into(), b"");
        until("the app to end", || tunnel.iris.has_ended()).await;
    }
}

#[tokio::test]
async fn while_draining_new_ones_are_refused_and_readiness_is_off() {
    let tunnel = Tunnel::plain(Way::Egress).await;
    tunnel.iris.begin_drain(Duration::from_secs(3600));
    let not_ready = || !tunnel.iris.observer().readiness(std::time::SystemTime::now()).is_ready();
    until("readiness to be off", not_ready).await;
    let error =
        within("a refusal", Caller::new().connect(tunnel.iris.address("out"), hello("peer.test"))).await.unwrap_err();
    assert!(error.to_string().contains("draining"), "{error}");
    tunnel.near.close(0_u32.into(), b"");
    until("the app to end", || tunnel.iris.has_ended()).await;
}
