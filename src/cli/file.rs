//! From a configuration file to a plan, or to everything that is wrong with it.

use std::{
    fmt::{self, Write as _},
    fs::File,
    io::{self, Read},
    path::Path,
};

use serde::Serialize;

use crate::{
    config::{MAX_SIZE, Problem},
    plan::{self, Plan},
};

/// What is wrong with a file.
#[derive(Debug, Serialize)]
pub(super) struct Refused {
    /// The file, as named on the command line.
    pub(super) file: String,
    /// The first problems.
    pub(super) problems: Vec<Problem>,
    /// How many there are.
    #[serde(rename = "problems_total")]
    pub(super) total: usize,
}

/// The plan of a configuration file.
///
/// # Errors
/// Every problem of the file; that it cannot be read is one.
pub(super) fn plan(path: &Path) -> Result<Plan, Refused> {
    let file = path.display().to_string();
    match read(path) {
        Err(error) => Err(Refused { file, problems: vec![unreadable(&error)], total: 1 }),
        Ok(bytes) => plan::from_yaml(&bytes).map_err(|problems| Refused {
            file,
            total: problems.len(),
            problems: problems.iter().cloned().collect(),
        }),
    }
}

/// The bytes of a file. One that is too large is read just so far that the parser sees it.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(MAX_SIZE).unwrap_or(u64::MAX).saturating_add(1);
    File::open(path)?.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn unreadable(error: &io::Error) -> Problem {
    Problem {
        path: String::new(),
        line: None,
        message: format!("cannot read the file: {error}"),
        expected: "a readable configuration file in YAML".to_owned(),
        hint: None,
    }
}

/// For people: each problem with its place first, in the form that editors and terminals open.
impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for problem in &self.problems {
            write_problem(f, &self.file, problem)?;
        }
        if self.total > self.problems.len() {
            writeln!(f, "and {} more\n", self.total - self.problems.len())?;
        }
        writeln!(f, "{}: {}", self.file, counted(self.total, "problem"))
    }
}

fn write_problem(f: &mut fmt::Formatter<'_>, file: &str, problem: &Problem) -> fmt::Result {
    write!(f, "{file}:")?;
    if let Some(line) = problem.line {
        write!(f, "{line}:")?;
    }
    if !problem.path.is_empty() {
        write!(f, " {}:", problem.path)?;
    }
    writeln!(f, " {}", problem.message)?;
    writeln!(f, "    allowed: {}", problem.expected)?;
    if let Some(hint) = &problem.hint {
        writeln!(f, "    hint:    {hint}")?;
    }
    f.write_char('\n')
}

/// A number and its noun.
pub(super) fn counted(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}
