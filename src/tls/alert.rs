//! TLS alerts (RFC 8446 section 6) as they stand in QUIC error codes (RFC 9001 section 4.8), and what each says about a
//! handshake that failed.

use quinn::TransportErrorCode;

use crate::observe::labels::HandshakeFailure;

/// A TLS alert description.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Alert(pub u8);

impl Alert {
    /// The message fits nowhere.
    pub const UNEXPECTED_MESSAGE: Self = Self(10);
    /// No acceptable set of parameters.
    pub const HANDSHAKE_FAILURE: Self = Self(40);
    /// A certificate is corrupt, or its names do not fit.
    pub const BAD_CERTIFICATE: Self = Self(42);
    /// A certificate of a kind that will not do.
    pub const UNSUPPORTED_CERTIFICATE: Self = Self(43);
    /// A certificate was revoked.
    pub const CERTIFICATE_REVOKED: Self = Self(44);
    /// A certificate has ended or not begun.
    pub const CERTIFICATE_EXPIRED: Self = Self(45);
    /// Something else about a certificate.
    pub const CERTIFICATE_UNKNOWN: Self = Self(46);
    /// A field is out of range.
    pub const ILLEGAL_PARAMETER: Self = Self(47);
    /// No anchor vouches for the certificate.
    pub const UNKNOWN_CA: Self = Self(48);
    /// A valid certificate, and still no.
    pub const ACCESS_DENIED: Self = Self(49);
    /// A message cannot be parsed.
    pub const DECODE_ERROR: Self = Self(50);
    /// A signature does not verify.
    pub const DECRYPT_ERROR: Self = Self(51);
    /// No TLS version in common.
    pub const PROTOCOL_VERSION: Self = Self(70);
    /// Nobody of that name here.
    pub const UNRECOGNIZED_NAME: Self = Self(112);
    /// A client certificate is required.
    pub const CERTIFICATE_REQUIRED: Self = Self(116);
    /// No application protocol in common.
    pub const NO_APPLICATION_PROTOCOL: Self = Self(120);

    /// The alert in a QUIC transport error code, if it is a CRYPTO_ERROR.
    pub fn of_code(code: TransportErrorCode) -> Option<Self> {
        u64::from(code).checked_sub(0x100).and_then(|alert| u8::try_from(alert).ok()).map(Self)
    }

    /// The QUIC transport error code.
    pub fn code(self) -> TransportErrorCode {
        TransportErrorCode::crypto(self.0)
    }

    /// Why a handshake failed that ended with this alert, whichever side sent it. The sender knows more; where that was
    /// us, its own verdict stands in place of this.
    pub fn failure(self) -> HandshakeFailure {
        match self {
            Self::BAD_CERTIFICATE | Self::UNSUPPORTED_CERTIFICATE | Self::CERTIFICATE_UNKNOWN | Self::DECRYPT_ERROR => {
                HandshakeFailure::BadCertificate
            }
            Self::CERTIFICATE_REVOKED => HandshakeFailure::Revoked,
            Self::CERTIFICATE_EXPIRED => HandshakeFailure::Expired,
            Self::UNKNOWN_CA => HandshakeFailure::UnknownIssuer,
            Self::ACCESS_DENIED => HandshakeFailure::NameNotAllowed,
            Self::PROTOCOL_VERSION => HandshakeFailure::Version,
            Self::UNRECOGNIZED_NAME => HandshakeFailure::NoRoute,
            Self::CERTIFICATE_REQUIRED => HandshakeFailure::NoClientCertificate,
            Self::NO_APPLICATION_PROTOCOL => HandshakeFailure::NoAlpn,
            _ => HandshakeFailure::Protocol,
        }
    }
}
