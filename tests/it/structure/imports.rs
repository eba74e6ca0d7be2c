//! Imports run one way.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    breach,
    source::{SourceFile, words},
};

/// A stage, and the stages that it may import.
pub(super) type Rule = (&'static str, &'static str);

/// The rules of this repository. `observe` and `runtime` serve all and know none.
pub(super) const ALLOWED: &[Rule] = &[
    ("observe", ""),
    ("runtime", ""),
    ("config", "observe runtime"),
    ("plan", "observe runtime config"),
    ("material", "observe runtime plan"),
    ("tls", "observe runtime plan material"),
    ("transport", "observe runtime plan"),
    ("live", "observe runtime plan material tls transport"),
    ("listen", "observe runtime plan material tls transport live"),
    ("dial", "observe runtime plan material tls transport live"),
    ("bridge", "observe runtime plan material tls transport live listen dial"),
    ("admin", "observe runtime live"),
    ("app", "observe runtime config plan material tls transport live listen dial bridge admin"),
    ("cli", "observe runtime config plan material tls transport live listen dial bridge admin app"),
];

/// Stage to stages it imports, each with a file that does.
pub(super) type Edges = BTreeMap<String, BTreeMap<String, String>>;

/// Imports that `allowed` does not have.
pub(super) fn forbidden(files: &[SourceFile], allowed: &[Rule]) -> Vec<String> {
    let mut breaches = Vec::new();
    for file in files.iter().filter(|f| !f.is_test()) {
        let Some((from, permitted)) =
            file.module("src/").first().and_then(|stage| allowed.iter().find(|(name, _)| name == stage))
        else {
            continue;
        };
        for target in imported_stages(file) {
            let known = allowed.iter().any(|(name, _)| *name == target);
            if known && target != *from && !permitted.split(' ').any(|p| p == target) {
                breaches.push(breach(&file.path, format_args!("{from} may not import {target}")));
            }
        }
    }
    breaches
}

/// Stages of the tree that the table does not rule.
pub(super) fn unruled(files: &[SourceFile], allowed: &[Rule]) -> Vec<String> {
    let stages: BTreeSet<&str> = files.iter().filter_map(|f| f.module("src/").first().copied()).collect();
    let ruled = |stage: &str| allowed.iter().any(|(name, _)| *name == stage);
    stages.into_iter().filter(|stage| !ruled(stage)).map(|s| breach(s, "no rule says what it may import")).collect()
}

/// Who imports whom, as it is.
pub(super) fn edges(files: &[SourceFile]) -> Edges {
    let mut edges = Edges::new();
    for file in files.iter().filter(|f| !f.is_test()) {
        if let Some(from) = file.module("src/").first() {
            let targets = edges.entry((*from).to_owned()).or_default();
            for target in imported_stages(file).into_iter().filter(|target| target != from) {
                targets.entry(target).or_insert_with(|| file.path.clone());
            }
        }
    }
    edges
}

/// Stages that reach themselves.
pub(super) fn cycles(edges: &Edges) -> Vec<String> {
    let mut breaches = Vec::new();
    for start in edges.keys() {
        let mut seen = BTreeSet::new();
        let mut open: Vec<&String> = edges[start].keys().collect();
        while let Some(stage) = open.pop() {
            if stage == start {
                breaches.push(breach(start, "imports itself through others"));
                break;
            }
            if seen.insert(stage) {
                open.extend(edges.get(stage).into_iter().flat_map(BTreeMap::keys));
            }
        }
    }
    breaches
}

/// The first segments below the crate's root that the code of `file` names.
fn imported_stages(file: &SourceFile) -> BTreeSet<String> {
    let code = file.code();
    let words = words(&code);
    let depth = file.module("src/").len();
    let mut stages = BTreeSet::new();
    let mut at = 0;
    while at < words.len() {
        let mut next = at + 1;
        let at_root = match words[at] {
            "crate" | "iris" => true,
            "super" => {
                let mut climbed = 1;
                while words.get(next) == Some(&"::") && words.get(next + 1) == Some(&"super") {
                    (climbed, next) = (climbed + 1, next + 2);
                }
                climbed >= depth
            }
            _ => false,
        };
        if at_root && words.get(next) == Some(&"::") {
            stages.extend(heads(&words[next + 1..]).into_iter().map(str::to_owned));
        }
        at = next;
    }
    stages
}

/// The first segments of a path or of the groups of a use tree.
fn heads<'a>(words: &[&'a str]) -> Vec<&'a str> {
    if words.first() != Some(&"{") {
        return words.first().copied().into_iter().collect();
    }
    let (mut depth, mut heads, mut expects) = (0, Vec::new(), false);
    for word in words {
        match *word {
            "{" => (depth, expects) = (depth + 1, depth == 0),
            "}" => depth -= 1,
            "," => expects = depth == 1,
            head if expects => {
                heads.push(head);
                expects = false;
            }
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    heads
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stages(path: &str, text: &str) -> Vec<String> {
        imported_stages(&SourceFile::new(path, text)).into_iter().collect()
    }

    #[test]
    fn an_import_against_the_stream_is_found() {
        let up = SourceFile::new("src/plan/mod.rs", "use crate::tls::Configs;");
        assert_eq!(forbidden(&[up], ALLOWED), ["src/plan/mod.rs: plan may not import tls"]);
        let down = SourceFile::new("src/tls/mod.rs", "use crate::plan::Plan;");
        assert!(forbidden(&[down], ALLOWED).is_empty());
        let servant = SourceFile::new("src/observe/log.rs", "fn f(plan: &crate::plan::LogPlan) {}");
        assert_eq!(forbidden(&[servant], ALLOWED).len(), 1);
        let reader = SourceFile::new("src/admin/mod.rs", "use crate::{observe::Metrics, plan::Plan};");
        assert_eq!(forbidden(&[reader], ALLOWED), ["src/admin/mod.rs: admin may not import plan"]);
        let siblings = SourceFile::new("src/listen/mod.rs", "use crate::dial;");
        assert_eq!(forbidden(&[siblings], ALLOWED).len(), 1);
    }

    #[test]
    fn every_spelling_of_a_path_is_seen() {
        assert_eq!(stages("src/a.rs", "use crate::{b::{c, d}, e, f::g as h};"), ["b", "e", "f"]);
        assert_eq!(stages("src/a.rs", "let x = crate::b::c();"), ["b"]);
        assert_eq!(stages("src/a/x.rs", "use super::super::b::c;"), ["b"]);
        assert_eq!(stages("src/a/mod.rs", "use super::b;"), ["b"]);
        assert_eq!(stages("src/a/x.rs", "use super::{c, d};"), [""; 0]);
        assert_eq!(stages("src/a/x/y.rs", "use super::super::{c}; use super::super::super::{d, e::f};"), ["d", "e"]);
        assert_eq!(stages("src/a.rs", "macro_rules! m { () => { $crate::b::c } }"), ["b"]);
        assert_eq!(stages("src/a.rs", "// use crate::b;\nlet s = \"crate::c\";"), [""; 0]);
        assert_eq!(stages("src/a.rs", "#[cfg(test)] mod tests { use crate::b; }"), [""; 0]);
    }

    #[test]
    fn a_cycle_is_found() {
        let file = |path: &str, text: &str| SourceFile::new(path, text);
        let ring = [
            file("src/a/mod.rs", "use crate::b;"),
            file("src/b/mod.rs", "use crate::c;"),
            file("src/c/mod.rs", "use crate::a;"),
        ];
        assert_eq!(cycles(&edges(&ring)).len(), 3);
        assert!(cycles(&edges(&ring[..2])).is_empty());
    }

    #[test]
    fn the_table_itself_has_no_cycle() {
        let mut table = Edges::new();
        for (from, to) in ALLOWED {
            let targets = to.split_whitespace().map(|t| (t.to_owned(), String::new())).collect();
            table.insert((*from).to_owned(), targets);
        }
        assert!(cycles(&table).is_empty());
    }

    #[test]
    fn a_stage_without_a_rule_is_found() {
        let stray = SourceFile::new("src/helpers/mod.rs", "");
        assert_eq!(unruled(&[stray], ALLOWED).len(), 1);
    }
}
