//! One direction of two joined streams.

use std::{
    cell::RefCell,
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::calls::Passing;
use crate::{bridge::h2::Forward, observe::Side, transport::ByteStream};

/// What is read at a time, and the most that a direction holds for a sink that takes none: one record of TLS (RFC 8446
/// section 5.1).
const PIECE: usize = 16 * 1024;

/// Pieces in a row before others on this worker have their turn.
const TURN: usize = 32;

thread_local! {
    /// What is read goes through here straight to the sink, so that a connection on which nothing waits holds no buffer.
    static SCRATCH: RefCell<Box<[u8]>> = RefCell::new(vec![0; PIECE].into());
}

/// One direction of two joined streams.
#[derive(Debug, Default)]
pub(super) struct Half {
    /// What the sink did not take yet. Empty, and without memory of its own, while it keeps up.
    held: BytesMut,
    state: State,
    /// The sink may hold back something of ours.
    unflushed: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Open,
    /// There is no more to come, and the sink does not know it all yet.
    Ending,
    Ended,
}

/// Which end of a direction broke.
#[derive(Debug)]
pub(super) enum Broken {
    Source(io::Error),
    Sink(io::Error),
}

impl Broken {
    /// Which side that is, of a direction from `source` to `sink`, and how it broke.
    pub(super) fn at(self, source: Side, sink: Side) -> (Side, io::Error) {
        match self {
            Self::Source(error) => (source, error),
            Self::Sink(error) => (sink, error),
        }
    }
}

impl Half {
    /// Moves what can be moved, through `passing`. Completes when there is no more to come and the sink was told so.
    /// `count` hears of all that the sink took.
    pub(super) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        source: &mut ByteStream,
        sink: &mut ByteStream,
        passing: &mut dyn Passing,
        count: &dyn Fn(u64),
    ) -> Poll<Result<(), Broken>> {
        for _ in 0..TURN {
            ready!(self.poll_held(cx, sink, count))?;
            match self.state {
                State::Ended => return Poll::Ready(Ok(())),
                State::Ending => {
                    ready!(Pin::new(&mut *sink).poll_shutdown(cx)).map_err(Broken::Sink)?;
                    self.state = State::Ended;
                }
                State::Open => {
                    let moved =
                        SCRATCH.with_borrow_mut(|scratch| self.piece(cx, source, sink, scratch, passing, count));
                    if moved?.is_pending() {
                        self.flush(cx, sink)?;
                        return Poll::Pending;
                    }
                }
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Takes no more from the source: what the sink was given is all that it gets.
    pub(super) fn end(&mut self) {
        if self.state == State::Open {
            self.state = State::Ending;
        }
    }

    /// Gives the sink what does not come from the source. It is held if the sink is not ready for it.
    pub(super) fn put(
        &mut self,
        cx: &mut Context<'_>,
        sink: &mut ByteStream,
        count: &dyn Fn(u64),
        bytes: impl FnOnce(Forward<'_>),
    ) -> Result<(), Broken> {
        if self.state != State::Open {
            return Ok(());
        }
        let mut result = Ok(());
        bytes(&mut |bytes| {
            if result.is_ok() {
                result = self.offer(cx, sink, bytes, count);
            }
        });
        self.flush(cx, sink)?;
        result
    }

    /// Reads one piece and hands it on, as much of it as the sink takes; the rest is held.
    fn piece(
        &mut self,
        cx: &mut Context<'_>,
        source: &mut ByteStream,
        sink: &mut ByteStream,
        scratch: &mut [u8],
        passing: &mut dyn Passing,
        count: &dyn Fn(u64),
    ) -> Result<Poll<()>, Broken> {
        let mut buffer = ReadBuf::new(scratch);
        match Pin::new(source).poll_read(cx, &mut buffer) {
            Poll::Pending => return Ok(Poll::Pending),
            Poll::Ready(read) => read.map_err(Broken::Source)?,
        }
        let piece = buffer.filled();
        let mut result = Ok(());
        let mut forward = |bytes: &[u8]| {
            if result.is_ok() {
                result = self.offer(cx, sink, bytes, count);
            }
        };
        if piece.is_empty() {
            passing.ended(&mut forward);
            self.state = State::Ending;
        } else {
            passing.pass(piece, &mut forward);
        }
        result.map(Poll::Ready)
    }

    /// Hands on as much as the sink takes, and holds the rest.
    fn offer(
        &mut self,
        cx: &mut Context<'_>,
        sink: &mut ByteStream,
        mut bytes: &[u8],
        count: &dyn Fn(u64),
    ) -> Result<(), Broken> {
        while self.held.is_empty() && !bytes.is_empty() {
            match self.write(cx, sink, bytes).map_err(Broken::Sink)? {
                Poll::Pending => break,
                Poll::Ready(taken) => {
                    count(taken as u64);
                    bytes = &bytes[taken..];
                }
            }
        }
        self.held.extend_from_slice(bytes);
        Ok(())
    }

    /// Hands on what is held.
    fn poll_held(
        &mut self,
        cx: &mut Context<'_>,
        sink: &mut ByteStream,
        count: &dyn Fn(u64),
    ) -> Poll<Result<(), Broken>> {
        let mut held = std::mem::take(&mut self.held);
        while !held.is_empty() {
            match self.write(cx, sink, &held) {
                Err(error) => return Poll::Ready(Err(Broken::Sink(error))),
                Ok(Poll::Pending) => {
                    self.held = held;
                    return Poll::Pending;
                }
                Ok(Poll::Ready(taken)) => {
                    count(taken as u64);
                    held.advance(taken);
                }
            }
        }
        Poll::Ready(Ok(()))
    }

    fn write(&mut self, cx: &mut Context<'_>, sink: &mut ByteStream, bytes: &[u8]) -> io::Result<Poll<usize>> {
        match Pin::new(sink).poll_write(cx, bytes)? {
            Poll::Ready(0) => Err(io::ErrorKind::WriteZero.into()),
            Poll::Ready(taken) => {
                self.unflushed = true;
                Ok(Poll::Ready(taken))
            }
            Poll::Pending => Ok(Poll::Pending),
        }
    }

    /// The source has nothing at the moment: what the sink holds back is to go out.
    fn flush(&mut self, cx: &mut Context<'_>, sink: &mut ByteStream) -> Result<(), Broken> {
        if self.unflushed && Pin::new(sink).poll_flush(cx).map_err(Broken::Sink)?.is_ready() {
            self.unflushed = false;
        }
        Ok(())
    }
}
