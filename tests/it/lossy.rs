//! Stream identifiers stay equal under loss and reordering on both hops, with limits exhausted and streams reset before
//! any data; every run ends clean.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use quinn::{Connection, ReadError, ReadToEndError, TransportConfig, VarInt};
use tempfile::TempDir;

use crate::support::{
    app::Iris,
    component::Component,
    forwarder::{Forwarder, Random},
    peer::{self, PeerSpec},
    pki::Ca,
    wait::within,
};

const STREAMS: usize = 600;

/// What a stream is to carry, from its number: so that both ends know without asking.
fn fate(id: VarInt) -> Fate {
    match id.into_inner() / 4 % 5 {
        0 => Fate::ResetAtOnce((id.into_inner() % 1000) as u32),
        1 => Fate::Empty,
        number => Fate::Data(vec![number as u8; 500 * number as usize]),
    }
}

enum Fate {
    ResetAtOnce(u32),
    Empty,
    Data(Vec<u8>),
}

async fn open_all(connection: Connection) {
    let mut all = tokio::task::JoinSet::new();
    for _ in 0..STREAMS {
        let mut send = connection.open_uni().await.unwrap();
        let id = VarInt::from(send.id());
        all.spawn(async move {
            match fate(id) {
                // Nothing tells of the acknowledgement of a reset.
                Fate::ResetAtOnce(code) => return send.reset(code.into()).unwrap(),
                Fate::Empty => send.finish().unwrap(),
                Fate::Data(data) => {
                    send.write_all(&data).await.unwrap();
                    send.finish().unwrap();
                }
            }
            // Until the end is acknowledged.
            let _ = send.stopped().await;
        });
    }
    while let Some(done) = all.join_next().await {
        done.unwrap();
    }
}

async fn accept_all(connection: Connection, seen: Arc<AtomicUsize>) {
    let mut all = tokio::task::JoinSet::new();
    for expected in 0..STREAMS as u64 {
        let mut recv = connection.accept_uni().await.unwrap();
        let id = VarInt::from(recv.id());
        assert_eq!(id.into_inner() / 4, expected, "streams arrive in the order of their numbers");
        let seen = seen.clone();
        all.spawn(async move {
            let got = recv.read_to_end(1 << 20).await;
            match fate(id) {
                Fate::ResetAtOnce(code) => {
                    assert_eq!(got, Err(ReadToEndError::Read(ReadError::Reset(code.into()))), "stream {id}");
                }
                Fate::Empty => assert_eq!(got.as_deref(), Ok([].as_slice()), "stream {id}"),
                Fate::Data(data) => assert_eq!(got, Ok(data), "stream {id}"),
            }
            seen.fetch_add(1, Ordering::Relaxed);
        });
    }
    while let Some(done) = all.join_next().await {
        done.unwrap();
    }
}

fn few_streams(mut transport: TransportConfig) -> TransportConfig {
    transport.max_concurrent_uni_streams(20_u32.into());
    transport
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn numbers_stay_equal_under_loss_and_reordering_on_both_hops() {
    for seed in 1..=3 {
        let (files, ca) = (TempDir::new().unwrap(), Ca::new("ca"));
        let (certificate, key) = ca.leaf(&["iris.test"]).write(files.path(), "edge");
        let component = Component::listen(&[], few_streams(iris_loopback::transport_config()));
        let behind = Forwarder::lossy(component.address, Random::new(seed).next()).await;
        let iris = Iris::start(&format!(
            "identities:\n  edge: {{ certificate: {}, private_key: {} }}\n\
             listeners:\n  - {{ name: in, listen: 'quic://127.0.0.1:0', tls: {{ identities: [ edge ] }}, routes: [ {{ upstream: component }} ] }}\n\
             upstreams:\n  - {{ name: component, dial: 'quic+plaintext://{}' }}\n",
            certificate.display(),
            key.display(),
            behind.address,
        ));
        let before = Forwarder::lossy(iris.address("in"), seed).await;
        let spec = PeerSpec::transport(|transport| {
            transport.max_concurrent_uni_streams(20_u32.into());
        });
        let client = peer::client_endpoint();
        let config = peer::client_config(&ca, None, &spec);
        let (near, far) = within("the handshakes", async {
            tokio::join!(client.connect_with(config, before.address, "iris.test").unwrap(), component.accept())
        })
        .await;
        let (near, far) = (near.unwrap(), far.unwrap());
        let seen = Arc::new(AtomicUsize::new(0));
        within("every stream of both ends", async {
            tokio::join!(
                open_all(near.clone()),
                accept_all(far.clone(), seen.clone()),
                open_all(far.clone()),
                accept_all(near.clone(), seen.clone()),
            );
        })
        .await;
        assert_eq!(seen.load(Ordering::Relaxed), 2 * STREAMS);
        assert_eq!((near.close_reason(), far.close_reason()), (None, None), "seed {seed}");
    }
}
