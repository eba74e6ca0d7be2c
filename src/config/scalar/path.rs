//! Paths of files. A problem never repeats one: a person pastes the key itself where its path belongs.

use std::path::PathBuf;

use super::Parsed;
use crate::config::problem::Fault;

/// Longest path, in bytes (PATH_MAX of Linux).
const MAX: usize = 4096;

/// Parses the path of a file.
pub fn parse(text: &str) -> Parsed<PathBuf> {
    let wrong = if text.contains("-----BEGIN") {
        "this is PEM, not the path of a file"
    } else if text.is_empty() || text.chars().any(char::is_control) {
        "this is no path of a file"
    } else if text.len() > MAX {
        "this is longer than any path"
    } else if text.ends_with('/') {
        "this is the path of a directory"
    } else {
        return Ok(PathBuf::from(text));
    };
    Err(Fault::new(wrong, "the path of a PEM file"))
}
