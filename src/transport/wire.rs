//! A connected TCP or Unix socket, shared so that its breaking can be watched while nothing is read from it.

use std::{
    future::Future,
    io::{self, Read, Write},
    net::Shutdown,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use socket2::SockRef;
use tokio::{
    io::{AsyncRead, AsyncWrite, Interest, ReadBuf},
    net::{TcpStream, UnixStream},
};

/// A connected stream socket.
#[derive(Debug, Clone)]
pub enum Wire {
    /// TCP.
    Tcp(Arc<TcpStream>),
    /// A Unix stream socket.
    Unix(Arc<UnixStream>),
}

impl From<TcpStream> for Wire {
    fn from(stream: TcpStream) -> Self {
        Self::Tcp(Arc::new(stream))
    }
}

impl From<UnixStream> for Wire {
    fn from(stream: UnixStream) -> Self {
        Self::Unix(Arc::new(stream))
    }
}

impl Wire {
    /// Completes when the socket has broken, also while what arrived before waits unread: reset by the far end, or given
    /// up by the kernel. The end of what the far end sends breaks nothing.
    pub fn broken(&self) -> impl Future<Output = io::Error> + Send + 'static {
        let wire = self.clone();
        async move {
            loop {
                let watched = match &wire {
                    Self::Tcp(stream) => stream.ready(Interest::ERROR).await,
                    Self::Unix(stream) => stream.ready(Interest::ERROR).await,
                };
                match watched.and_then(|_| wire.with(|socket| socket.take_error())) {
                    Ok(Some(error)) | Err(error) => return error,
                    // A false alarm, or whoever reads or writes has met the error and says so. What is refused as not
                    // ready is waited for anew.
                    Ok(None) => {
                        let _ = wire.try_io(Interest::ERROR, |_| Err::<(), _>(io::ErrorKind::WouldBlock.into()));
                    }
                }
            }
        }
    }

    /// Has the far end told of an abort, not of an end, when the last handle is dropped: TCP answers with RST (RFC 9293
    /// section 3.10.4). A Unix socket has no such word.
    pub fn abort(&self) {
        // Fails only for a socket that is gone.
        let _ = self.with(|socket| match self {
            Self::Tcp(_) => socket.set_linger(Some(Duration::ZERO)),
            Self::Unix(_) => socket.shutdown(Shutdown::Both),
        });
    }

    fn with<T>(&self, look: impl FnOnce(SockRef<'_>) -> T) -> T {
        match self {
            Self::Tcp(stream) => look(SockRef::from(&**stream)),
            Self::Unix(stream) => look(SockRef::from(&**stream)),
        }
    }

    fn poll_ready(&self, cx: &mut Context<'_>, write: bool) -> Poll<io::Result<()>> {
        match (self, write) {
            (Self::Tcp(stream), false) => stream.poll_read_ready(cx),
            (Self::Tcp(stream), true) => stream.poll_write_ready(cx),
            (Self::Unix(stream), false) => stream.poll_read_ready(cx),
            (Self::Unix(stream), true) => stream.poll_write_ready(cx),
        }
    }

    fn try_io<T>(&self, interest: Interest, work: impl FnOnce(SockRef<'_>) -> io::Result<T>) -> io::Result<T> {
        match self {
            Self::Tcp(stream) => stream.try_io(interest, || work(SockRef::from(&**stream))),
            Self::Unix(stream) => stream.try_io(interest, || work(SockRef::from(&**stream))),
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        loop {
            ready!(self.poll_ready(cx, false))?;
            let room = buf.initialize_unfilled();
            match self.try_io(Interest::READABLE, |socket| (&*socket).read(room)) {
                Ok(count) => {
                    buf.advance(count);
                    return Poll::Ready(Ok(()));
                }
                // It was ready and is no more: ask again, to be woken.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl AsyncWrite for Wire {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.poll_ready(cx, true))?;
            match self.try_io(Interest::WRITABLE, |socket| (&*socket).write(bytes)) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return Poll::Ready(result),
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // The kernel has it.
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(match self.with(|socket| socket.shutdown(Shutdown::Write)) {
            // The far end was faster: there is nothing left to end.
            Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(()),
            result => result,
        })
    }
}
