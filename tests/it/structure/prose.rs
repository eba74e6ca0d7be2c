//! What prose must not contain.

use super::{breach, source::SourceFile};

/// Places in files by line number: the first edit makes them lies.
pub(super) fn line_citations(files: &[SourceFile]) -> Vec<String> {
    let mut breaches = Vec::new();
    for file in files.iter().filter(|f| !is_this_rule(f)) {
        // Of code, the comments: a program may well print a place.
        let prose = |line: &&str| !file.path.ends_with(".rs") || line.trim_start().starts_with("//");
        for line in file.text.lines().filter(prose) {
            let cited = [".rs:", ".toml:", ".yaml:", ".md:", ".py:"].iter().any(|suffix| {
                line.match_indices(suffix)
                    .any(|(at, _)| line[at + suffix.len()..].starts_with(|c: char| c.is_ascii_digit()))
            });
            if cited || line.contains(".rs#L") {
                breaches.push(breach(&file.path, line.trim()));
            }
        }
    }
    breaches
}

/// Absolute paths below somebody's home, work or scratch folder.
pub(super) fn machine_paths(files: &[SourceFile]) -> Vec<String> {
    const FOLDERS: &[&str] = &["/root/", "/home/", "/Users/", "/work/"];
    let mut breaches = Vec::new();
    for file in files.iter().filter(|f| !is_this_rule(f)) {
        for line in file.text.lines() {
            let names_one = FOLDERS.iter().any(|folder| {
                line.match_indices(folder).any(|(at, _)| {
                    // Not the middle of a longer path or of a URL.
                    !line[..at]
                        .ends_with(|c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '-' | '_' | '}' | '>'))
                })
            });
            if names_one {
                breaches.push(breach(&file.path, line.trim()));
            }
        }
    }
    breaches
}

/// This file has to spell what it forbids.
fn is_this_rule(file: &SourceFile) -> bool {
    file.path == "tests/it/structure/prose.rs"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_number_is_found() {
        let page = |text| line_citations(&[SourceFile::new("docs/a.md", text)]).len();
        assert_eq!(page("see src/app.rs:12 for it"), 1);
        assert_eq!(page("see src/app.rs#L12"), 1);
        assert_eq!(page("src/app.rs: composes; 127.0.0.1:12; a.rs::b"), 0);
        let code = |text| line_citations(&[SourceFile::new("src/a.rs", text)]).len();
        assert_eq!(code("/// see app.rs:12"), 1);
        assert_eq!(code("assert_eq!(said, \"iris.yaml:1: no\");"), 0);
    }

    #[test]
    fn a_machine_is_found() {
        let page = |text| machine_paths(&[SourceFile::new("docs/a.md", text)]).len();
        assert_eq!(page("cd /home/me/iris"), 1);
        assert_eq!(page("path = \"/root/x\""), 1);
        assert_eq!(page("https://example.com/home/page, target/work/x, $X/root/"), 0);
        assert_eq!(page("/var/run/iris, the frame/work/ratio"), 0);
    }
}
