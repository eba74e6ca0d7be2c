//! Judges the certificates of clients.

use rustls::{
    DigitallySignedStruct, DistinguishedName, Error, SignatureScheme,
    client::danger::HandshakeSignatureValid,
    pki_types::{CertificateDer, UnixTime},
    server::danger::{ClientCertVerified, ClientCertVerifier},
};

use super::{bears_one_of, verdict};
use crate::{
    material::{Authority, Usage},
    plan::{ClientAuthMode, NamePatterns},
};

/// Names of CAs that a client is told of, in bytes: above that it is told of none, since a list over 64 KiB breaks the
/// handshake (RFC 8446 section 4.2.4) and a large one the server's first flight (RFC 9000 section 8.1).
const HINTS_LIMIT: usize = 4096;

#[derive(Debug)]
pub(crate) struct ClientVerifier {
    authority: Authority,
    mode: ClientAuthMode,
    allow: Option<NamePatterns>,
    hints: Vec<DistinguishedName>,
}

impl ClientVerifier {
    pub(crate) fn new(authority: Authority, mode: ClientAuthMode, allow: Option<NamePatterns>) -> Self {
        let mut hints = authority.trust().value.roots.subjects();
        hints.sort_by(|a, b| a.as_ref().cmp(b.as_ref()));
        hints.dedup_by(|a, b| a.as_ref() == b.as_ref());
        if hints.iter().map(|hint| hint.as_ref().len() + 2).sum::<usize>() > HINTS_LIMIT {
            hints.clear();
        }
        Self { authority, mode, allow, hints }
    }
}

impl ClientCertVerifier for ClientVerifier {
    fn client_auth_mandatory(&self) -> bool {
        self.mode == ClientAuthMode::Required
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &self.hints
    }

    fn verify_client_cert(
        &self,
        leaf: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.authority.verify(leaf, intermediates, Usage::Client, now).map_err(verdict::refuse)?;
        match &self.allow {
            Some(patterns) if !bears_one_of(leaf, patterns) => Err(verdict::refuse_access()),
            _ => {
                verdict::approve(now);
                Ok(ClientCertVerified::assertion())
            }
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        super::tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        super::tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        super::schemes()
    }
}
