//! The only constructor of accepting TLS configurations.

use std::{fmt, sync::Arc};

use quinn::crypto::rustls::QuicServerConfig;
use rustls::{
    ServerConfig,
    crypto::aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256,
    quic::Suite,
    server::{
        ClientHello, NoServerSessionStorage, ResolvesServerCert, WebPkiClientVerifier, danger::ClientCertVerifier,
    },
    sign::CertifiedKey,
};

use super::{configs::DeriveError, policy};
use crate::plan::TlsPolicy;

/// A configuration that shows one identity, asks for clients' certificates if there is a verifier, and takes the
/// protocols of `alpn` in this order. No session is ever resumed and no early data taken: a resumed session would skip
/// the verifier.
pub(crate) fn config(
    identity: Arc<CertifiedKey>,
    verifier: Option<Arc<dyn ClientCertVerifier>>,
    alpn: Vec<Vec<u8>>,
    policy: &TlsPolicy,
) -> Result<Arc<ServerConfig>, DeriveError> {
    with_resolver(Arc::new(Shown(identity)), verifier, alpn, policy).map(Arc::new)
}

/// The same for QUIC.
pub(crate) fn quic(config: Arc<ServerConfig>) -> Result<Arc<QuicServerConfig>, DeriveError> {
    QuicServerConfig::with_initial(config, initial_suite()).map(Arc::new).map_err(|_| DeriveError::NoInitialSuite)
}

/// The suite of Initial packets (RFC 9001 section 5.2), which no policy chooses.
pub(super) fn initial_suite() -> Suite {
    let suite = TLS13_AES_128_GCM_SHA256.tls13().and_then(rustls::Tls13CipherSuite::quic_suite);
    suite.expect("aws-lc-rs has TLS_AES_128_GCM_SHA256 for QUIC")
}

/// A configuration that reads Initial packets and shows nothing.
pub(crate) fn blank() -> Result<Arc<QuicServerConfig>, DeriveError> {
    quic(Arc::new(with_resolver(Arc::new(Nobody), None, Vec::new(), &TlsPolicy::default())?))
}

fn with_resolver(
    resolver: Arc<dyn ResolvesServerCert>,
    verifier: Option<Arc<dyn ClientCertVerifier>>,
    alpn: Vec<Vec<u8>>,
    policy: &TlsPolicy,
) -> Result<ServerConfig, DeriveError> {
    let mut config = ServerConfig::builder_with_provider(policy::restricted(policy))
        .with_protocol_versions(&policy::versions(policy))
        .map_err(DeriveError::Tls)?
        .with_client_cert_verifier(verifier.unwrap_or_else(WebPkiClientVerifier::no_client_auth))
        .with_cert_resolver(resolver);
    config.alpn_protocols = alpn;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    config.max_early_data_size = 0;
    // TLS 1.2 without the extended master secret lets one session be passed off as another (RFC 7627).
    config.require_ems = true;
    Ok(config)
}

struct Shown(Arc<CertifiedKey>);

impl ResolvesServerCert for Shown {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.clone())
    }
}

// The key stays out of any output.
impl fmt::Debug for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shown").finish_non_exhaustive()
    }
}

#[derive(Debug)]
struct Nobody;

impl ResolvesServerCert for Nobody {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        None
    }
}
