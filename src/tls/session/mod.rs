//! Crypto sessions around quinn's own: they choose the configuration when the ClientHello is there, and tell what quinn
//! keeps to itself, which is the peer's limits and the precise reason of a failure.

mod accept;
mod dial;
mod hello;

use std::sync::OnceLock;

use iris_loopback::PeerLimits;
use quinn_proto::{TransportError, crypto::Session};
use rustls::pki_types::UnixTime;

pub use accept::{AcceptOutcome, accept, initial_only};
pub use dial::DialOutcome;
pub(super) use dial::Dialling;

use super::{alert::Alert, verify::verdict};
use crate::observe::labels::HandshakeFailure;

/// QUIC version 1 (RFC 9000 section 15), the only one spoken with TLS.
const VERSION: u32 = 1;

/// What both sides learn in a handshake. Written once each, by the session; read by whoever awaits the connection.
#[derive(Debug, Default)]
struct Learned {
    failure: OnceLock<HandshakeFailure>,
    limits: OnceLock<PeerLimits>,
    judged_at: OnceLock<UnixTime>,
}

impl Learned {
    /// Lets quinn's session read, and learns from the result.
    fn read(&self, session: &mut dyn Session, bytes: &[u8]) -> Result<bool, TransportError> {
        let (result, verdict) = verdict::scope(|| session.read_handshake(bytes));
        if let Some(judged_at) = verdict.judged_at {
            self.judged_at.get_or_init(|| judged_at);
        }
        match &result {
            Ok(_) => {
                if self.limits.get().is_none()
                    && let Ok(Some(parameters)) = session.transport_parameters()
                {
                    self.limits.get_or_init(|| PeerLimits::of(&parameters));
                }
            }
            Err(error) => {
                self.fail(
                    verdict.failure.unwrap_or_else(|| {
                        Alert::of_code(error.code).map_or(HandshakeFailure::Protocol, Alert::failure)
                    }),
                );
            }
        }
        result
    }

    fn fail(&self, failure: HandshakeFailure) {
        // The first failure is the cause of any other.
        self.failure.get_or_init(|| failure);
    }
}
