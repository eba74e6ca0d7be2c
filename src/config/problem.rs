//! What is wrong with a file: every mistake, each with its place, what is allowed and, where one is near, what was
//! probably meant.

use std::{cell::RefCell, fmt};

use serde::Serialize;

/// Problems that are kept; of the rest only the number is.
const KEPT: usize = 256;
/// The longest text of a file that a problem repeats, in bytes.
const SHOWN: usize = 48;

/// One mistake of a configuration file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Where: a YAML path such as `listeners[0].tls.alpn`. Empty: the file as a whole.
    pub path: String,
    /// Which line, from 1, where one is known.
    pub line: Option<usize>,
    /// What is wrong.
    pub message: String,
    /// What is allowed in its place.
    pub expected: String,
    /// What was probably meant.
    pub hint: Option<String>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        write!(f, "{}; expected {}", self.message, self.expected)?;
        match &self.hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}

/// Every mistake of a file, in the order of its lines. The first 256 are kept, the others counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Problems {
    kept: Vec<Problem>,
    more: usize,
}

impl Problems {
    /// The problems that were kept.
    pub fn iter(&self) -> std::slice::Iter<'_, Problem> {
        self.kept.iter()
    }

    /// How many there are, those included that were only counted.
    pub fn len(&self) -> usize {
        self.kept.len() + self.more
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn sort(&mut self) {
        self.kept.sort_by(|a, b| (a.line, &a.path).cmp(&(b.line, &b.path)));
    }
}

impl<'a> IntoIterator for &'a Problems {
    type Item = &'a Problem;
    type IntoIter = std::slice::Iter<'a, Problem>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// One problem a line.
impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.kept.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write!(f, "{problem}")?;
        }
        match self.more {
            0 => Ok(()),
            more => write!(f, "\nand {more} more"),
        }
    }
}

impl std::error::Error for Problems {}

/// Where something stands in a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spot {
    /// YAML path.
    pub path: String,
    /// Line, from 1; 0 when there is none to name.
    pub line: usize,
}

impl Spot {
    /// A key of the mapping that stands here.
    pub fn key(&self, key: &str, line: usize) -> Self {
        let key = plain_key(key);
        let path = if self.path.is_empty() { key } else { format!("{}.{key}", self.path) };
        Self { path, line }
    }

    /// An element of the list that stands here.
    pub fn index(&self, index: usize, line: usize) -> Self {
        Self { path: format!("{}[{index}]", self.path), line }
    }
}

/// A problem of one value that does not yet know where the value stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// What is wrong.
    pub message: String,
    /// What is allowed.
    pub expected: String,
    /// What was probably meant.
    pub hint: Option<String>,
}

impl Fault {
    /// A fault without a hint.
    pub fn new(message: impl Into<String>, expected: impl Into<String>) -> Self {
        Self { message: message.into(), expected: expected.into(), hint: None }
    }

    /// With a hint, if there is one.
    #[must_use]
    pub fn hint(mut self, hint: Option<String>) -> Self {
        self.hint = hint;
        self
    }

    /// With the hint that this was meant.
    #[must_use]
    pub fn meant(self, meant: Option<impl fmt::Display>) -> Self {
        self.hint(meant.map(|meant| format!("did you mean `{meant}`?")))
    }
}

/// Collects problems. Shared by reference, so that the walk of a section borrows nothing.
#[derive(Debug, Default)]
pub struct Sink(RefCell<Problems>);

impl Sink {
    /// A sink that already holds `problems`.
    pub fn with(problems: Problems) -> Self {
        Self(RefCell::new(problems))
    }

    /// Notes a problem.
    pub fn report(&self, spot: &Spot, fault: Fault) {
        self.report_with(spot, || fault);
    }

    /// Notes a problem whose words cost something. Of those that are only counted nobody reads them.
    pub fn report_with(&self, spot: &Spot, fault: impl FnOnce() -> Fault) {
        let mut problems = self.0.borrow_mut();
        if problems.kept.len() == KEPT {
            problems.more += 1;
            return;
        }
        let Fault { message, expected, hint } = fault();
        let line = (spot.line > 0).then_some(spot.line);
        problems.kept.push(Problem { path: spot.path.clone(), line, message, expected, hint });
    }

    /// All problems, in the order of their lines.
    pub fn finish(self) -> Problems {
        let mut problems = self.0.into_inner();
        problems.sort();
        problems
    }
}

/// A value of the file as a problem may repeat it: short, on one line, and nothing that looks like a key, a token or
/// credentials. A person pastes a private key where its path belongs, and the message ends up in a log.
pub fn shown(text: &str) -> String {
    let secret = text.len() > SHOWN
        || text.chars().any(char::is_control)
        || text.contains("-----")
        || text.contains('@')
        || is_token(text);
    if secret { format!("a text of {} bytes (not shown)", text.len()) } else { format!("`{text}`") }
}

/// Base64 or hexadecimal of some length anywhere in it: digits and letters without the punctuation of names and
/// addresses.
fn is_token(text: &str) -> bool {
    let base64 = |c: char| c.is_ascii_alphanumeric() || "+/=_-".contains(c);
    text.split(|c| !base64(c)).any(|run| {
        run.len() >= 24
            && run.bytes().any(|b| b.is_ascii_digit())
            && (run.bytes().any(|b| b.is_ascii_uppercase()) || !run.contains('-'))
    })
}

fn plain_key(key: &str) -> String {
    let plain = (1..=63).contains(&key.len()) && key.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b));
    if plain && !is_token(key) { key.to_owned() } else { "(key)".to_owned() }
}

/// The candidate that `word` was probably meant to be: a letter or two away, cut short, or drawn out.
pub fn near<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > SHOWN {
        return None;
    }
    let folded = |text: &str| text.to_ascii_lowercase().replace('-', "_");
    let word = folded(word);
    candidates
        .into_iter()
        .filter_map(|candidate| {
            let other = folded(candidate);
            let begins = word.len().min(other.len()) >= 3 && (word.starts_with(&other) || other.starts_with(&word));
            let distance = strsim::damerau_levenshtein(&word, &other);
            (begins || distance <= (other.len() / 3).min(3)).then_some((distance, candidate))
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}
