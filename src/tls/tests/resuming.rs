//! No session is resumed and nothing is sent or taken early: both would skip the verifier.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::SeqCst},
};

use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::{
    NamedGroup,
    client::{ClientSessionStore, Resumption, Tls12ClientSessionValue, Tls13ClientSessionValue},
    pki_types::ServerName,
    server::StoresServerSessions,
};

use super::rig::{DEADLINE, Ends, Rig};
use crate::{
    material::{load, provider},
    plan::{IdentityId, UpstreamId},
};

/// Counts what a server hands out.
#[derive(Debug, Default)]
struct Tickets(AtomicUsize);

impl ClientSessionStore for Tickets {
    fn set_kx_hint(&self, _: ServerName<'static>, _: NamedGroup) {}
    fn kx_hint(&self, _: &ServerName<'_>) -> Option<NamedGroup> {
        None
    }
    fn set_tls12_session(&self, _: ServerName<'static>, _: Tls12ClientSessionValue) {}
    fn tls12_session(&self, _: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        None
    }
    fn remove_tls12_session(&self, _: &ServerName<'static>) {}
    fn insert_tls13_ticket(&self, _: ServerName<'static>, _: Tls13ClientSessionValue) {
        self.0.fetch_add(1, SeqCst);
    }
    fn take_tls13_ticket(&self, _: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        None
    }
}

/// One exchange of a stream, after which everything that a server sends behind its handshake has come.
async fn exchange(server: &quinn::Connection, client: &quinn::Connection) {
    let answering = async {
        let (mut send, mut receive) = server.accept_bi().await.expect("stream");
        let request = receive.read_to_end(10).await.expect("request");
        send.write_all(&request).await.expect("answer");
        send.finish().expect("finish");
    };
    let asking = async {
        let (mut send, mut receive) = client.open_bi().await.expect("stream");
        send.write_all(b"hello").await.expect("request");
        send.finish().expect("finish");
        receive.read_to_end(10).await.expect("answer")
    };
    let both = async { tokio::join!(answering, asking) };
    let ((), answer) = tokio::time::timeout(DEADLINE, both).await.expect("within the deadline");
    assert_eq!(answer, b"hello");
}

#[tokio::test]
async fn a_listener_hands_out_no_tickets() {
    let rig = Rig::new();
    let mut ends = Ends::new(&rig.configs());
    let generations = load(&rig.bench.plan, std::time::SystemTime::now());
    let roots = generations.trust(rig.trust).expect("loaded").value.roots.clone();
    let tickets = Arc::new(Tickets::default());
    let mut tls = rustls::ClientConfig::builder_with_provider(provider().clone())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("TLS 1.3")
        .with_root_certificates(roots)
        .with_no_client_auth();
    tls.resumption = Resumption::store(tickets.clone());
    tls.enable_early_data = true;
    let config = quinn::ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls).expect("a suite for Initial")));
    for _ in 0..2 {
        let connecting = ends.client.connect_with(config.clone(), ends.address(), "server.example").expect("connect");
        let connecting = connecting.into_0rtt().err().expect("there is no ticket to send early data with");
        let ((server, _), client) = tokio::join!(ends.accept(), connecting);
        exchange(&server.expect("accepted"), &client.expect("connected")).await;
        assert_eq!(tickets.0.load(SeqCst), 0);
    }
}

/// Counts the tickets that a server makes and those that come back.
#[derive(Debug, Default)]
struct Sessions {
    made: AtomicUsize,
    offered: AtomicUsize,
}

impl StoresServerSessions for Sessions {
    fn put(&self, _: Vec<u8>, _: Vec<u8>) -> bool {
        self.made.fetch_add(1, SeqCst);
        true
    }
    fn get(&self, _: &[u8]) -> Option<Vec<u8>> {
        None
    }
    fn take(&self, _: &[u8]) -> Option<Vec<u8>> {
        self.offered.fetch_add(1, SeqCst);
        None
    }
    fn can_cache(&self) -> bool {
        true
    }
}

#[tokio::test]
async fn a_dial_uses_no_tickets_and_sends_nothing_early() {
    let rig = Rig::new();
    let generations = load(&rig.bench.plan, std::time::SystemTime::now());
    let identity = &generations.identity(IdentityId(0)).expect("loaded").value;
    let sessions = Arc::new(Sessions::default());
    let mut tls = rustls::ServerConfig::builder_with_provider(provider().clone())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("TLS 1.3")
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(rustls::sign::SingleCertAndKey::from((*identity.certified).clone())));
    tls.session_storage = sessions.clone();
    tls.max_early_data_size = u32::MAX;
    tls.send_tls13_tickets = 2;
    let crypto = Arc::new(QuicServerConfig::try_from(tls).expect("a suite for Initial"));
    let config = quinn::ServerConfig::with_crypto(crypto);
    let server = quinn::Endpoint::server(config, "[::1]:0".parse().expect("address")).expect("endpoint");
    let client = quinn::Endpoint::client("[::1]:0".parse().expect("address")).expect("endpoint");
    let configs = rig.configs();
    for handshake in 1..=2 {
        let (crypto, _) = configs.upstream(UpstreamId(0)).expect("ready").dial(&[]);
        let config = quinn::ClientConfig::new(crypto);
        let connecting = client.connect_with(config, server.local_addr().expect("bound"), "server.example");
        let connecting = connecting.expect("connect").into_0rtt().err().expect("nothing early");
        let accepting = async { server.accept().await.expect("not closed").await };
        let (accepted, connected) = tokio::join!(accepting, connecting);
        exchange(&accepted.expect("accepted"), &connected.expect("connected")).await;
        assert_eq!((sessions.made.load(SeqCst), sessions.offered.load(SeqCst)), (2 * handshake, 0));
    }
}
