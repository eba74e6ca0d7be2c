//! The TLS of `iris probe`: verified as the dials of an upstream are, by the same verifier, with a memory of what the
//! server showed. A handshake that fails tells nothing of that otherwise.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, Ordering},
};

use quinn::crypto::rustls::QuicClientConfig;
use rustls::{
    ClientConfig, DigitallySignedStruct, Error, SignatureScheme,
    client::{
        ResolvesClientCert,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    pki_types::{CertificateDer, ServerName, UnixTime},
    sign::CertifiedKey,
};

use super::{
    client,
    configs::DeriveError,
    peer::Chain,
    verify::{ServerVerifier, Unverified},
};
use crate::{
    material::{Authority, Identity},
    plan::{TlsPolicy, TlsVersion},
};

/// What probes are made with.
#[derive(Debug, Clone)]
pub struct Probing {
    /// Whom to believe. `None`: nobody is verified, and the caller must not call that a success.
    pub authority: Option<Authority>,
    /// What to show when the server asks.
    pub identity: Option<Identity>,
    /// Application protocols to offer, in this order, of 1 to 255 octets each (RFC 7301 section 3.1).
    pub alpn: Vec<Vec<u8>>,
}

/// What one server showed.
#[derive(Debug, Default)]
pub struct Shown {
    chain: OnceLock<Chain>,
    refusal: OnceLock<Error>,
    asked: AtomicBool,
}

impl Probing {
    /// For one handshake over TCP.
    ///
    /// # Errors
    /// rustls refuses a setting.
    pub fn tcp(&self) -> Result<(Arc<ClientConfig>, Arc<Shown>), DeriveError> {
        // 1.3, and 1.2 with servers that have no better.
        let (config, shown) = self.config(&TlsPolicy::of(vec![TlsVersion::Tls13, TlsVersion::Tls12]))?;
        Ok((Arc::new(config), shown))
    }

    /// For one handshake over QUIC.
    ///
    /// # Errors
    /// rustls refuses a setting.
    pub fn quic(&self) -> Result<(Arc<dyn quinn::crypto::ClientConfig>, Arc<Shown>), DeriveError> {
        let (config, shown) = self.config(&TlsPolicy::default())?;
        let config = QuicClientConfig::try_from(config).map_err(|_| DeriveError::NoInitialSuite)?;
        Ok((Arc::new(config), shown))
    }

    fn config(&self, policy: &TlsPolicy) -> Result<(ClientConfig, Arc<Shown>), DeriveError> {
        let shown = Arc::new(Shown::default());
        let inner: Arc<dyn ServerCertVerifier> = match &self.authority {
            Some(authority) => Arc::new(ServerVerifier::new(authority.clone())),
            None => Arc::new(Unverified),
        };
        let verifier = Arc::new(Watched { inner, shown: shown.clone() });
        let certified = self.identity.as_ref().map(|identity| identity.certified.clone());
        let mut config = client::config(verifier, certified, policy)?;
        config.client_auth_cert_resolver =
            Arc::new(Asked { inner: config.client_auth_cert_resolver.clone(), shown: shown.clone() });
        config.alpn_protocols.clone_from(&self.alpn);
        Ok((config, shown))
    }
}

impl Shown {
    /// The chain, leaf first, good or not. `None` when it did not come that far.
    pub fn chain(&self) -> Option<&Chain> {
        self.chain.get()
    }

    /// Why the chain, or the server's proof that it has the key, was refused.
    pub fn refusal(&self) -> Option<&Error> {
        self.refusal.get()
    }

    /// Whether the server asked for a certificate.
    pub fn asked_for_certificate(&self) -> bool {
        self.asked.load(Ordering::Acquire)
    }

    fn judged<T>(&self, verdict: Result<T, Error>) -> Result<T, Error> {
        verdict.inspect_err(|error| {
            self.refusal.get_or_init(|| error.clone());
        })
    }
}

/// Remembers what it is asked about, and what the inner verifier says.
#[derive(Debug)]
struct Watched {
    inner: Arc<dyn ServerCertVerifier>,
    shown: Arc<Shown>,
}

impl ServerCertVerifier for Watched {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let all = std::iter::once(leaf).chain(intermediates);
        self.shown.chain.get_or_init(|| all.map(|certificate| certificate.clone().into_owned()).collect());
        self.shown.judged(self.inner.verify_server_cert(leaf, intermediates, server_name, ocsp_response, now))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.shown.judged(self.inner.verify_tls12_signature(message, certificate, signature))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.shown.judged(self.inner.verify_tls13_signature(message, certificate, signature))
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}

/// Remembers that it was asked.
#[derive(Debug)]
struct Asked {
    inner: Arc<dyn ResolvesClientCert>,
    shown: Arc<Shown>,
}

impl ResolvesClientCert for Asked {
    fn resolve(&self, hints: &[&[u8]], schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.shown.asked.store(true, Ordering::Release);
        self.inner.resolve(hints, schemes)
    }

    fn has_certs(&self) -> bool {
        self.inner.has_certs()
    }
}
