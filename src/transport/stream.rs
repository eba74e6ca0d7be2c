//! The two halves of a stream, guarded against quinn's drop, which finishes what was only cut.

use std::{
    future::{Future, poll_fn},
    io,
    ops::ControlFlow,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll, Waker},
    time::Duration,
};

use bytes::Bytes;
use quinn::{ReadError, RecvStream, SendStream, StreamId, VarInt, WriteError, Written};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::{Code, bell::Bell};

/// How long a stream waits for room before it watches for a reset.
const BEFORE_WATCHING: Duration = Duration::from_millis(2);

/// The sending half. Dropped before [`finish`](Self::finish) or [`reset`](Self::reset) it resets the stream: a message
/// that was cut must never look whole (RFC 9000 section 3.1).
#[derive(Debug)]
pub struct SendHalf {
    stream: SendStream,
    ended: bool,
}

/// The receiving half.
#[derive(Debug)]
pub struct RecvHalf {
    stream: RecvStream,
    bell: Option<Arc<Bell>>,
}

/// What a sender heard of its stream's end.
pub type Stopped = Result<Option<VarInt>, quinn::StoppedError>;

impl From<SendStream> for SendHalf {
    fn from(stream: SendStream) -> Self {
        Self { stream, ended: false }
    }
}

impl From<RecvStream> for RecvHalf {
    fn from(stream: RecvStream) -> Self {
        Self { stream, bell: None }
    }
}

impl SendHalf {
    /// The stream's identifier.
    pub fn id(&self) -> StreamId {
        self.stream.id()
    }

    /// Queues as much of `chunks` as there is room for, waiting for some.
    ///
    /// # Errors
    ///
    /// The peer stopped the stream, or the connection is lost.
    pub async fn write_chunks(&mut self, chunks: &mut [Bytes]) -> Result<Written, WriteError> {
        self.stream.write_chunks(chunks).await
    }

    /// Completes when the peer has stopped the stream (its code), has acknowledged its end (`None`), or is lost.
    ///
    /// Make it once and pin it: each new one takes the connection's lock and a place in its table of waiters.
    pub fn stopped(&self) -> impl Future<Output = Stopped> + Send + 'static {
        self.stream.stopped()
    }

    /// Queues some of `bytes`.
    pub(super) fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        AsyncWrite::poll_write(Pin::new(&mut self.stream), cx, bytes)
    }

    /// Ends the stream cleanly.
    pub fn finish(&mut self) {
        self.ended = true;
        // Fails only when it has ended already.
        let _ = self.stream.finish();
    }

    /// Cuts the stream with `code`.
    pub fn reset(&mut self, code: VarInt) {
        self.ended = true;
        // Fails only when it has ended already.
        let _ = self.stream.reset(code);
    }
}

impl Drop for SendHalf {
    fn drop(&mut self) {
        if !self.ended {
            let _ = self.stream.reset(Code::Internal.number().into());
        }
    }
}

impl RecvHalf {
    /// The stream's identifier.
    pub fn id(&self) -> StreamId {
        self.stream.id()
    }

    /// Fills `chunks` from the front with what has arrived, waiting for some. `Break(None)` is the clean end,
    /// `Break(Some(code))` a reset.
    ///
    /// # Errors
    ///
    /// The connection is lost; everything that had arrived was returned before.
    pub async fn read_chunks(&mut self, chunks: &mut [Bytes]) -> Result<ControlFlow<Option<VarInt>, usize>, ReadError> {
        match self.stream.read_chunks(chunks).await {
            Ok(Some(count)) => Ok(ControlFlow::Continue(count)),
            Ok(None) => Ok(ControlFlow::Break(None)),
            Err(ReadError::Reset(code)) => Ok(ControlFlow::Break(Some(code))),
            Err(error) => Err(error),
        }
    }

    /// Fills `buf` with what has arrived. A reset is an error.
    pub(super) fn poll_read(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        AsyncRead::poll_read(Pin::new(&mut self.stream), cx, buf)
    }

    /// Completes when the peer has reset the stream (its code) or it can no longer be reset (`None`), also while data
    /// waits unread. Not at once: a stream that waits for room for a moment only is not watched.
    ///
    /// quinn leaves the waker of this question in its table, for the life of the connection, when the rest of the stream
    /// had arrived before. So it is asked late, and with a waker that holds no task: what stays is small.
    ///
    /// # Errors
    ///
    /// The connection is lost.
    pub async fn reset_while_waiting(&mut self) -> Result<Option<VarInt>, quinn::ResetError> {
        tokio::time::sleep(BEFORE_WATCHING).await;
        let bell = self.bell.get_or_insert_default().clone();
        let waker = Waker::from(bell.clone());
        let mut reset = pin!(self.stream.received_reset());
        let answer = poll_fn(|cx| {
            bell.set(Some(cx.waker()));
            reset.as_mut().poll(&mut Context::from_waker(&waker))
        })
        .await;
        bell.set(None);
        answer
    }

    /// Asks the peer to send no more, with `code`, and gives back the credit of what was not read.
    pub fn stop(&mut self, code: VarInt) {
        // Fails only when it has ended already.
        let _ = self.stream.stop(code);
    }
}

impl Drop for RecvHalf {
    fn drop(&mut self) {
        if let Some(bell) = &self.bell {
            bell.set(None);
        }
    }
}
