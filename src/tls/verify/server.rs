//! Judges the certificates of servers.

use rustls::{
    DigitallySignedStruct, Error, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    pki_types::{CertificateDer, ServerName, UnixTime},
};
use webpki::EndEntityCert;

use super::verdict;
use crate::material::{Authority, Usage};

#[derive(Debug)]
pub(crate) struct ServerVerifier {
    authority: Authority,
}

impl ServerVerifier {
    pub(crate) fn new(authority: Authority) -> Self {
        Self { authority }
    }
}

impl ServerCertVerifier for ServerVerifier {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.authority.verify(leaf, intermediates, Usage::Server, now).map_err(verdict::refuse)?;
        let parsed = EndEntityCert::try_from(leaf).map_err(verdict::refuse)?;
        match parsed.verify_is_valid_for_subject_name(server_name) {
            Ok(()) => {
                verdict::approve(now);
                Ok(ServerCertVerified::assertion())
            }
            Err(webpki::Error::CertNotValidForName(context)) => {
                Err(verdict::refuse_name(server_name, context.presented))
            }
            Err(error) => Err(verdict::refuse(error)),
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
