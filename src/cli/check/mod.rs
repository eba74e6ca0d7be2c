//! `iris check`: every problem of a configuration, then the state of every material that it names.

mod departures;
mod text;

use std::path::Path;

use serde::Serialize;

use super::{args::CheckArguments, exit::Exit, file, output};
use crate::{
    config::Problem,
    plan::{self, Plan},
};

/// Runs the command.
pub(super) fn run(arguments: &CheckArguments) -> Exit {
    let report = Report::of(&arguments.config, arguments.config_only);
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
    fn of(path: &Path, config_only: bool) -> Self {
        let file = path.display().to_string();
        match file::read(path) {
            Err(why) => Self::failed(file, vec![unreadable(why)], 1),
            Ok(bytes) => match plan::from_yaml(&bytes) {
                Err(problems) => Self::failed(file, problems.iter().cloned().collect(), problems.len()),
                Ok(plan) => Self::planned(file, &plan, config_only),
            },
        }
    }

    fn failed(file: String, problems: Vec<Problem>, problems_total: usize) -> Self {
        Self { file, ok: false, problems_total, problems, warnings: Vec::new() }
    }

    fn planned(file: String, plan: &Plan, _config_only: bool) -> Self {
        Self { file, ok: true, problems_total: 0, problems: Vec::new(), warnings: departures::of(plan) }
    }

    fn to_json(&self) -> String {
        // Only a map with keys that are no strings fails, and there is none.
        serde_json::to_string_pretty(self)
            .map_or_else(|error| format!("{{\"error\":\"{error}\"}}\n"), |json| json + "\n")
    }
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
