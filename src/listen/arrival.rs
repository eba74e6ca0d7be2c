//! What a listener hands on.

use std::net::SocketAddr;

use iris_loopback::{DatagramSize, PeerCertificate, PeerInfo, PeerLimits, Pending};

use crate::{
    plan::ListenerId,
    tls::{Judged, PeerIdentity, Standing},
    transport::{
        Session,
        proxy::{ProxyHeader, TlsFacts},
    },
};

use super::stream::shown;

/// A peer or component that wants to go somewhere.
pub struct Arrival {
    /// Where it came in.
    pub listener: ListenerId,
    /// Position of its route in the listener's plan.
    pub route: usize,
    /// Its address.
    pub peer: SocketAddr,
    /// The address that it reached, as far as the machine tells.
    pub local: Option<SocketAddr>,
    /// The server name that it asked for.
    pub server_name: Option<String>,
    /// The application protocols to offer to the far side: what a secured side settled on, or all that a component
    /// offers.
    pub alpn: Vec<Vec<u8>>,
    /// The destination that a component asks for, as `host:port`.
    pub destination: Option<String>,
    /// How many streams it permits, and its datagrams.
    pub limits: PeerLimits,
    /// The generations that its handshake stood on.
    pub standing: Standing,
    /// The chain that it was judged by.
    pub judged: Option<Judged>,
    /// The certificate that it showed.
    pub identity: Option<PeerIdentity>,
    /// Its connection.
    pub end: ArrivalEnd,
}

/// The connection of an arrival.
pub enum ArrivalEnd {
    /// The handshake is over: a secured peer, which had to be judged first.
    Established(Session),
    /// The handshake waits for what the dial brings: a component.
    Held(Box<Pending>),
}

impl Arrival {
    /// What a component behind the far side is told of this arrival.
    pub fn info(&self) -> Option<PeerInfo> {
        let ArrivalEnd::Established(session) = &self.end else { return None };
        Some(PeerInfo {
            address: Some(self.peer),
            server_name: self.server_name.clone(),
            alpn: self.alpn.first().cloned(),
            // QUIC knows no other (RFC 9001 section 4.2).
            tls_version: Some(0x0304),
            certificate: self.identity.as_ref().map(|identity| PeerCertificate {
                sha256: identity.sha256,
                dns_names: identity.dns_names.clone(),
                uris: identity.uris.clone(),
                names_truncated: false,
            }),
            datagram_size: session.datagram_size().and_then(|size| u32::try_from(size).ok()),
        })
    }

    /// What a component is told of it in front of each stream. The suite is not known: QUIC keeps it to itself.
    pub fn proxy_header(&self) -> ProxyHeader {
        ProxyHeader {
            source: Some(self.peer),
            destination: self.local,
            alpn: self.alpn.first().cloned(),
            authority: self.server_name.clone(),
            tls: Some(TlsFacts {
                version: "TLSv1.3",
                cipher: String::new(),
                client_certificate: self.identity.as_ref().map(|identity| shown(identity, self.judged.is_some())),
            }),
        }
    }

    /// What the far side is told of this arrival's datagrams.
    pub fn datagram_size(&self) -> DatagramSize {
        match &self.end {
            ArrivalEnd::Established(session) => session.datagram_size().into(),
            // Components take what their own library makes of it; only secured paths are narrow.
            ArrivalEnd::Held(_) => DatagramSize::Unchanged,
        }
    }
}
