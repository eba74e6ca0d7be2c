//! Who may be at the other end. The only implementations of rustls' verifier traits.

mod again;
mod client;
mod server;
mod unverified;
pub(crate) mod verdict;

use rustls::{
    CertificateError, DigitallySignedStruct, Error, SignatureScheme, client::danger::HandshakeSignatureValid,
    pki_types::CertificateDer,
};

pub use again::Judged;
pub(crate) use client::ClientVerifier;
pub(crate) use server::ServerVerifier;
pub(crate) use unverified::Unverified;

use crate::{material::provider, observe::labels::HandshakeFailure, plan::NamePatterns};

/// Whether a certificate bears one of the allowed names (RFC 5280 section 4.2.1.6).
fn bears_one_of(leaf: &CertificateDer<'_>, patterns: &NamePatterns) -> bool {
    webpki::EndEntityCert::try_from(leaf).is_ok_and(|leaf| {
        leaf.valid_dns_names().any(|name| patterns.dns.iter().any(|pattern| pattern.matches(name)))
            || leaf.valid_uri_names().any(|uri| patterns.uri.iter().any(|pattern| pattern.matches(uri)))
    })
}

/// The metric reason of a TLS error of ours, for transports that get to see it.
pub fn failure_of(error: &Error) -> HandshakeFailure {
    use CertificateError as Bad;
    match error {
        Error::InvalidCertificate(error) => match error {
            Bad::Expired | Bad::ExpiredContext { .. } => HandshakeFailure::Expired,
            Bad::NotValidYet | Bad::NotValidYetContext { .. } => HandshakeFailure::NotYetValid,
            Bad::Revoked => HandshakeFailure::Revoked,
            // An issuer of whose revocations nothing is known, where that is refused, vouches for nobody.
            Bad::UnknownIssuer
            | Bad::UnknownRevocationStatus
            | Bad::ExpiredRevocationList
            | Bad::ExpiredRevocationListContext { .. } => HandshakeFailure::UnknownIssuer,
            Bad::NotValidForName | Bad::NotValidForNameContext { .. } => HandshakeFailure::NameMismatch,
            Bad::ApplicationVerificationFailure => HandshakeFailure::NameNotAllowed,
            _ => HandshakeFailure::BadCertificate,
        },
        Error::NoCertificatesPresented => HandshakeFailure::NoClientCertificate,
        Error::NoApplicationProtocol => HandshakeFailure::NoAlpn,
        Error::PeerIncompatible(
            rustls::PeerIncompatible::ServerDoesNotSupportTls12Or13
            | rustls::PeerIncompatible::SupportedVersionsExtensionRequired
            | rustls::PeerIncompatible::Tls12NotOffered
            | rustls::PeerIncompatible::Tls12NotOfferedOrEnabled
            | rustls::PeerIncompatible::Tls13RequiredForQuic
            | rustls::PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig,
        ) => HandshakeFailure::Version,
        _ => HandshakeFailure::Protocol,
    }
}

/// Signatures on the handshake itself, as every verifier checks them.
fn tls12_signature(
    message: &[u8],
    certificate: &CertificateDer<'_>,
    signature: &DigitallySignedStruct,
) -> Result<HandshakeSignatureValid, Error> {
    rustls::crypto::verify_tls12_signature(
        message,
        certificate,
        signature,
        &provider().signature_verification_algorithms,
    )
    .inspect_err(|error| verdict::record(failure_of(error)))
}

fn tls13_signature(
    message: &[u8],
    certificate: &CertificateDer<'_>,
    signature: &DigitallySignedStruct,
) -> Result<HandshakeSignatureValid, Error> {
    rustls::crypto::verify_tls13_signature(
        message,
        certificate,
        signature,
        &provider().signature_verification_algorithms,
    )
    .inspect_err(|error| verdict::record(failure_of(error)))
}

fn schemes() -> Vec<SignatureScheme> {
    provider().signature_verification_algorithms.supported_schemes()
}
