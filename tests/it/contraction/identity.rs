//! A client identity is renewed, and the earlier one nears its end.

use iris::transport::Code;
use quinn::Connection;
use tempfile::TempDir;

use super::rig::{next_ends, watch};
use crate::support::{
    app::Iris,
    component::{Caller, hello},
    peer::{self, PeerSpec},
    pki::{Ca, LeafSpec},
    wait::{until, within},
};

/// An egress that shows an identity with so many seconds left, and a server that asks for one.
struct Shown {
    iris: Iris,
    ca: Ca,
    server: quinn::Endpoint,
    caller: Caller,
    files: TempDir,
}

impl Shown {
    fn with(seconds_left: i64) -> Self {
        let (files, ca) = (TempDir::new().unwrap(), Ca::new("ca"));
        let bundle = files.path().join("ca.crt");
        std::fs::write(&bundle, ca.pem()).unwrap();
        // It began an hour ago: the margin before its end is a tenth of its life, and the window half of that.
        let leaf = ca.issue(LeafSpec::named(&["client.test"]).valid(-3600, seconds_left));
        let (certificate, key) = leaf.write(files.path(), "client");
        let server = peer::server(&ca.leaf(&["peer.test"]), Some(&ca), &PeerSpec::default());
        let iris = Iris::start(&format!(
            "identities:\n  client: {{ certificate: {}, private_key: {} }}\n\
             trust:\n  peers: {{ bundle: {} }}\n\
             listeners:\n  - {{ name: out, listen: 'quic+plaintext://127.0.0.1:0', routes: [ {{ upstream: peer }} ] }}\n\
             upstreams:\n  - {{ name: peer, dial: 'quic://{}', tls: {{ trust: peers, server_name: requested, identity: client }} }}\n",
            certificate.display(),
            key.display(),
            bundle.display(),
            server.local_addr().unwrap(),
        ));
        let _ = super::rig::watch_arrivals(server.clone());
        Self { iris, ca, server, caller: Caller::new(), files }
    }

    async fn call(&self) -> Connection {
        within("an answer", self.caller.connect(self.iris.address("out"), hello("peer.test"))).await.unwrap()
    }

    async fn renew(&self) {
        let write = || drop(self.ca.leaf(&["client.test"]).write(self.files.path(), "client"));
        self.iris.reload("peer", "client_identity", write).await;
    }
}

#[tokio::test]
async fn c16_connections_under_an_earlier_client_identity_go_before_it_ends() {
    // The window ends at 192 s - 190 s from now.
    let shown = Shown::with(192);
    let mut before = Vec::new();
    for _ in 0..10 {
        before.push((0, shown.call().await));
    }
    shown.renew().await;
    let after = shown.call().await;
    let ends = next_ends("those before", &mut watch(before), 10).await;
    assert!(ends.iter().all(|end| end.is(Code::IdentityRetired)), "{ends:?}");
    let (first, last) = (ends.iter().map(|end| end.at).min(), ends.iter().map(|end| end.at).max());
    println!("10 retired over {:?}", last.unwrap() - first.unwrap());
    assert_ne!(first, last, "all at once");
    assert_eq!(after.close_reason(), None, "the current identity");
    until("the count", || shown.iris.closes("peer", "identity_retired") == 10).await;
    until("nobody to be waited for", || shown.iris.recycle_pending("peer") == 0).await;
    drop(shown.server);
}

#[tokio::test]
async fn c16_a_renewal_in_time_touches_nobody() {
    let shown = Shown::with(86_400);
    let before = shown.call().await;
    shown.renew().await;
    shown.renew().await;
    let after = shown.call().await;
    assert_eq!(shown.iris.recycle_pending("peer"), 0);
    assert_eq!((before.close_reason(), after.close_reason()), (None, None));
}
