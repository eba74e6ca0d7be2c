//! The report for people.

use std::fmt::{self, Write as _};

use super::{Report, policy};
use crate::{
    cli::file::counted,
    material::Reason,
    observe::{
        escape,
        status::{MaterialRow, Span},
    },
};

/// The most certificates of one material that are written out.
const CERTIFICATES: usize = 4;

pub(super) fn write(report: &Report) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write_report(&mut text, report);
    text
}

fn write_report(out: &mut String, report: &Report) -> fmt::Result {
    if report.refused.total > 0 {
        return write!(out, "{}", report.refused);
    }
    for material in report.materials.iter().flatten() {
        write_material(out, material)?;
    }
    policy::write(out, &report.tls)?;
    for warning in &report.warnings {
        writeln!(out, "warning: {}: {}", warning.subject, warning.message)?;
    }
    if !report.warnings.is_empty() {
        writeln!(out)?;
    }
    write_summary(out, report)
}

fn write_summary(out: &mut String, report: &Report) -> fmt::Result {
    write!(out, "{}: ", report.refused.file)?;
    match (report.unusable(), &report.materials) {
        (0, None) => write!(out, "no problems; certificates were not looked at")?,
        (0, Some(materials)) => write!(out, "no problems; {} usable", counted(materials.len(), "material"))?,
        (unusable, _) => write!(out, "{} cannot be used", counted(unusable, "material"))?,
    }
    match report.warnings.len() {
        0 => writeln!(out),
        warnings => writeln!(out, "; {}", counted(warnings, "warning")),
    }
}

fn write_material(out: &mut String, row: &MaterialRow) -> fmt::Result {
    let usable = super::is_usable(row);
    let (kind, name) = (row.kind.as_str(), &row.name);
    match (usable, row.expires_in_seconds) {
        (true, Some(left)) => {
            let when = Span(left.unsigned_abs());
            let ends = if left < 0 { format!("ended {when} ago") } else { format!("ends in {when}") };
            writeln!(out, "{kind} {name}: {}, {ends} ({})", row.state, row.expires.as_deref().unwrap_or_default())?;
        }
        (true, None) => writeln!(out, "{kind} {name}: {}", row.state)?,
        (false, _) => writeln!(out, "{kind} {name}: cannot be used")?,
    }
    if !row.used_by.is_empty() {
        writeln!(out, "    used by: {}", row.used_by.join(", "))?;
    }
    if let Some(refusal) = &row.last_refusal {
        writeln!(out, "    refused: {}: {}", refusal.reason, refusal.detail)?;
        writeln!(out, "    file:    {}", refusal.file)?;
        if let Some(reason) = Reason::ALL.iter().find(|reason| reason.as_str() == refusal.reason) {
            writeln!(out, "    to do:   {}", reason.cure())?;
        }
    }
    if let Some(until) = &row.held_until {
        writeln!(out, "    starts:  {until}")?;
    }
    for certificate in row.certificates.iter().take(CERTIFICATES) {
        writeln!(out, "    subject: {}", escape::text(&certificate.subject, escape::TEXT))?;
        if !certificate.names.is_empty() {
            writeln!(out, "      names:   {}", escape::names(&certificate.names))?;
        }
        writeln!(out, "      serial:  {}", certificate.serial)?;
        writeln!(out, "      sha256:  {}", certificate.sha256)?;
        writeln!(out, "      valid:   {} to {}", certificate.not_before, certificate.not_after)?;
    }
    if row.certificates_total > CERTIFICATES {
        writeln!(
            out,
            "    and {} more certificates (--json has up to sixteen)",
            row.certificates_total - CERTIFICATES
        )?;
    }
    writeln!(out)
}
