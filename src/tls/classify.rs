//! The metric reason of a handshake that failed.

use quinn::{ConnectionError, TransportErrorCode};

use super::alert::Alert;
use crate::observe::labels::HandshakeFailure;

/// Why a handshake failed, on either side: our own verdict if there is one, else what the error says. Also right for
/// an error soon after a dial succeeded: TLS 1.3 clients finish before the server has judged their certificate.
pub fn classify(error: &ConnectionError, own: Option<HandshakeFailure>) -> HandshakeFailure {
    if let Some(failure) = own {
        return failure;
    }
    match error {
        ConnectionError::TransportError(error) => by_code(error.code),
        ConnectionError::ConnectionClosed(close) => by_code(close.error_code),
        ConnectionError::VersionMismatch => HandshakeFailure::Version,
        // A local close before the end of a handshake is its deadline.
        ConnectionError::TimedOut | ConnectionError::LocallyClosed => HandshakeFailure::Timeout,
        ConnectionError::CidsExhausted => HandshakeFailure::Limit,
        ConnectionError::ApplicationClosed(_) | ConnectionError::Reset => HandshakeFailure::Protocol,
    }
}

/// Whether an error is about the handshake although it may come after its end on our side.
pub fn is_late_handshake_failure(error: &ConnectionError) -> bool {
    matches!(error, ConnectionError::ConnectionClosed(close) if Alert::of_code(close.error_code).is_some())
}

fn by_code(code: TransportErrorCode) -> HandshakeFailure {
    match Alert::of_code(code) {
        Some(alert) => alert.failure(),
        // Somebody is there and takes nobody: for a dial as good as nobody.
        None if code == TransportErrorCode::CONNECTION_REFUSED => HandshakeFailure::Unreachable,
        None => HandshakeFailure::Protocol,
    }
}
