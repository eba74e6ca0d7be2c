//! The keys that quinn asks for outside the handshake: stateless resets, and tokens that this protocol never sends.

use quinn_proto::crypto::{AeadKey, CryptoError, HandshakeTokenKey, HmacKey};

/// Makes stateless reset tokens (RFC 9000 section 10.3): a fixed, public function of the connection ID.
///
/// Fixed, so that a component that was restarted on its port makes the tokens that its predecessor announced. It answers the
/// first packet for a connection that it does not know with a reset, and the other side notices at once instead of after
/// its idle timeout. Public, because a key would guard nothing: packets are not authenticated either, so whoever knows a
/// connection ID can end the connection with a CONNECTION_CLOSE as well. The identifiers are 64 random bits for that reason.
pub(crate) struct ResetKey;

const TOKEN_LEN: usize = 16;

impl ResetKey {
    fn token(data: &[u8]) -> [u8; TOKEN_LEN] {
        let mut token = [0; TOKEN_LEN];
        for (half, seed) in token.chunks_exact_mut(8).zip([0x4952_4953_7265_7365_u64, 0x7420_746f_6b65_6e31]) {
            let mixed = data.iter().fold(seed, |state, byte| mix(state ^ u64::from(*byte)));
            half.copy_from_slice(&mixed.to_be_bytes());
        }
        token
    }
}

/// The finalizer of SplitMix64: every bit of the input changes about half of the output.
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

impl HmacKey for ResetKey {
    fn sign(&self, data: &[u8], signature_out: &mut [u8]) {
        // quinn hands over exactly `signature_len` bytes; zip keeps any other length from being a panic under its lock.
        for (out, byte) in signature_out.iter_mut().zip(Self::token(data)) {
            *out = byte;
        }
    }

    fn signature_len(&self) -> usize {
        TOKEN_LEN
    }

    fn verify(&self, data: &[u8], signature: &[u8]) -> Result<(), CryptoError> {
        if signature == Self::token(data) { Ok(()) } else { Err(CryptoError) }
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
    fn a_reset_token_belongs_to_a_connection_and_survives_a_restart() {
        let mut out = [0; TOKEN_LEN];
        ResetKey.sign(b"8 bytes.", &mut out);
        // Part of the specification: the next version of a component must make the same.
        assert_eq!(out, [177, 198, 113, 125, 199, 59, 125, 248, 74, 246, 100, 97, 202, 231, 133, 40]);
        assert!(ResetKey.verify(b"8 bytes.", &out).is_ok());
        assert!(ResetKey.verify(b"8 bytes!", &out).is_err());
    }

    #[test]
    fn no_token_opens() {
        let key = NoTokens.aead_from_hkdf(&[1; 16]);
        let mut data = b"token".to_vec();
        key.seal(&mut data, &[]).expect("sealing never fails");
        assert!(key.open(&mut data, &[]).is_err());
    }
}
