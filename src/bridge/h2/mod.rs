//! The watcher of an HTTP/2 connection that passes through (RFC 9113), so that a drain lets its calls finish.
//!
//! A relay of bytes that closes a connection cuts the calls on it. [`Watcher`] sits in such a relay, between a client
//! and a server that speak HTTP/2 with one another, and knows two things: where a frame of Iris may stand, and which
//! streams are open. When Iris drains, the client is told to open no more ([`Watcher::go_away`]), and the connection is
//! done when the last stream is ([`Phase::Done`]).
//!
//! It reads frame headers and, of payloads, the data of PING and the identifiers in GOAWAY and PUSH_PROMISE. It never
//! drops, reorders or holds up a frame: header compression is end to end, so what one end has sent the other must see.
//! There are two exceptions. The answer to the PING that Iris sent is for Iris. And the last stream identifier of a
//! server's GOAWAY is lowered to that of an earlier one from Iris, since it must never rise. Streams above the
//! last identifier still pass; nobody waits for their end.
//!
//! It is pure: bytes and orders go in, bytes come out, nothing waits.

mod cut;
mod fuzzing;
mod head;
mod notice;
mod order;
mod streams;
#[cfg(test)]
mod tests;

use self::{
    cut::{Cutter, Follow, Injected, Lost, Verdict},
    head::{Head, kind},
    notice::{Notice, Step},
    order::Order,
    streams::{Sender, Streams},
};

pub(in crate::bridge) use cut::Forward;
pub use fuzzing::fuzz_h2;

/// How far a drain has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::bridge) enum Phase {
    /// No GOAWAY of ours is out.
    Open,
    /// The first GOAWAY and the PING are out.
    Announced,
    /// The last GOAWAY is out, and a stream is open or a frame under way.
    Final,
    /// The last GOAWAY is out, and all is done that the client waits for.
    Done,
    /// This is no HTTP/2, broken, or more than is followed: bytes pass untouched, and nothing can be said.
    Opaque,
}

/// The watcher of one connection, both directions. It holds back at most 17 octets a direction, which is no whole frame
/// but for the moment that it is looked at, and follows at most 65,536 streams.
#[derive(Debug)]
pub(in crate::bridge) struct Watcher {
    client: Cutter,
    server: Cutter,
    followed: Followed,
    opaque: bool,
}

/// What is known of the connection.
#[derive(Debug)]
struct Followed {
    client: Order,
    server: Order,
    streams: Streams,
    notice: Notice,
}

impl Watcher {
    /// Of a connection on which nothing has passed.
    pub(in crate::bridge) fn new() -> Self {
        Self { client: Cutter::of_client(), server: Cutter::of_server(), followed: Followed::new(), opaque: false }
    }

    /// Bytes of the client. `forward` is called with what goes to the server, in order.
    pub(in crate::bridge) fn client_sent(&mut self, bytes: &[u8], forward: Forward<'_>) {
        if self.opaque {
            pass(&mut self.client, bytes, forward);
        } else if self.client.feed(bytes, &mut FromClient(&mut self.followed), forward).is_err() {
            self.give_up();
        }
    }

    /// Bytes of the server. `forward` is called with what goes to the client, in order; frames of Iris stand between.
    pub(in crate::bridge) fn server_sent(&mut self, bytes: &[u8], forward: Forward<'_>) {
        if self.opaque {
            pass(&mut self.server, bytes, forward);
        } else if self.server.feed(bytes, &mut FromServer(&mut self.followed), forward).is_err() {
            self.give_up();
        }
    }

    /// The client sends no more: hands on what was held back. It opens no more streams either, so an answer to the PING
    /// is not waited for.
    pub(in crate::bridge) fn client_ended(&mut self, forward: Forward<'_>) {
        self.client.release(forward);
        self.followed.notice.answered();
    }

    /// The server sends no more: hands on what was held back. Nothing can be said to the client after that.
    pub(in crate::bridge) fn server_ended(&mut self, forward: Forward<'_>) {
        self.server.release(forward);
        self.give_up();
    }

    /// Begins to drain: asks for a GOAWAY that names no last stream yet and a PING, at the next boundary towards the client
    /// (see [`injected`](Self::injected)). The last GOAWAY follows when the client has answered. Nothing the second time.
    pub(in crate::bridge) fn go_away(&mut self) {
        self.followed.notice.ask();
    }

    /// The answer to the PING did not come in time: asks for the last GOAWAY all the same. Nothing unless
    /// [`Phase::Announced`].
    pub(in crate::bridge) fn round_trip_over(&mut self) {
        self.followed.notice.answered();
    }

    /// What can be said to the client right now: on a connection where the server is silent nothing else would carry it.
    /// To be called after [`go_away`](Self::go_away), [`round_trip_over`](Self::round_trip_over), and whatever came from
    /// the client.
    pub(in crate::bridge) fn injected(&mut self, forward: Forward<'_>) {
        self.server_sent(&[], forward);
    }

    /// How far the drain has come.
    pub(in crate::bridge) fn phase(&self) -> Phase {
        let at_rest = self.server.at_boundary() && self.followed.server.has_room();
        match self.followed.notice.step() {
            _ if self.opaque => Phase::Opaque,
            Step::Silent | Step::Asked | Step::Warned => Phase::Open,
            Step::Announced | Step::Answered => Phase::Announced,
            Step::Final if at_rest && self.followed.streams.is_empty() => Phase::Done,
            Step::Final => Phase::Final,
        }
    }

    fn give_up(&mut self) {
        self.opaque = true;
        self.followed.streams = Streams::default();
    }
}

/// Bytes that nobody follows.
fn pass(cutter: &mut Cutter, bytes: &[u8], forward: Forward<'_>) {
    cutter.release(forward);
    if !bytes.is_empty() {
        forward(bytes);
    }
}

impl Followed {
    fn new() -> Self {
        Self { client: Order::default(), server: Order::default(), streams: Streams::default(), notice: Notice::new() }
    }
}

struct FromClient<'a>(&'a mut Followed);

impl Follow for FromClient<'_> {
    fn begins(&mut self, head: &mut Head) -> Result<Verdict, Lost> {
        self.0.client.begins(head)?;
        if head.kind() == kind::HEADERS {
            self.0.streams.called(head.stream())?;
        }
        Ok(if self.0.notice.is_answered_by(head) { Verdict::Keep } else { Verdict::Pass })
    }

    fn over(&mut self) {
        let ends = self.0.client.over();
        self.0.streams.ends(Sender::Client, ends);
    }

    fn inject(&mut self) -> Option<Injected> {
        None
    }
}

struct FromServer<'a>(&'a mut Followed);

impl Follow for FromServer<'_> {
    fn begins(&mut self, head: &mut Head) -> Result<Verdict, Lost> {
        self.0.server.begins(head)?;
        if let Some(promised) = head.promised() {
            self.0.streams.promised(promised)?;
        }
        let Some(last) = head.last_stream() else { return Ok(Verdict::Pass) };
        let passed_on = self.0.notice.told(last);
        self.0.streams.processed_to(passed_on);
        if passed_on == last {
            return Ok(Verdict::Pass);
        }
        head.set_last_stream(passed_on);
        Ok(Verdict::PassChanged)
    }

    fn over(&mut self) {
        let ends = self.0.server.over();
        self.0.streams.ends(Sender::Server, ends);
    }

    fn inject(&mut self) -> Option<Injected> {
        if !self.0.server.has_room() {
            return None;
        }
        let frame = self.0.notice.next(self.0.streams.last())?;
        if self.0.notice.step() == Step::Final {
            // A client that opens streams all the same is not waited for.
            let last = self.0.streams.last();
            self.0.streams.processed_to(last);
        }
        Some(frame)
    }
}
