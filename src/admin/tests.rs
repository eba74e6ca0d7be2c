//! Through real sockets, as probes, browsers and hostile clients come.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    sync::mpsc,
    thread,
    time::Instant,
};

use tokio::sync::oneshot;

use super::*;
use crate::observe::{
    ComponentSetup, Phase, Setup,
    labels::Transport,
    status::{ConnectionRow, ConnectionsRow},
};

/// No answer takes longer, however busy the machine is.
const DEADLINE: Duration = Duration::from_secs(60);

/// Both listeners, on a thread with a runtime of its own.
struct Served {
    everything: SocketAddr,
    scrape: SocketAddr,
    observer: Arc<Observer>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Served {
    fn start() -> Self {
        let observer = Observer::new(Setup {
            listeners: vec![ComponentSetup {
                name: "tunnel".to_owned(),
                transport: Transport::Quic,
                address: "quic://[::]:50072".to_owned(),
                materials: Vec::new(),
            }],
            ..Setup::default()
        });
        let any = "127.0.0.1:0".parse().unwrap();
        let (full, scrape) = (bind(any).unwrap(), bind(any).unwrap());
        let (everything, scrape_at) = (full.local_addr().unwrap(), scrape.local_addr().unwrap());
        let view = Arc::new(View::new(Arc::clone(&observer), || ConnectionsRow {
            total: 1,
            first: vec![ConnectionRow {
                listener: "tunnel".to_owned(),
                upstream: "stargate".to_owned(),
                peer: SocketAddr::from(([192, 0, 2, 7], 4)).into(),
                server_name: Some("<script>alert('x')</script>".to_owned()),
                alpn: None,
                age_seconds: 3_661,
                streams: 1,
                bytes_upstream: 2,
                bytes_downstream: 3,
                generations: vec!["server_identity edge#1".to_owned()],
            }],
        }));
        let (stop, stopped) = oneshot::channel();
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let listeners = vec![(full, Scope::Everything), (scrape, Scope::Scrape)];
            runtime.block_on(serve(listeners, view, async { drop(stopped.await) })).unwrap();
        });
        Self { everything, scrape: scrape_at, observer, stop: Some(stop), thread: Some(thread) }
    }

    fn make_ready(&self) {
        self.observer.listener(0).set_bound("[::1]:50072".parse().unwrap());
        self.observer.enter(Phase::Running);
    }

    fn stop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop();
    }
}

struct Answer {
    status: u16,
    head: String,
    body: String,
}

fn connect(to: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    stream
}

/// Sends these bytes and reads until the far end closes.
fn raw(to: SocketAddr, bytes: &[u8]) -> Answer {
    let mut stream = connect(to);
    // A server that refuses early may close before it has read all.
    let _ = stream.write_all(bytes);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let text = String::from_utf8(answer).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    Answer { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
}

fn request(to: SocketAddr, method: &str, target: &str) -> Answer {
    raw(to, format!("{method} {target} HTTP/1.1\r\nhost: {to}\r\n\r\n").as_bytes())
}

fn get(to: SocketAddr, target: &str) -> Answer {
    request(to, "GET", target)
}

#[test]
fn readiness_follows_the_observer_and_liveness_does_not() {
    let served = Served::start();
    for to in [served.everything, served.scrape] {
        let answer = get(to, "/readyz");
        assert_eq!(answer.status, 503);
        assert_eq!(answer.body, "not ready\nstarting: not every socket is bound\ntunnel: bound: no socket yet\n");
        assert_eq!(get(to, "/livez").status, 200);
    }
    served.make_ready();
    assert_eq!(get(served.scrape, "/readyz").body, "ready\n");
    assert_eq!(get(served.scrape, "/readyz?verbose").body, "[+] tunnel bound: ok\nready\n");
    served.observer.enter(Phase::Draining);
    assert_eq!(get(served.scrape, "/readyz").status, 503);
    assert_eq!(get(served.scrape, "/livez").status, 200);
}

#[test]
fn metrics_are_the_text_exposition() {
    let served = Served::start();
    for to in [served.everything, served.scrape] {
        let answer = get(to, "/metrics");
        assert_eq!(answer.status, 200);
        assert!(answer.head.contains("content-type: text/plain; version=0.0.4; charset=utf-8"), "{}", answer.head);
        assert!(
            answer.body.contains("# TYPE iris_ready gauge\niris_ready{component=\"tunnel\"} 0\n"),
            "{}",
            answer.body
        );
    }
}

#[test]
fn the_status_is_json_and_for_the_full_listener_only() {
    let served = Served::start();
    let answer = get(served.everything, "/status");
    assert!(answer.head.contains("content-type: application/json"));
    assert_eq!(answer.body.lines().count(), 1);
    let status: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(status["listeners"][0]["name"], "tunnel");
    assert_eq!(status["connections"]["total"], 1);
    let pretty = get(served.everything, "/status?pretty").body;
    assert!(pretty.lines().count() > 20);
    for target in ["/status", "/", "/status?pretty"] {
        assert_eq!(get(served.scrape, target).status, 404);
    }
}

#[test]
fn the_page_is_self_contained_escaped_and_may_run_nothing() {
    let served = Served::start();
    served.make_ready();
    let answer = get(served.everything, "/");
    assert!(answer.head.contains("content-type: text/html; charset=utf-8"));
    for field in ["default-src 'none'", "frame-ancestors 'none'", "nosniff", "no-referrer", "no-store"] {
        assert!(answer.head.contains(field), "{field} in {}", answer.head);
    }
    assert!(answer.body.contains("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;"), "{}", answer.body);
    for absent in ["<script", "src=", "<link", "url(", "style=\"", "://cdn"] {
        assert!(!answer.body.contains(absent), "{absent}");
    }
    assert!(answer.body.contains("width=device-width") && answer.body.contains("prefers-color-scheme"));
    assert!(answer.body.contains("1 h 1 min"), "{}", answer.body);
}

#[test]
fn the_policy_permits_exactly_the_style_sheet_of_the_page() {
    let rustls::SupportedCipherSuite::Tls13(suite) = rustls::crypto::aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256
    else {
        panic!("a TLS 1.3 suite");
    };
    let digest = suite.common.hash_provider.hash(page::STYLE.as_bytes());
    assert!(
        page::POLICY.contains(&format!("'sha256-{}'", base64(digest.as_ref()))),
        "write {}",
        base64(digest.as_ref())
    );

    fn base64(bytes: &[u8]) -> String {
        const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut text = String::new();
        for chunk in bytes.chunks(3) {
            let group =
                chunk.iter().fold(0_u32, |group, byte| group << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
            for place in 0..=chunk.len() {
                text.push(char::from(DIGITS[(group >> (18 - 6 * place)) as usize & 63]));
            }
        }
        text + &"==="[..(3 - bytes.len() % 3) % 3]
    }
}

#[test]
fn head_has_the_length_and_no_body() {
    let served = Served::start();
    let full = get(served.everything, "/livez");
    let head = request(served.everything, "HEAD", "/livez");
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    assert!(head.head.contains(&format!("content-length: {}", full.body.len())), "{}", head.head);
}

#[test]
fn what_does_not_exist_is_404_and_what_cannot_be_done_405() {
    let served = Served::start();
    for to in [served.everything, served.scrape] {
        for target in ["/x", "/livez/", "//livez", "/Livez", "/metrics/../status", "/%6civez"] {
            assert_eq!(get(to, target).status, 404, "{target}");
        }
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "X"] {
            let answer = request(to, method, "/metrics");
            assert_eq!(answer.status, 405, "{method}");
            assert!(answer.head.contains("allow: get, head"));
        }
        assert_eq!(request(to, "POST", "/reload").status, 404, "there is no action");
    }
}

#[test]
fn heads_that_are_malformed_or_too_large_are_refused() {
    let served = Served::start();
    let to = served.scrape;
    let long = format!("GET /livez HTTP/1.1\r\nhost: x\r\nlong: {}\r\n\r\n", "x".repeat(HEAD_BYTES));
    assert_eq!(raw(to, long.as_bytes()).status, 431);
    let many: String = (0..=HEADERS).map(|n| format!("field-{n}: x\r\n")).collect();
    assert_eq!(raw(to, format!("GET /livez HTTP/1.1\r\nhost: x\r\n{many}\r\n").as_bytes()).status, 431);
    assert_eq!(raw(to, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 no TLS here\r\n\r\n").status, 400);
    assert_eq!(get(to, "/livez").status, 200, "and nobody else notices");
}

#[test]
fn a_connection_carries_one_request() {
    let served = Served::start();
    let two = b"GET /livez HTTP/1.1\r\nhost: x\r\n\r\nGET /livez HTTP/1.1\r\nhost: x\r\n\r\n";
    let answer = raw(served.scrape, two);
    assert!(answer.head.contains("connection: close"), "{}", answer.head);
    assert_eq!(answer.body, "alive\n");
}

#[test]
fn a_client_that_sends_its_head_drop_by_drop_is_cut() {
    let served = Served::start();
    let mut stream = connect(served.scrape);
    let started = Instant::now();
    let (cut, was_cut) = mpsc::channel::<()>();
    let mut reader = stream.try_clone().unwrap();
    let watcher = thread::spawn(move || {
        let mut rest = Vec::new();
        let _ = reader.read_to_end(&mut rest);
        drop(cut);
    });
    // Always another byte before any single read could be called slow.
    let _ = stream.write_all(b"GET /livez HTTP/1.1\r\nx: ");
    while was_cut.recv_timeout(Duration::from_millis(100)) == Err(mpsc::RecvTimeoutError::Timeout) {
        let _ = stream.write_all(b"x");
        assert!(started.elapsed() < DEADLINE, "not cut");
    }
    assert!(started.elapsed() >= HEAD.mul_f64(0.9), "{:?}", started.elapsed());
    watcher.join().unwrap();
}

#[test]
fn idle_connections_cannot_starve_a_probe() {
    let served = Served::start();
    let mut idle: Vec<TcpStream> = (0..3 * CONNECTIONS).map(|_| connect(served.scrape)).collect();
    for _ in 0..5 {
        assert_eq!(get(served.scrape, "/livez").status, 200);
    }
    // The oldest are cut, and long before their time is over.
    let started = Instant::now();
    let mut rest = Vec::new();
    let _ = idle[0].read_to_end(&mut rest);
    assert!(started.elapsed() < HEAD / 2, "{:?}", started.elapsed());
}

#[test]
fn stopping_ends_every_connection_and_frees_the_port() {
    let mut served = Served::start();
    let mut idle = connect(served.scrape);
    assert_eq!(get(served.scrape, "/livez").status, 200);
    let started = Instant::now();
    served.stop();
    assert!(started.elapsed() < DEADLINE);
    let mut rest = Vec::new();
    let _ = idle.read_to_end(&mut rest);
    assert_eq!(rest, b"");
    assert!(TcpStream::connect(served.scrape).is_err());
}
