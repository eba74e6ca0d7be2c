//! `docs/materials.md` and the code name the same reasons and warnings.

use crate::material::{Reason, Warning};

const PAGE: &str = include_str!("../../../docs/materials.md");

/// Rows of the table below a heading: the class, and the cells behind it.
fn rows(heading: &str) -> Vec<(String, Vec<&'static str>)> {
    let section = PAGE.split_once(heading).expect("the heading").1;
    let section = section.split("\n## ").next().expect("a section");
    let row = |line: &'static str| {
        let mut cells = line.trim_matches('|').split('|').map(str::trim);
        Some((cells.next()?.strip_prefix('`')?.strip_suffix('`')?.to_owned(), cells.collect()))
    };
    section.lines().filter(|line| line.starts_with("| `")).filter_map(row).collect()
}

fn names<T: Copy + std::fmt::Display>(all: &[T]) -> Vec<String> {
    all.iter().map(ToString::to_string).collect()
}

#[test]
fn every_reason_has_its_cause_and_cure_in_order() {
    let rows = rows("\n## Reasons\n");
    assert_eq!(rows.iter().map(|(class, _)| class.clone()).collect::<Vec<_>>(), names(Reason::ALL));
    for ((class, cells), reason) in rows.iter().zip(Reason::ALL) {
        assert!(cells.len() == 2 && cells[0].len() > 3, "{class} lacks a cause");
        assert_eq!(cells[1], reason.cure(), "{class}");
    }
}

#[test]
fn every_warning_is_explained_in_order() {
    let rows = rows("\n## Warnings\n");
    assert_eq!(rows.iter().map(|(class, _)| class.clone()).collect::<Vec<_>>(), names(Warning::ALL));
}

#[test]
fn classes_are_kebab_case_and_distinct() {
    let mut all: Vec<&str> = Reason::ALL.iter().map(|reason| reason.as_str()).collect();
    assert!(all.iter().all(|class| class.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')));
    let count = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), count);
}
