//! Accepting in two steps, for Iris: read what a component wants, dial, and only then accept or refuse.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use quinn::{Connecting, ConnectionError, Endpoint, Incoming, TransportConfig, VarInt};

use crate::endpoint::{endpoint_with, server_with};
use crate::hello::{ClientHello, HELLO_FORMAT, HelloError};
use crate::parameters::{DatagramSize, PeerLimits};
use crate::peek::{Peek, Peeked, Waiting};
use crate::policy::{Policy, transport_error};
use crate::provider::Server;
use crate::socket::{BufferReport, SOCKET_BUFFER};
use crate::transport::transport_config;

/// A listening loopback endpoint that shows each connection attempt, with its hello, before it is accepted.
pub struct Listener {
    endpoint: Endpoint,
    waiting: Arc<Waiting>,
    buffers: BufferReport,
}

impl Listener {
    /// Binds a loopback address and asks for [`SOCKET_BUFFER`]. Call it within a tokio runtime: the endpoint runs there.
    ///
    /// # Errors
    ///
    /// `InvalidInput` when the address is not a loopback address; otherwise what the kernel says.
    pub fn bind(addr: SocketAddr) -> io::Result<Self> {
        Self::bind_with(addr, false, SOCKET_BUFFER)
    }

    /// Binds with every choice open. `allow_remote` and `buffer` are as for [`endpoint_with`].
    ///
    /// # Errors
    ///
    /// As for [`bind`](Self::bind).
    pub fn bind_with(addr: SocketAddr, allow_remote: bool, buffer: usize) -> io::Result<Self> {
        let waiting = Arc::new(Waiting::default());
        let server = server_with(Arc::new(Peek(Arc::clone(&waiting))), Arc::new(transport_config()));
        let (endpoint, buffers) = endpoint_with(addr, Some(server), allow_remote, buffer)?;
        Ok(Self { endpoint, waiting, buffers })
    }

    /// The address that is bound.
    ///
    /// # Errors
    ///
    /// What the kernel says.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.endpoint.local_addr()
    }

    /// What the kernel gave for socket buffers.
    #[must_use]
    pub fn buffers(&self) -> BufferReport {
        self.buffers
    }

    /// The next attempt; `None` once the listener is closed. May be called from several tasks, on any runtime.
    ///
    /// An attempt that is neither accepted nor refused within the idle timeout of the transport that would accept it, 30 s
    /// by default, can only be refused.
    pub async fn accept(&self) -> Option<Pending> {
        let incoming = self.endpoint.accept().await?;
        let peeked = self.waiting.take(&incoming.orig_dst_cid()).unwrap_or(Err(HelloError::Incomplete));
        Some(Pending { incoming, peeked })
    }

    /// The endpoint, to wait for its connections to end or to read its statistics. Accept through the listener only: a
    /// connection that is accepted from the endpoint is refused.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Closes every connection with this application code and reason, and ends [`accept`](Self::accept).
    pub fn close(&self, code: VarInt, reason: &[u8]) {
        self.endpoint.close(code, reason);
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listener").field("addr", &self.local_addr().ok()).finish_non_exhaustive()
    }
}

/// How to accept an attempt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// The protocol to use. It must be one that was offered, or `None`.
    pub alpn: Option<Vec<u8>>,
    /// The datagram size to announce: the far side's.
    pub datagram_size: DatagramSize,
}

/// A connection attempt that waits for an answer. It may be sent to another thread; dropped, it is refused with
/// CONNECTION_REFUSED and no reason.
pub struct Pending {
    incoming: Incoming,
    peeked: Peeked,
}

impl Pending {
    /// Where the attempt comes from.
    #[must_use]
    pub fn remote_address(&self) -> SocketAddr {
        self.incoming.remote_address()
    }

    /// What the client asks for.
    ///
    /// # Errors
    ///
    /// When the first datagram has no whole and well-formed hello in it. Such an attempt should be refused.
    pub fn hello(&self) -> Result<&ClientHello, HelloError> {
        self.peeked.as_ref().map(|(hello, _)| hello).map_err(|error| *error)
    }

    /// What the client itself allows; `None` when there is no hello.
    #[must_use]
    pub fn limits(&self) -> Option<&PeerLimits> {
        self.peeked.as_ref().ok().map(|(_, limits)| limits)
    }

    /// Accepts. Call it on the runtime where the connection shall live: quinn spawns its driver there.
    ///
    /// The stream limits that the client sees are those of `transport`.
    ///
    /// # Errors
    ///
    /// When the attempt is too old by now, or its hello turns out to be wrong: a protocol that was not offered, for
    /// instance. The client has been told then.
    pub fn accept(self, answer: Answer, transport: Arc<TransportConfig>) -> Result<Connecting, ConnectionError> {
        let Answer { alpn, datagram_size } = answer;
        let crypto = Server { policy: Policy::Answer(alpn), datagrams: datagram_size, speaks: HELLO_FORMAT };
        self.incoming.accept_with(Arc::new(server_with(Arc::new(crypto), transport)))
    }

    /// Refuses. The client's connect fails at once with [`ConnectionClosed`](ConnectionError::ConnectionClosed), carrying
    /// `code` and as much of `reason` as fits a packet of 1,200 bytes.
    ///
    /// `code` is a transport error code: 0x2 is CONNECTION_REFUSED, 0x100 + n is the TLS alert n. quinn can name codes up to
    /// 0x10 and from 0x100 to 0x1ff; any other is sent as CONNECTION_REFUSED.
    pub fn refuse(self, code: u64, reason: &str) {
        let policy = Policy::Refuse(transport_error(code, reason));
        let mut transport = transport_config();
        // quinn says nothing to an attempt that is older than the idle timeout.
        transport.max_idle_timeout(None);
        let server = server_with(Arc::new(Server::new(policy)), Arc::new(transport));
        // The session refuses the first byte of the hello, and quinn tells the client. When there is no such byte the
        // attempt is accepted for the moment, and dropping it closes it.
        drop(self.incoming.accept_with(Arc::new(server)));
    }
}

impl fmt::Debug for Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending")
            .field("remote", &self.remote_address())
            .field("hello", &self.hello())
            .finish_non_exhaustive()
    }
}
