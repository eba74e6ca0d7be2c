//! Calls over HTTP/2 that are let finish: on a drain, and when trust has shrunk.

use std::time::Duration;

use bytes::Bytes;
use h2::{client, server};
use http::{Request, Response};
use tempfile::TempDir;
use tokio::{
    net::TcpListener,
    sync::{mpsc, oneshot},
};

use super::rig::{client_config, connect};
use crate::support::{
    app::Iris,
    kubelet::Volume,
    pki::{Ca, Leaf},
    wait::{until, within},
};

/// `tls://` with h2 in front of a component that answers when the test says so.
struct Calls {
    iris: Iris,
    ca: Ca,
    workers: Ca,
    trust: Volume,
    /// Every call that reached the component: its path, and what lets it end.
    arrived: mpsc::UnboundedReceiver<(String, oneshot::Sender<()>)>,
    _files: TempDir,
}

impl Calls {
    async fn start() -> Self {
        let files = TempDir::new().unwrap();
        let (ca, workers, leaving) = (Ca::new("servers"), Ca::new("workers"), Ca::new("leaving"));
        let (certificate, key) = ca.leaf(&["iris.test"]).write(files.path(), "edge");
        let trust = Volume::mount(files.path().join("trust"));
        trust.publish(&[("ca.crt", &format!("{}{}", workers.pem(), leaving.pem()))]);
        let component = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let iris = Iris::start(&format!(
            "identities:\n  edge: {{ certificate: {}, private_key: {} }}\n\
             trust:\n  workers: {{ bundle: {}, on_contraction: {{ spread: 8s }} }}\n\
             listeners:\n  - {{ name: in, listen: 'tls://127.0.0.1:0', tls: {{ identities: [ edge ], alpn: [ h2 ], client_auth: {{ trust: workers }} }}, routes: [ {{ upstream: component }} ] }}\n\
             upstreams:\n  - {{ name: component, dial: 'tcp://{}' }}\n",
            certificate.display(),
            key.display(),
            trust.path("ca.crt").display(),
            component.local_addr().unwrap(),
        ));
        let (sender, arrived) = mpsc::unbounded_channel();
        tokio::spawn(serve(component, sender));
        Self { iris, ca, workers, trust, arrived, _files: files }
    }

    async fn client(&self, leaf: &Leaf) -> client::SendRequest<Bytes> {
        let config = client_config(&self.ca, Some(leaf), &["h2"]);
        let stream = within("the handshake", connect(self.iris.address("in"), "iris.test", &config)).await.unwrap();
        let (sender, connection) = within("the preface", client::handshake(stream)).await.unwrap();
        tokio::spawn(async move {
            let _ = connection.await;
        });
        sender
    }

    async fn call(
        &mut self,
        sender: &client::SendRequest<Bytes>,
        path: &str,
    ) -> (client::ResponseFuture, oneshot::Sender<()>) {
        let mut sender = within("room for a call", sender.clone().ready()).await.unwrap();
        let request = Request::builder().uri(format!("http://pod-0.test{path}")).body(()).unwrap();
        let (response, _) = sender.send_request(request, true).unwrap();
        let (heard, finish) = within("the call", self.arrived.recv()).await.unwrap();
        assert_eq!(heard, format!("pod-0.test{path}"), "the authority is what the client wrote");
        (response, finish)
    }
}

async fn serve(component: TcpListener, arrived: mpsc::UnboundedSender<(String, oneshot::Sender<()>)>) {
    while let Ok((stream, _)) = component.accept().await {
        let arrived = arrived.clone();
        tokio::spawn(async move {
            let Ok(mut connection) = server::handshake(stream).await else { return };
            while let Some(Ok((request, mut respond))) = connection.accept().await {
                let (finish, finished) = oneshot::channel();
                let place = format!("{}{}", request.uri().authority().unwrap(), request.uri().path());
                let _ = arrived.send((place, finish));
                tokio::spawn(async move {
                    let _ = finished.await;
                    let _ = respond.send_response(Response::new(()), true);
                });
            }
        });
    }
}

/// Waits until the client has been told to open no more.
async fn told_to_stop(sender: &client::SendRequest<Bytes>) {
    within("the GOAWAY", async {
        loop {
            match sender.clone().ready().await {
                Ok(_) => tokio::time::sleep(Duration::from_millis(5)).await,
                Err(error) => return assert!(error.is_go_away() || error.is_io(), "{error}"),
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_drain_lets_calls_finish_and_is_over_when_they_are() {
    let mut rig = Calls::start().await;
    let worker = rig.workers.leaf(&["a.workers.test"]);
    let sender = rig.client(&worker).await;
    let (response, finish) = rig.call(&sender, "/watch").await;
    rig.iris.begin_drain(Duration::from_secs(60));
    told_to_stop(&sender).await;
    assert!(!rig.iris.has_ended());
    finish.send(()).unwrap();
    assert_eq!(within("the answer", response).await.unwrap().status(), 200);
    // Long before the deadline.
    until("the end of the drain", || rig.iris.has_ended()).await;
    assert_eq!(rig.iris.closes("in", "drain"), 1);
}

#[tokio::test]
async fn a_call_that_does_not_end_is_cut_at_the_deadline() {
    let mut rig = Calls::start().await;
    let worker = rig.workers.leaf(&["a.workers.test"]);
    let sender = rig.client(&worker).await;
    let (response, _finish) = rig.call(&sender, "/watch").await;
    rig.iris.begin_drain(Duration::from_millis(500));
    within("the cut", response).await.unwrap_err();
    until("the end of the drain", || rig.iris.has_ended()).await;
    assert_eq!(rig.iris.closes("in", "drain"), 1);
}

#[tokio::test]
async fn c08_a_recycle_lets_calls_finish() {
    let mut rig = Calls::start().await;
    let worker = rig.workers.leaf(&["a.workers.test"]);
    let sender = rig.client(&worker).await;
    let (response, finish) = rig.call(&sender, "/watch").await;
    rig.trust.publish(&[("ca.crt", &rig.workers.pem())]);
    told_to_stop(&sender).await;
    // Welcome again at once, while the old call goes on.
    let again = rig.client(&worker).await;
    let (second, finish_second) = rig.call(&again, "/again").await;
    finish.send(()).unwrap();
    assert_eq!(within("the answer", response).await.unwrap().status(), 200);
    until("the old one to go", || rig.iris.closes("in", "trust_recycled") == 1).await;
    finish_second.send(()).unwrap();
    assert_eq!(within("the answer", second).await.unwrap().status(), 200);
    assert_eq!(rig.iris.failures("in", "unknown_issuer"), 0);
}

/// In the middle of a recycle the rest of the trust goes: nothing is let finish any more.
#[tokio::test]
async fn c08_lost_trust_cuts_also_what_is_coming_to_its_end() {
    let mut rig = Calls::start().await;
    let worker = rig.workers.leaf(&["a.workers.test"]);
    let sender = rig.client(&worker).await;
    let (response, _finish) = rig.call(&sender, "/watch").await;
    rig.trust.publish(&[("ca.crt", &rig.workers.pem())]);
    told_to_stop(&sender).await;
    rig.trust.publish(&[("ca.crt", &Ca::new("stranger").pem())]);
    within("the cut", response).await.unwrap_err();
    until("the count", || rig.iris.closes("in", "trust_removed") == 1).await;
}
