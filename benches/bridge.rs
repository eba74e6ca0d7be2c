//! Side by side in one run, alternating: quinn with TLS directly, through Iris onto loopback QUIC, and through a plain
//! TLS-to-TLS relay, which is what stands there without Iris.
//!
//! ```text
//! cargo bench --bench bridge               about a minute
//! cargo bench --bench bridge -- --rounds 2
//! ```
//!
//! Client, relay and component have one thread with a runtime of its own each, as three processes would. On two cores
//! the three compete, so the ratios are what to read; CPU seconds a stream are the first of them.

#![allow(clippy::disallowed_methods, reason = "the tasks of a contestant end with its runtime")]
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot go on has failed")]
#![allow(clippy::print_stdout, reason = "the table")]

#[path = "../tests/it/support/mod.rs"]
#[allow(dead_code, unused_imports, reason = "each user of the helpers uses some of them")]
mod support;

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use bytes::Bytes;
use quinn::{Connection, Endpoint, TransportConfig};
use support::{
    app::Iris,
    component::Component,
    peer::{self, PeerSpec},
    pki::Ca,
};
use tokio::runtime::{Builder, Runtime};

const BULK: usize = 128 << 20;
const ROUND_TRIPS: usize = 2_000;
const CONCURRENT: usize = 64;
const STREAMS_EACH: usize = 400;
const BODY: [u8; 256] = [1; 256];

fn main() {
    let rounds = argument("--rounds").unwrap_or(5);
    let bench = Bench::set_up();
    println!(
        "bulk {} MiB echoed, {ROUND_TRIPS} requests one by one, {} requests {CONCURRENT} at a time, {} bytes each; {rounds} rounds",
        BULK >> 20,
        CONCURRENT * STREAMS_EACH,
        BODY.len()
    );
    let mut table: Vec<Vec<Figures>> = bench.contestants.iter().map(|_| Vec::new()).collect();
    for round in 1..=rounds {
        for ((name, address), figures) in bench.contestants.iter().zip(&mut table) {
            let measured = bench.client.block_on(measure(&bench.endpoint, bench.config.clone(), *address));
            println!("round {round}  {name:<28} {measured}");
            figures.push(measured);
        }
    }
    println!(
        "\nmedian                                {:>12} {:>12} {:>10} {:>10} {:>14}",
        "Gbit/s", "streams/s", "p50", "p99", "CPU a stream"
    );
    let medians: Vec<_> = table.iter().map(|figures| Figures::median(figures)).collect();
    for ((name, _), median) in bench.contestants.iter().zip(&medians) {
        println!("{name:<36} {}", median.row());
    }
    println!(
        "\nratio to direct                       {:>12} {:>12} {:>10} {:>10} {:>14}",
        "bulk", "streams", "p50", "p99", "CPU a stream"
    );
    for ((name, _), median) in bench.contestants.iter().zip(&medians).skip(1) {
        println!("{name:<36} {}", median.ratios(&medians[0]));
    }
}

fn argument(name: &str) -> Option<usize> {
    let mut arguments = std::env::args().skip_while(|argument| argument != name);
    arguments.nth(1)?.parse().ok()
}

/// Three contestants that end at the same echo.
struct Bench {
    contestants: Vec<(&'static str, SocketAddr)>,
    client: Runtime,
    endpoint: Endpoint,
    config: quinn::ClientConfig,
    _iris: Iris,
    _threads: Vec<std::thread::JoinHandle<()>>,
}

impl Bench {
    fn set_up() -> Self {
        let (files, ca) = (tempfile::TempDir::new().unwrap(), Ca::new("ca"));
        let leaf = ca.leaf(&["iris.test"]);
        let (certificate, key) = leaf.write(files.path(), "edge");
        let spec = PeerSpec::transport(peer_transport);
        let config = peer::client_config(&ca, None, &spec);
        let mut threads = Vec::new();

        let components = runtime();
        let (direct, component) = {
            let _context = components.enter();
            let direct = peer::server(&leaf, None, &spec);
            let mut loopback = iris_loopback::transport_config();
            loopback.max_concurrent_bidi_streams(1024_u32.into());
            (direct, Component::listen(&[], loopback))
        };
        let (direct_address, component_address) = (direct.local_addr().unwrap(), component.address);
        components.spawn(echo(direct));
        components.spawn(echo(component.endpoint));
        threads.push(drive(components));

        let relays = runtime();
        let relay = {
            let _context = relays.enter();
            let front = peer::server(&leaf, None, &spec);
            let address = front.local_addr().unwrap();
            relays.spawn(plain_relay(front, peer::client_endpoint(), config.clone(), direct_address));
            address
        };
        threads.push(drive(relays));

        let iris = Iris::start(&format!(
            "workers: 1\n\
             identities:\n  edge: {{ certificate: {}, private_key: {} }}\n\
             listeners:\n  - {{ name: in, listen: 'quic://127.0.0.1:0', tls: {{ identities: [ edge ] }}, routes: [ {{ upstream: component }} ] }}\n\
             upstreams:\n  - {{ name: component, dial: 'quic+plaintext://{component_address}' }}\n",
            certificate.display(),
            key.display(),
        ));
        let client = runtime();
        let endpoint = {
            let _context = client.enter();
            peer::client_endpoint()
        };
        let contestants = vec![
            ("quinn with TLS, direct", direct_address),
            ("through Iris, onto loopback", iris.address("in")),
            ("plain TLS-to-TLS relay", relay),
        ];
        Self { contestants, client, endpoint, config, _iris: iris, _threads: threads }
    }
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

fn drive(runtime: Runtime) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || runtime.block_on(std::future::pending()))
}

fn peer_transport(transport: &mut TransportConfig) {
    transport.max_concurrent_bidi_streams(1024_u32.into());
}

async fn echo(endpoint: Endpoint) {
    while let Some(incoming) = endpoint.accept().await {
        tokio::spawn(async move {
            let connection = incoming.await.unwrap();
            while let Ok((mut send, mut recv)) = connection.accept_bi().await {
                tokio::spawn(async move {
                    while let Ok(Some(chunk)) = recv.read_chunk(usize::MAX, true).await {
                        send.write_chunk(chunk.bytes).await.unwrap();
                    }
                    send.finish().unwrap();
                });
            }
        });
    }
}

/// What a relay without care looks like: one task a direction, no codes, no closes.
async fn plain_relay(front: Endpoint, back: Endpoint, config: quinn::ClientConfig, to: SocketAddr) {
    async fn copy(mut from: quinn::RecvStream, mut to: quinn::SendStream) {
        while let Ok(Some(chunk)) = from.read_chunk(usize::MAX, true).await {
            if to.write_chunk(chunk.bytes).await.is_err() {
                return;
            }
        }
        let _ = to.finish();
    }
    while let Some(incoming) = front.accept().await {
        let (back, config) = (back.clone(), config.clone());
        tokio::spawn(async move {
            let here = incoming.await.unwrap();
            let there = back.connect_with(config, to, "iris.test").unwrap().await.unwrap();
            while let Ok((send, recv)) = here.accept_bi().await {
                let (far_send, far_recv) = there.open_bi().await.unwrap();
                tokio::spawn(copy(recv, far_send));
                tokio::spawn(copy(far_recv, send));
            }
        });
    }
}

/// What one contestant did in one round.
#[derive(Clone, Copy)]
struct Figures {
    gigabits: f64,
    streams: f64,
    p50: Duration,
    p99: Duration,
    cpu: Duration,
}

async fn measure(endpoint: &Endpoint, config: quinn::ClientConfig, address: SocketAddr) -> Figures {
    let connection = endpoint.connect_with(config, address, "iris.test").unwrap().await.unwrap();
    request(&connection).await;
    let gigabits = bulk(&connection).await;
    let mut times = Vec::with_capacity(ROUND_TRIPS);
    for _ in 0..ROUND_TRIPS {
        let start = Instant::now();
        request(&connection).await;
        times.push(start.elapsed());
    }
    times.sort();
    let (start, cpu) = (Instant::now(), cpu_time());
    let mut all = tokio::task::JoinSet::new();
    for _ in 0..CONCURRENT {
        let connection = connection.clone();
        all.spawn(async move {
            for _ in 0..STREAMS_EACH {
                request(&connection).await;
            }
        });
    }
    while let Some(done) = all.join_next().await {
        done.unwrap();
    }
    let total = CONCURRENT * STREAMS_EACH;
    let figures = Figures {
        gigabits,
        streams: total as f64 / start.elapsed().as_secs_f64(),
        p50: times[ROUND_TRIPS / 2],
        p99: times[ROUND_TRIPS * 99 / 100],
        cpu: (cpu_time() - cpu) / total as u32,
    };
    connection.close(0_u32.into(), b"");
    figures
}

async fn request(connection: &Connection) {
    let (mut send, mut recv) = connection.open_bi().await.unwrap();
    send.write_all(&BODY).await.unwrap();
    send.finish().unwrap();
    assert_eq!(recv.read_to_end(1024).await.unwrap(), BODY);
}

async fn bulk(connection: &Connection) -> f64 {
    let (mut send, mut recv) = connection.open_bi().await.unwrap();
    let start = Instant::now();
    let writing = async {
        let chunk = Bytes::from(vec![7; 64 << 10]);
        for _ in 0..BULK / chunk.len() {
            send.write_chunk(chunk.clone()).await.unwrap();
        }
        send.finish().unwrap();
    };
    let reading = async {
        let mut total = 0;
        while let Some(chunk) = recv.read_chunk(usize::MAX, true).await.unwrap() {
            total += chunk.bytes.len();
        }
        assert_eq!(total, BULK);
    };
    tokio::join!(writing, reading);
    BULK as f64 * 8.0 / start.elapsed().as_secs_f64() / 1e9
}

/// CPU time of the whole process: client, relay and component.
fn cpu_time() -> Duration {
    // Fields 14 and 15 of proc(5) /proc/self/stat, in hundredths of a second, behind the parenthesised name.
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    Duration::from_millis(ticks * 10)
}

impl Figures {
    fn median(all: &[Self]) -> Self {
        fn middle<T: Copy + PartialOrd>(all: &[Figures], get: impl Fn(&Figures) -> T) -> T {
            let mut values: Vec<T> = all.iter().map(get).collect();
            values.sort_by(|a, b| a.partial_cmp(b).unwrap());
            values[values.len() / 2]
        }
        Self {
            gigabits: middle(all, |one| one.gigabits),
            streams: middle(all, |one| one.streams),
            p50: middle(all, |one| one.p50),
            p99: middle(all, |one| one.p99),
            cpu: middle(all, |one| one.cpu),
        }
    }

    fn row(&self) -> String {
        let Self { gigabits, streams, p50, p99, cpu } = self;
        format!("{gigabits:>13.2} {streams:>12.0} {p50:>10.0?} {p99:>10.0?} {cpu:>14.1?}")
    }

    fn ratios(&self, base: &Self) -> String {
        let time = |own: Duration, base: Duration| own.as_secs_f64() / base.as_secs_f64();
        format!(
            "{:>13.2} {:>12.2} {:>10.2} {:>10.2} {:>14.2}",
            self.gigabits / base.gigabits,
            self.streams / base.streams,
            time(self.p50, base.p50),
            time(self.p99, base.p99),
            time(self.cpu, base.cpu),
        )
    }
}

impl std::fmt::Display for Figures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.row())
    }
}
