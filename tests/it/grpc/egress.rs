//! A client without TLS reaches a server with it.

use std::sync::Arc;

use tempfile::TempDir;
use tokio::net::{TcpStream, UnixStream};

use super::{
    client::{AUTHORITY, Client, next, update},
    rig::{GUARDED, Ingress, More, SNI, often},
};
use crate::support::{
    app::Iris,
    peer,
    pki::{Ca, Leaf},
    registry::{Registry, Settings, journal::Journal},
    wait::{until, within},
};

/// A registry with TLS of its own.
pub(super) async fn secured(leaf: &Leaf, alpn: &[&str]) -> Registry {
    let key = rustls::crypto::aws_lc_rs::sign::any_supported_type(&leaf.key_der()).unwrap();
    let shown = rustls::sign::CertifiedKey::new(leaf.chain.clone(), key);
    let mut tls = peer::server_tls(Arc::new(rustls::sign::SingleCertAndKey::from(shown)), None);
    tls.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    Registry::start(Settings { tls: Some(Arc::new(tls)), ..often() }, Journal::new(|_| ())).await.unwrap()
}

/// Both kinds of plaintext listener.
async fn plaintext_clients(iris: &Iris, path: &std::path::Path) -> [Client; 2] {
    let tcp = TcpStream::connect(iris.address("out")).await.unwrap();
    let unix = UnixStream::connect(path).await.unwrap();
    [Client::over(tcp, None).await, Client::over(unix, None).await]
}

/// Every kind of call.
async fn calls(client: &mut Client) {
    client.list_models().await.unwrap();
    let mut watch = client.watch().await.unwrap();
    assert_eq!((next(&mut watch).await.sequence, next(&mut watch).await.sequence), (1, 2));
    let (updates, mut acks) = client.register().await.unwrap();
    update(&updates, &mut acks, 1).await;
    drop(updates);
    assert_eq!(within("the end", acks.message()).await.unwrap(), None);
    assert_eq!(watch.message().await.unwrap().unwrap().sequence, 3);
}

#[tokio::test]
async fn c26_a_client_without_tls_reaches_a_server_with_it() {
    let (files, ca) = (TempDir::new().unwrap(), Ca::new("ca"));
    let registry = secured(&ca.leaf(&[SNI]), &["h2"]).await;
    let bundle = files.path().join("ca.crt");
    std::fs::write(&bundle, ca.pem()).unwrap();
    let path = files.path().join("out.sock");
    let iris = Iris::start(&format!(
        "trust:\n  servers: {{ bundle: {} }}\n\
         listeners:\n  - {{ name: out, listen: 'tcp://127.0.0.1:0', routes: [ {{ upstream: far }} ] }}\n  - {{ name: local, listen: 'unix:{}', routes: [ {{ upstream: far }} ] }}\n\
         upstreams:\n  - {{ name: far, dial: 'tls://{}', tls: {{ trust: servers, server_name: {SNI}, alpn: [ h2 ] }} }}\n",
        bundle.display(),
        path.display(),
        registry.address,
    ));
    for mut client in plaintext_clients(&iris, &path).await {
        calls(&mut client).await;
    }
    let seen = registry.journal.events("call");
    assert_eq!(seen.len(), 6);
    assert!(seen.iter().all(|call| call["authority"] == AUTHORITY), "{seen:?}");
}

#[tokio::test]
async fn c26_through_both_in_a_row() {
    let ingress = Ingress::start(More { tls: GUARDED, ..More::default() }, often()).await;
    let files = TempDir::new().unwrap();
    let (certificate, key) = ingress.worker().write(files.path(), "worker");
    let bundle = files.path().join("ca.crt");
    std::fs::write(&bundle, ingress.servers.pem()).unwrap();
    let path = files.path().join("out.sock");
    let egress = Iris::start(&format!(
        "identities:\n  worker: {{ certificate: {}, private_key: {} }}\n\
         trust:\n  servers: {{ bundle: {} }}\n\
         listeners:\n  - {{ name: out, listen: 'tcp://127.0.0.1:0', routes: [ {{ upstream: far }} ] }}\n  - {{ name: local, listen: 'unix:{}', routes: [ {{ upstream: far }} ] }}\n\
         upstreams:\n  - {{ name: far, dial: 'tls://{}', tls: {{ trust: servers, server_name: {SNI}, identity: worker, alpn: [ h2 ] }} }}\n",
        certificate.display(),
        key.display(),
        bundle.display(),
        path.display(),
        ingress.iris.address("in"),
    ));
    let mut clients = plaintext_clients(&egress, &path).await;
    for client in &mut clients {
        calls(client).await;
    }
    let seen = ingress.registry.journal.events("call");
    assert!(seen.len() == 6 && seen.iter().all(|call| call["authority"] == AUTHORITY), "{seen:?}");
    // A cancellation passes both.
    let cancelled = ingress.registry.journal.events("cancelled").len();
    let mut watch = clients[0].watch().await.unwrap();
    next(&mut watch).await;
    drop(watch);
    ingress.seen("cancelled", cancelled + 1).await;
    drop(clients);
    ingress.active(0).await;
    until("nothing left", || egress.metric("iris_connections_active{component=\"far\",transport=\"tls\"}") == 0.0)
        .await;
}
