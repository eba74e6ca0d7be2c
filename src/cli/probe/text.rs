//! The report for people: at most 100 columns, nothing of a peer's that acts on a terminal.

use std::fmt::{self, Write as _};

use super::report::{CertificateReport, ClientCertificate, Report, Times};
use crate::observe::{escape, status::Span};

/// Columns.
const WIDTH: usize = 100;
/// Where values begin.
const INDENT: usize = 18;
/// The most certificates that are written out.
const CERTIFICATES: usize = 8;
/// The most names of one certificate that are written out.
const NAMES: usize = 32;

pub(super) fn write(report: &Report) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write_report(&mut text, report);
    text
}

fn write_report(out: &mut String, report: &Report) -> fmt::Result {
    let at = report.address.as_ref().map(|address| format!(" at {address}")).unwrap_or_default();
    writeln!(out, "{}{at}\n", report.target)?;
    write_connection(out, report);
    for (number, certificate) in report.chain.iter().take(CERTIFICATES).enumerate() {
        writeln!(out, "\ncertificate {} of {}", number + 1, report.chain.len())?;
        write_certificate(out, certificate);
    }
    if report.chain.len() > CERTIFICATES {
        writeln!(out, "\nand {} more (--json has all)", report.chain.len() - CERTIFICATES)?;
    }
    writeln!(out)?;
    write_verdict(out, report)
}

fn write_connection(out: &mut String, report: &Report) {
    if let Some(name) = &report.server_name {
        line(out, "server name", &shown(name));
    }
    if let Some(version) = report.tls_version {
        let rest = [&report.cipher_suite, &report.key_exchange_group];
        let all = std::iter::once(version).chain(rest.into_iter().flatten().map(String::as_str));
        line(out, "TLS", &all.collect::<Vec<_>>().join(", "));
        let offered = match &report.alpn_offered[..] {
            [] => "none offered".to_owned(),
            offered => format!("offered: {}", offered.iter().map(|name| shown(name)).collect::<Vec<_>>().join(", ")),
        };
        line(out, "application", &format!("{} ({offered})", report.alpn.as_deref().unwrap_or("no protocol")));
        let client = match report.client_certificate {
            ClientCertificate::NotAsked => "not asked for",
            ClientCertificate::NoneToShow => "asked for, and there is none to show (--certificate)",
            ClientCertificate::Shown => "asked for and shown",
        };
        line(out, "our certificate", client);
    }
    line(out, "times", &times(&report.milliseconds));
}

fn times(times: &Times) -> String {
    let steps = [
        ("resolve", times.resolve),
        ("connect", times.connect),
        ("handshake", times.handshake),
        ("confirm", times.confirm),
    ];
    let taken: Vec<_> = steps.iter().filter_map(|(step, time)| Some(format!("{step} {:.1} ms", (*time)?))).collect();
    if taken.is_empty() { "none".into() } else { taken.join(", ") }
}

fn write_certificate(out: &mut String, certificate: &CertificateReport) {
    line(out, "  subject", &shown(&certificate.subject));
    line(out, "  issuer", &shown(&certificate.issuer));
    if !certificate.names.is_empty() {
        let mut names: Vec<String> = certificate.names.iter().take(NAMES).map(|name| shown(name)).collect();
        if certificate.names.len() > NAMES {
            names.push(format!("and {} more (--json has all)", certificate.names.len() - NAMES));
        }
        line(out, "  names", &names.join(", "));
    }
    let span = |seconds: i64| Span(seconds.unsigned_abs());
    let state = match (certificate.seconds_to_begin, certificate.seconds_left) {
        (1.., _) => format!("BEGINS IN {}", span(certificate.seconds_to_begin)),
        (_, ..0) => format!("ENDED {} AGO", span(certificate.seconds_left)),
        (_, left) => format!("{} left", span(left)),
    };
    line(out, "  valid", &format!("{} to {}, {state}", certificate.not_before, certificate.not_after));
    line(out, "  serial", &certificate.serial);
    line(out, "  sha256", &certificate.sha256);
}

fn write_verdict(out: &mut String, report: &Report) -> fmt::Result {
    if let Some(anchor) = &report.anchor {
        line(out, "trusted through", &shown(anchor));
    }
    let Some(failure) = &report.failure else {
        return writeln!(out, "ok: connected and verified");
    };
    if !report.believed.is_empty() {
        let believed: Vec<String> = report.believed.iter().take(NAMES).map(|subject| shown(subject)).collect();
        line(out, "believed", &believed.join("; "));
    }
    writeln!(out, "FAILED: {} (exit code {})", failure.reason.title(), report.exit_code)?;
    line(out, "  found", &shown_long(&failure.found));
    line(out, "  to do", failure.hint);
    Ok(())
}

fn shown(text: &str) -> String {
    escape::text(text, escape::TEXT)
}

fn shown_long(text: &str) -> String {
    escape::text(text, 4 * escape::TEXT)
}

/// A label and its value, wrapped.
fn line(out: &mut String, label: &str, value: &str) {
    let mut start = format!("{:INDENT$}", format!("{label}:"));
    let mut column = INDENT;
    for word in value.split(' ').flat_map(pieces) {
        let length = word.chars().count();
        if column > INDENT && column + 1 + length > WIDTH {
            out.push('\n');
            start = " ".repeat(INDENT);
            column = INDENT;
        }
        if column == INDENT {
            out.push_str(&start);
        } else {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
    }
    out.push('\n');
}

/// A word in pieces that fit a line.
fn pieces(word: &str) -> impl Iterator<Item = &str> {
    let mut rest = word;
    std::iter::from_fn(move || {
        let end = rest.char_indices().nth(WIDTH - INDENT).map_or(rest.len(), |(at, _)| at);
        let (piece, behind) = rest.split_at(end);
        rest = behind;
        (!piece.is_empty()).then_some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_wrapped_and_words_too_long_are_cut() {
        let mut out = String::new();
        line(&mut out, "label", &format!("{} {} short", "word ".repeat(40), "x".repeat(200)));
        assert!(out.lines().count() > 4);
        assert!(out.lines().all(|line| line.chars().count() <= WIDTH), "{out}");
        assert!(out.starts_with("label:            word word"));
        assert!(out.lines().skip(1).all(|line| line.starts_with(&" ".repeat(INDENT))));
    }
}
