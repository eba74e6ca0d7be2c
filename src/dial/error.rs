//! Why a dial came to nothing.

use crate::{
    observe::labels::HandshakeFailure,
    transport::{Close, Code},
};

/// A dial that came to nothing.
#[derive(Debug, Clone, thiserror::Error)]
#[error("upstream {upstream}: {detail}")]
pub struct DialError {
    /// The upstream's name.
    pub upstream: String,
    /// What it is counted under.
    pub reason: HandshakeFailure,
    /// What happened, with the address.
    pub detail: String,
}

impl DialError {
    /// The close that an established far side is given.
    pub fn close(&self) -> Close {
        let code = match self.reason {
            HandshakeFailure::UnknownIssuer
            | HandshakeFailure::NameMismatch
            | HandshakeFailure::Expired
            | HandshakeFailure::NotYetValid
            | HandshakeFailure::Revoked
            | HandshakeFailure::BadCertificate => Code::UpstreamNotTrusted,
            HandshakeFailure::Limit => Code::Limit,
            _ => Code::UpstreamUnreachable,
        };
        code.close_because(&self.detail)
    }
}
