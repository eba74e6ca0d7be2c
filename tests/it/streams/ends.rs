//! How connections end: each direction by itself, cut, refused, and nothing left behind.

use std::{io::ErrorKind, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpStream, UnixStream},
};

use super::rig::{Egress, Ingress, read_all};
use crate::support::{
    pki::Ca,
    wait::{until, within},
};

const MIB: usize = 1 << 20;

/// A pattern that shows where a piece is missing.
fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at / 7 + at / 1021) as u8).collect()
}

/// Takes a mebibyte in small bites, each after a moment.
async fn read_slowly(stream: &mut (impl AsyncReadExt + Unpin)) -> Vec<u8> {
    let (mut all, mut bite) = (Vec::new(), vec![0; 32 * 1024]);
    loop {
        match within("a bite", stream.read(&mut bite)).await.unwrap() {
            0 => return all,
            count => all.extend_from_slice(&bite[..count]),
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test]
async fn c25_each_direction_ends_by_itself() {
    let rig = Ingress::start("", "").await;
    let sent = pattern(MIB);
    for peer_first in [true, false] {
        let (peer, mut component) = rig.pair().await;
        let (mut peer_read, mut peer_write) = tokio::io::split(peer);
        let (mut component_read, mut component_write) = component.split();
        let (request, answer) = (sent.clone(), sent.iter().rev().copied().collect::<Vec<_>>());
        if peer_first {
            // The request, its end, and only then the answer.
            let asking = async {
                peer_write.write_all(&request).await.unwrap();
                peer_write.shutdown().await.unwrap();
            };
            let (heard, ()) = tokio::join!(read_slowly(&mut component_read), asking);
            assert_eq!(heard, request);
            let answering = async {
                component_write.write_all(&answer).await.unwrap();
                component_write.shutdown().await.unwrap();
            };
            let (heard, ()) = tokio::join!(read_slowly(&mut peer_read), answering);
            assert_eq!(heard, answer);
        } else {
            let answering = async {
                component_write.write_all(&answer).await.unwrap();
                component_write.shutdown().await.unwrap();
            };
            let (heard, ()) = tokio::join!(read_slowly(&mut peer_read), answering);
            assert_eq!(heard, answer);
            let asking = async {
                peer_write.write_all(&request).await.unwrap();
                peer_write.shutdown().await.unwrap();
            };
            let (heard, ()) = tokio::join!(read_slowly(&mut component_read), asking);
            assert_eq!(heard, request);
        }
    }
    until("both to be counted", || rig.iris.closes("in", "peer") + rig.iris.closes("in", "far_side") == 2).await;
    assert_eq!((rig.iris.closes("in", "peer"), rig.iris.closes("component", "peer")), (1, 1));
    until("nothing left", || rig.iris.metric("iris_connections_active{component=\"in\",transport=\"tls\"}") == 0.0)
        .await;
}

/// Each way, and whatever it meets, an abort is no end: no close_notify, and no clean end of the file.
#[tokio::test]
async fn a_cut_stream_never_looks_whole() {
    let rig = Ingress::start("", "").await;
    // The component is gone in the middle.
    let (mut peer, component) = rig.pair().await;
    cut(component);
    let error = read_all(&mut peer).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::UnexpectedEof), "{error:?}");
    until("the count", || rig.iris.closes("component", "peer") == 1).await;
    // The peer is.
    let (peer, mut component) = rig.pair().await;
    cut(peer.into_inner().0);
    assert_eq!(read_all(&mut component).await.unwrap_err().kind(), ErrorKind::ConnectionReset);
    until("the count", || rig.iris.closes("in", "peer") == 1).await;
    // The peer ends TCP without ending TLS: anybody on the way could have done that.
    let (peer, mut component) = rig.pair().await;
    peer.into_inner().0.shutdown().await.unwrap();
    assert_eq!(read_all(&mut component).await.unwrap_err().kind(), ErrorKind::ConnectionReset);
    until("the count", || rig.iris.closes("in", "peer") == 2).await;
}

/// Also while the other end takes nothing, so that nobody looks at what comes from the one that is gone.
#[tokio::test]
async fn who_is_gone_is_noticed_although_nobody_reads() {
    let rig = Ingress::start("", "").await;
    let (mut peer, mut component) = rig.pair().await;
    fill(&mut peer).await;
    cut(peer.into_inner().0);
    until("the count", || rig.iris.closes("in", "peer") == 1).await;
    let error = within("the abort", async {
        let mut bite = vec![0; 1 << 16];
        loop {
            match component.read(&mut bite).await {
                Ok(0) => panic!("an end, of what was cut"),
                Ok(_) => {}
                Err(error) => return error,
            }
        }
    })
    .await;
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    let (mut peer, mut component) = rig.pair().await;
    fill(&mut component).await;
    cut(component);
    until("the count", || rig.iris.closes("component", "peer") == 1).await;
    read_all(&mut peer).await.unwrap_err();
}

#[tokio::test]
async fn a_component_that_refuses_cuts_its_peer() {
    let mut rig = Ingress::start("", "").await;
    // Another socket takes its place, at another port.
    rig.component = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut peer = rig.connect("iris.test", &super::rig::client_config(&rig.ca, None, &[])).await.unwrap();
    let error = read_all(&mut peer).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::UnexpectedEof), "{error:?}");
    until("the count", || rig.iris.failures("component", "unreachable") == 1).await;
}

#[tokio::test]
async fn unix_and_tcp_components_reach_a_tls_peer() {
    let ca = Ca::new("ca");
    let rig = Egress::start(&ca, &ca.leaf(&["peer.test"]), &["h2"], ", alpn: [ h2 ]").await;
    let message = pattern(300_000);
    for over_unix in [false, true] {
        let serve = async {
            let mut peer = rig.accept().await.unwrap();
            assert_eq!(peer.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
            let heard = read_all(&mut peer).await.unwrap();
            peer.write_all(&heard).await.unwrap();
            peer.shutdown().await.unwrap();
        };
        let ask = async {
            if over_unix {
                exchange(UnixStream::connect(&rig.path).await.unwrap(), &message).await
            } else {
                exchange(TcpStream::connect(rig.iris.address("out")).await.unwrap(), &message).await
            }
        };
        let (heard, ()) = tokio::join!(ask, serve);
        assert_eq!(heard, message);
    }
    assert_eq!(
        rig.iris.metric("iris_connections_total{component=\"local\",result=\"established\",transport=\"unix\"}"),
        1.0
    );
}

#[tokio::test]
async fn silence_ends_what_has_an_idle_timeout_and_nothing_else() {
    let ca = Ca::new("ca");
    let rig = Egress::start(&ca, &ca.leaf(&["peer.test"]), &[], "").await;
    let yaml_idle = Ingress::with_idle("200ms").await;
    let (mut peer, _component) = yaml_idle.pair().await;
    read_all(&mut peer).await.unwrap_err();
    until("the count", || yaml_idle.iris.closes("in", "idle") == 1).await;
    // The default has none: long after the other is gone this one still passes bytes.
    let (component, peer) = tokio::join!(TcpStream::connect(rig.iris.address("out")), rig.accept());
    let (mut component, mut peer) = (component.unwrap(), peer.unwrap());
    component.write_all(b"still here").await.unwrap();
    let mut heard = [0; 10];
    within("the bytes", peer.read_exact(&mut heard)).await.unwrap();
    assert_eq!(&heard, b"still here");
}

async fn exchange<S: AsyncReadExt + AsyncWriteExt + Unpin>(mut stream: S, message: &[u8]) -> Vec<u8> {
    stream.write_all(message).await.unwrap();
    stream.shutdown().await.unwrap();
    read_all(&mut stream).await.unwrap()
}

/// Closes with RST.
fn cut(stream: TcpStream) {
    socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
}

/// Writes until nothing goes any more.
async fn fill(stream: &mut (impl AsyncWriteExt + Unpin)) {
    let piece = vec![7; 1 << 16];
    while tokio::time::timeout(Duration::from_millis(300), stream.write_all(&piece)).await.is_ok() {}
}
