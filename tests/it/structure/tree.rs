//! No file lies beside the house.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    breach,
    source::{SourceFile, words},
};

/// Files that no `mod` reaches from the roots: nothing compiles them, so nothing checks them.
pub(super) fn orphans(files: &[SourceFile], roots: &[&str]) -> Vec<String> {
    let by_path: BTreeMap<&str, &SourceFile> = files.iter().map(|f| (f.path.as_str(), f)).collect();
    let mut reached = BTreeSet::new();
    let mut open: Vec<String> = roots.iter().map(|r| (*r).to_owned()).collect();
    while let Some(path) = open.pop() {
        let Some(file) = by_path.get(path.as_str()) else { continue };
        if !reached.insert(path.clone()) {
            continue;
        }
        let folder = file.child_folder();
        for module in declared(file) {
            open.push(format!("{folder}{module}.rs"));
            open.push(format!("{folder}{module}/mod.rs"));
        }
    }
    let lost = files.iter().filter(|f| !reached.contains(&f.path));
    lost.map(|f| breach(&f.path, "no `mod` leads here")).collect()
}

/// Stages that the page on architecture does not name.
pub(super) fn unnamed_stages(files: &[SourceFile], architecture: &str) -> Vec<String> {
    let stages: BTreeSet<&str> = files.iter().filter_map(|f| f.module("src/").first().copied()).collect();
    let named =
        |stage: &str| architecture.contains(&format!("`{stage}`")) || architecture.contains(&format!("{stage}/"));
    stages
        .into_iter()
        .filter(|s| !named(s))
        .map(|s| breach("ARCHITECTURE.md", format_args!("does not name {s}")))
        .collect()
}

/// Names of modules declared without a body, tests among them.
fn declared(file: &SourceFile) -> Vec<String> {
    let code = file.without_comments();
    let declarations = words(&code);
    let bodiless = declarations.windows(3).filter(|w| w[0] == "mod" && w[2] == ";");
    bodiless.map(|w| w[1].to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_orphan_is_found() {
        let files = [
            SourceFile::new("src/lib.rs", "pub mod a;\nmod b;\n#[cfg(test)]\nmod tests;\npub(crate) mod e;"),
            SourceFile::new("src/a.rs", "mod inner;"),
            SourceFile::new("src/a/inner.rs", ""),
            SourceFile::new("src/b/mod.rs", "mod c; // not d"),
            SourceFile::new("src/b/c.rs", ""),
            SourceFile::new("src/b/d.rs", ""),
            SourceFile::new("src/e.rs", ""),
            SourceFile::new("src/tests.rs", ""),
        ];
        assert_eq!(orphans(&files, &["src/lib.rs"]), ["src/b/d.rs: no `mod` leads here"]);
    }

    #[test]
    fn an_unnamed_stage_is_found() {
        let files = [SourceFile::new("src/tls/mod.rs", ""), SourceFile::new("src/extra.rs", "")];
        assert_eq!(unnamed_stages(&files, "the stage `tls` ..."), ["ARCHITECTURE.md: does not name extra"]);
    }
}
