//! The closed sets of label values. Nothing that a peer sends ever becomes one.

/// A closed set of label values.
pub trait Label: Copy + 'static {
    /// Every value, so that each series exists from the start.
    const ALL: &'static [Self];

    /// The value as it stands in metrics, logs and status.
    fn as_str(self) -> &'static str;

    /// Its position in [`Label::ALL`], so that a table of handles needs no search.
    fn index(self) -> usize;
}

macro_rules! labels {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident => $text:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)+
        }

        impl Label for $name {
            const ALL: &'static [Self] = &[$(Self::$variant,)+];

            fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }

            fn index(self) -> usize {
                self as usize
            }
        }
    };
}

labels! {
    /// What a connection is carried by.
    Transport {
        /// Raw QUIC with TLS.
        Quic => "quic",
        /// WebTransport over HTTP/3.
        WebTransport => "webtransport",
        /// TLS over TCP.
        Tls => "tls",
        /// QUIC over loopback.
        QuicPlaintext => "quic_plaintext",
        /// WebTransport over loopback QUIC.
        WebTransportPlaintext => "webtransport_plaintext",
        /// TCP.
        Tcp => "tcp",
        /// A Unix stream socket.
        Unix => "unix",
    }
}

labels! {
    /// What became of an attempt.
    ConnectionResult {
        /// Both ends have it.
        Established => "established",
        /// Iris said no before or during the handshake.
        Refused => "refused",
        /// It came to nothing.
        Failed => "failed",
    }
}

labels! {
    /// Why a connection ended.
    CloseReason {
        /// Its own peer closed it.
        Peer => "peer",
        /// The connection that it was paired with closed.
        FarSide => "far_side",
        /// Nothing was heard for the idle timeout.
        Idle => "idle",
        /// The process is stopping.
        Drain => "drain",
        /// What it stood on is no longer trusted.
        TrustRemoved => "trust_removed",
        /// Trust shrank; still trusted, made again under the new generation.
        TrustRecycled => "trust_recycled",
        /// A certificate of its chain was revoked.
        Revoked => "revoked",
        /// The identity that it was dialled under is about to end.
        IdentityRetired => "identity_retired",
        /// It reached `max_connection_age`.
        MaxAge => "max_age",
        /// A configuration reload no longer permits it.
        ConfigChange => "config_change",
        /// A bound was reached.
        Limit => "limit",
        /// The transport failed.
        Error => "error",
    }
}

labels! {
    /// Why a handshake, on either side, came to nothing.
    HandshakeFailure {
        /// No anchor of the trust bundle vouches for the peer.
        UnknownIssuer => "unknown_issuer",
        /// The peer's certificate does not bear the server name.
        NameMismatch => "name_mismatch",
        /// A certificate of the peer's chain has ended.
        Expired => "expired",
        /// A certificate of the peer's chain has not begun.
        NotYetValid => "not_yet_valid",
        /// A certificate of the peer's chain is revoked.
        Revoked => "revoked",
        /// The peer's certificate cannot be used: malformed, wrong usage, bad signature.
        BadCertificate => "bad_certificate",
        /// The peer showed no certificate where one is required.
        NoClientCertificate => "no_client_certificate",
        /// The peer's certificate bears none of the allowed names.
        NameNotAllowed => "name_not_allowed",
        /// No application protocol in common.
        NoAlpn => "no_alpn",
        /// No route fits the server name.
        NoRoute => "no_route",
        /// The role has no usable material.
        NotReady => "not_ready",
        /// It took too long.
        Timeout => "timeout",
        /// The ends speak different QUIC or TLS versions.
        Version => "version",
        /// A bound was reached.
        Limit => "limit",
        /// Anything else that breaks the protocol.
        Protocol => "protocol",
        /// Nobody answers at the address, or it has no address.
        Unreachable => "unreachable",
        /// The component asked for a destination that the upstream does not allow.
        DestinationNotAllowed => "destination_not_allowed",
    }
}

labels! {
    /// A kind of material in one of its roles.
    Material {
        /// The identity that a listener shows.
        ServerIdentity => "server_identity",
        /// The identity that an upstream shows.
        ClientIdentity => "client_identity",
        /// The anchors that peers are judged by.
        Trust => "trust",
        /// Revocation lists.
        Revocation => "revocation",
    }
}

labels! {
    /// How a material stands.
    MaterialState {
        /// In use.
        Active => "active",
        /// In use, near its end.
        Expiring => "expiring",
        /// Over, with no successor.
        Expired => "expired",
        /// A replacement waits for its start.
        Held => "held",
        /// Nothing valid was ever there.
        InitialFailed => "initial_failed",
    }
}

labels! {
    /// What became of a reload.
    ReloadResult {
        /// In use now.
        Success => "success",
        /// Refused; what was in use stays.
        Rejected => "rejected",
    }
}

labels! {
    /// Which way bytes go, seen from the component.
    Direction {
        /// From the accepted side to the dialled one.
        Upstream => "upstream",
        /// From the dialled side to the accepted one.
        Downstream => "downstream",
    }
}
