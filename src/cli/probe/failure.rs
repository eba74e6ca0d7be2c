//! Why a probe failed: which step, what was found, what to do.

use std::time::{Duration, SystemTime};

use rustls::{AlertDescription, CertificateError, Error, pki_types::UnixTime};
use serde::Serialize;

use crate::{
    cli::exit::Exit,
    observe::{
        labels::HandshakeFailure,
        status::{Span, rfc3339},
    },
    tls,
};

/// What a probe does, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Default)]
#[serde(rename_all = "snake_case")]
pub(super) enum Step {
    /// Reads the files of the command line.
    #[default]
    Files,
    /// Looks up the host.
    Resolve,
    /// Connects.
    Connect,
    /// Agrees on TLS.
    Handshake,
    /// Judges the server's certificate.
    Verify,
    /// Waits for the server's judgement.
    Confirm,
}

/// What failed. Each has an exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Reason {
    File,
    System,
    Unreachable,
    Timeout,
    Protocol,
    Alpn,
    UnknownIssuer,
    Name,
    Expired,
    NotYetValid,
    Revoked,
    BadCertificate,
    NotVerified,
    ClientCertificate,
}

/// What failed, and the words for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Failure {
    pub(super) reason: Reason,
    pub(super) step: Step,
    /// What was found.
    pub(super) found: String,
    /// What to do.
    pub(super) hint: &'static str,
}

impl Failure {
    pub(super) fn new(reason: Reason, step: Step, found: impl Into<String>) -> Self {
        Self { reason, step, found: found.into(), hint: reason.hint() }
    }

    /// That the server's certificate was refused.
    pub(super) fn refused(error: &Error) -> Self {
        use CertificateError as Bad;
        let Error::InvalidCertificate(bad) = error else {
            return Self::new(Reason::of(tls::failure_of(error)), Step::Verify, error.to_string());
        };
        let found = match bad {
            Bad::NotValidForNameContext { expected, presented } => {
                let names: Vec<&str> = presented.iter().map(|name| plain(name)).collect();
                let bears = if names.is_empty() { "no name".into() } else { names.join(", ") };
                format!("asked for {}, and the certificate bears {bears}", expected.to_str())
            }
            Bad::UnknownIssuer => "no CA of --ca vouches for the chain".to_owned(),
            Bad::Revoked => "a serial number of the chain is on a list of --crl".to_owned(),
            Bad::ExpiredContext { time, not_after } => {
                format!("one of the chain ended {} ago, at {}", between(*not_after, *time), at(*not_after))
            }
            Bad::NotValidYetContext { time, not_before } => {
                format!("one of the chain begins in {}, at {}", between(*time, *not_before), at(*not_before))
            }
            other => other.to_string(),
        };
        Self::new(Reason::of(tls::failure_of(error)), Step::Verify, found)
    }

    /// That the server sent an alert (RFC 8446 section 6). `asked` is whether it had asked for a certificate.
    pub(super) fn alert(alert: u8, asked: bool, step: Step) -> Self {
        let reason = match AlertDescription::from(alert) {
            AlertDescription::NoApplicationProtocol => Reason::Alpn,
            AlertDescription::UnrecognisedName => Reason::Name,
            // What TLS 1.2 has for a certificate that is missing (RFC 5246 section 7.4.6).
            AlertDescription::HandshakeFailure if asked => Reason::ClientCertificate,
            AlertDescription::NoCertificate
            | AlertDescription::BadCertificate
            | AlertDescription::UnsupportedCertificate
            | AlertDescription::CertificateRevoked
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateUnknown
            | AlertDescription::UnknownCA
            | AlertDescription::AccessDenied
            | AlertDescription::CertificateRequired => Reason::ClientCertificate,
            _ => Reason::Protocol,
        };
        let name = AlertDescription::from(alert);
        Self::new(reason, step, format!("the server answers with the alert {} ({alert})", alert_name(name)))
    }

    /// Whether another address of the same name may do better.
    pub(super) fn is_about_the_address(&self) -> bool {
        matches!(self.reason, Reason::Unreachable | Reason::Timeout)
    }
}

impl Reason {
    /// The reason of a verdict of ours on the server.
    fn of(failure: HandshakeFailure) -> Self {
        match failure {
            HandshakeFailure::UnknownIssuer => Self::UnknownIssuer,
            HandshakeFailure::NameMismatch => Self::Name,
            HandshakeFailure::Expired => Self::Expired,
            HandshakeFailure::NotYetValid => Self::NotYetValid,
            HandshakeFailure::Revoked => Self::Revoked,
            _ => Self::BadCertificate,
        }
    }

    pub(super) fn exit(self) -> Exit {
        match self {
            Self::File => Exit::Problems,
            Self::System => Exit::System,
            Self::Unreachable => Exit::Unreachable,
            Self::Timeout => Exit::Timeout,
            Self::Protocol => Exit::Protocol,
            Self::Alpn => Exit::Alpn,
            Self::UnknownIssuer => Exit::UnknownIssuer,
            Self::Name => Exit::Name,
            Self::Expired => Exit::Expired,
            Self::NotYetValid => Exit::NotYetValid,
            Self::Revoked => Exit::Revoked,
            Self::BadCertificate => Exit::BadCertificate,
            Self::NotVerified => Exit::NotVerified,
            Self::ClientCertificate => Exit::ClientCertificate,
        }
    }

    pub(super) fn title(self) -> &'static str {
        match self {
            Self::File => "a file of the command line cannot be used",
            Self::System => "the system refuses",
            Self::Unreachable => "the server cannot be reached",
            Self::Timeout => "it took too long",
            Self::Protocol => "the other end does not speak what was expected",
            Self::Alpn => "no application protocol in common",
            Self::UnknownIssuer => "the server's issuer is not trusted",
            Self::Name => "the server goes by another name",
            Self::Expired => "a certificate of the server has ended",
            Self::NotYetValid => "a certificate of the server has not begun",
            Self::Revoked => "a certificate of the server was revoked",
            Self::BadCertificate => "the server's certificate cannot be used",
            Self::NotVerified => "connected, but nothing was verified",
            Self::ClientCertificate => "the server refuses the client",
        }
    }

    fn hint(self) -> &'static str {
        match self {
            Self::File => "docs/materials.md explains each class",
            Self::System => "look at the limits of this machine: files, sockets, memory",
            Self::Unreachable => "check host and port, that the server runs, and that no network policy stands between",
            Self::Timeout => {
                "check that the server runs and listens there; over UDP nobody listening and packets lost on the \
                 way look the same"
            }
            Self::Protocol => {
                "check the port: plaintext there, or TLS where QUIC was expected (or the reverse), or a server that \
                 has neither TLS 1.3 nor, over TCP, 1.2"
            }
            Self::Alpn => {
                "name with --alpn what the server is configured for, h2 for gRPC; without --alpn none is offered"
            }
            Self::UnknownIssuer => {
                "compare the issuer of the last certificate with the CAs: give the CA's file with --ca, or have the \
                 server send its intermediate certificates"
            }
            Self::Name => {
                "ask for a name that the certificate bears with --server-name, or have it issued for this one"
            }
            Self::Expired => "renew it; if that was done, see that the server uses the new file",
            Self::NotYetValid => "compare the clocks of this machine and of the issuer",
            Self::Revoked => "have a new one issued",
            Self::BadCertificate => "look at the chain below, and have it issued anew for the use as a server",
            Self::NotVerified => "give the file of the CAs to believe with --ca",
            Self::ClientCertificate => {
                "show a certificate that the server accepts with --certificate and --private-key; the server's log \
                 says what it wants"
            }
        }
    }
}

/// A name of a certificate without what webpki puts around it: `DnsName("...")`.
fn plain(name: &str) -> &str {
    let inner = name.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
    inner.unwrap_or(name).trim_matches('"')
}

fn between(from: UnixTime, to: UnixTime) -> Span {
    Span(to.as_secs().saturating_sub(from.as_secs()))
}

fn at(time: UnixTime) -> String {
    rfc3339(SystemTime::UNIX_EPOCH + Duration::from_secs(time.as_secs()))
}

/// An alert as the RFC writes it: `certificate_required`.
fn alert_name(alert: AlertDescription) -> String {
    let Some(name) = alert.as_str() else { return "of an unknown kind".into() };
    let mut out = String::new();
    for (at, character) in name.char_indices() {
        let follows_small = name[..at].ends_with(|before: char| before.is_ascii_lowercase());
        if character.is_ascii_uppercase() && follows_small {
            out.push('_');
        }
        out.push(character.to_ascii_lowercase());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alerts_say_what_the_server_minds() {
        for (alert, asked, reason, name) in [
            (116, true, Reason::ClientCertificate, "certificate_required (116)"),
            (48, true, Reason::ClientCertificate, "unknown_ca (48)"),
            (40, true, Reason::ClientCertificate, "handshake_failure (40)"),
            (40, false, Reason::Protocol, "handshake_failure (40)"),
            (120, false, Reason::Alpn, "no_application_protocol (120)"),
            (112, false, Reason::Name, "(112)"),
            (70, false, Reason::Protocol, "protocol_version (70)"),
            (200, false, Reason::Protocol, "of an unknown kind (200)"),
        ] {
            let failure = Failure::alert(alert, asked, Step::Handshake);
            assert_eq!(failure.reason, reason, "{alert}");
            assert!(failure.found.contains(name), "{}", failure.found);
        }
    }

    #[test]
    fn a_name_that_does_not_fit_is_told_with_those_that_do() {
        let error = CertificateError::NotValidForNameContext {
            expected: "a.example".try_into().unwrap(),
            presented: vec![r#"DnsName("b.example")"#.into(), "IpAddress(10.0.0.1)".into()],
        };
        let failure = Failure::refused(&error.into());
        assert_eq!((failure.reason, failure.step), (Reason::Name, Step::Verify));
        assert_eq!(failure.found, "asked for a.example, and the certificate bears b.example, 10.0.0.1");
    }
}
