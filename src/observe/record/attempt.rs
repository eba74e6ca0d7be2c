//! From the arrival of a peer to a connection, or to the reason why there is none.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::{ConnectionRecord, PeerFacts, Traffic, abandoned, milliseconds, peer::Shown};
use crate::observe::{
    Component, PeerAddress, escape,
    labels::{ConnectionResult, HandshakeFailure, Label},
};

/// A peer that has arrived and is not yet connected to an upstream.
#[derive(Debug)]
pub struct Attempt {
    /// `None` once it is concluded.
    begun: Option<Begun>,
}

#[derive(Debug)]
pub(super) struct Begun {
    pub(super) listener: Arc<Component>,
    pub(super) peer: PeerAddress,
    pub(super) since: Instant,
    pub(super) facts: PeerFacts,
}

impl Attempt {
    /// A peer has arrived at a listener.
    pub fn begin(listener: &Arc<Component>, peer: impl Into<PeerAddress>) -> Self {
        let (peer, since) = (peer.into(), Instant::now());
        Self { begun: Some(Begun { listener: Arc::clone(listener), peer, since, facts: PeerFacts::default() }) }
    }

    /// What has become known of the peer, to be filled in as it does.
    pub fn facts(&mut self) -> &mut PeerFacts {
        &mut self.begun.as_mut().expect("only the methods that consume an attempt conclude it").facts
    }

    /// Iris says no to the peer: no route, not allowed, no material, a bound. `detail` is for people.
    pub fn refuse(self, reason: HandshakeFailure, detail: &str) {
        self.conclude(ConnectionResult::Refused, None, reason, detail);
    }

    /// The handshake with the peer came to nothing.
    pub fn fail(self, reason: HandshakeFailure, detail: &str) {
        self.conclude(ConnectionResult::Failed, None, reason, detail);
    }

    /// Iris says no to dialling the upstream: the destination is not allowed, the upstream's role has no material.
    /// The reason is counted with the upstream, the result with both.
    pub fn refuse_dial(self, upstream: &Component, reason: HandshakeFailure, detail: &str) {
        self.conclude(ConnectionResult::Refused, Some(upstream), reason, detail);
    }

    /// The upstream could not be reached or its handshake came to nothing. The reason is counted with the upstream, the
    /// result with both.
    pub fn fail_dial(self, upstream: &Component, reason: HandshakeFailure, detail: &str) {
        self.conclude(ConnectionResult::Failed, Some(upstream), reason, detail);
    }

    /// Both ends are connected; `dialled_in` is how long the upstream took.
    pub fn established(self, upstream: &Arc<Component>, dialled_in: Duration) -> ConnectionRecord {
        upstream.connected_in(dialled_in);
        self.carried(upstream)
    }

    /// The peer is connected, and what it brings will be carried to the upstream, without a connection of its own there.
    pub fn carried(mut self, upstream: &Arc<Component>) -> ConnectionRecord {
        let begun = self.begun.take().expect("only the methods that consume an attempt conclude it");
        begun.listener.opened();
        upstream.opened();
        let traffic = Arc::new(Traffic::new(Arc::clone(&begun.listener), Arc::clone(upstream)));
        ConnectionRecord { begun, traffic, ending: None }
    }

    fn conclude(
        mut self,
        result: ConnectionResult,
        upstream: Option<&Component>,
        reason: HandshakeFailure,
        detail: &str,
    ) {
        if let Some(begun) = self.begun.take() {
            begun.not_established(result, upstream, reason, detail);
        }
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        if let Some(begun) = self.begun.take() {
            begun.not_established(ConnectionResult::Failed, None, HandshakeFailure::Protocol, abandoned());
        }
    }
}

impl Begun {
    fn not_established(
        &self,
        result: ConnectionResult,
        upstream: Option<&Component>,
        reason: HandshakeFailure,
        detail: &str,
    ) {
        self.listener.not_opened(result);
        if let Some(upstream) = upstream {
            upstream.not_opened(result);
        }
        upstream.unwrap_or(&self.listener).handshake_failed(reason);
        if !self.listener.lines().failure(reason) {
            return;
        }
        let shown = Shown::of(&self.facts);
        tracing::warn!(
            component = self.listener.name(),
            upstream = upstream.map(Component::name),
            transport = upstream.unwrap_or(&self.listener).transport().as_str(),
            peer = %self.peer,
            sni = shown.server_name,
            alpn = shown.alpn,
            names = shown.names,
            destination = shown.destination,
            duration_ms = milliseconds(self.since),
            result = result.as_str(),
            reason = reason.as_str(),
            detail = escape::text(detail, escape::TEXT),
            "connection not established"
        );
    }
}
