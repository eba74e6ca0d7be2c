//! A TLS peer and a loopback peer that meet by mistake: both sides know within a round trip.

use std::sync::Arc;
use std::time::{Duration, Instant};

use iris_loopback::{ClientHello, connect_default};
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{ConnectionError, Endpoint};
use rustls::crypto::aws_lc_rs;

use crate::support::{anywhere, client, server, soon};

/// Any TLS client and server; neither gets so far as to look at a certificate.
fn tls() -> (quinn::ClientConfig, quinn::ServerConfig) {
    let certified = rcgen::generate_simple_self_signed(vec!["localhost".into()]).expect("a certificate");
    let chain = vec![certified.cert.der().clone()];
    let key = certified.signing_key.serialize_der().try_into().expect("a key");
    let provider = Arc::new(aws_lc_rs::default_provider());
    let versions = &[&rustls::version::TLS13];
    let server = rustls::ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(versions)
        .expect("TLS 1.3")
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .expect("they fit");
    let client = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .expect("TLS 1.3")
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    let client = QuicClientConfig::try_from(client).expect("has an initial suite");
    let server = QuicServerConfig::try_from(server).expect("has an initial suite");
    (quinn::ClientConfig::new(Arc::new(client)), quinn::ServerConfig::with_crypto(Arc::new(server)))
}

fn mismatch(result: Result<quinn::Connection, ConnectionError>, began: Instant) {
    match result.expect_err("not the same protocol") {
        ConnectionError::VersionMismatch => {}
        other => panic!("{other:?}"),
    }
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_tls_client_on_a_loopback_port() {
    let (_server, addr) = server(&[]);
    let client = Endpoint::client(anywhere()).expect("binds");
    let began = Instant::now();
    mismatch(soon(client.connect_with(tls().0, addr, "localhost").expect("starts")).await, began);
}

#[tokio::test]
async fn a_loopback_client_on_a_tls_port() {
    let server = Endpoint::server(tls().1, anywhere()).expect("binds");
    let addr = server.local_addr().expect("bound");
    let began = Instant::now();
    mismatch(soon(connect_default(&client(), addr, ClientHello::default()).expect("starts")).await, began);
}

#[tokio::test]
async fn quinns_own_endpoint_is_refused_by_the_first_lock() {
    // `Endpoint::client` speaks version 1 only, so a loopback client configuration does not start there.
    let client = Endpoint::client(anywhere()).expect("binds");
    let refused = connect_default(&client, "127.0.0.1:9".parse().expect("an address"), ClientHello::default()).err();
    assert_eq!(refused.expect("refused").to_string(), quinn::ConnectError::UnsupportedVersion.to_string());
}
