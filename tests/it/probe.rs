//! `iris probe`, the binary, against servers that are not ours.

use std::{net::SocketAddr, path::Path, process::Output, sync::Arc};

use rustls::{
    ServerConfig,
    crypto::aws_lc_rs,
    sign::{CertifiedKey, SingleCertAndKey},
};
use serde_json::Value;
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, UdpSocket},
};
use tokio_rustls::TlsAcceptor;

use crate::support::{
    peer::{self, PeerSpec, server_tls},
    pki::{Ca, Leaf, LeafSpec},
    process::iris,
    wait::within,
};

/// A CA in a file, and what it issued.
struct Rig {
    directory: TempDir,
    ca: Ca,
    path: String,
}

impl Rig {
    fn new() -> Self {
        let (directory, ca) = (tempfile::tempdir().unwrap(), Ca::new("probe ca"));
        let path = write(directory.path(), "ca.crt", &ca.pem());
        Self { directory, ca, path }
    }

    fn write(&self, name: &str, text: &str) -> String {
        write(self.directory.path(), name, text)
    }

    /// Options that show this leaf.
    fn showing(&self, name: &str, leaf: &Leaf) -> Vec<String> {
        let (certificate, key) = leaf.write(self.directory.path(), name);
        let text = |path: std::path::PathBuf| path.to_str().unwrap().to_owned();
        vec!["--certificate".into(), text(certificate), "--private-key".into(), text(key)]
    }
}

fn write(directory: &Path, name: &str, text: &str) -> String {
    let path = directory.join(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// A rustls configuration that shows `leaf`, and asks for certificates of `client_ca`.
fn config(leaf: &Leaf, client_ca: Option<&Ca>, alpn: &[&str]) -> ServerConfig {
    let key = aws_lc_rs::sign::any_supported_type(&leaf.key_der()).unwrap();
    let shown = Arc::new(SingleCertAndKey::from(CertifiedKey::new(leaf.chain.clone(), key)));
    let mut config = server_tls(shown, client_ca);
    config.alpn_protocols = PeerSpec::alpn(alpn).alpn;
    config
}

/// TLS over TCP with this configuration. Whoever comes in is sent `greeting`, and listened to until it goes.
async fn tls(config: ServerConfig, greeting: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                if let Ok(mut stream) = acceptor.accept(stream).await {
                    let _ = stream.write_all(greeting).await;
                    let _ = stream.read_to_end(&mut Vec::new()).await;
                }
            });
        }
    });
    format!("tls://{address}")
}

/// QUIC with this configuration.
fn quic(config: ServerConfig) -> (String, quinn::Endpoint) {
    let endpoint = peer::server_of(config, &PeerSpec::default());
    peer::serve_echo(&endpoint);
    (format!("quic://{}", endpoint.local_addr().unwrap()), endpoint)
}

/// A TCP server that does this with whoever comes.
async fn tcp<F: Future<Output = ()> + Send + 'static>(
    serve: impl Fn(tokio::net::TcpStream) -> F + Send + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream));
        }
    });
    address
}

async fn probe(target: &str, options: &[&str]) -> Output {
    let mut arguments: Vec<String> = ["probe", target].iter().chain(options).map(ToString::to_string).collect();
    if !options.contains(&"--timeout") {
        // Nothing is about the default, which a busy machine might need.
        arguments.extend(["--timeout".into(), "25s".into()]);
    }
    let run = tokio::task::spawn_blocking(move || {
        iris(&arguments.iter().map(String::as_str).collect::<Vec<_>>()).output().unwrap()
    });
    within("a probe to end", run).await.unwrap()
}

/// Probes, for people, and holds the outcome against `code`.
async fn text(target: &str, options: &[&str], code: i32) -> String {
    let output = probe(target, options).await;
    let words = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(code), "{words}");
    assert!(output.stderr.is_empty());
    assert!(words.lines().all(|line| line.chars().count() <= 100), "{words}");
    words
}

/// Probes, for machines, and holds the outcome against `code`.
async fn json(target: &str, options: &[&str], code: i32) -> Value {
    let output = probe(target, &[options, &["--json"]].concat()).await;
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(code), "{value:#}");
    assert!(output.stderr.is_empty());
    assert_eq!((value["exit_code"].as_i64(), value["ok"].as_bool()), (Some(code.into()), Some(code == 0)));
    value
}

async fn both(target: &str, options: &[&str], code: i32) -> (String, Value) {
    tokio::join!(text(target, options, code), json(target, options, code))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_good_server_is_told_of_in_full() {
    let rig = Rig::new();
    let leaf = rig.ca.leaf(&["edge.example", "127.0.0.1"]);
    let options = ["--ca", &rig.path, "--server-name", "edge.example", "--alpn", "h2", "--alpn", "other"];
    let target = tls(config(&leaf, None, &["h2"]), b"").await;
    let (words, value) = both(&target, &options, 0).await;
    assert!(words.contains("ok: connected and verified") && words.contains("CN=probe ca"), "{words}");
    assert_eq!(value["tls_version"], "TLSv1.3");
    assert!(value["cipher_suite"].as_str().unwrap().starts_with("TLS_"), "{value:#}");
    assert!(value["key_exchange_group"].as_str().unwrap().contains("25519"), "{value:#}");
    assert!(value["milliseconds"]["connect"].is_number());
    let (quic, _endpoint) = quic(config(&leaf, None, &["h2"]));
    let over_quic = json(&quic, &options, 0).await;
    assert!(over_quic["milliseconds"]["confirm"].is_number());
    for value in [value, over_quic] {
        assert_eq!((&value["alpn"], &value["verified"]), (&"h2".into(), &true.into()));
        assert_eq!(value["client_certificate"], "not_asked");
        assert_eq!(value["anchor"], "CN=probe ca");
        let chain = value["chain"].as_array().unwrap();
        assert_eq!((chain.len(), &chain[0]["days_left"]), (1, &0.into()));
        assert_eq!(chain[0]["names"], serde_json::json!(["edge.example", "127.0.0.1"]));
        assert_eq!(chain[0]["sha256"].as_str().unwrap().len(), 64);
    }
    // By its address, which the certificate bears too, and without a protocol.
    let target = tls(config(&leaf, None, &[]), b"").await;
    let words = text(&target, &["--ca", &rig.path], 0).await;
    assert!(words.contains("no protocol (none offered)"), "{words}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c27_each_fault_of_a_certificate_has_its_exit_code_and_shows_the_chain() {
    let rig = Rig::new();
    let stranger = Ca::new("stranger");
    let good = rig.ca.leaf(&["edge.example"]);
    let name = ["--server-name", "edge.example"];
    let list = rig.write("revoked.crl", &rig.ca.revoke(&[&good]));
    let named = |spec: fn(LeafSpec) -> LeafSpec| rig.ca.issue(spec(LeafSpec::named(&["edge.example"])));
    let cases = [
        (stranger.leaf(&["edge.example"]), vec!["--ca", &rig.path], 20, "unknown_issuer", "CN=probe ca"),
        (rig.ca.leaf(&["other.example"]), vec!["--ca", &rig.path], 21, "name", "bears other.example"),
        (named(LeafSpec::expired), vec!["--ca", &rig.path], 22, "expired", "one of the chain ended 1 h 0 min ago"),
        (
            named(|spec| spec.valid(90_000, 180_000)),
            vec!["--ca", &rig.path],
            23,
            "not_yet_valid",
            "one of the chain begins in 1 d",
        ),
        (rig.ca.leaf(&["edge.example"]), vec![], 26, "not_verified", "--ca"),
        (good, vec!["--ca", &rig.path, "--crl", &list], 24, "revoked", "revoked"),
    ];
    for (leaf, options, code, reason, words) in &cases {
        let tcp = tls(config(leaf, None, &[]), b"").await;
        let (quic, _endpoint) = quic(config(leaf, None, &[]));
        for target in [tcp, quic] {
            let (text, value) = both(&target, &[&name, &options[..]].concat(), *code).await;
            assert_eq!(value["failure"]["reason"], *reason, "{value:#}");
            assert_eq!(value["failure"]["step"], "verify", "{value:#}");
            assert_eq!(value["verified"], false);
            assert_eq!(value["chain"].as_array().unwrap().len(), 1, "{target}: {reason}");
            assert!(text.contains(words) && text.contains("certificate 1 of 1"), "{words} in\n{text}");
            assert!(text.contains(&format!("(exit code {code})")), "{text}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_protocol_in_common_is_told() {
    let rig = Rig::new();
    let leaf = rig.ca.leaf(&["127.0.0.1"]);
    let options = ["--ca", &rig.path, "--alpn", "h2"];
    for offered in [&["http/1.1"] as &[&str], &[]] {
        let (quic, _endpoint) = quic(config(&leaf, None, offered));
        for target in [tls(config(&leaf, None, offered), b"").await, quic] {
            let value = json(&target, &options, 13).await;
            assert_eq!(value["failure"]["reason"], "alpn", "{value:#}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_is_refused_learns_it() {
    let rig = Rig::new();
    let (clients, stranger) = (Ca::new("clients"), Ca::new("stranger"));
    let leaf = rig.ca.leaf(&["127.0.0.1"]);
    let good = rig.showing("good", &clients.leaf(&["worker.example"]));
    let bad = rig.showing("bad", &stranger.leaf(&["worker.example"]));
    let (quic, _endpoint) = quic(config(&leaf, Some(&clients), &[]));
    for target in [tls(config(&leaf, Some(&clients), &[]), b"welcome").await, quic] {
        for (shown, code, state) in [(&Vec::new(), 30, "none_to_show"), (&bad, 30, "shown"), (&good, 0, "shown")] {
            let options: Vec<&str> = ["--ca", &rig.path].into_iter().chain(shown.iter().map(String::as_str)).collect();
            let value = json(&target, &options, code).await;
            assert_eq!(value["client_certificate"], state, "{target}");
            assert_eq!(value["verified"], true, "it is the server that refuses");
        }
    }
    // A server that lets in and says nothing.
    let target = tls(config(&leaf, Some(&clients), &[]), b"").await;
    let options: Vec<&str> = ["--ca", &rig.path].into_iter().chain(good.iter().map(String::as_str)).collect();
    text(&target, &options, 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tls_1_2_will_do_over_tcp() {
    let rig = Rig::new();
    let leaf = rig.ca.leaf(&["127.0.0.1"]);
    let key = aws_lc_rs::sign::any_supported_type(&leaf.key_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS12])
        .unwrap()
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(SingleCertAndKey::from(CertifiedKey::new(leaf.chain.clone(), key))));
    let value = json(&tls(config, b"").await, &["--ca", &rig.path], 0).await;
    assert_eq!(value["tls_version"], "TLSv1.2");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_tls_or_nobody_is_told_apart() {
    let rig = Rig::new();
    let http = tcp(|mut stream| async move {
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
        let _ = stream.read_to_end(&mut Vec::new()).await;
    })
    .await;
    let cut = tcp(|mut stream| async move {
        let _ = stream.read(&mut [0; 1]).await;
    })
    .await;
    let silent = tcp(|mut stream| async move {
        let _ = stream.read_to_end(&mut Vec::new()).await;
    })
    .await;
    let mute = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    // Bound and not listening: nobody else gets the port, and nobody answers.
    let closed = tokio::net::TcpSocket::new_v4().unwrap();
    closed.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let hurried = ["--timeout", "2s"];
    for (target, options, code, step) in [
        (format!("tls://{http}"), &[] as &[&str], 12, "handshake"),
        (format!("tls://{cut}"), &[], 12, "handshake"),
        (format!("tls://{silent}"), &hurried, 11, "handshake"),
        (format!("quic://{}", mute.local_addr().unwrap()), &hurried, 11, "handshake"),
        (format!("tls://{}", closed.local_addr().unwrap()), &[], 10, "connect"),
        ("tls://no-such-host.invalid:1".to_owned(), &[], 10, "resolve"),
    ] {
        let (text, value) = both(&target, &[&["--ca", &rig.path], options].concat(), code).await;
        assert_eq!(value["failure"]["step"], step, "{target}\n{value:#}");
        assert!(text.contains("to do:"), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_and_words_that_will_not_do() {
    let rig = Rig::new();
    let broken = rig.write("broken.crt", "-----BEGIN CERTIFICATE-----\n");
    let (text, value) = both("tls://127.0.0.1:1", &["--ca", &broken], 1).await;
    assert!(text.contains("truncated") && text.contains("broken.crt"), "{text}");
    assert_eq!(value["failure"]["step"], "files");
    let leaf = rig.ca.leaf(&["edge.example"]);
    let shown = rig.showing("client", &leaf);
    let shown: Vec<&str> = shown.iter().map(String::as_str).collect();
    for (target, options) in [
        ("127.0.0.1:1", &[] as &[&str]),
        ("https://127.0.0.1:1", &[]),
        ("tls://127.0.0.1", &[]),
        ("tls://127.0.0.1:1", &["--timeout", "5"]),
        ("tls://127.0.0.1:1", &["--crl", "x"]),
        ("tls://127.0.0.1:1", &shown[..2]),
        // A certificate is for those alone who can be verified.
        ("tls://127.0.0.1:1", &shown),
    ] {
        let output = probe(target, options).await;
        assert_eq!(output.status.code(), Some(2), "{target} {options:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty());
    }
    let help = probe("--help", &[]).await;
    let help = String::from_utf8(help.stdout).unwrap();
    assert!(help.contains("20  unknown issuer") && help.contains("Examples:"), "{help}");
}
