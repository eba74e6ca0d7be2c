//! What a probe found, for people and for machines.

use std::time::{Duration, SystemTime};

use rustls::pki_types::{CertificateDer, UnixTime};
use serde::Serialize;

use super::{
    args::ProbeArguments,
    attempt::{Seen, Task},
    failure::{Failure, Reason},
    shown,
};
use crate::{
    cli::exit::Exit,
    material::{Usage, certificate::Certificate},
    observe::{escape, status::rfc3339},
};

/// What a probe found.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    /// As on the command line.
    pub(super) target: String,
    pub(super) server_name: Option<String>,
    /// The address that it was about in the end.
    pub(super) address: Option<String>,
    /// Whether all went well.
    pub(super) ok: bool,
    pub(super) exit_code: u8,
    /// Whether chain and name were verified and found good.
    pub(super) verified: bool,
    pub(super) failure: Option<Failure>,
    pub(super) tls_version: Option<&'static str>,
    /// Absent over QUIC.
    pub(super) cipher_suite: Option<String>,
    /// Absent over QUIC.
    pub(super) key_exchange_group: Option<String>,
    pub(super) alpn: Option<String>,
    pub(super) alpn_offered: Vec<String>,
    pub(super) client_certificate: ClientCertificate,
    pub(super) milliseconds: Times,
    /// The chain that the server showed, leaf first.
    pub(super) chain: Vec<CertificateReport>,
    /// The CA of `--ca` that vouches for the chain.
    pub(super) anchor: Option<String>,
    /// The CAs of `--ca`, when none vouches for the chain.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) believed: Vec<String>,
}

/// What became of the client's certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ClientCertificate {
    /// The server did not ask.
    NotAsked,
    /// The server asked, and there was none to show.
    NoneToShow,
    /// The server asked, and was shown one.
    Shown,
}

/// How long each step took, in milliseconds. Over QUIC to connect is part of the handshake.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Times {
    pub(super) resolve: Option<f64>,
    pub(super) connect: Option<f64>,
    pub(super) handshake: Option<f64>,
    /// The wait for the server's judgement on the client.
    pub(super) confirm: Option<f64>,
}

/// One certificate of the server.
#[derive(Debug, Serialize)]
pub(super) struct CertificateReport {
    pub(super) subject: String,
    pub(super) issuer: String,
    pub(super) names: Vec<String>,
    pub(super) serial: String,
    pub(super) sha256: String,
    pub(super) not_before: String,
    pub(super) not_after: String,
    /// Whole days until its end, negative behind it.
    pub(super) days_left: i64,
    /// Seconds until its end, negative behind it.
    pub(super) seconds_left: i64,
    /// Seconds until its begin, negative behind it.
    #[serde(skip)]
    pub(super) seconds_to_begin: i64,
}

impl Report {
    pub(super) fn new(
        arguments: &ProbeArguments,
        task: Option<&Task>,
        seen: Seen,
        failure: Option<Failure>,
        now: SystemTime,
    ) -> Self {
        let chain = seen.shown.chain().map(|chain| &chain[..]).unwrap_or_default();
        let authority = task.and_then(|task| task.probing.authority.as_ref());
        let anchor = chain.split_first().zip(authority).and_then(|((leaf, rest), authority)| {
            // Asked once more of the one that has judged it: rustls keeps to itself which CA it was.
            let position = authority.verify(leaf, rest, Usage::Server, UnixTime::now()).ok()?;
            Some(authority.trust().value.anchors[position].facts.subject.clone())
        });
        let untrusted = failure.as_ref().is_some_and(|failure| failure.reason == Reason::UnknownIssuer);
        let believed = authority.filter(|_| untrusted).map(|authority| &authority.trust().value.anchors[..]);
        let identity = task.is_some_and(|task| task.probing.identity.is_some());
        let exit = failure.as_ref().map_or(Exit::Success, |failure| failure.reason.exit());
        Self {
            target: arguments.target.to_string(),
            server_name: task.map(|task| shown(&task.name)),
            address: seen.address.map(|address| address.to_string()),
            ok: exit == Exit::Success,
            exit_code: exit as u8,
            verified: authority.is_some() && !chain.is_empty() && seen.shown.refusal().is_none(),
            tls_version: seen.version,
            cipher_suite: seen.suite,
            key_exchange_group: seen.group,
            alpn: seen.alpn.map(|protocol| escape::bytes(&protocol, escape::NAME)),
            alpn_offered: arguments.alpn.clone(),
            client_certificate: match (seen.shown.asked_for_certificate(), identity) {
                (false, _) => ClientCertificate::NotAsked,
                (true, false) => ClientCertificate::NoneToShow,
                (true, true) => ClientCertificate::Shown,
            },
            milliseconds: Times {
                resolve: seen.resolve.map(milliseconds),
                connect: seen.connect.map(milliseconds),
                handshake: seen.handshake.map(milliseconds),
                confirm: seen.confirm.map(milliseconds),
            },
            chain: chain.iter().map(|certificate| CertificateReport::of(certificate, now)).collect(),
            anchor,
            believed: believed.unwrap_or_default().iter().map(|anchor| anchor.facts.subject.clone()).collect(),
            failure,
        }
    }

    pub(super) fn exit(&self) -> Exit {
        self.failure.as_ref().map_or(Exit::Success, |failure| failure.reason.exit())
    }

    pub(super) fn to_json(&self) -> String {
        // Only a map with keys that are no strings fails, and there is none.
        serde_json::to_string_pretty(self)
            .map_or_else(|error| format!("{{\"error\":\"{error}\"}}\n"), |json| json + "\n")
    }
}

impl CertificateReport {
    fn of(der: &CertificateDer<'_>, now: SystemTime) -> Self {
        let Ok(certificate) = Certificate::parse(der.to_vec()) else { return Self::unreadable() };
        let facts = certificate.facts;
        let texts = facts.names.dns.into_iter().chain(facts.names.uri);
        let seconds_left = seconds(now, facts.not_after);
        Self {
            names: texts.chain(facts.names.ip.iter().map(ToString::to_string)).collect(),
            subject: facts.subject,
            issuer: facts.issuer,
            serial: facts.serial,
            sha256: facts.sha256,
            not_before: rfc3339(facts.not_before),
            not_after: rfc3339(facts.not_after),
            days_left: seconds_left.div_euclid(86_400),
            seconds_left,
            seconds_to_begin: seconds(now, facts.not_before),
        }
    }

    fn unreadable() -> Self {
        let unknown = || "cannot be read".to_owned();
        Self {
            subject: unknown(),
            issuer: unknown(),
            names: Vec::new(),
            serial: unknown(),
            sha256: unknown(),
            not_before: unknown(),
            not_after: unknown(),
            days_left: 0,
            seconds_left: 0,
            seconds_to_begin: 0,
        }
    }
}

/// Seconds from `from` to `to`, negative when `to` is before.
fn seconds(from: SystemTime, to: SystemTime) -> i64 {
    let whole = |time: Duration| i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
    to.duration_since(from).map_or_else(|before| -whole(before.duration()), whole)
}

fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}
