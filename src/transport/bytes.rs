//! One stream of bytes, whatever carries it.

use std::{
    future::Future,
    io,
    pin::Pin,
    task::{Context, Poll},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::TlsStream;

use super::{Code, RecvHalf, SendHalf, wire::Wire};

/// One stream of bytes. To end it cleanly is to shut it down; whatever is dropped before that was aborted: TLS sends no
/// close_notify then (RFC 8446 section 6.1), TCP a RST.
#[derive(Debug)]
pub enum ByteStream {
    /// A socket.
    Plain(Wire),
    /// TLS over a socket.
    Tls(Box<TlsStream<Wire>>),
    /// One stream of a QUIC connection.
    Quic(SendHalf, RecvHalf),
}

impl ByteStream {
    /// Completes when the stream has broken, also while what arrived before waits unread.
    pub fn broken(&self) -> Pin<Box<dyn Future<Output = io::Error> + Send>> {
        match self {
            Self::Plain(wire) => Box::pin(wire.broken()),
            Self::Tls(tls) => Box::pin(tls.get_ref().0.broken()),
            Self::Quic(send, _) => {
                let stopped = send.stopped();
                Box::pin(async move {
                    match stopped.await {
                        Ok(Some(code)) => {
                            io::Error::new(io::ErrorKind::BrokenPipe, format!("stopped with code {code}"))
                        }
                        // All of it has arrived: nothing has broken.
                        Ok(None) => std::future::pending().await,
                        Err(error) => io::Error::new(io::ErrorKind::ConnectionReset, error),
                    }
                })
            }
        }
    }

    /// Ends it as something that was cut, never as something whole.
    pub fn abort(self) {
        match self {
            Self::Plain(wire) => wire.abort(),
            Self::Tls(tls) => tls.get_ref().0.abort(),
            Self::Quic(mut send, mut recv) => {
                send.reset(Code::FarSideLost.number().into());
                recv.stop(Code::FarSideLost.number().into());
            }
        }
    }
}

impl AsyncRead for ByteStream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(wire) => Pin::new(wire).poll_read(cx, buf),
            Self::Tls(tls) => Pin::new(tls).poll_read(cx, buf),
            Self::Quic(_, recv) => recv.poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for ByteStream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(wire) => Pin::new(wire).poll_write(cx, bytes),
            Self::Tls(tls) => Pin::new(tls).poll_write(cx, bytes),
            Self::Quic(send, _) => send.poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(wire) => Pin::new(wire).poll_flush(cx),
            Self::Tls(tls) => Pin::new(tls).poll_flush(cx),
            // The connection's own driver sends.
            Self::Quic(..) => Poll::Ready(Ok(())),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(wire) => Pin::new(wire).poll_shutdown(cx),
            Self::Tls(tls) => Pin::new(tls).poll_shutdown(cx),
            Self::Quic(send, _) => {
                send.finish();
                Poll::Ready(Ok(()))
            }
        }
    }
}
