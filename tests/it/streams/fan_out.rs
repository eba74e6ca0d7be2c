//! Streams of a session as connections, connections as streams of a session, and what a component is told in front.

use std::{io::ErrorKind, time::Duration};

use quinn::{Connection, Endpoint};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use super::rig::{Ingress, client_config, read_all};
use crate::support::{
    app::Iris,
    kubelet::Volume,
    peer::{self, PeerSpec},
    pki::Ca,
    wait::{until, within},
};

/// `quic://` in, `tcp://` out.
async fn session_to_streams(proxy: &str) -> (Connection, TcpListener, Iris, TempDir) {
    let (files, ca) = (TempDir::new().unwrap(), Ca::new("ca"));
    let (certificate, key) = ca.leaf(&["iris.test"]).write(files.path(), "edge");
    let component = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let iris = Iris::start(&format!(
        "identities:\n  edge: {{ certificate: {}, private_key: {} }}\n\
         listeners:\n  - {{ name: in, listen: 'quic://127.0.0.1:0', tls: {{ identities: [ edge ] }}, routes: [ {{ upstream: component }} ] }}\n\
         upstreams:\n  - {{ name: component, dial: 'tcp://{}'{proxy} }}\n",
        certificate.display(),
        key.display(),
        component.local_addr().unwrap(),
    ));
    let config = peer::client_config(&ca, None, &PeerSpec::default());
    let connection = within("the handshake", peer::connect(iris.address("in"), "iris.test", config)).await.unwrap();
    (connection, component, iris, files)
}

#[tokio::test]
async fn each_stream_of_a_session_is_a_connection() {
    let (peer, component, iris, _files) = session_to_streams("").await;
    for number in 0..3_u8 {
        let (mut send, mut recv) = peer.open_bi().await.unwrap();
        let message = vec![number; 100_000];
        let asking = async {
            send.write_all(&message).await.unwrap();
            send.finish().unwrap();
        };
        let answering = async {
            let (mut stream, _) = component.accept().await.unwrap();
            let heard = read_all(&mut stream).await.unwrap();
            stream.write_all(&heard).await.unwrap();
            stream.shutdown().await.unwrap();
        };
        let ((), (), heard) = tokio::join!(asking, answering, recv.read_to_end(1 << 20));
        assert!(heard.unwrap() == message);
    }
    // What is cut there is cut here.
    let (mut send, mut recv) = peer.open_bi().await.unwrap();
    send.write_all(b"half").await.unwrap();
    let (mut stream, _) = component.accept().await.unwrap();
    stream.read_exact(&mut [0; 4]).await.unwrap();
    socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
    drop(stream);
    assert!(matches!(recv.read_to_end(10).await, Err(quinn::ReadToEndError::Read(quinn::ReadError::Reset(_)))));
    // And the other way round.
    let (mut send, recv) = peer.open_bi().await.unwrap();
    send.write_all(b"half").await.unwrap();
    let (mut stream, _) = component.accept().await.unwrap();
    stream.read_exact(&mut [0; 4]).await.unwrap();
    send.reset(7_u32.into()).unwrap();
    drop(recv);
    assert_eq!(read_all(&mut stream).await.unwrap_err().kind(), ErrorKind::ConnectionReset);
    // There is no place for these.
    let mut uni = peer.open_uni().await.unwrap();
    uni.write_all(b"nobody wants it").await.unwrap();
    within("the stop", uni.stopped()).await.unwrap().expect("a code");
    // Nobody listens any more: this stream is refused, and the session lives.
    drop(component);
    let (mut send, mut recv) = peer.open_bi().await.unwrap();
    send.write_all(b"hello?").await.unwrap();
    assert!(recv.read_to_end(10).await.is_err());
    until("the count", || iris.failures("component", "unreachable") == 1).await;
    assert!(peer.close_reason().is_none());
    peer.close(0_u32.into(), b"");
    until("the end", || iris.closes("in", "peer") == 1).await;
    assert_eq!(iris.metric("iris_streams_total{component=\"in\"}"), 5.0);
}

#[tokio::test]
async fn a_component_is_told_who_comes() {
    const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";
    let (peer, component, _iris, _files) = session_to_streams(", proxy_protocol: v2").await;
    let (mut send, _recv) = peer.open_bi().await.unwrap();
    send.write_all(b"first byte").await.unwrap();
    let (mut stream, _) = component.accept().await.unwrap();
    let mut head = [0; 16];
    within("the header", stream.read_exact(&mut head)).await.unwrap();
    assert_eq!(&head[..12], SIGNATURE);
    assert_eq!(head[12..14], [0x21, 0x11], "version 2, PROXY, TCP over IPv4");
    let mut rest = vec![0; usize::from(u16::from_be_bytes([head[14], head[15]]))];
    stream.read_exact(&mut rest).await.unwrap();
    assert_eq!(rest[..4], [127, 0, 0, 1]);
    assert!(rest.windows(9).any(|window| window == b"iris.test"), "the authority");
    let mut payload = [0; 10];
    within("the bytes", stream.read_exact(&mut payload)).await.unwrap();
    assert_eq!(&payload, b"first byte");

    let rig = Ingress::told(", alpn: [ h2 ]").await;
    let config = client_config(&rig.ca, None, &["h2"]);
    let connecting = rig.connect("iris.test", &config);
    let (mut peer, component) = {
        let (peer, component) = tokio::join!(connecting, rig.component.accept());
        (peer.unwrap(), component.unwrap().0)
    };
    let own = peer.get_ref().0.local_addr().unwrap();
    peer.write_all(b"x").await.unwrap();
    let mut component = component;
    within("the header", component.read_exact(&mut head)).await.unwrap();
    let mut rest = vec![0; usize::from(u16::from_be_bytes([head[14], head[15]]))];
    component.read_exact(&mut rest).await.unwrap();
    assert_eq!(u16::from_be_bytes([rest[8], rest[9]]), own.port());
    for part in [&b"\x01\0\x02h2"[..], b"TLSv1.3", b"TLS_AES"] {
        assert!(rest.windows(part.len()).any(|window| window == part), "{part:?} in {rest:?}");
    }
}

/// `tcp://` in, `quic://` out, with trust in a volume.
struct Shared {
    iris: Iris,
    server: Endpoint,
    trust: Volume,
    _files: TempDir,
}

impl Shared {
    fn start(server: Endpoint, bundle: &str) -> Self {
        let files = TempDir::new().unwrap();
        let trust = Volume::mount(files.path().join("trust"));
        trust.publish(&[("ca.crt", bundle)]);
        let iris = Iris::start(&format!(
            "trust:\n  peers: {{ bundle: {}, on_contraction: {{ spread: 5s }} }}\n\
             listeners:\n  - {{ name: out, listen: 'tcp://127.0.0.1:0', routes: [ {{ upstream: peer }} ] }}\n\
             upstreams:\n  - {{ name: peer, dial: 'quic://{}', tls: {{ trust: peers, server_name: peer.test }} }}\nworkers: 1\n",
            trust.path("ca.crt").display(),
            server.local_addr().unwrap(),
        ));
        Self { iris, server, trust, _files: files }
    }

    async fn accept(&self) -> Connection {
        within("a connection", async { self.server.accept().await.unwrap().await.unwrap() }).await
    }

    async fn component(&self) -> TcpStream {
        TcpStream::connect(self.iris.address("out")).await.unwrap()
    }
}

/// What the component writes arrives on a stream of this connection, and back. Whoever drops what this returns ends the
/// stream.
async fn exchange(component: &mut TcpStream, session: &Connection) -> (quinn::SendStream, quinn::RecvStream) {
    component.write_all(b"ping").await.unwrap();
    let (mut send, mut recv) = within("a stream", session.accept_bi()).await.unwrap();
    let mut heard = [0; 4];
    within("the bytes", recv.read_exact(&mut heard)).await.unwrap();
    send.write_all(b"pong").await.unwrap();
    within("the answer", component.read_exact(&mut heard)).await.unwrap();
    assert_eq!(&heard, b"pong");
    (send, recv)
}

#[tokio::test]
async fn connections_share_a_session_that_is_remade_when_it_is_lost() {
    let ca = Ca::new("ca");
    let rig = Shared::start(peer::server(&ca.leaf(&["peer.test"]), None, &PeerSpec::default()), &ca.pem());
    let mut first = rig.component().await;
    let session = rig.accept().await;
    let (mut send, mut recv) = exchange(&mut first, &session).await;
    let mut second = rig.component().await;
    let _second = exchange(&mut second, &session).await;
    // Each end by itself.
    first.shutdown().await.unwrap();
    assert_eq!(within("the end", recv.read_to_end(10)).await.unwrap(), b"");
    send.write_all(b"and that is all").await.unwrap();
    send.finish().unwrap();
    assert_eq!(read_all(&mut first).await.unwrap(), b"and that is all");
    // Lost: what was on it is cut, and without anybody asking there is another.
    session.close(0_u32.into(), b"");
    assert_eq!(read_all(&mut second).await.unwrap_err().kind(), ErrorKind::ConnectionReset);
    let session = rig.accept().await;
    exchange(&mut rig.component().await, &session).await;
    // What the far side opens is refused, and does no harm.
    let (mut send, mut recv) = session.open_bi().await.unwrap();
    let _ = send.write_all(b"to nobody").await;
    assert!(within("the refusal", recv.read_to_end(10)).await.is_err());
}

#[tokio::test]
async fn c08_a_shared_session_is_replaced_before_it_goes() {
    let (ca, other) = (Ca::new("stays"), Ca::new("goes"));
    let bundle = format!("{}{}", ca.pem(), other.pem());
    let rig = Shared::start(peer::server(&ca.leaf(&["peer.test"]), None, &PeerSpec::default()), &bundle);
    let mut early = rig.component().await;
    let old = rig.accept().await;
    let (mut send, _recv) = exchange(&mut early, &old).await;
    rig.trust.publish(&[("ca.crt", &ca.pem())]);
    // The next one is there while the old one still carries.
    let new = rig.accept().await;
    send.write_all(b"more").await.unwrap();
    let mut heard = [0; 4];
    within("the rest", early.read_exact(&mut heard)).await.unwrap();
    exchange(&mut rig.component().await, &new).await;
    // Its streams done, it goes, with the word for it.
    drop(early);
    let reason = within("the close", old.closed()).await;
    assert!(reason.to_string().contains("recycled for trust"), "{reason}");
    assert!(new.close_reason().is_none());
    // And one that nobody vouches for any more is cut at once, and not made again.
    let mut last = rig.component().await;
    let _last = exchange(&mut last, &new).await;
    rig.trust.publish(&[("ca.crt", &other.pem())]);
    let reason = within("the close", new.closed()).await;
    assert!(reason.to_string().contains("no longer trusted"), "{reason}");
    read_all(&mut last).await.unwrap_err();
    until("a refusal", || rig.iris.failures("peer", "unknown_issuer") >= 1 || rig.server.open_connections() == 0).await;
}
