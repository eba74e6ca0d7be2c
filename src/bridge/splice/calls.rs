//! What is watched of the bytes that pass: calls, where the streams speak HTTP/2, so that they can be let finish.

use std::time::Duration;

use crate::bridge::h2::{Forward, Phase, Watcher};

/// How long the answer to a PING is waited for before the last GOAWAY goes out without it.
pub(super) const ROUND_TRIP: Duration = Duration::from_secs(1);

/// What one direction's bytes pass through.
pub(super) trait Passing {
    /// These have come.
    fn pass(&mut self, bytes: &[u8], forward: Forward<'_>);

    /// No more come.
    fn ended(&mut self, forward: Forward<'_>);
}

/// The calls on a connection, as far as they are watched.
#[derive(Debug)]
pub(super) struct Calls(Option<Box<Watcher>>);

impl Calls {
    /// Of streams that speak `alpn`.
    pub(super) fn of(alpn: Option<&[u8]>) -> Self {
        Self((alpn == Some(b"h2")).then(|| Box::new(Watcher::new())))
    }

    /// Whether they can be told to come to an end.
    pub(super) fn are_watched(&self) -> bool {
        self.0.is_some()
    }

    /// From the client.
    pub(super) fn upstream(&mut self) -> impl Passing + '_ {
        Upstream(self.0.as_deref_mut())
    }

    /// From the server.
    pub(super) fn downstream(&mut self) -> impl Passing + '_ {
        Downstream(self.0.as_deref_mut())
    }

    /// What is to be said to the client now.
    pub(super) fn injected(&mut self, forward: Forward<'_>) {
        if let Some(watcher) = &mut self.0 {
            watcher.injected(forward);
        }
    }

    /// No more of them: the client is told so.
    pub(super) fn go_away(&mut self) {
        if let Some(watcher) = &mut self.0 {
            watcher.go_away();
        }
    }

    /// The client did not answer in time.
    pub(super) fn round_trip_over(&mut self) {
        if let Some(watcher) = &mut self.0 {
            watcher.round_trip_over();
        }
    }

    /// Whether the client has still to be told which is the last.
    pub(super) fn are_to_be_told(&self) -> bool {
        self.0.as_ref().is_some_and(|watcher| matches!(watcher.phase(), Phase::Open | Phase::Announced))
    }

    /// Whether all have ended that the client was promised.
    pub(super) fn are_done(&self) -> bool {
        self.0.as_ref().is_some_and(|watcher| watcher.phase() == Phase::Done)
    }
}

struct Upstream<'a>(Option<&'a mut Watcher>);

impl Passing for Upstream<'_> {
    fn pass(&mut self, bytes: &[u8], forward: Forward<'_>) {
        match &mut self.0 {
            Some(watcher) => watcher.client_sent(bytes, forward),
            None => forward(bytes),
        }
    }

    fn ended(&mut self, forward: Forward<'_>) {
        if let Some(watcher) = &mut self.0 {
            watcher.client_ended(forward);
        }
    }
}

struct Downstream<'a>(Option<&'a mut Watcher>);

impl Passing for Downstream<'_> {
    fn pass(&mut self, bytes: &[u8], forward: Forward<'_>) {
        match &mut self.0 {
            Some(watcher) => watcher.server_sent(bytes, forward),
            None => forward(bytes),
        }
    }

    fn ended(&mut self, forward: Forward<'_>) {
        if let Some(watcher) = &mut self.0 {
            watcher.server_ended(forward);
        }
    }
}
