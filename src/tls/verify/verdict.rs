//! How a verifier's verdict reaches the session that asked for it.
//!
//! quinn keeps of a TLS error only the alert, and an alert does not tell "expired" from "not yet valid" or a wrong name
//! from a malformed certificate. rustls calls a verifier synchronously, on the stack of the session's own
//! `read_handshake`: so the verifier leaves its verdict in a cell of the thread, and the session, which empties the cell
//! before it reads and takes it after, finds its own verdict or none. No await and no other session lies in between.

use std::cell::Cell;

use rustls::{
    CertificateError, Error,
    pki_types::{ServerName, UnixTime},
};

use super::failure_of;
use crate::observe::labels::HandshakeFailure;

thread_local! {
    static VERDICT: Cell<Verdict> = const { Cell::new(Verdict { failure: None, judged_at: None }) };
}

/// What verifiers found in one `read_handshake`.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Verdict {
    /// Why they refused.
    pub(crate) failure: Option<HandshakeFailure>,
    /// As of when a chain was found good.
    pub(crate) judged_at: Option<UnixTime>,
}

/// Runs a session's `read_handshake`, and returns the verdict that a verifier reached inside, if one was asked.
pub(crate) fn scope<T>(read: impl FnOnce() -> T) -> (T, Verdict) {
    VERDICT.take();
    let result = read();
    (result, VERDICT.take())
}

/// Leaves word that a chain was found good as of `now`.
pub(super) fn approve(now: UnixTime) {
    VERDICT.set(Verdict { judged_at: Some(now), ..VERDICT.take() });
}

/// Leaves a refusal for the session on whose stack this is.
pub(super) fn record(failure: HandshakeFailure) {
    VERDICT.set(Verdict { failure: Some(failure), ..VERDICT.take() });
}

/// The error to return to rustls, which derives the alert from it; recorded.
pub(super) fn refuse(error: webpki::Error) -> Error {
    let error = certificate_error(error);
    record(failure_of(&error));
    error
}

/// The error of a certificate that is good for other names than `expected`; recorded.
pub(super) fn refuse_name(expected: &ServerName<'_>, presented: Vec<String>) -> Error {
    record(HandshakeFailure::NameMismatch);
    CertificateError::NotValidForNameContext { expected: expected.to_owned(), presented }.into()
}

/// The error of a good certificate that may not come in; recorded. Its alert is `access_denied`.
pub(super) fn refuse_access() -> Error {
    record(HandshakeFailure::NameNotAllowed);
    CertificateError::ApplicationVerificationFailure.into()
}

/// A path error in the terms of rustls.
pub(super) fn certificate_error(error: webpki::Error) -> Error {
    use webpki::Error as Path;
    let error = match error {
        Path::BadDer | Path::BadDerTime | Path::TrailingData(_) => CertificateError::BadEncoding,
        Path::CertExpired { time, not_after } => CertificateError::ExpiredContext { time, not_after },
        Path::InvalidCertValidity => CertificateError::Expired,
        Path::CertNotValidYet { time, not_before } => CertificateError::NotValidYetContext { time, not_before },
        Path::CertRevoked => CertificateError::Revoked,
        Path::UnknownRevocationStatus => CertificateError::UnknownRevocationStatus,
        Path::CrlExpired { time, next_update } => CertificateError::ExpiredRevocationListContext { time, next_update },
        // Anchors are sought by name: one of that name with another key (a CA made anew) vouches for it as little as none.
        Path::UnknownIssuer | Path::InvalidSignatureForPublicKey => CertificateError::UnknownIssuer,
        Path::UnsupportedCriticalExtension => CertificateError::UnhandledCriticalExtension,
        Path::RequiredEkuNotFoundContext(_) | Path::EmptyEkuExtension => CertificateError::InvalidPurpose,
        // Which of the remaining rules was broken is for our log; peers get certificate_unknown.
        other => CertificateError::Other(rustls::OtherError(std::sync::Arc::new(other))),
    };
    error.into()
}
