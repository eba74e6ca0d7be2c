//! Where a peer or component came from.

use std::{fmt, net::SocketAddr};

use serde::{Serialize, Serializer};

/// Where a peer or component came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PeerAddress {
    /// Over a network, or loopback.
    Socket(SocketAddr),
    /// Over a Unix socket, whose clients have no address.
    Unix,
}

impl PeerAddress {
    /// The address, where there is one.
    pub fn socket(self) -> Option<SocketAddr> {
        match self {
            Self::Socket(address) => Some(address),
            Self::Unix => None,
        }
    }
}

impl From<SocketAddr> for PeerAddress {
    fn from(address: SocketAddr) -> Self {
        Self::Socket(address)
    }
}

impl fmt::Display for PeerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket(address) => address.fmt(f),
            Self::Unix => f.write_str("unix"),
        }
    }
}

impl Serialize for PeerAddress {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
