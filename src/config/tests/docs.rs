//! `docs/configuration.md` against the registry of keys.

use std::collections::{BTreeMap, BTreeSet};

use crate::config::{
    keys::FILE,
    scalar::scheme::Scheme,
    schema::{Presence, visit},
};

const PAGE: &str = include_str!("../../../docs/configuration.md");

/// What the page says of a key: type, default, bounds.
type Facts = [String; 3];

fn registered() -> BTreeMap<String, Facts> {
    let mut keys = BTreeMap::new();
    visit(&FILE, "", &mut |path, key| {
        let default = match key.presence {
            Presence::Required => "required".to_owned(),
            Presence::Optional => "none".to_owned(),
            Presence::Default(words) if words.starts_with('(') => words.trim_matches(['(', ')']).to_owned(),
            Presence::Default(value) => format!("`{value}`"),
        };
        keys.insert(path.to_owned(), [key.kind.type_name(), default, key.kind.bounds()]);
    });
    keys
}

/// Rows of tables whose first cell is a key: `` | `timeouts.idle` | duration | `30s` | 1s to 1h | meaning | ``.
fn documented() -> BTreeMap<String, (Facts, String)> {
    let mut keys = BTreeMap::new();
    for line in PAGE.lines() {
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        let ["", key, kind, default, bounds, meaning, ""] = cells[..] else { continue };
        let Some(key) = key.strip_prefix('`').and_then(|key| key.strip_suffix('`')) else { continue };
        let facts = [kind.to_owned(), default.to_owned(), bounds.to_owned()];
        let before = keys.insert(key.to_owned(), (facts, meaning.to_owned()));
        assert!(before.is_none(), "`{key}` is documented twice");
    }
    keys
}

#[test]
fn every_key_is_documented_as_it_is() {
    let (registered, documented) = (registered(), documented());
    for (key, facts) in &registered {
        let row = format!("| `{key}` | {} | ... |", facts.join(" | "));
        let Some((said, meaning)) = documented.get(key) else { panic!("not documented: {row}") };
        assert_eq!(said, facts, "documented otherwise: {row}");
        assert!(meaning.len() > 10, "no meaning: {row}");
    }
    let known: BTreeSet<_> = registered.keys().collect();
    let unknown: Vec<_> = documented.keys().filter(|key| !known.contains(key)).collect();
    assert!(unknown.is_empty(), "documented and not there: {unknown:?}");
}

#[test]
fn every_scheme_is_documented() {
    for scheme in Scheme::all() {
        let row = PAGE.lines().find(|line| line.starts_with(&format!("| `{scheme}` |")));
        let row = row.unwrap_or_else(|| panic!("`{scheme}` is not documented"));
        assert_eq!(row.contains("| not yet |"), !scheme.is_carried(), "{row}");
        assert_eq!(row.contains("| yes |"), scheme.is_secured(), "{row}");
    }
}
