//! A thousand of each way to end, or to come to nothing: each counted under its reason, and nothing left behind in the
//! process, which is one of its own so that its file descriptors can be counted.

use std::{
    fs,
    io::{BufRead, BufReader},
    net::SocketAddr,
    process::{Child, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};
use tokio_rustls::client::TlsStream;

use super::rig::{client_config, connect, read_all};
use crate::support::{
    pki::Ca,
    process,
    wait::{until, within},
};

const TIMES: usize = 1000;
const MESSAGE: &[u8; 1024] = &[7; 1024];

/// What the peer and the component of a connection do to one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The peer ends its direction, and is answered after that.
    PeerEndsFirst,
    /// The component does.
    ComponentEndsFirst,
    /// The peer resets.
    PeerResets,
    /// The component does.
    ComponentResets,
    /// The peer stops to read while much is on its way to it, and is gone after a while.
    PeerStalls,
    /// Neither says anything, at a listener with an idle timeout: as if the peer had vanished.
    Silent,
    /// The peer says nothing from the start.
    SilentFromTheStart,
    /// Nobody listens where the component should be.
    Refused,
    /// The component takes no connection, and its queue is full.
    Full,
    /// The component takes its connections late.
    Late,
}

use Kind::{
    ComponentEndsFirst, ComponentResets, Full, Late, PeerEndsFirst, PeerResets, PeerStalls, Refused, Silent,
    SilentFromTheStart,
};

/// Each with the series that must count it, and how many of it happen at a time.
const KINDS: [(Kind, &str, usize); 10] = [
    (PeerEndsFirst, "iris_connection_closes_total{component=\"in-NAME\",reason=\"peer\"}", 8),
    (ComponentEndsFirst, "iris_connection_closes_total{component=\"to-NAME\",reason=\"peer\"}", 8),
    (PeerResets, "iris_connection_closes_total{component=\"in-NAME\",reason=\"peer\"}", 8),
    (ComponentResets, "iris_connection_closes_total{component=\"to-NAME\",reason=\"peer\"}", 8),
    (PeerStalls, "iris_connection_closes_total{component=\"in-NAME\",reason=\"peer\"}", 8),
    // These wait for a timeout, so many wait together.
    (Silent, "iris_connection_closes_total{component=\"in-NAME\",reason=\"idle\"}", 100),
    (SilentFromTheStart, "iris_handshake_failures_total{component=\"in-NAME\",reason=\"timeout\"}", 500),
    (Refused, "iris_handshake_failures_total{component=\"to-NAME\",reason=\"unreachable\"}", 8),
    (Full, "iris_handshake_failures_total{component=\"to-NAME\",reason=\"timeout\"}", 500),
    (Late, "iris_connection_closes_total{component=\"in-NAME\",reason=\"peer\"}", 50),
];

impl Kind {
    /// Its name in the configuration.
    fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_of_each_end_leave_nothing_behind() {
    let rig = Arc::new(Rig::start().await);
    // Whatever is opened once and kept is open after one of each.
    let mut first = JoinSet::new();
    for (kind, ..) in KINDS {
        let rig = rig.clone();
        first.spawn(async move { rig.once(kind).await });
    }
    first.join_all().await;
    rig.settled(1).await;
    let descriptors = rig.descriptors();
    let began = Instant::now();
    let mut running = JoinSet::new();
    for (kind, _, together) in KINDS {
        for _ in 0..together {
            let rig = rig.clone();
            running.spawn(async move {
                for _ in 0..TIMES / together {
                    rig.once(kind).await;
                }
                (kind, began.elapsed())
            });
        }
    }
    let mut took = Vec::new();
    while let Some(done) = running.join_next().await {
        took.push(done.unwrap());
    }
    rig.settled(1 + TIMES).await;
    for (kind, ..) in KINDS {
        let last = took.iter().filter(|(one, _)| *one == kind).map(|(_, at)| *at).max();
        println!("a thousand of {kind:?} in {:.1?}", last.unwrap());
    }
    println!("{descriptors} file descriptors before and after");
    until("the descriptors to be closed", || rig.descriptors() <= descriptors).await;
}

/// A peer that vanishes without a word is found by probes, which nothing but the kernel needs to be told of.
#[tokio::test]
async fn a_quiet_connection_is_probed_by_the_kernel() {
    let rig = Rig::start().await;
    let peer = rig.connect(PeerResets).await;
    let port = rig.address(PeerResets).port();
    until("an established connection with a timer", || {
        let table = fs::read_to_string(format!("/proc/{}/net/tcp", rig.process.id())).unwrap();
        // proc(5): local address, remote address, state (1: established), queues, timer (2: keep-alive) and its time.
        table.lines().skip(1).any(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let local = fields[1].rsplit(':').next().unwrap();
            let (timer, ticks) = fields[5].split_once(':').unwrap();
            let ours = u16::from_str_radix(local, 16).unwrap() == port && fields[3] == "01";
            // At most the 30 s of the default, in hundredths.
            ours && timer == "02" && u64::from_str_radix(ticks, 16).unwrap() <= 3000
        })
    })
    .await;
    drop(peer);
}

/// An Iris of its own with a listener, an upstream and a component for each kind.
struct Rig {
    ca: Ca,
    process: Child,
    admin: SocketAddr,
    listeners: Vec<SocketAddr>,
    /// Keeps its port from everybody, and listens to nobody.
    _refusing: socket2::Socket,
    /// Listens, and never takes anybody; these fill its queue.
    _full: (socket2::Socket, Vec<TcpStream>),
    _files: TempDir,
}

impl Rig {
    async fn start() -> Self {
        let (files, ca) = (TempDir::new().unwrap(), Ca::new("ca"));
        let (certificate, key) = ca.leaf(&["iris.test"]).write(files.path(), "edge");
        let refusing = bound();
        let full = full().await;
        let (mut listeners, mut upstreams) = (String::new(), String::new());
        for (kind, ..) in KINDS {
            let component = match kind {
                Refused => address_of(&refusing),
                Full => address_of(&full.0),
                _ => serve(kind).await,
            };
            let name = kind.name();
            let idle = if kind == Silent { "idle_timeout: 500ms, " } else { "" };
            listeners += &format!(
                "  - {{ name: in-{name}, listen: 'tls://127.0.0.1:0', {idle}tls: {{ identities: [ edge ] }}, routes: [ {{ upstream: to-{name} }} ] }}\n"
            );
            upstreams += &format!("  - {{ name: to-{name}, dial: 'tcp://{component}' }}\n");
        }
        let config = files.path().join("iris.yaml");
        let text = format!(
            "admin: {{ listen: 'http://127.0.0.1:0' }}\n\
             log: {{ format: json }}\n\
             limits: {{ handshakes: 5000 }}\n\
             timeouts: {{ handshake: 5s, connect: 5s }}\n\
             identities:\n  edge: {{ certificate: {}, private_key: {} }}\n\
             listeners:\n{listeners}upstreams:\n{upstreams}",
            certificate.display(),
            key.display(),
        );
        fs::write(&config, text).unwrap();
        let arguments = ["run", "--config", config.to_str().unwrap()];
        let mut process = process::iris(&arguments).stderr(Stdio::piped()).spawn().unwrap();
        let mut log = BufReader::new(process.stderr.take().unwrap()).lines();
        let mut bound: Vec<(String, SocketAddr)> = Vec::new();
        while bound.len() < KINDS.len() + 1 {
            let line = log.next().expect("the log goes on until all are bound").unwrap();
            let line: serde_json::Value = serde_json::from_str(&line).unwrap();
            if line["message"] == "listening" {
                let address = line["address"].as_str().unwrap();
                let address = address.rsplit("//").next().unwrap().trim_end_matches('/');
                bound.push((line["component"].as_str().unwrap().to_owned(), address.parse().unwrap()));
            }
        }
        // A log that nobody reads would hold the process up.
        std::thread::spawn(move || log.for_each(drop));
        let find = |name: &str| bound.iter().find(|(component, _)| component == name).expect("it is bound").1;
        let listeners = KINDS.iter().map(|(kind, ..)| find(&format!("in-{}", kind.name()))).collect();
        let admin = find("admin.listen");
        Self { ca, process, admin, listeners, _refusing: refusing, _full: full, _files: files }
    }

    fn address(&self, kind: Kind) -> SocketAddr {
        self.listeners[KINDS.iter().position(|(one, ..)| *one == kind).unwrap()]
    }

    async fn connect(&self, kind: Kind) -> TlsStream<TcpStream> {
        let config = client_config(&self.ca, None, &[]);
        within("the handshake", connect(self.address(kind), "iris.test", &config)).await.unwrap()
    }

    /// The peer's part of one connection, to its end.
    async fn once(&self, kind: Kind) {
        if kind == SilentFromTheStart {
            let mut peer = TcpStream::connect(self.address(kind)).await.unwrap();
            let _ = within("the refusal", peer.read(&mut [0])).await;
            return;
        }
        let mut peer = self.connect(kind).await;
        match kind {
            PeerEndsFirst | Late => {
                peer.write_all(MESSAGE).await.unwrap();
                peer.shutdown().await.unwrap();
                assert_eq!(read_all(&mut peer).await.unwrap(), MESSAGE);
            }
            ComponentEndsFirst => {
                assert_eq!(read_all(&mut peer).await.unwrap(), MESSAGE);
                peer.write_all(MESSAGE).await.unwrap();
                peer.shutdown().await.unwrap();
            }
            PeerResets => {
                exchange(&mut peer).await;
                reset(peer.into_inner().0);
            }
            PeerStalls => {
                // The first of much.
                within("a byte", peer.read_exact(&mut [0])).await.unwrap();
                tokio::time::sleep(Duration::from_millis(20)).await;
                drop(peer);
            }
            ComponentResets | Silent | Refused | Full => {
                let _ = peer.write_all(MESSAGE).await;
                read_all(&mut peer).await.unwrap_err();
            }
            SilentFromTheStart => unreachable!("done above"),
        }
    }

    /// Waits until each kind has been counted so often, and no connection is left.
    async fn settled(&self, times: usize) {
        within("the counts", async {
            loop {
                let text = self.metrics().await;
                let counted = |(kind, series, _): &(Kind, &str, usize)| {
                    let prefix = format!("{} ", series.replace("NAME", &kind.name()));
                    text.lines().find_map(|line| line.strip_prefix(&prefix)).unwrap().parse::<f64>().unwrap()
                };
                let missing: Vec<_> = KINDS.iter().filter(|kind| counted(kind) < times as f64).collect();
                let active =
                    text.lines().filter(|line| line.starts_with("iris_connections_active{") && !line.ends_with(" 0"));
                if missing.is_empty() && active.count() == 0 {
                    for kind in &KINDS {
                        assert_eq!(counted(kind), times as f64, "{kind:?}");
                    }
                    return;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        })
        .await;
    }

    async fn metrics(&self) -> String {
        let mut admin = TcpStream::connect(self.admin).await.unwrap();
        admin.write_all(b"GET /metrics HTTP/1.1\r\nhost: iris\r\nconnection: close\r\n\r\n").await.unwrap();
        String::from_utf8(read_all(&mut admin).await.unwrap()).unwrap()
    }

    /// How many file descriptors the process has open.
    fn descriptors(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.process.id())).unwrap().count()
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The component of a kind, on a port of its own.
async fn serve(kind: Kind) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        for number in 0_usize.. {
            if kind == Late && number.is_multiple_of(20) {
                // Those who come meanwhile are connected by the kernel, and wait.
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            let Ok((stream, _)) = listener.accept().await else { continue };
            tokio::spawn(component(kind, stream));
        }
    });
    address
}

/// The component's part of one connection.
async fn component(kind: Kind, mut stream: TcpStream) -> std::io::Result<()> {
    let mut all = Vec::new();
    match kind {
        PeerEndsFirst | Late => {
            stream.read_to_end(&mut all).await?;
            stream.write_all(&all).await?;
            stream.shutdown().await
        }
        ComponentEndsFirst => {
            stream.write_all(MESSAGE).await?;
            stream.shutdown().await?;
            stream.read_to_end(&mut all).await.map(drop)
        }
        PeerResets => {
            let mut message = [0; MESSAGE.len()];
            stream.read_exact(&mut message).await?;
            stream.write_all(&message).await?;
            stream.read_to_end(&mut all).await.map(drop)
        }
        ComponentResets => {
            stream.read_exact(&mut [0]).await?;
            reset(stream);
            Ok(())
        }
        PeerStalls => {
            // More than a peer that reads nothing takes in, little enough to be sent a thousand times.
            stream.write_all(&vec![7; 1 << 19]).await?;
            stream.read_to_end(&mut all).await.map(drop)
        }
        Silent | SilentFromTheStart | Refused | Full => {
            let mut piece = [0; 1024];
            while stream.read(&mut piece).await? > 0 {}
            Ok(())
        }
    }
}

async fn exchange(peer: &mut TlsStream<TcpStream>) {
    peer.write_all(MESSAGE).await.unwrap();
    within("the echo", peer.read_exact(&mut [0; MESSAGE.len()])).await.unwrap();
}

/// Closes with RST.
fn reset(stream: TcpStream) {
    socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
}

/// A TCP socket that has a port and does not listen.
fn bound() -> socket2::Socket {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
    socket
}

/// A TCP socket that listens and whose queue is full.
async fn full() -> (socket2::Socket, Vec<TcpStream>) {
    let socket = bound();
    socket.listen(1).unwrap();
    let mut waiting = Vec::new();
    while let Ok(connected) =
        tokio::time::timeout(Duration::from_millis(500), TcpStream::connect(address_of(&socket))).await
    {
        waiting.push(connected.unwrap());
    }
    (socket, waiting)
}

fn address_of(socket: &socket2::Socket) -> SocketAddr {
    socket.local_addr().unwrap().as_socket().unwrap()
}
