//! The shape of the house, checked: who may import whom, who owns which dependency, how long a file may be, that no file
//! is an orphan, and that the prose names no line and no machine.
//!
//! Every rule is a function over files held in memory, and has a test with a tree that breaks it: a rule that cannot
//! fail proves nothing. The tests here apply the rules to the repository.

mod imports;
mod owners;
mod prose;
mod size;
mod source;
mod tree;

use source::{Repository, SourceFile};

/// A breach of a rule, as it is shown: `path: what is wrong`.
fn breach(path: &str, what: impl std::fmt::Display) -> String {
    format!("{path}: {what}")
}

#[track_caller]
fn assert_none(rule: &str, breaches: &[String]) {
    assert!(breaches.is_empty(), "{rule}:\n  {}", breaches.join("\n  "));
}

#[test]
fn imports_run_one_way() {
    let files = Repository::read().rust("src/");
    assert!(files.len() > 10, "only {} files found: the rule would prove nothing", files.len());
    assert_none("ARCHITECTURE.md, imports", &imports::forbidden(&files, imports::ALLOWED));
    assert_none("ARCHITECTURE.md, no cycle", &imports::cycles(&imports::edges(&files)));
}

#[test]
fn each_heavy_dependency_has_one_owner() {
    let repository = Repository::read();
    assert_none("ARCHITECTURE.md, owners", &owners::trespasses(&repository.rust("src/"), owners::OWNERS));
    let manifest = repository.text("Cargo.toml");
    assert_none("owners of nothing", &owners::unknown(owners::OWNERS, manifest, owners::EXPECTED_LATER));
}

#[test]
fn files_stay_below_the_wall() {
    let repository = Repository::read();
    let files: Vec<SourceFile> = [repository.rust("src/"), repository.rust("loopback/")].concat();
    println!("median file: {} lines without tests; longest: {:?}", size::median(&files), size::longest(&files));
    assert_none("more than two things in one room", &size::too_long(&files, size::WALL));
    assert!(size::median(&files) <= size::CALM_MEDIAN, "median file of {} lines", size::median(&files));
}

#[test]
fn every_file_is_in_the_module_tree() {
    let repository = Repository::read();
    for (folder, roots) in [
        ("src/", &["src/lib.rs", "src/main.rs"][..]),
        ("loopback/src/", &["loopback/src/lib.rs"]),
        ("tests/it/", &["tests/it/main.rs"]),
    ] {
        assert_none("files that nothing compiles", &tree::orphans(&repository.rust(folder), roots));
    }
}

#[test]
fn the_architecture_names_every_stage() {
    let repository = Repository::read();
    let architecture = repository.text("ARCHITECTURE.md");
    assert_none("ARCHITECTURE.md, stages", &tree::unnamed_stages(&repository.rust("src/"), architecture));
    assert_none("rules about stages", &imports::unruled(&repository.rust("src/"), imports::ALLOWED));
}

#[test]
fn prose_cites_no_line_numbers() {
    let repository = Repository::read();
    assert_none("line numbers move", &prose::line_citations(&repository.with_extensions(&["md", "rs", "yaml"])));
}

#[test]
fn nothing_names_a_machine() {
    let repository = Repository::read();
    assert_none("paths of one machine", &prose::machine_paths(&repository.files));
}
