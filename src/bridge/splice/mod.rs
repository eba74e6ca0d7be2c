//! Stream to stream: bytes, ends and aborts of two streams, each passed on to the other.

mod end;
mod half;

use std::{future::poll_fn, sync::Arc, task::Poll, time::Duration};

use tokio::time::{Instant, Sleep, sleep_until};

pub(super) use end::StreamEnd;
use half::{Broken, Half};

use crate::{
    live::Ticket,
    observe::{Side, Traffic, labels::Direction},
    transport::ByteStream,
};

/// Two streams that are to be joined.
pub(super) struct Splice {
    /// The one that Iris accepted.
    pub(super) accepted: ByteStream,
    /// The one that it dialled for it.
    pub(super) dialled: ByteStream,
    /// Counts what passes.
    pub(super) traffic: Arc<Traffic>,
    /// Silence both ways after which both are cut. `None`: no timer is armed, however long nothing passes.
    pub(super) idle_timeout: Option<Duration>,
}

impl Splice {
    /// Relays until both directions have ended, one stream has broken, or `ticket` brings an order.
    ///
    /// An end passes as an end, of its direction alone: what comes the other way goes on. Whatever else ends a stream cuts
    /// the other, so that nothing looks whole that is not. An order cuts both.
    pub(super) async fn run(self, ticket: &Ticket) -> StreamEnd {
        let Self { mut accepted, mut dialled, traffic, idle_timeout } = self;
        let (mut up, mut down) = (Half::default(), Half::default());
        let (mut accepted_broken, mut dialled_broken) = (accepted.broken(), dialled.broken());
        let mut idle = idle_timeout.map(Idle::new);
        let mut first = None;
        let end = {
            let relay = poll_fn(|cx| {
                let upstream = up.poll(cx, &mut accepted, &mut dialled, |bytes| {
                    traffic.bytes(Direction::Upstream, bytes);
                });
                let upstream = side(upstream, Side::Accepted, Side::Dialled)?;
                let downstream = down.poll(cx, &mut dialled, &mut accepted, |bytes| {
                    traffic.bytes(Direction::Downstream, bytes);
                });
                let downstream = side(downstream, Side::Dialled, Side::Accepted)?;
                match (upstream, downstream) {
                    (Poll::Ready(()), Poll::Ready(())) => Poll::Ready(Ok(())),
                    (Poll::Ready(()), Poll::Pending) => {
                        first.get_or_insert(Side::Accepted);
                        Poll::Pending
                    }
                    (Poll::Pending, Poll::Ready(())) => {
                        first.get_or_insert(Side::Dialled);
                        Poll::Pending
                    }
                    (Poll::Pending, Poll::Pending) => Poll::Pending,
                }
            });
            // The relay first: what arrived before a stream broke is still passed on, as far as it is taken.
            tokio::select! { biased;
                ended = relay => match ended {
                    Ok(()) => StreamEnd::Ended { first: first.unwrap_or(Side::Accepted) },
                    Err((side, error)) => StreamEnd::Broken { side, error },
                },
                order = ticket.ordered() => StreamEnd::Ordered(order.clone()),
                error = &mut accepted_broken => StreamEnd::Broken { side: Side::Accepted, error },
                error = &mut dialled_broken => StreamEnd::Broken { side: Side::Dialled, error },
                () = silence(idle.as_mut(), &traffic) => StreamEnd::Idle,
            }
        };
        if !matches!(end, StreamEnd::Ended { .. }) {
            accepted.abort();
            dialled.abort();
        }
        end
    }
}

/// Which stream it was that broke.
fn side(polled: Poll<Result<(), Broken>>, source: Side, sink: Side) -> Result<Poll<()>, (Side, std::io::Error)> {
    match polled {
        Poll::Pending => Ok(Poll::Pending),
        Poll::Ready(Ok(())) => Ok(Poll::Ready(())),
        Poll::Ready(Err(Broken::Source(error))) => Err((source, error)),
        Poll::Ready(Err(Broken::Sink(error))) => Err((sink, error)),
    }
}

/// The timer of silence. It is not set anew for every byte: when it goes off, what has passed since is looked at.
struct Idle {
    time: Duration,
    sleep: std::pin::Pin<Box<Sleep>>,
    passed: u64,
}

impl Idle {
    fn new(time: Duration) -> Self {
        Self { time, sleep: Box::pin(sleep_until(Instant::now() + time)), passed: 0 }
    }
}

/// Completes after silence: between one and two of the configured times after the last byte.
async fn silence(idle: Option<&mut Idle>, traffic: &Traffic) {
    let Some(idle) = idle else { return std::future::pending().await };
    loop {
        idle.sleep.as_mut().await;
        let passed = traffic.bytes_passed(Direction::Upstream) + traffic.bytes_passed(Direction::Downstream);
        if passed == idle.passed {
            return;
        }
        idle.passed = passed;
        idle.sleep.as_mut().reset(Instant::now() + idle.time);
    }
}
