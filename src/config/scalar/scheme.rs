//! The schemes of addresses. Security is in the scheme, never implied.
//!
//! A scheme that this build does not carry yet is known by name all the same. To carry it: its row here, its arm in
//! `plan::compile::listener` and `plan::compile::upstream`.

use std::fmt;

use super::Parsed;
use crate::config::problem::{Fault, near, shown};

/// The scheme of a `listen` or `dial` address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// QUIC version 1, any application protocol or none.
    Quic,
    /// WebTransport sessions over HTTP/3.
    WebTransport,
    /// TLS over TCP.
    Tls,
    /// QUIC without TLS over loopback.
    QuicPlaintext,
    /// WebTransport over loopback QUIC.
    WebTransportPlaintext,
    /// TCP.
    Tcp,
    /// A Unix stream socket.
    Unix,
}

/// What a port of the host system is bound for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Socket {
    /// UDP.
    Udp,
    /// TCP.
    Tcp,
    /// A path.
    Unix,
}

/// What one connection of a scheme carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Many streams.
    Session,
    /// One stream of bytes.
    Stream,
}

struct Row {
    scheme: Scheme,
    prefix: &'static str,
    secured: bool,
    unit: Unit,
    socket: Socket,
    /// This build carries it.
    carried: bool,
}

#[rustfmt::skip]
const ROWS: [Row; 7] = [
    Row { scheme: Scheme::Quic, prefix: "quic://", secured: true, unit: Unit::Session, socket: Socket::Udp, carried: true },
    Row { scheme: Scheme::WebTransport, prefix: "webtransport://", secured: true, unit: Unit::Session, socket: Socket::Udp, carried: false },
    Row { scheme: Scheme::Tls, prefix: "tls://", secured: true, unit: Unit::Stream, socket: Socket::Tcp, carried: true },
    Row { scheme: Scheme::QuicPlaintext, prefix: "quic+plaintext://", secured: false, unit: Unit::Session, socket: Socket::Udp, carried: true },
    Row { scheme: Scheme::WebTransportPlaintext, prefix: "webtransport+plaintext://", secured: false, unit: Unit::Session, socket: Socket::Udp, carried: false },
    Row { scheme: Scheme::Tcp, prefix: "tcp://", secured: false, unit: Unit::Stream, socket: Socket::Tcp, carried: true },
    Row { scheme: Scheme::Unix, prefix: "unix:", secured: false, unit: Unit::Stream, socket: Socket::Unix, carried: true },
];

impl Scheme {
    /// Every scheme that Iris knows, carried by this build or not.
    pub fn all() -> impl Iterator<Item = Self> {
        ROWS.iter().map(|row| row.scheme)
    }

    /// The scheme as it stands in front of an address: `quic://`.
    pub fn prefix(self) -> &'static str {
        self.row().prefix
    }

    /// Whether it carries TLS.
    pub fn is_secured(self) -> bool {
        self.row().secured
    }

    /// What one connection carries.
    pub fn unit(self) -> Unit {
        self.row().unit
    }

    /// What it binds.
    pub fn socket(self) -> Socket {
        self.row().socket
    }

    /// Whether this build carries it.
    pub fn is_carried(self) -> bool {
        self.row().carried
    }

    fn row(self) -> &'static Row {
        ROWS.iter().find(|row| row.scheme == self).expect("each scheme has a row, as a test shows")
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.prefix())
    }
}

/// Splits an address into its scheme, one that this build carries, and the rest.
pub(super) fn split(text: &str) -> Parsed<(Scheme, &str)> {
    if let Some(row) = ROWS.iter().find(|row| text.starts_with(row.prefix)) {
        if !row.carried {
            return Err(Fault::new(format!("this build does not carry `{}` yet", row.prefix), allowed()));
        }
        return Ok((row.scheme, &text[row.prefix.len()..]));
    }
    let written = text.split_once("://").map(|(scheme, _)| format!("{scheme}://"));
    Err(match written {
        None => Fault::new(format!("{} has no scheme", shown(text)), allowed()),
        Some(scheme) => Fault::new(format!("unknown scheme {}", shown(&scheme)), allowed())
            .meant(near(&scheme, ROWS.iter().filter(|row| row.carried).map(|row| row.prefix))),
    })
}

fn allowed() -> String {
    let carried: Vec<_> = ROWS.iter().filter(|row| row.carried).map(|row| format!("`{}`", row.prefix)).collect();
    format!("an address that begins with {}", carried.join(" or "))
}
