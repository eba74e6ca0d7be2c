//! `iris check`: every problem of a configuration, then the state of every material that it names.

mod policy;
mod text;

use std::{path::Path, time::SystemTime};

use serde::Serialize;

use self::policy::PolicyRow;
use super::{
    args::CheckArguments,
    exit::Exit,
    file::{self, Refused},
    output,
    warning::{self, Warning},
};
use crate::{
    material::{self, observed},
    observe::{standing::EXPIRING_AT, status::MaterialRow},
    plan::Plan,
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
    /// What is wrong with the file.
    #[serde(flatten)]
    refused: Refused,
    /// Whether no problem was found. Warnings are none.
    ok: bool,
    /// What is permitted and yet departs from what a production system should do.
    warnings: Vec<Warning>,
    /// What of TLS each secured component speaks.
    tls: Vec<PolicyRow>,
    /// Every material that the file names. Absent when the file has problems, or was all that was to be checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    materials: Option<Vec<MaterialRow>>,
}

impl Report {
    fn of(path: &Path, config_only: bool, now: SystemTime) -> Self {
        match file::plan(path) {
            Err(refused) => Self { ok: false, warnings: Vec::new(), tls: Vec::new(), materials: None, refused },
            Ok(plan) => Self::planned(path, &plan, config_only, now),
        }
    }

    fn planned(path: &Path, plan: &Plan, config_only: bool, now: SystemTime) -> Self {
        let mut warnings = warning::of_plan(plan);
        let materials = (!config_only).then(|| {
            let facts = observed::facts(plan, &material::load(plan, now), now);
            facts.iter().map(|material| material.row(now, EXPIRING_AT)).collect::<Vec<_>>()
        });
        for material in materials.iter().flatten() {
            warnings.extend(warning::of_material(material));
        }
        let ok = materials.iter().flatten().all(is_usable);
        let refused = Refused { file: path.display().to_string(), problems: Vec::new(), total: 0 };
        Self { refused, ok, warnings, tls: policy::rows(plan), materials }
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

#[cfg(test)]
mod tests;
