//! `iris check`: every problem of a configuration, then the state of every material that it names.

mod departures;
mod text;

use std::{path::Path, time::SystemTime};

use serde::Serialize;

use super::{args::CheckArguments, exit::Exit, file, output};
use crate::{
    config::Problem,
    material::{self, observed},
    observe::{standing::EXPIRING_AT, status::MaterialRow},
    plan::{self, Plan},
};

/// Runs the command.
pub(super) fn run(arguments: &CheckArguments) -> Exit {
    let report = Report::of(&arguments.config, arguments.config_only, SystemTime::now());
    let text = if arguments.json { report.to_json() } else { text::write(&report) };
    output::print(&text, if report.ok { Exit::Success } else { Exit::Problems })
}

/// What was found.
#[derive(Debug, Serialize)]
struct Report {
    /// The configuration file, as named on the command line.
    file: String,
    /// Whether no problem was found. Warnings are none.
    ok: bool,
    /// How many problems the file has.
    problems_total: usize,
    /// The first of them.
    problems: Vec<Problem>,
    /// What is permitted and yet departs from what a production system should do.
    warnings: Vec<Warning>,
    /// Every material that the file names. Absent when the file has problems, or was all that was to be checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    materials: Option<Vec<MaterialRow>>,
}

/// Something that is permitted and worth a second look.
#[derive(Debug, Serialize, PartialEq, Eq)]
struct Warning {
    /// The listener, upstream, material or section that it is about.
    subject: String,
    /// What is worth a look.
    message: String,
}

impl Report {
    fn of(path: &Path, config_only: bool, now: SystemTime) -> Self {
        let file = path.display().to_string();
        match file::read(path) {
            Err(why) => Self::failed(file, vec![unreadable(why)], 1),
            Ok(bytes) => match plan::from_yaml(&bytes) {
                Err(problems) => Self::failed(file, problems.iter().cloned().collect(), problems.len()),
                Ok(plan) => Self::planned(file, &plan, config_only, now),
            },
        }
    }

    fn failed(file: String, problems: Vec<Problem>, problems_total: usize) -> Self {
        Self { file, ok: false, problems_total, problems, warnings: Vec::new(), materials: None }
    }

    fn planned(file: String, plan: &Plan, config_only: bool, now: SystemTime) -> Self {
        let mut warnings = departures::of(plan);
        let materials = (!config_only).then(|| {
            let facts = observed::facts(plan, &material::load(plan, now), now);
            facts.iter().map(|material| material.row(now, EXPIRING_AT)).collect::<Vec<_>>()
        });
        for material in materials.iter().flatten() {
            warnings.extend(departures::of_material(material));
        }
        let ok = materials.iter().flatten().all(is_usable);
        Self { file, ok, problems_total: 0, problems: Vec::new(), warnings, materials }
    }

    /// How many materials cannot be used.
    fn unusable(&self) -> usize {
        self.materials.iter().flatten().filter(|material| !is_usable(material)).count()
    }

    fn to_json(&self) -> String {
        // Only a map with keys that are no strings fails, and there is none.
        serde_json::to_string_pretty(self)
            .map_or_else(|error| format!("{{\"error\":\"{error}\"}}\n"), |json| json + "\n")
    }
}

/// Whether a process that starts now would have the material: what is over or early was refused.
fn is_usable(material: &MaterialRow) -> bool {
    material.sequence > 0
}

/// The problem of a file that cannot be read at all.
fn unreadable(why: String) -> Problem {
    Problem {
        path: String::new(),
        line: None,
        message: why,
        expected: "a readable configuration file in YAML".to_owned(),
        hint: None,
    }
}

#[cfg(test)]
mod tests;
