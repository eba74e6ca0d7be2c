//! What a dial is asked for, and what it brings.

use std::net::SocketAddr;

use iris_loopback::{DatagramSize, PeerInfo, PeerLimits};

use crate::{
    tls::{Judged, Standing},
    transport::{Session, config::StreamLimits},
};

/// What a dial is asked for.
#[derive(Debug)]
pub struct DialRequest<'a> {
    /// The server name that the arrival asked for.
    pub server_name: Option<&'a str>,
    /// The application protocols to offer, in order of preference. Empty: none.
    pub alpn: &'a [Vec<u8>],
    /// The destination that the arrival asked for, as `host:port`.
    pub destination: Option<&'a str>,
    /// What a component is told of the peer.
    pub peer: Option<PeerInfo>,
    /// How many streams the far side may open: as many as the arrival permits.
    pub streams: StreamLimits,
    /// What a component is told of the arrival's datagrams.
    pub datagram_size: DatagramSize,
}

/// A connected upstream.
#[derive(Debug)]
pub struct Dialled {
    /// The connection.
    pub session: Session,
    /// Where it leads.
    pub address: SocketAddr,
    /// The application protocol that the far side chose.
    pub alpn: Option<Vec<u8>>,
    /// How many streams the far side permits, and its datagrams.
    pub limits: PeerLimits,
    /// The generations that the handshake stood on.
    pub standing: Standing,
    /// The chain that the far side was judged by.
    pub judged: Option<Judged>,
}
