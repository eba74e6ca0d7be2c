//! The hello: what the two ends tell one another before the first stream.
//!
//! Its wire format is specified in `docs/loopback-quic.md`; [`field`] is the registry, [`encode`] and [`decode`] are the
//! two directions, [`reassembly`] collects the bytes of CRYPTO frames.

pub(crate) mod decode;
pub(crate) mod encode;
pub(crate) mod field;
pub(crate) mod reassembly;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;

/// The newest hello format that this library speaks. It understands, and is understood by, the one before as well.
///
/// Format 1 carries server name, ALPN, destination and transport parameters. Format 2 adds [`PeerInfo`].
pub const HELLO_FORMAT: u8 = 2;

/// The longest hello that is accepted, in bytes, headers included. One byte more is a transport error.
pub const MAX_HELLO: usize = 12 * 1024;

/// What a client asks for when it connects.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClientHello {
    /// The name that a TLS client would send as SNI (RFC 6066 section 3). At most 255 bytes, no control characters.
    ///
    /// An egress Iris with `server_name: requested` sends it to the peer and checks the peer's certificate against it.
    pub server_name: Option<String>,
    /// The application protocols on offer, the preferred one first (RFC 7301). Each is 1 to 255 bytes long; at most 64,
    /// and at most 1,024 bytes with a length byte each. Empty: none is offered.
    pub alpn: Vec<Vec<u8>>,
    /// Where Iris should dial, as `host:port`, for an upstream with `dial: quic://requested`. At most 300 bytes.
    pub destination: Option<String>,
    /// What the secured side knows about its peer. Iris fills it in when it connects to a component; a component that
    /// connects to Iris leaves it out.
    pub peer: Option<PeerInfo>,
}

/// What Iris knows about the remote peer for whom it connects to a component.
///
/// It is a statement of whoever opened the connection. It is worth as much as the loopback interface of the pod: every
/// process in it can say the same.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PeerInfo {
    /// The peer's UDP or TCP address.
    pub address: Option<SocketAddr>,
    /// The server name that the peer sent in its TLS ClientHello. At most 255 bytes.
    pub server_name: Option<String>,
    /// The application protocol that was negotiated with the peer. At most 255 bytes.
    pub alpn: Option<Vec<u8>>,
    /// The TLS version, as on the wire: `0x0304` is TLS 1.3.
    pub tls_version: Option<u16>,
    /// The peer's certificate, when it showed one and it was verified.
    pub certificate: Option<PeerCertificate>,
    /// The largest datagram payload (RFC 9221) that the peer takes now, in bytes. `None`: it takes none, or that is unknown.
    pub datagram_size: Option<u32>,
}

/// The leaf certificate of a peer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PeerCertificate {
    /// SHA-256 of the certificate's DER encoding.
    pub sha256: [u8; 32],
    /// DNS names among the subject alternative names.
    pub dns_names: Vec<String>,
    /// URIs among the subject alternative names, SPIFFE identifiers for instance.
    pub uris: Vec<String>,
    /// Some names were left out, because a hello has room for 128 names of each kind and about 3 KiB of them, none longer
    /// than 2,048 bytes, and carries no control characters. Whoever authorises by name must treat absent as unknown.
    pub names_truncated: bool,
}

/// Why bytes that should be a hello are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HelloError {
    /// The first bytes are not the magic of a hello.
    #[error("hello: not a loopback hello")]
    Magic,
    /// The sender says that only a newer format than ours can make sense of it.
    #[error("hello: written for format {lowest} or newer")]
    Format {
        /// The oldest format that could read it.
        lowest: u8,
    },
    /// The server answered in a format that the client did not offer.
    #[error("hello: answered in format {0}, which was not offered")]
    Answer(u8),
    /// Longer than [`MAX_HELLO`].
    #[error("hello: longer than 12 KiB")]
    TooLong,
    /// Bytes follow where the hello is over.
    #[error("hello: bytes behind its end")]
    Trailing,
    /// The bytes end before the hello does. Only a hello that must fit one datagram can fail so.
    #[error("hello: does not fit the first datagram")]
    Incomplete,
    /// A field ends behind the hello, or inside its own header.
    #[error("hello: a field is cut off")]
    Cut,
    /// A field is there twice.
    #[error("hello: field {0:#06x} is there twice")]
    Duplicate(u16),
    /// A field that must not be ignored is not known.
    #[error("hello: field {0:#06x} is critical and unknown")]
    UnknownCritical(u16),
    /// A field has a value that it may not have.
    #[error("hello: field {0:#06x} has an illegal value")]
    Invalid(u16),
    /// A field that only the other side may send.
    #[error("hello: field {0:#06x} is not for this side to send")]
    Misplaced(u16),
    /// A field that must be there is not.
    #[error("hello: field {0:#06x} is missing")]
    Missing(u16),
}

/// Why a [`ClientHello`] cannot be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// A string is empty, too long, or has control characters in it.
    #[error("{what} must be 1 to {max} bytes long without control characters")]
    Text {
        /// Which one.
        what: &'static str,
        /// Its greatest length in bytes.
        max: usize,
    },
    /// A protocol name is not 1 to 255 bytes long, or there are more than 64 or more than 1,024 bytes of them.
    #[error("application protocols must be 1 to 255 bytes long each, at most 64, and at most 1,024 bytes together")]
    Alpn,
    /// The whole would not fit one datagram.
    #[error("the hello would not fit one datagram")]
    TooLong,
}
