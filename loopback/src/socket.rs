//! Loopback sockets: bound to loopback, with buffers as large as the kernel gives, deaf to everybody else.

use std::fmt;
use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, Runtime, TokioRuntime, UdpPoller};
use socket2::{Domain, Protocol, Socket, Type};

/// Socket buffer that endpoints ask the kernel for, in bytes, each way.
///
/// The kernel's default (`net.core.rmem_default`, mostly 208 KiB) holds a burst of three sends. A full buffer drops what
/// comes, over loopback too.
pub const SOCKET_BUFFER: usize = 2 * 1024 * 1024;

/// What became of the request for socket buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BufferReport {
    /// Bytes asked for, each way. 0: nothing was asked for, and the kernel's default stands.
    pub requested: usize,
    /// Bytes granted for arriving packets.
    pub receive: usize,
    /// Bytes granted for leaving packets.
    pub send: usize,
}

impl BufferReport {
    /// Whether the kernel gave less than was asked for. `net.core.rmem_max` and `wmem_max` are its limits.
    #[must_use]
    pub fn clamped(&self) -> bool {
        self.receive.min(self.send) < self.requested
    }
}

impl fmt::Display for BufferReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { requested, receive, send } = self;
        write!(f, "socket buffers: {receive} bytes to receive and {send} to send, {requested} requested")
    }
}

/// Linux counts its own bookkeeping, doubles what is asked for, and reports the double (socket(7)).
const REPORTED_PER_GRANTED: usize = if cfg!(target_os = "linux") { 2 } else { 1 };

/// Binds a UDP socket and sizes its buffers.
///
/// # Errors
///
/// `InvalidInput` when the address is not a loopback address and `allow_remote` is false; otherwise what the kernel says.
pub(crate) fn bind(addr: SocketAddr, allow_remote: bool, buffer: usize) -> io::Result<(UdpSocket, BufferReport)> {
    if !allow_remote && !addr.ip().is_loopback() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{addr} is not a loopback address: loopback QUIC carries no TLS"),
        ));
    }
    let socket = Socket::new(Domain::for_address(addr), Type::DGRAM, Some(Protocol::UDP))?;
    if buffer > 0 {
        socket.set_recv_buffer_size(buffer)?;
        socket.set_send_buffer_size(buffer)?;
    }
    socket.bind(&addr.into())?;
    let granted = |reported: usize| reported / if buffer > 0 { REPORTED_PER_GRANTED } else { 1 };
    let report = BufferReport {
        requested: buffer,
        receive: granted(socket.recv_buffer_size()?),
        send: granted(socket.send_buffer_size()?),
    };
    Ok((socket.into(), report))
}

/// Makes an asynchronous socket of tokio, behind a guard unless remote peers are allowed.
pub(crate) fn wrap(socket: UdpSocket, allow_remote: bool) -> io::Result<Arc<dyn AsyncUdpSocket>> {
    let inner = TokioRuntime.wrap_udp_socket(socket)?;
    Ok(if allow_remote { inner } else { Arc::new(LoopbackOnly { inner }) })
}

/// Lets nothing in or out that is not between loopback addresses.
///
/// A socket bound to 127.0.0.1 is still reached by a local process from another of the host's addresses, and quinn would
/// send wherever `connect_with` points it.
#[derive(Debug)]
struct LoopbackOnly {
    inner: Arc<dyn AsyncUdpSocket>,
}

impl AsyncUdpSocket for LoopbackOnly {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Arc::clone(&self.inner).create_io_poller()
    }

    /// Drops what would leave the host. An error would end quinn's driver and leave the connection waiting for ever;
    /// dropped, it runs into its timer.
    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        if !transmit.destination.ip().is_loopback() {
            tracing::debug!(destination = %transmit.destination, "not sent: not a loopback address");
            return Ok(());
        }
        self.inner.try_send(transmit)
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let polled = self.inner.poll_recv(cx, bufs, meta);
        if let Poll::Ready(Ok(count)) = &polled {
            for arrived in meta.iter_mut().take(*count).filter(|arrived| !arrived.addr.ip().is_loopback()) {
                tracing::debug!(source = %arrived.addr, "dropped: not from a loopback address");
                // quinn takes an empty arrival for nothing.
                arrived.len = 0;
            }
        }
        polled
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.inner.local_addr()
    }

    fn max_transmit_segments(&self) -> usize {
        self.inner.max_transmit_segments()
    }

    fn max_receive_segments(&self) -> usize {
        self.inner.max_receive_segments()
    }

    fn may_fragment(&self) -> bool {
        self.inner.may_fragment()
    }
}

#[cfg(test)]
mod tests;
