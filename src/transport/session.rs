//! A multiplexed connection as a bridge sees it.

use bytes::Bytes;
use quinn::{Connection, ConnectionError, VarInt};

use super::{Close, RecvHalf, SendHalf};

/// A multiplexed connection. Clones share it.
#[derive(Debug, Clone)]
pub struct Session(Connection);

/// What became of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DatagramOutcome {
    /// Queued.
    Sent,
    /// Too large for the path or the peer now, or no room in the queue, or no datagrams at all.
    Dropped,
    /// The connection is lost.
    Lost,
}

impl From<Connection> for Session {
    fn from(connection: Connection) -> Self {
        Self(connection)
    }
}

impl Session {
    /// The next bidirectional stream of the peer, in the order of identifiers. What arrived before a close is still
    /// returned after it.
    ///
    /// # Errors
    ///
    /// The connection has ended and no stream waits.
    pub async fn accept_bi(&self) -> Result<(SendHalf, RecvHalf), ConnectionError> {
        self.0.accept_bi().await.map(|(send, recv)| (send.into(), recv.into()))
    }

    /// The next unidirectional stream of the peer, likewise.
    ///
    /// # Errors
    ///
    /// As [`accept_bi`](Self::accept_bi).
    pub async fn accept_uni(&self) -> Result<RecvHalf, ConnectionError> {
        self.0.accept_uni().await.map(Into::into)
    }

    /// Opens a bidirectional stream when the peer permits one.
    ///
    /// # Errors
    ///
    /// The connection has ended.
    pub async fn open_bi(&self) -> Result<(SendHalf, RecvHalf), ConnectionError> {
        self.0.open_bi().await.map(|(send, recv)| (send.into(), recv.into()))
    }

    /// Opens a unidirectional stream when the peer permits one.
    ///
    /// # Errors
    ///
    /// The connection has ended.
    pub async fn open_uni(&self) -> Result<SendHalf, ConnectionError> {
        self.0.open_uni().await.map(Into::into)
    }

    /// The next datagram. What arrived before a close is still returned after it.
    ///
    /// # Errors
    ///
    /// The connection has ended and no datagram waits.
    pub async fn read_datagram(&self) -> Result<Bytes, ConnectionError> {
        self.0.read_datagram().await
    }

    /// Queues a datagram, or says that it was dropped. Never displaces one that is queued already: quinn would, without
    /// a word, so the room is asked first; and so is the size, which can shrink during a connection (RFC 8899).
    pub fn send_datagram(&self, datagram: Bytes) -> DatagramOutcome {
        let fits = self.0.max_datagram_size().is_some_and(|size| datagram.len() <= size)
            && datagram.len() <= self.0.datagram_send_buffer_space();
        if !fits {
            return DatagramOutcome::Dropped;
        }
        match self.0.send_datagram(datagram) {
            Ok(()) => DatagramOutcome::Sent,
            Err(quinn::SendDatagramError::ConnectionLost(_)) => DatagramOutcome::Lost,
            Err(_) => DatagramOutcome::Dropped,
        }
    }

    /// The largest datagram that fits now, in bytes; `None` when the peer takes none.
    pub fn datagram_size(&self) -> Option<usize> {
        self.0.max_datagram_size()
    }

    /// Permits the peer this many streams of each kind at a time, and credit to fill every one of them (see
    /// [`connection_window`](super::config::connection_window)).
    pub fn permit_streams(&self, bidi: u32, uni: u32, window: u64) {
        self.0.set_receive_window(VarInt::from_u64(window).unwrap_or(VarInt::MAX));
        self.0.set_max_concurrent_bi_streams(bidi.into());
        self.0.set_max_concurrent_uni_streams(uni.into());
    }

    /// Completes when the connection has ended, with the reason.
    pub async fn closed(&self) -> ConnectionError {
        self.0.closed().await
    }

    /// Ends the connection. What is not acknowledged is lost.
    pub fn close(&self, close: &Close) {
        self.0.close(close.code, &close.reason);
    }

    /// The connection below.
    pub fn connection(&self) -> &Connection {
        &self.0
    }
}
