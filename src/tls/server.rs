//! The only constructor of accepting TLS configurations.

use std::{fmt, sync::Arc};

use quinn::crypto::rustls::QuicServerConfig;
use rustls::{
    ServerConfig, SupportedProtocolVersion,
    server::{
        ClientHello, NoServerSessionStorage, ResolvesServerCert, WebPkiClientVerifier, danger::ClientCertVerifier,
    },
    sign::CertifiedKey,
};

use super::configs::DeriveError;
use crate::material::provider;

/// QUIC is TLS 1.3 and nothing else (RFC 9001 section 4.2).
pub(crate) const QUIC_VERSIONS: &[&SupportedProtocolVersion] = &[&rustls::version::TLS13];

/// A configuration that shows one identity, asks for clients' certificates if there is a verifier, and takes the
/// protocols of `alpn` in this order. No session is ever resumed and no early data taken: a resumed session would skip
/// the verifier.
pub(crate) fn config(
    identity: Arc<CertifiedKey>,
    verifier: Option<Arc<dyn ClientCertVerifier>>,
    alpn: Vec<Vec<u8>>,
    versions: &[&'static SupportedProtocolVersion],
) -> Result<Arc<ServerConfig>, DeriveError> {
    with_resolver(Arc::new(Shown(identity)), verifier, alpn, versions).map(Arc::new)
}

/// The same for QUIC.
pub(crate) fn quic(config: Arc<ServerConfig>) -> Result<Arc<QuicServerConfig>, DeriveError> {
    QuicServerConfig::try_from(config).map(Arc::new).map_err(|_| DeriveError::NoInitialSuite)
}

/// A configuration that reads Initial packets and shows nothing.
pub(crate) fn blank() -> Result<Arc<QuicServerConfig>, DeriveError> {
    quic(Arc::new(with_resolver(Arc::new(Nobody), None, Vec::new(), QUIC_VERSIONS)?))
}

fn with_resolver(
    resolver: Arc<dyn ResolvesServerCert>,
    verifier: Option<Arc<dyn ClientCertVerifier>>,
    alpn: Vec<Vec<u8>>,
    versions: &[&'static SupportedProtocolVersion],
) -> Result<ServerConfig, DeriveError> {
    let mut config = ServerConfig::builder_with_provider(provider().clone())
        .with_protocol_versions(versions)
        .map_err(DeriveError::Tls)?
        .with_client_cert_verifier(verifier.unwrap_or_else(WebPkiClientVerifier::no_client_auth))
        .with_cert_resolver(resolver);
    config.alpn_protocols = alpn;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    config.max_early_data_size = 0;
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
