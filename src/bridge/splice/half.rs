//! One direction of two joined streams.

use std::{
    cell::RefCell,
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::transport::ByteStream;

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
    /// The source has ended, and the sink does not know it all yet.
    Ending,
    Ended,
}

/// Which end of a direction broke.
#[derive(Debug)]
pub(super) enum Broken {
    Source(io::Error),
    Sink(io::Error),
}

impl Half {
    /// Moves what can be moved. Completes when the source has ended and the sink was told so. `count` hears of all that
    /// the sink took.
    pub(super) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        source: &mut ByteStream,
        sink: &mut ByteStream,
        count: impl Fn(u64),
    ) -> Poll<Result<(), Broken>> {
        for _ in 0..TURN {
            while !self.held.is_empty() {
                let taken = ready!(self.write(cx, sink, None)).map_err(Broken::Sink)?;
                count(taken);
            }
            self.held = BytesMut::new();
            match self.state {
                State::Ended => return Poll::Ready(Ok(())),
                State::Ending => {
                    ready!(Pin::new(&mut *sink).poll_shutdown(cx)).map_err(Broken::Sink)?;
                    self.state = State::Ended;
                }
                State::Open => {
                    let moved = SCRATCH.with_borrow_mut(|scratch| self.piece(cx, source, sink, scratch, &count));
                    if moved?.is_pending() {
                        return self.flush(cx, sink);
                    }
                }
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Reads one piece and hands it on, as much of it as the sink takes; the rest is held.
    fn piece(
        &mut self,
        cx: &mut Context<'_>,
        source: &mut ByteStream,
        sink: &mut ByteStream,
        scratch: &mut [u8],
        count: &impl Fn(u64),
    ) -> Result<Poll<()>, Broken> {
        let mut buffer = ReadBuf::new(scratch);
        match Pin::new(source).poll_read(cx, &mut buffer) {
            Poll::Pending => return Ok(Poll::Pending),
            Poll::Ready(read) => read.map_err(Broken::Source)?,
        }
        let mut piece = buffer.filled();
        if piece.is_empty() {
            self.state = State::Ending;
        }
        while !piece.is_empty() {
            match self.write(cx, sink, Some(piece)) {
                Poll::Pending => {
                    self.held.extend_from_slice(piece);
                    break;
                }
                Poll::Ready(taken) => {
                    let taken = taken.map_err(Broken::Sink)?;
                    count(taken);
                    piece = &piece[usize::try_from(taken).unwrap_or(usize::MAX)..];
                }
            }
        }
        Ok(Poll::Ready(()))
    }

    /// Hands on some of `piece`, or of what is held.
    fn write(&mut self, cx: &mut Context<'_>, sink: &mut ByteStream, piece: Option<&[u8]>) -> Poll<io::Result<u64>> {
        let bytes = piece.unwrap_or(&self.held);
        let taken = ready!(Pin::new(sink).poll_write(cx, bytes))?;
        if taken == 0 {
            return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
        }
        if piece.is_none() {
            self.held.advance(taken);
        }
        self.unflushed = true;
        Poll::Ready(Ok(taken as u64))
    }

    /// The source has nothing at the moment: what the sink holds back is to go out.
    fn flush(&mut self, cx: &mut Context<'_>, sink: &mut ByteStream) -> Poll<Result<(), Broken>> {
        if self.unflushed {
            ready!(Pin::new(sink).poll_flush(cx)).map_err(Broken::Sink)?;
            self.unflushed = false;
        }
        Poll::Pending
    }
}
