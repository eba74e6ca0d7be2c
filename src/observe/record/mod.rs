//! One record a connection, when it ends and on every path: counters and one line.
//!
//! An [`Attempt`] is made when a peer arrives. It becomes a [`ConnectionRecord`] when both ends are connected, or it
//! ends in a reason. Both are guards: dropped without a word (a cancelled task, a panic) they still count and log, so
//! `iris_connections_active` never drifts.

mod attempt;
mod peer;
mod traffic;

use std::{sync::Arc, time::Instant};

pub use attempt::Attempt;
pub use peer::PeerFacts;
pub use traffic::Traffic;

use self::{attempt::Begun, peer::Shown};
use super::{
    escape,
    labels::{CloseReason, Direction, Label},
};

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

fn abandoned() -> &'static str {
    if std::thread::panicking() { "given up: a panic" } else { "given up: its task was cancelled" }
}

fn milliseconds(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}
