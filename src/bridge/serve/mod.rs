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
    live::Contraction,
    observe::{Attempt, Component, Observer, labels::HandshakeFailure},
    plan::Plan,
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
