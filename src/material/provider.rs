//! The one crypto provider, chosen explicitly: nothing here relies on a process default.

use std::sync::{Arc, OnceLock};

use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::SignatureVerificationAlgorithm;

use super::der::{PublicKey, Signed};

/// The provider of every configuration and check: aws-lc-rs with its default suites and groups.
pub fn provider() -> &'static Arc<CryptoProvider> {
    static PROVIDER: OnceLock<Arc<CryptoProvider>> = OnceLock::new();
    PROVIDER.get_or_init(|| Arc::new(aws_lc_rs::default_provider()))
}

/// The algorithms by which signatures in certificates and revocation lists can be verified.
pub fn algorithms() -> &'static [&'static dyn SignatureVerificationAlgorithm] {
    provider().signature_verification_algorithms.all
}

/// SHA-256 (FIPS 180-4).
pub fn sha256(data: &[u8]) -> [u8; 32] {
    let suite = aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256.tls13().expect("a suite of TLS 1.3");
    suite.common.hash_provider.hash(data).as_ref().try_into().expect("SHA-256 has 32 octets")
}

/// Why a signature does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SignatureFault {
    /// The provider does not know the algorithm, or not with this kind of key.
    Unsupported,
    /// Another key made it, or other bytes were signed.
    Bad,
}

/// Whether the key `issuer` (contents of a `SubjectPublicKeyInfo`) signed `signed`.
pub(crate) fn verify(signed: &Signed<'_>, issuer: &[u8]) -> Result<(), SignatureFault> {
    let key = PublicKey::parse(issuer).ok_or(SignatureFault::Unsupported)?;
    let algorithm = algorithms()
        .iter()
        .find(|algorithm| {
            algorithm.signature_alg_id().as_ref() == signed.algorithm
                && algorithm.public_key_alg_id().as_ref() == key.algorithm
        })
        .ok_or(SignatureFault::Unsupported)?;
    algorithm.verify_signature(key.key, signed.body, signed.signature).map_err(|_| SignatureFault::Bad)
}

/// Whether any signature made with this `AlgorithmIdentifier` could be verified.
pub(crate) fn knows_signature(algorithm: &[u8]) -> bool {
    algorithms().iter().any(|known| known.signature_alg_id().as_ref() == algorithm)
}

/// Whether any signature by this key (contents of a `SubjectPublicKeyInfo`) could be verified.
pub(crate) fn knows_key(spki: &[u8]) -> bool {
    PublicKey::parse(spki)
        .is_some_and(|key| algorithms().iter().any(|known| known.public_key_alg_id().as_ref() == key.algorithm))
}
