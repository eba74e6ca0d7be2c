//! Settings of the process.

use std::{net::SocketAddr, time::Duration};

use tracing::Level;

use crate::config::{field::Field, scalar::address, walk::Fields};

/// `admin`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admin {
    /// Everything.
    pub listen: Field<SocketAddr>,
    /// Liveness, readiness and metrics only.
    pub scrape: Field<SocketAddr>,
    /// POST is answered on `listen`.
    pub actions: Field<bool>,
}

/// `log`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    /// Text or JSON.
    pub format: Field<LogFormat>,
    /// The least severe lines that are written.
    pub level: Field<Level>,
}

/// Log format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// `development`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Development {
    /// Plaintext ends may be other than loopback.
    pub allow_remote_plaintext: Field<bool>,
    /// `verification: disabled` is accepted.
    pub allow_unverified_peers: Field<bool>,
}

/// `limits`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Connections at a time.
    pub connections: Field<u64>,
    /// Handshakes in flight.
    pub handshakes: Field<u64>,
    /// Streams of a kind that a peer is permitted.
    pub streams: Field<u64>,
    /// Window of a stream, in bytes.
    pub stream_window: Field<u64>,
    /// Datagrams queued, in bytes.
    pub datagram_buffer: Field<u64>,
}

/// `timeouts`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeouts {
    /// Of a handshake.
    pub handshake: Field<Duration>,
    /// Of a dial.
    pub connect: Field<Duration>,
    /// Silence until a connection is lost.
    pub idle: Field<Duration>,
    /// Between packets that keep a connection alive.
    pub keep_alive: Field<Duration>,
    /// `timeouts.loopback_idle`
    pub loopback_idle: Field<Duration>,
    /// From the close of one side to that of the other.
    pub close_grace: Field<Duration>,
    /// From SIGTERM to the end.
    pub drain: Field<Duration>,
}

/// `transport`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transport {
    /// UDP segmentation offload.
    pub segmentation_offload: Field<bool>,
    /// Socket buffers, in bytes.
    pub socket_buffer: Field<u64>,
    /// Between probes of a quiet TCP connection.
    pub tcp_keep_alive: Field<Duration>,
}

/// `reload`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reload {
    /// Between two looks at the contents of all files.
    pub poll: Field<Duration>,
    /// Quiet after an event, before the files are read.
    pub debounce: Field<Duration>,
    /// How long events in a row can put the reading off.
    pub debounce_max: Field<Duration>,
}

pub(in crate::config) fn admin(fields: &Fields<'_>) -> Admin {
    Admin {
        listen: fields.text("listen", address::http),
        scrape: fields.text("scrape", address::http),
        actions: fields.flag("actions"),
    }
}

pub(in crate::config) fn log(fields: &Fields<'_>) -> Log {
    Log {
        format: fields.choice("format", &[LogFormat::Text, LogFormat::Json]),
        level: fields.choice("level", &[Level::ERROR, Level::WARN, Level::INFO, Level::DEBUG, Level::TRACE]),
    }
}

pub(in crate::config) fn development(fields: &Fields<'_>) -> Development {
    Development {
        allow_remote_plaintext: fields.flag("allow_remote_plaintext"),
        allow_unverified_peers: fields.flag("allow_unverified_peers"),
    }
}

pub(in crate::config) fn limits(fields: &Fields<'_>) -> Limits {
    Limits {
        connections: fields.count("connections"),
        handshakes: fields.count("handshakes"),
        streams: fields.count("streams"),
        stream_window: fields.size("stream_window"),
        datagram_buffer: fields.size("datagram_buffer"),
    }
}

pub(in crate::config) fn timeouts(fields: &Fields<'_>) -> Timeouts {
    Timeouts {
        handshake: fields.duration("handshake"),
        connect: fields.duration("connect"),
        idle: fields.duration("idle"),
        keep_alive: fields.duration("keep_alive"),
        loopback_idle: fields.duration("loopback_idle"),
        close_grace: fields.duration("close_grace"),
        drain: fields.duration("drain"),
    }
}

pub(in crate::config) fn transport(fields: &Fields<'_>) -> Transport {
    Transport {
        segmentation_offload: fields.flag("segmentation_offload"),
        socket_buffer: fields.size("socket_buffer"),
        tcp_keep_alive: fields.duration("tcp_keep_alive"),
    }
}

pub(in crate::config) fn reload(fields: &Fields<'_>) -> Reload {
    Reload {
        poll: fields.duration("poll"),
        debounce: fields.duration("debounce"),
        debounce_max: fields.duration("debounce_max"),
    }
}
