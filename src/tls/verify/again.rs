//! Judges again what was judged before, when trust has shrunk.

use rustls::pki_types::UnixTime;

use super::{bears_one_of, failure_of, verdict};
use crate::{
    material::{Authority, Usage},
    observe::labels::HandshakeFailure,
    plan::NamePatterns,
    tls::peer::Chain,
};

/// A chain that was found good, and as of when: all that a connection needs to be judged again.
#[derive(Debug, Clone)]
pub struct Judged {
    /// As it was shown.
    pub chain: Chain,
    /// The time of the handshake.
    pub at: UnixTime,
}

impl Judged {
    /// Whether the client that showed it would be believed under `authority`, had it shown it then.
    ///
    /// # Errors
    /// Why not.
    pub fn judge_client(
        &self,
        authority: &Authority,
        allow: Option<&NamePatterns>,
        now: UnixTime,
    ) -> Result<(), HandshakeFailure> {
        self.judge(authority, Usage::Client, now)?;
        let bears_one = |allow| self.chain.first().is_some_and(|leaf| bears_one_of(leaf, allow));
        if allow.is_none_or(bears_one) { Ok(()) } else { Err(HandshakeFailure::NameNotAllowed) }
    }

    /// Whether the server that showed it would be believed under `authority`, had it shown it then. Its name was judged
    /// when it was dialled, and does not change.
    ///
    /// # Errors
    /// Why not.
    pub fn judge_server(&self, authority: &Authority, now: UnixTime) -> Result<(), HandshakeFailure> {
        self.judge(authority, Usage::Server, now)
    }

    fn judge(&self, authority: &Authority, usage: Usage, now: UnixTime) -> Result<(), HandshakeFailure> {
        let (leaf, intermediates) = self.chain.split_first().ok_or(HandshakeFailure::BadCertificate)?;
        match authority.verify_again(leaf, intermediates, usage, self.at, now) {
            Ok(_) => Ok(()),
            Err(error) => Err(failure_of(&verdict::certificate_error(error))),
        }
    }
}
