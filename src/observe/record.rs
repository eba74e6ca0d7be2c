//! One record a connection, when it ends and on every path: counters and one line.
//!
//! An [`Attempt`] is made when a peer arrives. It becomes a [`ConnectionRecord`] when both ends are connected, or it
//! ends in a reason. Both are guards: dropped without a word (a cancelled task, a panic) they still count and log, so
//! `iris_connections_active` never drifts.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use super::{
    Component, escape,
    labels::{CloseReason, ConnectionResult, Direction, HandshakeFailure, Label},
};

/// What is known of the accepted side. All of it comes from peers and is bounded and escaped before it is shown.
#[derive(Debug, Clone, Default)]
pub struct PeerFacts {
    /// The server name that it asked for.
    pub server_name: Option<String>,
    /// The application protocol that was agreed.
    pub alpn: Option<Vec<u8>>,
    /// The names in its certificate.
    pub names: Vec<String>,
    /// The destination that it asked for.
    pub destination: Option<String>,
}

/// A peer that has arrived and is not yet connected to an upstream.
#[derive(Debug)]
pub struct Attempt {
    /// `None` once it is concluded.
    begun: Option<Begun>,
}

#[derive(Debug)]
struct Begun {
    listener: Arc<Component>,
    peer: SocketAddr,
    since: Instant,
    facts: PeerFacts,
}

impl Attempt {
    /// A peer has arrived at a listener.
    pub fn begin(listener: &Arc<Component>, peer: SocketAddr) -> Self {
        let since = Instant::now();
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
    pub fn established(mut self, upstream: &Arc<Component>, dialled_in: Duration) -> ConnectionRecord {
        let begun = self.begun.take().expect("only the methods that consume an attempt conclude it");
        begun.listener.opened();
        upstream.opened();
        upstream.connected_in(dialled_in);
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

/// Which side a connection ended at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The listener's. The upstream's connection is closed because of it: `far_side`.
    Accepted,
    /// The upstream's. The listener's connection is closed because of it: `far_side`.
    Dialled,
    /// Both for the same reason: drain, a configuration reload.
    Both,
}

/// Why and where a connection ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// Where it began to end.
    pub side: Side,
    /// Why.
    pub reason: CloseReason,
    /// The close code, of a peer or of ours.
    pub code: Option<u64>,
    /// The reason text that came with the code. Bounded and escaped before it is shown.
    pub text: Vec<u8>,
}

impl Ending {
    /// An end without code and text.
    pub fn new(side: Side, reason: CloseReason) -> Self {
        Self { side, reason, code: None, text: Vec::new() }
    }

    /// The same with the code and the text of a close.
    #[must_use]
    pub fn with_code(mut self, code: u64, text: &[u8]) -> Self {
        self.code = Some(code);
        // Not more is kept than could be shown.
        self.text = text[..text.len().min(escape::TEXT + 1)].to_vec();
        self
    }
}

/// A connection from a peer through Iris to an upstream. Writes its record when dropped.
#[derive(Debug)]
pub struct ConnectionRecord {
    begun: Begun,
    traffic: Arc<Traffic>,
    ending: Option<Ending>,
}

impl ConnectionRecord {
    /// What passes, to be counted by the relays.
    pub fn traffic(&self) -> &Arc<Traffic> {
        &self.traffic
    }

    /// Notes why the connection ends. The first reason stays: what follows is its consequence.
    pub fn ends(&mut self, ending: Ending) {
        self.ending.get_or_insert(ending);
    }

    /// Ends the record now.
    pub fn end(mut self, ending: Ending) {
        self.ends(ending);
    }
}

impl Drop for ConnectionRecord {
    fn drop(&mut self) {
        let ending = self
            .ending
            .take()
            .unwrap_or_else(|| Ending { text: abandoned().into(), ..Ending::new(Side::Both, CloseReason::Error) });
        let (listener, upstream) = (&self.begun.listener, &self.traffic.upstream);
        let (accepted, dialled) = match ending.side {
            Side::Accepted => (ending.reason, CloseReason::FarSide),
            Side::Dialled => (CloseReason::FarSide, ending.reason),
            Side::Both => (ending.reason, ending.reason),
        };
        listener.closed(accepted);
        upstream.closed(dialled);
        if !listener.lines().end(ending.reason) {
            return;
        }
        let shown = Shown::of(&self.begun.facts);
        let traffic = &self.traffic;
        tracing::info!(
            component = listener.name(),
            upstream = upstream.name(),
            transport = listener.transport().as_str(),
            upstream_transport = upstream.transport().as_str(),
            peer = %self.begun.peer,
            sni = shown.server_name,
            alpn = shown.alpn,
            names = shown.names,
            destination = shown.destination,
            duration_ms = milliseconds(self.begun.since),
            streams = traffic.streams(),
            bytes_upstream = traffic.bytes_passed(Direction::Upstream),
            bytes_downstream = traffic.bytes_passed(Direction::Downstream),
            datagrams_dropped = traffic.datagrams_dropped(),
            reason = accepted.as_str(),
            upstream_reason = dialled.as_str(),
            code = ending.code,
            text = (!ending.text.is_empty()).then(|| escape::bytes(&ending.text, escape::TEXT)),
            "connection ended"
        );
    }
}

/// What passes through one connection: counted for its record and, at once, for both components.
#[derive(Debug)]
pub struct Traffic {
    listener: Arc<Component>,
    upstream: Arc<Component>,
    streams: AtomicU64,
    bytes: [AtomicU64; 2],
    datagrams_dropped: AtomicU64,
}

impl Traffic {
    fn new(listener: Arc<Component>, upstream: Arc<Component>) -> Self {
        Self {
            listener,
            upstream,
            streams: AtomicU64::new(0),
            bytes: Default::default(),
            datagrams_dropped: AtomicU64::new(0),
        }
    }

    /// One more stream, of either kind, opened by either side.
    pub fn stream(&self) {
        self.streams.fetch_add(1, Relaxed);
        self.listener.stream();
        self.upstream.stream();
    }

    /// Bytes of streams or datagrams that went this way.
    pub fn bytes(&self, direction: Direction, bytes: u64) {
        self.bytes[direction.index()].fetch_add(bytes, Relaxed);
        self.listener.bytes(direction, bytes);
        self.upstream.bytes(direction, bytes);
    }

    /// A datagram that went this way did not fit or found no room. Counted with the component that should have had it.
    pub fn datagram_dropped(&self, direction: Direction) {
        self.datagrams_dropped.fetch_add(1, Relaxed);
        match direction {
            Direction::Upstream => self.upstream.datagram_dropped(),
            Direction::Downstream => self.listener.datagram_dropped(),
        }
    }

    /// Streams so far.
    pub fn streams(&self) -> u64 {
        self.streams.load(Relaxed)
    }

    /// Bytes so far that went this way.
    pub fn bytes_passed(&self, direction: Direction) -> u64 {
        self.bytes[direction.index()].load(Relaxed)
    }

    /// Datagrams dropped so far, both ways.
    pub fn datagrams_dropped(&self) -> u64 {
        self.datagrams_dropped.load(Relaxed)
    }
}

/// Peer facts as they may be shown.
struct Shown {
    server_name: Option<String>,
    alpn: Option<String>,
    names: Option<String>,
    destination: Option<String>,
}

impl Shown {
    fn of(facts: &PeerFacts) -> Self {
        Self {
            server_name: facts.server_name.as_deref().map(|name| escape::text(name, escape::NAME)),
            alpn: facts.alpn.as_deref().map(|alpn| escape::bytes(alpn, escape::NAME)),
            names: (!facts.names.is_empty()).then(|| escape::names(&facts.names)),
            destination: facts.destination.as_deref().map(|name| escape::text(name, escape::NAME)),
        }
    }
}

fn abandoned() -> &'static str {
    if std::thread::panicking() { "given up: a panic" } else { "given up: its task was cancelled" }
}

fn milliseconds(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}
