//! `docs/metrics.md` against the code.

use std::collections::BTreeMap;

use super::*;

const PAGE: &str = include_str!("../../../docs/metrics.md");

/// Name to type and label names.
type Families = BTreeMap<String, (String, BTreeSet<String>)>;

/// The cells of every row of a table whose header begins with `first`.
fn rows(first: &str) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let mut inside = false;
    for line in PAGE.lines() {
        inside = if inside { line.starts_with('|') } else { line.starts_with(&format!("| {first} |")) };
        if inside {
            let cells = line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
            rows.push(cells);
        }
    }
    rows.retain(|cells| cells[0].starts_with('`'));
    rows
}

/// What stands between backticks.
fn quoted(text: &str) -> BTreeSet<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn described() -> Families {
    rows("metric")
        .into_iter()
        .map(|cells| (cells[0].trim_matches('`').to_owned(), (cells[1].clone(), quoted(&cells[2]))))
        .collect()
}

/// The labels of a series. Values have no quotes or commas in them here.
fn labels(series: &str) -> BTreeMap<String, String> {
    let inside = series.split_once('{').map_or("", |(_, rest)| rest.trim_end_matches('}'));
    let pairs = inside.split(',').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), value.trim_matches('"').to_owned())).collect()
}

/// The family that a series belongs to.
fn family(series: &str) -> &str {
    let name = series.split('{').next().unwrap();
    ["_bucket", "_sum", "_count"].iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name)
}

/// An observer with every transport and every role.
fn whole_observer() -> Arc<Observer> {
    let upstreams = Transport::ALL
        .iter()
        .map(|transport| component(&format!("u-{}", transport.index()), *transport, Material::ALL));
    Observer::new(Setup { upstreams: upstreams.collect(), ..Setup::default() })
}

#[test]
fn names_types_and_labels_are_those_of_the_code() {
    let text = whole_observer().expose(now());
    let mut found = Families::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
        let (name, kind) = line.split_once(' ').unwrap();
        found.insert(name.to_owned(), (kind.to_owned(), BTreeSet::new()));
    }
    for series in series(&text) {
        let names = labels(&series).into_keys().filter(|name| name != "le");
        found.get_mut(family(&series)).unwrap().1.extend(names);
    }
    assert_eq!(described(), found);
}

#[test]
fn label_values_are_those_of_the_code() {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for series in series(&whole_observer().expose(now())) {
        for (label, value) in labels(&series) {
            if !matches!(label.as_str(), "component" | "version" | "le") {
                let of_one = matches!(label.as_str(), "result" | "reason");
                let key = if of_one { format!("{label} of {}", family(&series)) } else { label };
                found.entry(key).or_default().insert(value);
            }
        }
    }
    let described: BTreeMap<_, _> =
        rows("label").into_iter().map(|cells| (cells[0].replace('`', ""), quoted(&cells[1]))).collect();
    assert_eq!(described, found);
}

#[test]
fn every_value_is_explained_and_every_alert_names_what_exists() {
    let (_, explained) = PAGE.split_once("What they mean:").unwrap();
    for value in
        values::<CloseReason>().into_iter().chain(values::<HandshakeFailure>()).chain(values::<MaterialState>())
    {
        assert!(explained.contains(&format!("`{value}`")), "{value}");
    }
    let described = described();
    let words = explained.split(|character: char| !(character.is_ascii_alphanumeric() || character == '_'));
    for name in words.filter(|word| word.starts_with("iris_")) {
        assert!(described.contains_key(name), "{name}");
    }
}
