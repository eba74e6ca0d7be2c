//! HTTP/3 passes through untouched: h3 and h3-quinn at both ends, one of them on loopback QUIC, in every shape of the
//! tunnel.

use bytes::{Buf, Bytes};
use http::{Request, Response};
use quinn::Connection;

use crate::support::{
    tunnel::{Tunnel, TunnelSpec, WAYS, Way},
    wait::within,
};

fn h3_spec() -> TunnelSpec {
    TunnelSpec { alpn: vec![b"h3".to_vec()], ..TunnelSpec::default() }
}

/// Answers each request with its path and body.
async fn serve(connection: Connection) {
    let mut server = h3::server::builder().build(h3_quinn::Connection::new(connection)).await.unwrap();
    while let Ok(Some(resolver)) = server.accept().await {
        tokio::spawn(async move {
            let (request, mut stream) = resolver.resolve_request().await.unwrap();
            let mut body = request.uri().path().as_bytes().to_vec();
            while let Some(mut data) = stream.recv_data().await.unwrap() {
                body.extend_from_slice(&data.copy_to_bytes(data.remaining()));
            }
            stream
                .send_response(Response::builder().status(200).header("x-seen", "yes").body(()).unwrap())
                .await
                .unwrap();
            stream.send_data(Bytes::from(body)).await.unwrap();
            stream.finish().await.unwrap();
        });
    }
}

/// Sends `count` requests at a time and checks every answer.
async fn ask(connection: Connection, count: usize) {
    let (mut driver, sender) = h3::client::new(h3_quinn::Connection::new(connection)).await.unwrap();
    let driving = tokio::spawn(async move { std::future::poll_fn(|cx| driver.poll_close(cx)).await });
    let mut requests = tokio::task::JoinSet::new();
    for number in 0..count {
        let mut sender = sender.clone();
        requests.spawn(async move {
            let request = Request::post(format!("https://stargate/{number}")).body(()).unwrap();
            let mut stream = sender.send_request(request).await.unwrap();
            let body = vec![b'a' + (number % 26) as u8; 10_000];
            stream.send_data(Bytes::from(body.clone())).await.unwrap();
            stream.finish().await.unwrap();
            let response = stream.recv_response().await.unwrap();
            assert_eq!((response.status().as_u16(), response.headers()["x-seen"].as_bytes()), (200, b"yes".as_slice()));
            let mut answer = Vec::new();
            while let Some(mut data) = stream.recv_data().await.unwrap() {
                answer.extend_from_slice(&data.copy_to_bytes(data.remaining()));
            }
            assert_eq!(answer, [format!("/{number}").as_bytes(), &body].concat());
        });
    }
    while let Some(done) = requests.join_next().await {
        done.unwrap();
    }
    driving.abort();
}

#[tokio::test]
async fn the_dialling_end_asks() {
    for way in WAYS {
        let tunnel = Tunnel::open(way, h3_spec()).await;
        tokio::spawn(serve(tunnel.far.clone()));
        within("all answers", ask(tunnel.near.clone(), 100)).await;
    }
}

/// The reverse tunnel: the dialler's first stream is not HTTP/3 at all, and then the accepting end asks.
async fn reverse(dialler: &Connection, acceptor: &Connection) {
    let greet = async {
        let (mut send, mut recv) = dialler.open_bi().await.unwrap();
        send.write_all(b"\x00\x00\x00\x05pylon").await.unwrap();
        send.finish().unwrap();
        assert_eq!(recv.read_to_end(100).await.unwrap(), b"accepted");
        tokio::spawn(serve(dialler.clone()));
    };
    let answer = async {
        let (mut send, mut recv) = acceptor.accept_bi().await.unwrap();
        assert_eq!(recv.read_to_end(100).await.unwrap(), b"\x00\x00\x00\x05pylon");
        send.write_all(b"accepted").await.unwrap();
        send.finish().unwrap();
    };
    tokio::join!(greet, answer);
    ask(acceptor.clone(), 100).await;
}

#[tokio::test]
async fn the_accepting_end_asks_after_a_raw_first_stream() {
    for way in [Way::Ingress, Way::Egress] {
        let tunnel = Tunnel::open(way, h3_spec()).await;
        within("the reverse tunnel", reverse(&tunnel.near, &tunnel.far)).await;
    }
}
