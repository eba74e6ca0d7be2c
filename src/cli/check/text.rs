//! The report for people.

use std::fmt::{self, Write as _};

use super::Report;
use crate::config::Problem;

pub(super) fn write(report: &Report) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write_report(&mut text, report);
    text
}

fn write_report(out: &mut String, report: &Report) -> fmt::Result {
    for problem in &report.problems {
        write_problem(out, &report.file, problem)?;
    }
    if report.problems_total > report.problems.len() {
        writeln!(out, "and {} more\n", report.problems_total - report.problems.len())?;
    }
    for warning in &report.warnings {
        writeln!(out, "warning: {}: {}", warning.subject, warning.message)?;
    }
    match report.problems_total {
        0 => writeln!(out, "{}: the configuration has no problems{}", report.file, warned(report)),
        1 => writeln!(out, "{}: 1 problem", report.file),
        many => writeln!(out, "{}: {many} problems", report.file),
    }
}

/// The place first, in the form that editors and terminals open.
fn write_problem(out: &mut String, file: &str, problem: &Problem) -> fmt::Result {
    write!(out, "{file}:")?;
    if let Some(line) = problem.line {
        write!(out, "{line}:")?;
    }
    if !problem.path.is_empty() {
        write!(out, " {}:", problem.path)?;
    }
    writeln!(out, " {}", problem.message)?;
    writeln!(out, "    allowed: {}", problem.expected)?;
    if let Some(hint) = &problem.hint {
        writeln!(out, "    hint:    {hint}")?;
    }
    writeln!(out)
}

fn warned(report: &Report) -> String {
    match report.warnings.len() {
        0 => String::new(),
        1 => ", 1 warning".to_owned(),
        many => format!(", {many} warnings"),
    }
}
