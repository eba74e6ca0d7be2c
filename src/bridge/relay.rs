//! One direction of one stream.

use std::{ops::ControlFlow, pin::pin};

use bytes::Bytes;
use quinn::{ConnectionError, ReadError, WriteError};

use crate::transport::{Code, RecvHalf, SendHalf, stream::Stopped};

/// Chunks moved at a time. A chunk is at most what one packet carried.
const BATCH: usize = 16;

/// A chunk shorter than this is copied: it would hold the whole receive buffer that it arrived in, up to 64 KiB, until
/// the far side has acknowledged it.
const COPY_BELOW: usize = 1024;

/// How a relay ended.
#[derive(Debug)]
pub(super) enum Outcome {
    /// The source finished, and the far side has acknowledged all of it.
    Finished,
    /// Cut by a reset, a stop or the loss of the source, which was passed on.
    Cut,
    /// Cut by the end of a connection. The halves are to be kept as they are until the pair has been closed, so that the
    /// far side sees that close and neither an end nor a reset in its place.
    Held {
        /// The source.
        from: RecvHalf,
        /// The sink.
        to: SendHalf,
    },
}

/// Moves everything from `from` to `to` until the stream ends, and passes on how: FIN as FIN, RESET_STREAM and
/// STOP_SENDING with their codes, promptly even while blocked. `count` is told of every byte that was handed on.
pub(super) async fn relay(mut from: RecvHalf, mut to: SendHalf, count: impl Fn(u64)) -> Outcome {
    // Once, pinned: every new one takes the connection's lock and leaves an entry in its table when the stream is reset.
    let mut stopped = pin!(to.stopped());
    let mut chunks = [const { Bytes::new() }; BATCH];
    loop {
        // The read phase: a source that says nothing must not hide that the sink wants no more.
        let filled = tokio::select! { biased;
            read = from.read_chunks(&mut chunks) => match read {
                Ok(ControlFlow::Continue(filled)) => filled,
                Ok(ControlFlow::Break(None)) => {
                    to.finish();
                    return after_finish(stopped.await, from, to);
                }
                Ok(ControlFlow::Break(Some(code))) => {
                    to.reset(code);
                    return Outcome::Cut;
                }
                Err(error) => return source_lost(&error, from, to),
            },
            stop = &mut stopped => return after_stop(stop, from, to),
        };
        let mut start = 0;
        let mut resettable = true;
        for chunk in chunks[..filled].iter_mut().filter(|chunk| chunk.len() < COPY_BELOW) {
            *chunk = Bytes::copy_from_slice(chunk);
        }
        // The write phase: a sink that takes nothing must not hide that the source was reset.
        while start < filled {
            tokio::select! { biased;
                written = to.write_chunks(&mut chunks[start..filled]) => match written {
                    Ok(written) => {
                        start += written.chunks;
                        count(written.bytes as u64);
                    }
                    Err(WriteError::Stopped(code)) => return after_stop(Ok(Some(code)), from, to),
                    Err(_) => return Outcome::Held { from, to },
                },
                reset = from.reset_while_waiting(), if resettable => match reset {
                    Ok(Some(code)) => {
                        to.reset(code);
                        return Outcome::Cut;
                    }
                    // What was read before still goes out.
                    Ok(None) | Err(_) => resettable = false,
                },
            }
        }
    }
}

/// The sink asked for no more, or its connection is lost.
fn after_stop(stop: Stopped, mut from: RecvHalf, mut to: SendHalf) -> Outcome {
    match stop {
        Ok(Some(code)) => {
            from.stop(code);
            to.reset(code);
            Outcome::Cut
        }
        Ok(None) | Err(_) => Outcome::Held { from, to },
    }
}

/// The end was queued: an acknowledgement of it, a late stop, or the loss of the sink.
fn after_finish(stop: Stopped, from: RecvHalf, to: SendHalf) -> Outcome {
    match stop {
        Ok(None) => Outcome::Finished,
        other => after_stop(other, from, to),
    }
}

/// The source's connection is lost in the middle of the stream.
fn source_lost(error: &ReadError, from: RecvHalf, mut to: SendHalf) -> Outcome {
    match error {
        // It said goodbye, with a code that is about to be passed on.
        ReadError::ConnectionLost(ConnectionError::ApplicationClosed(_) | ConnectionError::LocallyClosed) => {
            Outcome::Held { from, to }
        }
        // It died. The far side is told stream by stream as well, whatever its reader listens to.
        _ => {
            to.reset(Code::FarSideLost.number().into());
            Outcome::Cut
        }
    }
}
