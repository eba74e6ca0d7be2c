//! A gibibyte through one stream of the real process: its memory stays flat, whatever passes.

use tempfile::TempDir;

use crate::support::{
    component::Component,
    peer::{self, PeerSpec},
    pki::Ca,
    process::Running,
    wait::within,
};

const TOTAL: u64 = 1 << 30;

/// Windows and buffers of both hops fit in this several times over; a leak of 3 % of what passes does not.
const GROWTH: u64 = 32 << 20;

#[tokio::test]
async fn a_gibibyte_passes_in_flat_memory() {
    let (files, ca) = (TempDir::new().unwrap(), Ca::new("ca"));
    let (certificate, key) = ca.leaf(&["iris.test"]).write(files.path(), "edge");
    let component = Component::plain();
    let config = files.path().join("iris.yaml");
    let text = format!(
        "log: {{ format: json }}\n\
         identities:\n  edge: {{ certificate: {}, private_key: {} }}\n\
         listeners:\n  - {{ name: in, listen: 'quic://127.0.0.1:0', tls: {{ identities: [ edge ] }}, routes: [ {{ upstream: component }} ] }}\n\
         upstreams:\n  - {{ name: component, dial: 'quic+plaintext://{}' }}\n",
        certificate.display(),
        key.display(),
        component.address,
    );
    std::fs::write(&config, text).unwrap();
    let mut process = Running::start(config.to_str().unwrap());
    let address = process.wait_for("listening")["address"].as_str().unwrap().parse().unwrap();
    let client = peer::client_endpoint();
    let connecting =
        client.connect_with(peer::client_config(&ca, None, &PeerSpec::default()), address, "iris.test").unwrap();
    let (near, far) = within("a connection", async { tokio::join!(connecting, component.accept()) }).await;
    let (near, far) = (near.unwrap(), far.unwrap());
    let writing = tokio::spawn(async move {
        let mut send = near.open_uni().await.unwrap();
        let chunk = bytes::Bytes::from(vec![9; 1 << 20]);
        for _ in 0..TOTAL >> 20 {
            send.write_chunk(chunk.clone()).await.unwrap();
        }
        send.finish().unwrap();
        send.stopped().await.unwrap();
        near
    });
    let mut recv = within("the stream", far.accept_uni()).await.unwrap();
    let (mut total, mut warm, mut most) = (0, 0, 0);
    while let Some(chunk) = within("more bytes", recv.read_chunk(usize::MAX, true)).await.unwrap() {
        let step = total >> 26;
        total += chunk.bytes.len() as u64;
        // Once every 64 MiB; the first of them fills every buffer.
        if total >> 26 > step {
            let resident = process.resident();
            if warm == 0 {
                warm = resident;
            }
            most = most.max(resident);
        }
    }
    assert_eq!(total, TOTAL);
    drop(writing.await.unwrap());
    println!("resident after 64 MiB: {} KiB, the most until 1 GiB: {} KiB", warm >> 10, most >> 10);
    assert!(most < warm + GROWTH, "{warm} bytes after 64 MiB, {most} later");
}
