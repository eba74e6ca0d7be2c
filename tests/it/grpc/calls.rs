//! Calls through an ingress: what the backend sees of them, how long they live, and how they end.

use std::time::{Duration, Instant};

use socket2::SockRef;
use tokio::net::TcpStream;

use super::{
    client::{AUTHORITY, Client, next, update},
    rig::{Ingress, More, often},
};
use crate::support::{
    registry::Settings,
    wait::{until, within},
};

/// No snapshot but the first within any test.
fn seldom() -> Settings {
    Settings { every: Duration::from_secs(3600), ..Settings::default() }
}

#[tokio::test]
async fn c23_c24_h2_in_front_of_h2c_and_the_authority_arrives_unchanged() {
    let rig = Ingress::start(More::default(), often()).await;
    let stream = rig.connect(None, &["http/1.1", "h2"]).await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let mut client = Client::over(stream, None).await;
    assert_eq!(client.list_models().await.unwrap().models, ["a-model", "another"]);
    let mut watch = client.watch().await.unwrap();
    for sequence in 1..=3 {
        let snapshot = next(&mut watch).await;
        assert_eq!(snapshot.sequence, sequence);
        assert!(snapshot.stargates.len() == 3, "{snapshot:?}");
        assert!(snapshot.stargates.iter().all(|one| one.grpc_pylon_dial_addr.starts_with("https://")), "{snapshot:?}");
    }
    let (updates, mut acks) = client.register().await.unwrap();
    for sequence in 1..=3 {
        update(&updates, &mut acks, sequence).await;
    }
    // The end of one direction is no end of the other, and the call's own end is a clean one.
    drop(updates);
    assert_eq!(within("the end", acks.message()).await.unwrap(), None);
    rig.seen("finished", 2).await;
    let calls = rig.registry.journal.events("call");
    let methods: Vec<_> = calls.iter().map(|call| call["method"].as_str().unwrap()).collect();
    assert_eq!(methods, ["ListModels", "WatchStargates", "RegisterInferenceServer"]);
    // The certificate bears another name, by which the identity was chosen.
    assert!(calls.iter().all(|call| call["authority"] == AUTHORITY), "{calls:?}");
    // What is no business of Iris.
    let mut stranger = rig.client(None).await.without_token();
    assert_eq!(stranger.watch().await.unwrap_err().code(), tonic::Code::Unauthenticated);
}

#[tokio::test]
async fn c25_idle_calls_outlive_every_timeout_several_times_over() {
    let settings = "timeouts: { handshake: 1s, connect: 300ms, idle: 1s, keep_alive: 300ms, loopback_idle: 1s, close_grace: 300ms, drain: 300ms }\n";
    let every = Duration::from_secs(4);
    let rig =
        Ingress::start(More { file: settings, ..More::default() }, Settings { every, ..Settings::default() }).await;
    let (mut client, mut other) = within(
        "both to be let in",
        Box::pin(async {
            // On a machine that is busy enough a handshake takes longer than it may.
            loop {
                let (client, other) = (rig.connect(None, &["h2"]).await, rig.connect(None, &["h2"]).await);
                let (Ok(client), Ok(other)) = (client, other) else { continue };
                let (mut client, mut other) = (Client::over(client, None).await, Client::over(other, None).await);
                if client.list_models().await.is_ok() && other.list_models().await.is_ok() {
                    return (client, other);
                }
            }
        }),
    )
    .await;
    let mut watch = client.watch().await.unwrap();
    let (updates, mut acks) = other.register().await.unwrap();
    let began = Instant::now();
    assert_eq!(next(&mut watch).await.sequence, 1);
    // The timeouts are meant: who says nothing is not waited for.
    let timeouts = rig.iris.failures("in", "timeout");
    let _silent = TcpStream::connect(rig.iris.address("in")).await.unwrap();
    until("the timeout", || rig.iris.failures("in", "timeout") == timeouts + 1).await;
    // Nothing passes on either connection until the next snapshot.
    assert_eq!(next(&mut watch).await.sequence, 2);
    let took = began.elapsed();
    assert!(took > every * 9 / 10, "{took:?}");
    update(&updates, &mut acks, 1).await;
    client.list_models().await.unwrap();
    assert_eq!(rig.registry.journal.events("cancelled"), [serde_json::Value::Null; 0]);
    rig.active(2).await;
}

#[tokio::test]
async fn c25_pings_pass_both_ways() {
    let rig = Ingress::start(More::default(), seldom()).await;
    let stream = rig.connect(None, &["h2"]).await.unwrap();
    let mut client = Client::over(stream, Some(Duration::from_millis(20))).await;
    let mut watch = client.watch().await.unwrap();
    next(&mut watch).await;
    // A PING is 17 bytes, and so is its answer (RFC 9113 section 6.7).
    let bytes = |direction| rig.iris.metric(&format!("iris_bytes_total{{component=\"in\",direction=\"{direction}\"}}"));
    let (up, down) = (bytes("upstream"), bytes("downstream"));
    let enough = 20.0 * 17.0;
    until("twenty PINGs and their answers", || {
        bytes("upstream") >= up + enough && bytes("downstream") >= down + enough
    })
    .await;
    assert!(!client.connection.is_finished());
    client.list_models().await.unwrap();
}

#[tokio::test]
async fn c25_a_cancellation_reaches_the_backend_and_its_call_alone() {
    let rig = Ingress::start(More::default(), often()).await;
    let stream = rig.connect(None, &["h2"]).await.unwrap();
    let socket = SockRef::from(stream.get_ref().0).try_clone().unwrap();
    let mut client = Client::over(stream, None).await;
    let (mut first, mut second) = (client.watch().await.unwrap(), client.watch().await.unwrap());
    for _ in 0..3 {
        next(&mut first).await;
    }
    let began = Instant::now();
    drop(first);
    rig.seen("cancelled", 1).await;
    println!("a cancellation reached the backend after {:?}", began.elapsed());
    assert_eq!(rig.registry.journal.events("cancelled")[0]["call"], 1);
    next(&mut second).await;
    // A worker that is gone without a word cancels what is left.
    socket.shutdown(std::net::Shutdown::Both).unwrap();
    rig.seen("cancelled", 2).await;
    until("the close", || rig.iris.closes("in", "peer") == 1).await;
    rig.active(0).await;
}
