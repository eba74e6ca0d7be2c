//! Handshakes that are in flight across a contraction. Each is held where the peer is about to show its certificate.

use std::sync::{Arc, Mutex, mpsc};

use iris::transport::Code;
use quinn::ConnectionError;
use rustls::{
    SignatureScheme,
    client::ResolvesClientCert,
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};

use super::{
    egress::Egress,
    rig::{Door, next_ends, watch, worker},
};
use crate::support::{
    component::hello,
    peer::{self, PeerSpec},
    pki::{Ca, Leaf},
    wait::{until, within},
};

/// Shows a certificate when it is let.
#[derive(Debug)]
struct Held {
    certified: Arc<CertifiedKey>,
    asked: mpsc::Sender<()>,
    go: Mutex<mpsc::Receiver<()>>,
}

/// The test's end of it.
struct Hold {
    asked: mpsc::Receiver<()>,
    go: mpsc::Sender<()>,
}

fn held(leaf: &Leaf) -> (Arc<Held>, Hold) {
    let ((asked, was_asked), (go, may_go)) = (mpsc::channel(), mpsc::channel());
    let key = rustls::crypto::aws_lc_rs::sign::any_supported_type(&leaf.key_der()).unwrap();
    let certified = Arc::new(CertifiedKey::new(leaf.chain.clone(), key));
    (Arc::new(Held { certified, asked, go: Mutex::new(may_go) }), Hold { asked: was_asked, go })
}

impl Held {
    fn show(&self) -> Option<Arc<CertifiedKey>> {
        self.asked.send(()).ok()?;
        // The runtime gives its thread's other work to another.
        tokio::task::block_in_place(|| self.go.lock().unwrap().recv()).ok()?;
        Some(self.certified.clone())
    }
}

impl ResolvesClientCert for Held {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.show()
    }

    fn has_certs(&self) -> bool {
        true
    }
}

impl ResolvesServerCert for Held {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.show()
    }
}

impl Hold {
    /// Runs `meanwhile` while the handshake is held.
    async fn across<T>(self, meanwhile: impl Future<Output = T>) {
        let Self { asked, go } = self;
        within("the certificate to be asked for", tokio::task::spawn_blocking(move || asked.recv().unwrap()))
            .await
            .unwrap();
        meanwhile.await;
        go.send(()).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn c08_a_client_handshake_in_flight_does_not_survive_its_ca() {
    let (old, new) = (Ca::new("old"), Ca::new("new"));
    for (leaf, code) in [(worker(&old), Code::TrustRemoved), (worker(&new), Code::RecycledForTrust)] {
        let door = Door::open(&[&old, &new], ", on_contraction: { still_trusted: recycle, spread: 1s }");
        let (resolver, hold) = held(&leaf);
        let mut tls = peer::client_tls(&[door.servers()], None, &PeerSpec::default());
        tls.client_auth_cert_resolver = resolver;
        let config = peer::client_of(tls, &PeerSpec::default());
        let address = door.address();
        let connecting = tokio::spawn(async move { peer::connect(address, "iris.test", config).await });
        hold.across(door.trust(&[&new])).await;
        let connection = within("the client's part", connecting).await.unwrap().unwrap();
        let end = next_ends("its end", &mut watch(vec![(0, connection)]), 1).await.remove(0);
        assert!(end.is(code), "{code:?}: {end:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn c08_a_dial_in_flight_does_not_survive_its_ca() {
    let (old, new) = (Ca::new("old"), Ca::new("new"));
    let (resolver, hold) = held(&old.leaf(&["peer.test"]));
    let server = peer::server_of(peer::server_tls(resolver, None), &PeerSpec::default());
    let mut far_ends = super::rig::watch_arrivals(server.clone());
    let egress = Egress::open(&[&old, &new], "");
    let connecting = egress.call(&server, hello("peer.test"));
    let remaining = [&new];
    let trusting = hold.across(egress.trust(&remaining));
    let (called, ()) = tokio::join!(connecting, trusting);
    match called.expect_err("the server's CA is gone") {
        ConnectionError::ConnectionClosed(close) => {
            let said = String::from_utf8_lossy(&close.reason).into_owned();
            assert!(said.contains("no longer trusted"), "{said}");
        }
        other => panic!("{other:?}"),
    }
    assert!(next_ends("the server to be told", &mut far_ends, 1).await[0].is(Code::TrustRemoved));
    until("the reason", || egress.iris.failures("peer", "unknown_issuer") == 1).await;
    assert_eq!(egress.iris.closes("out", "trust_removed"), 0);
}
