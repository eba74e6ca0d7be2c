//! From a name to a handshake: every address in turn, within the time that there is.

use std::{
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use rustls::pki_types::ServerName;
use tokio::time::timeout;

use super::{
    failure::{Failure, Reason, Step},
    quic,
    target::{Scheme, Target},
    tcp,
};
use crate::{
    dial::resolve::{addresses, share},
    plan::Plan,
    tls::probe::{Probing, Shown},
};

/// How long saying goodbye may take.
pub(super) const PARTING: Duration = Duration::from_millis(200);

/// What is to be done.
pub(super) struct Task {
    pub(super) target: Target,
    pub(super) name: ServerName<'static>,
    pub(super) plan: Plan,
    pub(super) probing: Probing,
    pub(super) time: Duration,
}

/// What was seen of one address.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) step: Step,
    pub(super) address: Option<SocketAddr>,
    pub(super) resolve: Option<Duration>,
    pub(super) connect: Option<Duration>,
    pub(super) handshake: Option<Duration>,
    pub(super) confirm: Option<Duration>,
    pub(super) version: Option<&'static str>,
    pub(super) suite: Option<String>,
    pub(super) group: Option<String>,
    pub(super) alpn: Option<Vec<u8>>,
    pub(super) shown: Arc<Shown>,
}

/// Tries every address until one is there, and says what was seen of the last one tried, or of the first that failed
/// when none is there: later ones are fallbacks.
pub(super) async fn run(task: &Task) -> (Seen, Result<(), Failure>) {
    let started = Instant::now();
    let unresolved = |found: String, reason| {
        let seen = Seen { step: Step::Resolve, ..Seen::default() };
        (seen, Err(Failure::new(reason, Step::Resolve, found)))
    };
    let candidates = match timeout(task.time, addresses(&task.target.to)).await {
        Ok(Ok(candidates)) => candidates,
        Ok(Err((_, detail))) => return unresolved(detail, Reason::Unreachable),
        Err(_) => return unresolved(format!("no answer of the resolver in {:?}", task.time), Reason::Timeout),
    };
    let resolve = started.elapsed();
    let mut first = None;
    for (index, address) in candidates.iter().enumerate() {
        let time = share(task.time.saturating_sub(started.elapsed()), candidates.len() - index);
        let mut seen = Seen { address: Some(*address), resolve: Some(resolve), ..Seen::default() };
        let attempt = async {
            match task.target.scheme {
                Scheme::Tls => tcp::attempt(task, *address, time, &mut seen).await,
                Scheme::Quic => quic::attempt(task, *address, &mut seen).await,
            }
        };
        let result = match timeout(time, attempt).await {
            Ok(result) => result,
            Err(_) => Err(Failure::new(Reason::Timeout, seen.step, format!("no answer from {address} in {time:.1?}"))),
        };
        match result {
            Err(failure) if failure.is_about_the_address() => {
                first.get_or_insert((seen, Err(failure)));
            }
            other => return (seen, other),
        }
    }
    first.unwrap_or_else(|| unresolved(format!("{} has no address", task.target.to.host), Reason::Unreachable))
}
