//! A CA is taken out of the bundle by which servers are judged.

use std::time::{Duration, Instant};

use iris::transport::Code;
use iris_loopback::ClientHello;
use quinn::{Connection, ConnectionError, Endpoint};
use tempfile::TempDir;

use super::rig::{AT_ONCE, assert_spread, last_after, next_ends, pem, replace, watch, watch_arrivals};
use crate::support::{
    app::Iris,
    component::{Caller, hello},
    peer::{self, PeerSpec},
    pki::Ca,
    wait::{until, within},
};

/// An egress to wherever the component asks, that judges servers by the bundle `peers`.
pub(super) struct Egress {
    pub(super) iris: Iris,
    caller: Caller,
    files: TempDir,
}

impl Egress {
    pub(super) fn open(cas: &[&Ca], trust: &str) -> Self {
        let files = TempDir::new().unwrap();
        let bundle = files.path().join("peers.crt");
        std::fs::write(&bundle, pem(cas)).unwrap();
        let iris = Iris::start(&format!(
            "trust:\n  peers: {{ bundle: {}{trust} }}\n\
             listeners:\n  - {{ name: out, listen: 'quic+plaintext://127.0.0.1:0', routes: [ {{ upstream: peer }} ] }}\n\
             upstreams:\n  - {{ name: peer, dial: 'quic://requested', allow: {{ destinations: [ '127.0.0.0/8:*' ] }}, \
             tls: {{ trust: peers, server_name: requested }} }}\n",
            bundle.display(),
        ));
        Self { iris, caller: Caller::new(), files }
    }

    pub(super) async fn trust(&self, cas: &[&Ca]) -> Instant {
        let bundle = self.files.path().join("peers.crt");
        self.iris.reload("peer", "trust", || replace(&bundle, &pem(cas))).await
    }

    pub(super) async fn call(&self, server: &Endpoint, hello: ClientHello) -> Result<Connection, ConnectionError> {
        let destination = Some(server.local_addr().unwrap().to_string());
        let hello = ClientHello { destination, ..hello };
        within("an answer", self.caller.connect(self.iris.address("out"), hello)).await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c08_servers_under_a_removed_ca_are_left_at_once_and_the_others_in_time() {
    let (old, new) = (Ca::new("old"), Ca::new("new"));
    let egress = Egress::open(&[&old, &new], ", on_contraction: { still_trusted: recycle, spread: 3s }");
    let servers = [&old, &new].map(|ca| peer::server(&ca.leaf(&["peer.test"]), None, &PeerSpec::default()));
    let mut far = servers.clone().map(watch_arrivals);
    let mut calls = Vec::new();
    for (group, server) in servers.iter().enumerate() {
        for _ in 0..40 {
            calls.push((group, egress.call(server, hello("peer.test")).await.unwrap()));
        }
    }
    let mut ends = watch(calls);
    let swapped = egress.trust(&[&new]).await;
    let ends = next_ends("everybody's end", &mut ends, 80).await;
    let (removed, recycled): (Vec<_>, Vec<_>) = ends.iter().partition(|end| end.group == 0);
    assert!(removed.iter().all(|end| end.is(Code::TrustRemoved)), "{removed:?}");
    let took = last_after(swapped, &removed);
    println!("40 of 80 dialled connections closed within {took:?} of the swap");
    assert!(took < AT_ONCE, "{took:?}");
    assert_spread(swapped, Duration::from_secs(3), &recycled);
    // The servers were told the same.
    assert!(next_ends("the old server", &mut far[0], 40).await.iter().all(|end| end.is(Code::TrustRemoved)));
    assert!(next_ends("the new server", &mut far[1], 40).await.iter().all(|end| end.is(Code::RecycledForTrust)));
    // It was the upstream's trust; the component's side went with it.
    let counts = || {
        let closes = |component, reason| egress.iris.closes(component, reason);
        (closes("peer", "trust_removed"), closes("peer", "trust_recycled"), closes("out", "far_side"))
    };
    until("counts", || counts() == (40, 40, 80)).await;
    until("nobody to be waited for", || egress.iris.recycle_pending("peer") == 0).await;
    egress.call(&servers[1], hello("peer.test")).await.expect("a redial is accepted at once");
    egress.call(&servers[0], hello("peer.test")).await.expect_err("its CA is gone");
}
