//! The accept loops. None ever waits for a peer.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::time::sleep;

use crate::{
    bridge::{Bridge, serve, serve_stream},
    listen::{StreamListener, loopback, loopback::LoopbackListener, quic::QuicListener},
    live::{Admission, Admitted},
    material::publish::Reader,
    observe::{Attempt, PeerFacts, labels::HandshakeFailure},
    runtime::DrainSignal,
    tls::{Configs, PeerIdentity},
};

/// What the accept loops share.
pub(super) struct Gate {
    pub(super) bridges: Vec<Arc<Bridge>>,
    pub(super) next: AtomicUsize,
    pub(super) admission: Admission,
    pub(super) configs: Reader<Configs>,
    pub(super) drain: DrainSignal,
}

impl Gate {
    /// The worker that is to take the next connection: each in turn.
    fn next_bridge(&self) -> Arc<Bridge> {
        let index = self.next.fetch_add(1, Ordering::Relaxed) % self.bridges.len();
        self.bridges[index].clone()
    }

    /// Room for one more, or the reason why there is none.
    fn admit(&self) -> Result<Admitted, (HandshakeFailure, String)> {
        if self.drain.has_begun() {
            return Err((HandshakeFailure::NotReady, "draining".into()));
        }
        self.admission.admit().map_err(|refusal| (HandshakeFailure::Limit, refusal.to_string()))
    }
}

/// Accepts at a `quic://` listener until its endpoint is closed.
pub(super) async fn accept_quic(gate: Arc<Gate>, listener: Arc<QuicListener>) {
    while let Some(incoming) = listener.accept().await {
        // Many handshakes in flight may be a flood from forged addresses: ask for proof first.
        if gate.admission.is_pressed() && incoming.may_retry() && !incoming.remote_address_validated() {
            // Fails only when it may not be asked for, which was just checked.
            let _ = incoming.retry();
            continue;
        }
        let bridge = gate.next_bridge();
        let mut attempt = Attempt::begin(bridge.observer.listener(listener.id.0), incoming.remote_address());
        let mut admitted = match gate.admit() {
            Ok(admitted) => admitted,
            Err((reason, detail)) => {
                incoming.refuse();
                attempt.refuse(reason, &detail);
                continue;
            }
        };
        let configs = gate.configs.load();
        let Some(configs) = configs.listener(listener.id).cloned() else {
            incoming.refuse();
            attempt.refuse(HandshakeFailure::NotReady, "no usable identity or trust was loaded");
            continue;
        };
        let (tasks, listener) = (bridge.tasks.clone(), listener.clone());
        tasks.spawn(async move {
            let arrival = match listener.handshake(&bridge.plan, &configs, incoming).await {
                Ok(arrival) => arrival,
                Err(refused) => return attempt.fail(refused.reason, &refused.detail),
            };
            let facts = attempt.facts();
            facts.server_name.clone_from(&arrival.server_name);
            facts.alpn = arrival.alpn.first().cloned();
            tell_names(facts, arrival.identity.as_ref());
            admitted.handshake_done();
            serve(&bridge, arrival, attempt, admitted).await;
        });
    }
}

/// Accepts at a `quic+plaintext://` listener until its endpoint is closed.
pub(super) async fn accept_loopback(gate: Arc<Gate>, listener: Arc<LoopbackListener>) {
    while let Some(pending) = listener.accept().await {
        let bridge = gate.next_bridge();
        let mut attempt = Attempt::begin(bridge.observer.listener(listener.id.0), pending.remote_address());
        let admitted = match gate.admit() {
            Ok(admitted) => admitted,
            Err((reason, detail)) => {
                let refused = loopback::refuse(pending, reason, detail);
                attempt.refuse(refused.reason, &refused.detail);
                continue;
            }
        };
        let (tasks, listener) = (bridge.tasks.clone(), listener.clone());
        tasks.spawn(async move {
            let arrival = match listener.read(&bridge.plan, pending) {
                Ok(arrival) => arrival,
                Err(refused) => return attempt.refuse(refused.reason, &refused.detail),
            };
            let facts = attempt.facts();
            facts.server_name.clone_from(&arrival.server_name);
            facts.destination.clone_from(&arrival.destination);
            serve(&bridge, arrival, attempt, admitted).await;
        });
    }
}

/// How long nothing is accepted when there is nothing to accept with: the process, or the machine, is out of file
/// descriptors or memory.
const PAUSE: Duration = Duration::from_millis(100);

/// Accepts at a listener for streams until the drain begins, and closes it then: whoever comes later is refused by the
/// kernel, and goes elsewhere at once.
pub(super) async fn accept_streams(gate: Arc<Gate>, listener: Arc<StreamListener>) {
    let mut drain = gate.drain.clone();
    // One line when it begins and one when it is over, however long it lasts.
    let mut troubled = false;
    loop {
        let knock = tokio::select! { biased;
            _ = drain.begun() => return,
            knock = listener.accept() => knock,
        };
        let bridge = gate.next_bridge();
        let component = bridge.observer.listener(listener.id.0);
        let knock = match knock {
            Ok(knock) => knock,
            Err(error) if is_about_one(&error) => continue,
            Err(error) => {
                if !std::mem::replace(&mut troubled, true) {
                    tracing::error!(component = component.name(), %error, "cannot accept; trying again and again");
                }
                sleep(PAUSE).await;
                continue;
            }
        };
        if std::mem::take(&mut troubled) {
            tracing::info!(component = component.name(), "accepting again");
        }
        let mut attempt = Attempt::begin(component, knock.peer);
        let mut admitted = match gate.admit() {
            Ok(admitted) => admitted,
            Err((reason, detail)) => {
                attempt.refuse(reason, &detail);
                continue;
            }
        };
        let secured = bridge.plan.listener(listener.id).end.tls().is_some();
        let configs = gate.configs.load().listener(listener.id).cloned();
        if secured && configs.is_none() {
            attempt.refuse(HandshakeFailure::NotReady, "no usable identity or trust was loaded");
            continue;
        }
        let (tasks, listener) = (bridge.tasks.clone(), listener.clone());
        tasks.spawn(async move {
            let arrival = match listener.handshake(&bridge.plan, configs.as_deref(), knock).await {
                Ok(arrival) => arrival,
                Err(refused) => return attempt.fail(refused.reason, &refused.detail),
            };
            let facts = attempt.facts();
            facts.server_name.clone_from(&arrival.server_name);
            facts.alpn.clone_from(&arrival.alpn);
            tell_names(facts, arrival.identity.as_ref());
            admitted.handshake_done();
            serve_stream(&bridge, arrival, attempt, admitted).await;
        });
    }
}

fn tell_names(facts: &mut PeerFacts, identity: Option<&PeerIdentity>) {
    if let Some(identity) = identity {
        facts.names = identity.dns_names.iter().chain(&identity.uris).cloned().collect();
    }
}

/// Whether an error of `accept` is about the one connection that was to be taken (accept(2)): the next may be fine.
fn is_about_one(error: &io::Error) -> bool {
    use io::ErrorKind as Kind;
    matches!(
        error.kind(),
        Kind::ConnectionAborted
            | Kind::ConnectionReset
            | Kind::Interrupted
            | Kind::HostUnreachable
            | Kind::NetworkUnreachable
    )
}
