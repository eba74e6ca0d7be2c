//! Stream to stream: bytes, ends and aborts of two streams, each passed on to the other.

mod calls;
mod end;
mod half;
mod idle;

use std::{
    future::{Future, poll_fn},
    io,
    pin::pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{copy, sink},
    time::{sleep, timeout},
};

pub(super) use end::StreamEnd;

use self::{
    calls::{Calls, ROUND_TRIP},
    half::{Broken, Half},
    idle::Idle,
};
use crate::{
    live::{Order, Ticket},
    observe::{Side, Traffic, labels::Direction},
    transport::ByteStream,
};

/// Two streams that are to be joined.
pub(super) struct Splice {
    /// The one that Iris accepted.
    pub(super) accepted: ByteStream,
    /// The one that it dialled for it.
    pub(super) dialled: ByteStream,
    /// What they speak, as far as that was agreed on.
    pub(super) alpn: Option<Vec<u8>>,
    /// Counts what passes.
    pub(super) traffic: Arc<Traffic>,
    /// Silence both ways after which both are cut. `None`: no timer is armed, however long nothing passes.
    pub(super) idle_timeout: Option<Duration>,
    /// How long both stay open, once all is said, for what is still on its way.
    pub(super) close_grace: Duration,
}

impl Splice {
    /// Relays until both directions have ended, one stream has broken, or `ticket` brings an order.
    ///
    /// An end passes as an end, of its direction alone: what comes the other way goes on. Whatever else ends a stream cuts
    /// the other, so that nothing looks whole that is not. An order cuts both. Calls that speak HTTP/2 and are asked to
    /// come to an end do so by themselves, and then both streams end cleanly. `far` is the place of the connection that the
    /// dialled stream is one of, where that has one of its own.
    pub(super) async fn run(self, ticket: &Ticket, far: Option<&Ticket>) -> StreamEnd {
        let Self { accepted, dialled, alpn, traffic, idle_timeout, close_grace } = self;
        let calls = Calls::of(alpn.as_deref());
        if calls.are_watched() {
            ticket.connection().can_finish();
        }
        let mut joined = Joined::new(accepted, dialled, calls, traffic.clone());
        let mut broken = pin!(joined.broken());
        let mut idle = idle_timeout.map(|time| Idle::new(time, traffic));
        let mut winding: Option<&Order> = None;
        let mut round_trip = pin!(None);
        let end = loop {
            // The relay first: what arrived before a stream broke is still passed on, as far as it is taken.
            tokio::select! { biased;
                relayed = poll_fn(|cx| joined.poll(cx)) => match (relayed, winding) {
                    (Ok(Relayed::Ended { first }), _) => break StreamEnd::Ended { first },
                    (Ok(Relayed::Done), Some(order)) => {
                        joined.finish(close_grace).await;
                        return StreamEnd::Ordered(order.clone());
                    }
                    (Ok(Relayed::Done), None) => unreachable!("nobody asked for an end"),
                    (Err((side, error)), _) => break StreamEnd::Broken { side, error },
                },
                order = ticket.ordered() => break StreamEnd::Ordered(order.clone()),
                order = ordered(far) => break StreamEnd::Ordered(order.clone()),
                (side, error) = &mut broken => break StreamEnd::Broken { side, error },
                () = Idle::over(idle.as_mut()) => break StreamEnd::Idle,
                order = ticket.winding(), if winding.is_none() && joined.calls.are_watched() => {
                    winding = Some(order);
                    joined.calls.go_away();
                    round_trip.set(Some(sleep(ROUND_TRIP)));
                }
                () = wait(round_trip.as_mut().as_pin_mut()), if round_trip.is_some() => {
                    joined.calls.round_trip_over();
                    // The first word may still wait for a boundary between two frames.
                    let again = joined.calls.are_to_be_told();
                    round_trip.set(again.then(|| sleep(ROUND_TRIP)));
                }
            }
        };
        if !matches!(end, StreamEnd::Ended { .. }) {
            joined.accepted.abort();
            joined.dialled.abort();
        }
        end
    }
}

async fn ordered(far: Option<&Ticket>) -> &Order {
    match far {
        Some(far) => far.ordered().await,
        None => std::future::pending().await,
    }
}

async fn wait(timer: Option<std::pin::Pin<&mut tokio::time::Sleep>>) {
    match timer {
        Some(timer) => timer.await,
        None => std::future::pending().await,
    }
}

/// Two streams, what is on its way between them, and who has finished.
struct Joined {
    accepted: ByteStream,
    dialled: ByteStream,
    calls: Calls,
    traffic: Arc<Traffic>,
    up: Half,
    down: Half,
    first: Option<Side>,
}

/// Why there is nothing more to relay.
enum Relayed {
    /// Both directions have ended.
    Ended {
        /// The side that had finished first.
        first: Side,
    },
    /// Every call has, that the client was promised.
    Done,
}

impl Joined {
    fn new(accepted: ByteStream, dialled: ByteStream, calls: Calls, traffic: Arc<Traffic>) -> Self {
        let (up, down) = Default::default();
        Self { accepted, dialled, calls, traffic, up, down, first: None }
    }

    /// Completes when one of the streams has broken, whoever reads it or does not.
    fn broken(&self) -> impl Future<Output = (Side, io::Error)> + use<> {
        let (accepted, dialled) = (self.accepted.broken(), self.dialled.broken());
        async {
            tokio::select! {
                error = accepted => (Side::Accepted, error),
                error = dialled => (Side::Dialled, error),
            }
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Relayed, (Side, io::Error)>> {
        let Self { accepted, dialled, calls, traffic, up, down, first } = self;
        let sent = |bytes| traffic.bytes(Direction::Upstream, bytes);
        let received = |bytes| traffic.bytes(Direction::Downstream, bytes);
        let upstream = up.poll(cx, accepted, dialled, &mut calls.upstream(), &sent);
        let upstream = upstream.map_err(|broken| broken.at(Side::Accepted, Side::Dialled))?;
        let downstream = down.poll(cx, dialled, accepted, &mut calls.downstream(), &received);
        let downstream = downstream.map_err(|broken| broken.at(Side::Dialled, Side::Accepted))?;
        // What the client sent, or an order, may have something said to it.
        let said = down.put(cx, accepted, &received, |forward| calls.injected(forward));
        said.map_err(|broken| broken.at(Side::Dialled, Side::Accepted))?;
        if calls.are_done() {
            return Poll::Ready(Ok(Relayed::Done));
        }
        match (upstream.is_ready(), downstream.is_ready()) {
            (true, true) => return Poll::Ready(Ok(Relayed::Ended { first: first.unwrap_or(Side::Accepted) })),
            (true, false) => _ = first.get_or_insert(Side::Accepted),
            (false, true) => _ = first.get_or_insert(Side::Dialled),
            (false, false) => {}
        }
        Poll::Pending
    }

    /// Ends both streams cleanly, within `grace`: what either end still sends is taken and dropped until it has seen the
    /// end, since to close on unread bytes is a RST, which overtakes what was sent before.
    async fn finish(mut self, grace: Duration) {
        self.up.end();
        self.down.end();
        let over = async {
            // A stream that breaks now has had all that it was to have.
            let _ = poll_fn(|cx| self.poll_ending(cx)).await;
            let (mut here, mut there) = (sink(), sink());
            let _ = tokio::join!(copy(&mut self.accepted, &mut here), copy(&mut self.dialled, &mut there));
        };
        let _ = timeout(grace, over).await;
    }

    fn poll_ending(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Broken>> {
        let Self { accepted, dialled, calls, up, down, .. } = self;
        let upstream = up.poll(cx, accepted, dialled, &mut calls.upstream(), &|_| ())?;
        let downstream = down.poll(cx, dialled, accepted, &mut calls.downstream(), &|_| ())?;
        if upstream.is_ready() && downstream.is_ready() { Poll::Ready(Ok(())) } else { Poll::Pending }
    }
}
