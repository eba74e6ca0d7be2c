//! From an arrival to its end: dial, settle, relay, record.

mod fan_out;
mod session;
mod stream;

use std::sync::Arc;

pub use session::serve;
pub use stream::serve_stream;

use crate::{
    bridge::pool::Pools,
    dial::Dialer,
    live::{Connection, Contraction, Footing, Ticket},
    observe::{Attempt, Component, Observer, PeerAddress, labels::HandshakeFailure},
    plan::{ListenerId, Plan, UpstreamId},
    runtime::{DrainSignal, Tasks},
    transport::Close,
};

/// What every connection of one worker needs.
pub struct Bridge {
    /// The configuration that runs.
    pub plan: Arc<Plan>,
    /// Who is connected, and whether what each stands on still holds.
    pub contraction: Arc<Contraction>,
    /// Metrics and records.
    pub observer: Arc<Observer>,
    /// Dials on this worker.
    pub dialer: Dialer,
    /// The connections that this worker owns.
    pub pools: Pools,
    /// The tasks of this worker.
    pub tasks: Tasks,
    /// Tells of the drain.
    pub drain: DrainSignal,
}

/// Registers an arrival on its way from a listener's route to an upstream. From here on it is swept; and what was published
/// before has been asked about it.
fn enter(
    bridge: &Bridge,
    (route, upstream): ((ListenerId, usize), UpstreamId),
    peer: impl Into<PeerAddress>,
    server_name: Option<&str>,
    footing: Footing,
) -> Ticket {
    let mut entry = Connection::new(route, upstream, peer, footing);
    entry.server_name = server_name.map(str::to_owned);
    bridge.contraction.enter(entry)
}

/// Records a dial that came to nothing: as refused where Iris itself says no.
fn not_dialled(attempt: Attempt, upstream: &Component, reason: HandshakeFailure, detail: &str) {
    let no = matches!(reason, HandshakeFailure::DestinationNotAllowed | HandshakeFailure::NotReady);
    let say = if no { Attempt::refuse_dial } else { Attempt::fail_dial };
    say(attempt, upstream, reason, detail);
}

/// The words of a close, without the mark that every refusal of ours bears anyway.
fn text(close: &Close) -> String {
    let text = String::from_utf8_lossy(&close.reason);
    text.strip_prefix("iris: ").unwrap_or(&text).to_owned()
}
