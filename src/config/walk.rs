//! The walk of one mapping by its [`Section`]: every key that it should not have, every one that it lacks, and the
//! values of those that it has.

use std::time::Duration;

use super::{
    field::{Field, Located},
    keys::FILE,
    node::{Node, Value},
    problem::{Fault, Sink, Spot, near, shown},
    scalar::{Parsed, duration, size, word},
    schema::{self, Key, Kind, Presence, Section},
};

/// A node, its place, and where problems go.
#[derive(Clone)]
pub(super) struct At<'a> {
    pub(super) node: &'a Node,
    pub(super) spot: Spot,
    pub(super) sink: &'a Sink,
}

impl At<'_> {
    fn report(&self, fault: Fault) {
        self.sink.report(&self.spot, fault);
    }

    /// Reports that something else was expected here, unless the reader has reported the node already.
    fn mismatch(&self, expected: impl Into<String>) {
        if self.node.value != Value::Broken {
            self.report(Fault::new(format!("{} stands here", self.node.describe()), expected));
        }
    }

    fn scalar<T>(&self, form: &str, parse: impl FnOnce(&str) -> Parsed<T>) -> Option<Located<T>> {
        let Value::Scalar { text, .. } = &self.node.value else {
            self.mismatch(format!("a single value ({form})"));
            return None;
        };
        match parse(text) {
            Ok(value) => Some(Located { value, spot: self.spot.clone() }),
            Err(fault) => {
                self.report(fault);
                None
            }
        }
    }
}

/// The keys of one mapping.
pub(super) struct Fields<'a> {
    at: At<'a>,
    section: &'static Section,
    /// `None`: there is no mapping to look into, which has been reported.
    entries: Option<&'a [(super::node::Key, Node)]>,
    /// Keys that are there under a name that is nearly theirs: one mistake, of which no more is said.
    misspelt: Vec<&'static str>,
}

impl<'a> Fields<'a> {
    /// Looks into a mapping. Keys that it should not have, and required ones that it lacks, are reported here.
    pub(super) fn open(at: At<'a>, section: &'static Section) -> Self {
        let entries = match &at.node.value {
            Value::Map(entries) => Some(entries.as_slice()),
            _ => {
                at.mismatch(format!("a mapping with the keys {}", names(section)));
                None
            }
        };
        let mut fields = Self { at, section, entries, misspelt: Vec::new() };
        for (key, _) in entries.unwrap_or_default() {
            if section.key(&key.text).is_none() {
                let meant = near(&key.text, section.keys.iter().map(|key| key.name));
                fields.misspelt.extend(meant.filter(|meant| !fields.misspelt.contains(meant)));
                let spot = fields.at.spot.key(&key.text, key.line);
                fields.at.sink.report_with(&spot, || unknown(&key.text, section, meant));
            }
        }
        for key in section.keys.iter().filter(|key| key.presence == Presence::Required) {
            if fields.entries.is_some() && fields.get(key).is_none() && !fields.misspelt.contains(&key.name) {
                let fault = Fault::new(format!("{} has no `{}`", section.title, key.name), expected(key));
                fields.at.sink.report(&fields.at.spot, fault);
            }
        }
        fields
    }

    pub(super) fn flag(&self, name: &str) -> Field<bool> {
        self.scalar(name, word::flag)
    }

    pub(super) fn count(&self, name: &str) -> Field<u64> {
        let Kind::Count { min, max } = self.key(name).kind else { unreachable!("{name} is no count") };
        self.scalar(name, |text| within(word::count(text)?, min, max, |number| number.to_string()))
    }

    pub(super) fn duration(&self, name: &str) -> Field<Duration> {
        let Kind::Duration { min, max } = self.key(name).kind else { unreachable!("{name} is no duration") };
        self.scalar(name, |text| within(duration::parse(text)?, min, max, duration::text))
    }

    pub(super) fn size(&self, name: &str) -> Field<u64> {
        let Kind::Size { min, max } = self.key(name).kind else { unreachable!("{name} is no size") };
        self.scalar(name, |text| within(size::parse(text)?, min, max, size::text))
    }

    /// One of the words of the key, each with its meaning, in the same order.
    pub(super) fn choice<T: Copy>(&self, name: &str, meanings: &[T]) -> Field<T> {
        let Kind::Choice(words) = self.key(name).kind else { unreachable!("{name} is no choice") };
        debug_assert_eq!(words.len(), meanings.len());
        self.scalar(name, |text| match words.iter().position(|word| *word == text) {
            Some(index) => Ok(meanings[index]),
            None => {
                let allowed = words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
                Err(Fault::new(format!("{} is not a choice here", shown(text)), format!("one of {allowed}"))
                    .meant(near(text, words.iter().copied())))
            }
        })
    }

    /// A text of some form.
    pub(super) fn text<T>(&self, name: &str, parse: impl FnOnce(&str) -> Parsed<T>) -> Field<T> {
        self.scalar(name, parse)
    }

    /// A list of texts of one form. Those that cannot be read are reported and left out.
    pub(super) fn list<T>(&self, name: &str, parse: impl Fn(&str) -> Parsed<T>) -> Field<Vec<Located<T>>> {
        let Kind::List { of, min, max } = self.key(name).kind else { unreachable!("{name} is no list") };
        self.items(name, min, max, |at| at.scalar(of, &parse))
    }

    /// A mapping with fixed keys.
    pub(super) fn section<T>(&self, name: &str, walk: impl FnOnce(&Fields<'a>) -> T) -> Field<T> {
        let Kind::Section(section) = self.key(name).kind else { unreachable!("{name} is no section") };
        self.field(name, |at| {
            let fields = Fields::open(at, section);
            fields.entries?;
            Some(Located { value: walk(&fields), spot: fields.at.spot })
        })
    }

    /// A list of mappings with fixed keys.
    pub(super) fn sections<T>(&self, name: &str, walk: impl Fn(&Fields<'a>) -> T) -> Field<Vec<Located<T>>> {
        let Kind::Sections { section, min, max } = self.key(name).kind else { unreachable!("{name} is no list") };
        self.items(name, min, max, |at| {
            let fields = Fields::open(at, section);
            fields.entries?;
            Some(Located { value: walk(&fields), spot: fields.at.spot })
        })
    }

    /// A mapping from names to mappings with fixed keys, in the order of the file.
    /// One that has a name and is not readable otherwise keeps its name, so that whoever refers to it hears no more.
    pub(super) fn named<T>(&self, name: &str, walk: impl Fn(&Fields<'a>) -> T) -> Field<Vec<(String, Field<T>)>> {
        let Kind::Named { section, max } = self.key(name).kind else { unreachable!("{name} is no mapping by name") };
        self.field(name, |at| {
            let Value::Map(entries) = &at.node.value else {
                at.mismatch(format!("a mapping from names to {} each", section.title));
                return None;
            };
            if !bounded(&at, entries.len(), 0, max) {
                return None;
            }
            let mut all = Vec::with_capacity(entries.len());
            for (key, node) in entries {
                let at = At { node, spot: at.spot.key(&key.text, key.line), sink: at.sink };
                let named = word::name(&key.text).inspect_err(|fault| at.report(fault.clone()));
                let fields = Fields::open(at, section);
                let value = match fields.entries {
                    Some(_) => Field::Given(Located { value: walk(&fields), spot: fields.at.spot }),
                    None => Field::Invalid,
                };
                all.extend(named.ok().map(|named| (named, value)));
            }
            Some(Located { value: all, spot: at.spot })
        })
    }

    fn scalar<T>(&self, name: &str, parse: impl FnOnce(&str) -> Parsed<T>) -> Field<T> {
        let form = self.key(name).kind.type_name();
        self.field(name, |at| at.scalar(&form, parse))
    }

    fn items<T>(
        &self,
        name: &str,
        min: usize,
        max: usize,
        each: impl Fn(At<'a>) -> Option<Located<T>>,
    ) -> Field<Vec<Located<T>>> {
        self.field(name, |at| {
            let Value::List(items) = &at.node.value else {
                at.mismatch("a list");
                return None;
            };
            if !bounded(&at, items.len(), min, max) {
                return None;
            }
            let place = |index, node: &'a Node| At { node, spot: at.spot.index(index, node.line), sink: at.sink };
            let value = items.iter().enumerate().filter_map(|(index, node)| each(place(index, node))).collect();
            Some(Located { value, spot: at.spot.clone() })
        })
    }

    fn field<T>(&self, name: &str, read: impl FnOnce(At<'a>) -> Option<Located<T>>) -> Field<T> {
        let key = self.key(name);
        match self.get(key) {
            // A mapping that cannot be looked into may well hold the key.
            None if self.entries.is_none() => Field::Invalid,
            None if key.presence == Presence::Required || self.misspelt.contains(&key.name) => Field::Invalid,
            None => Field::Absent,
            Some(at) => read(at).map_or(Field::Invalid, Field::Given),
        }
    }

    fn key(&self, name: &str) -> &'static Key {
        self.section.key(name).expect("the walk asks for keys of its own section")
    }

    fn get(&self, key: &Key) -> Option<At<'a>> {
        let (key, node) = self.entries?.iter().find(|(entry, _)| entry.text == key.name)?;
        Some(At { node, spot: self.at.spot.key(&key.text, key.line), sink: self.at.sink })
    }
}

fn within<T: PartialOrd>(value: T, min: T, max: T, text: impl Fn(T) -> String) -> Parsed<T> {
    if (&min..=&max).contains(&&value) {
        return Ok(value);
    }
    let side = if value < min { "too small" } else { "too large" };
    Err(Fault::new(format!("{} is {side}", text(value)), format!("{} to {}", text(min), text(max))))
}

fn bounded(at: &At<'_>, len: usize, min: usize, max: usize) -> bool {
    let fits = (min..=max).contains(&len);
    if !fits {
        let message = if len == 0 { "there is no entry".to_owned() } else { format!("there are {len} entries") };
        at.report(Fault::new(message, format!("{min} to {max} entries")));
    }
    fits
}

fn unknown(key: &str, section: &'static Section, meant: Option<&str>) -> Fault {
    let fault =
        Fault::new(format!("{} has no key {}", section.title, shown(key)), format!("one of {}", names(section)));
    let homes = schema::homes(&FILE, key);
    if meant.is_none() && !homes.is_empty() {
        return fault.hint(Some(format!("its place is `{}`", homes.join("` or `"))));
    }
    fault.meant(meant)
}

fn names(section: &Section) -> String {
    section.keys.iter().map(|key| format!("`{}`", key.name)).collect::<Vec<_>>().join(", ")
}

fn expected(key: &Key) -> String {
    match &key.kind {
        Kind::Sections { section, .. } => {
            format!("`{}`: at least one {}", key.name, without_article(section.title))
        }
        kind => format!("`{}` ({})", key.name, kind.type_name()),
    }
}

fn without_article(title: &str) -> &str {
    title.strip_prefix("a ").or_else(|| title.strip_prefix("an ")).unwrap_or(title)
}
