//! The keys that quinn asks for outside the handshake: stateless resets, and tokens that this protocol never sends.

use std::hash::{BuildHasher, RandomState};

use quinn_proto::crypto::{AeadKey, CryptoError, HandshakeTokenKey, HmacKey};

/// Makes stateless reset tokens: a keyed hash of the connection ID under a key drawn for the process.
///
/// Two SipHashes of the standard library, each under a random key of its own, give the 16 bytes of RFC 9000 section 10.3.
/// A token is a secret only until it is sent, in plaintext, to the peer over loopback: who can read that can also forge
/// packets. What it must be is hard to guess for somebody who reads nothing, and that it is.
pub(crate) struct ResetKey([RandomState; 2]);

impl ResetKey {
    pub(crate) fn new() -> Self {
        Self([RandomState::new(), RandomState::new()])
    }

    fn signature(&self, data: &[u8]) -> [u8; 16] {
        let mut signature = [0; 16];
        for (half, key) in signature.chunks_exact_mut(8).zip(&self.0) {
            half.copy_from_slice(&key.hash_one(data).to_be_bytes());
        }
        signature
    }
}

impl HmacKey for ResetKey {
    fn sign(&self, data: &[u8], signature_out: &mut [u8]) {
        // quinn hands over exactly `signature_len` bytes; zip keeps any other length from being a panic under its lock.
        for (out, byte) in signature_out.iter_mut().zip(self.signature(data)) {
            *out = byte;
        }
    }

    fn signature_len(&self) -> usize {
        16
    }

    fn verify(&self, data: &[u8], signature: &[u8]) -> Result<(), CryptoError> {
        if signature == self.signature(data) { Ok(()) } else { Err(CryptoError) }
    }
}

/// Stands where a key for Retry and NEW_TOKEN tokens would. Neither is used over loopback, so it opens no token.
pub(crate) struct NoTokens;

impl HandshakeTokenKey for NoTokens {
    fn aead_from_hkdf(&self, _random_bytes: &[u8]) -> Box<dyn AeadKey> {
        Box::new(Self)
    }
}

impl AeadKey for NoTokens {
    /// Succeeds, because quinn unwraps the result while it holds the endpoint's lock. What it makes opens nowhere: a
    /// component that calls `Incoming::retry` gets no connection, and clients ignore the Retry anyway.
    fn seal(&self, data: &mut Vec<u8>, _additional_data: &[u8]) -> Result<(), CryptoError> {
        data.clear();
        Ok(())
    }

    fn open<'a>(&self, _data: &'a mut [u8], _additional_data: &[u8]) -> Result<&'a mut [u8], CryptoError> {
        Err(CryptoError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reset_tokens_differ_by_connection_and_by_process_key() {
        let (key, other) = (ResetKey::new(), ResetKey::new());
        assert_eq!(key.signature(b"one"), key.signature(b"one"));
        assert_ne!(key.signature(b"one"), key.signature(b"two"));
        assert_ne!(key.signature(b"one"), other.signature(b"one"));
        let mut out = [0; 16];
        key.sign(b"one", &mut out);
        assert!(key.verify(b"one", &out).is_ok());
        assert!(key.verify(b"two", &out).is_err());
    }

    #[test]
    fn no_token_opens() {
        let key = NoTokens.aead_from_hkdf(&[1; 16]);
        let mut data = b"token".to_vec();
        key.seal(&mut data, &[]).expect("sealing never fails");
        assert!(key.open(&mut data, &[]).is_err());
    }
}
