//! The accept loops. None ever waits for a peer.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use crate::{
    bridge::{Bridge, serve},
    listen::{loopback, loopback::LoopbackListener, quic::QuicListener},
    live::{Admission, Admitted},
    material::publish::Reader,
    observe::{Attempt, labels::HandshakeFailure},
    runtime::DrainSignal,
    tls::Configs,
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
            if let Some(identity) = &arrival.identity {
                facts.names = identity.dns_names.iter().chain(&identity.uris).cloned().collect();
            }
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
