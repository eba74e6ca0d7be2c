//! Settings of the process: the operator's HTTP, log, bounds and times. Every default stands here, once.

use std::{net::SocketAddr, time::Duration};

use super::LogFormat;

/// The operator's HTTP.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AdminPlan {
    /// Everything.
    pub listen: Option<SocketAddr>,
    /// Only `/livez`, `/readyz` and `/metrics`.
    pub scrape: Option<SocketAddr>,
    /// POST is answered on `listen`.
    pub actions: bool,
}

/// Log format and level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogPlan {
    /// Text or JSON.
    pub format: LogFormat,
    /// `error`, `warn`, `info`, `debug` or `trace`.
    pub level: tracing::Level,
}

impl Default for LogPlan {
    fn default() -> Self {
        Self { format: LogFormat::Text, level: tracing::Level::INFO }
    }
}

/// What the file allows that no production system should. Read at process start only.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Development {
    /// Plaintext ends may be other than loopback and Unix sockets.
    pub allow_remote_plaintext: bool,
    /// `verification: disabled` is accepted.
    pub allow_unverified_peers: bool,
}

/// Bounds on everything that peers can make grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Connections accepted and not yet ended, over all listeners.
    pub connections: usize,
    /// Handshakes in flight, over all listeners. Above half of it QUIC clients must prove their address first
    /// (Retry, RFC 9000 section 8.1.2).
    pub handshakes: usize,
    /// The most streams of one kind that a peer is ever permitted at a time, however many the far side permits.
    pub streams: u32,
    /// Flow-control window of a stream, in bytes (RFC 9000 section 4.1).
    pub stream_window: u32,
    /// Datagrams queued towards a peer, in bytes (RFC 9221).
    pub datagram_buffer: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 10_000,
            handshakes: 1_000,
            streams: 1_024,
            stream_window: 256 * 1024,
            datagram_buffer: 256 * 1024,
        }
    }
}

/// How long anything may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// From a peer's first packet to the end of its handshake.
    pub handshake: Duration,
    /// From the start of a dial to a connected upstream, all addresses together.
    pub connect: Duration,
    /// Silence after which a QUIC connection is lost (RFC 9000 section 10.1).
    pub idle: Duration,
    /// Between packets that keep a quiet connection alive. Less than half of `idle`.
    pub keep_alive: Duration,
    /// Silence after which a component is taken for dead. Its connections are kept alive three times as often. More than
    /// `connect`: a component waits as long for its answer.
    pub loopback_idle: Duration,
    /// How long one side stays open after the other closed, until it has acknowledged what was sent.
    pub close_grace: Duration,
    /// From SIGTERM until what still runs is closed.
    pub drain: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            handshake: Duration::from_secs(10),
            connect: Duration::from_secs(10),
            idle: Duration::from_secs(30),
            keep_alive: Duration::from_secs(10),
            loopback_idle: Duration::from_secs(15),
            close_grace: Duration::from_secs(3),
            drain: Duration::from_secs(30),
        }
    }
}

/// Settings of the transports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransportSettings {
    /// UDP segmentation offload. Off for virtual interfaces that fail it (EIO, EINVAL).
    pub segmentation_offload: bool,
    /// Socket buffers asked of the kernel, in bytes; a clamp is logged.
    pub socket_buffer: usize,
    /// Silence after which a TCP connection is probed. One that answers three probes in a row with nothing is lost.
    pub tcp_keep_alive: Duration,
}

impl Default for TransportSettings {
    fn default() -> Self {
        Self { segmentation_offload: true, socket_buffer: 2 * 1024 * 1024, tcp_keep_alive: Duration::from_secs(30) }
    }
}

/// How changed files are found. From complete on disk to in use for every new connection, and for every old one to
/// be closed or made again, `poll`, `debounce_max` and the `spread` of a trust bundle add up to 25 s at the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReloadSettings {
    /// Between two looks at the contents of all files: the guarantee.
    pub poll: Duration,
    /// Quiet after an event before the files are read: the speed.
    pub debounce: Duration,
    /// How long events in a row can put the reading off.
    pub debounce_max: Duration,
}

impl Default for ReloadSettings {
    fn default() -> Self {
        Self {
            poll: Duration::from_secs(10),
            debounce: Duration::from_millis(100),
            debounce_max: Duration::from_secs(1),
        }
    }
}
