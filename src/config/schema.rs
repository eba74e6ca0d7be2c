//! How the keys of a file are described: type, presence, bounds. The descriptions themselves are in
//! [`keys`](super::keys).

use std::time::Duration;

use super::scalar::{duration, size};

/// The keys of one mapping.
#[derive(Debug)]
pub struct Section {
    /// What the mapping is, with its article, for problems: "a listener".
    pub title: &'static str,
    /// Its keys.
    pub keys: &'static [Key],
}

/// One key.
#[derive(Debug)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// What stands under it.
    pub kind: Kind,
    /// Whether it may be left out, and what that means.
    pub presence: Presence,
}

/// Whether a key may be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// It may not.
    Required,
    /// It may, and then there is none.
    Optional,
    /// It may, and then this holds: a value as it could be written, or words in parentheses.
    Default(&'static str),
}

/// What stands under a key.
#[derive(Debug)]
pub enum Kind {
    /// `true` or `false`.
    Flag,
    /// A whole number.
    Count {
        /// Least value.
        min: u64,
        /// Greatest value.
        max: u64,
    },
    /// A time with a unit.
    Duration {
        /// Least value.
        min: Duration,
        /// Greatest value.
        max: Duration,
    },
    /// Bytes with a unit.
    Size {
        /// Least value.
        min: u64,
        /// Greatest value.
        max: u64,
    },
    /// One of a few words.
    Choice(&'static [&'static str]),
    /// A text of this form.
    Text(&'static str),
    /// A list of texts of this form.
    List {
        /// The form of each.
        of: &'static str,
        /// Least number.
        min: usize,
        /// Greatest number.
        max: usize,
    },
    /// A mapping with fixed keys.
    Section(&'static Section),
    /// A list of mappings with fixed keys.
    Sections {
        /// The keys of each.
        section: &'static Section,
        /// Least number.
        min: usize,
        /// Greatest number.
        max: usize,
    },
    /// A mapping from names to mappings with fixed keys.
    Named {
        /// The keys of each.
        section: &'static Section,
        /// Greatest number.
        max: usize,
    },
}

impl Section {
    /// The key with this name.
    pub fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }
}

impl Key {
    pub(super) const fn new(name: &'static str, kind: Kind) -> Self {
        Self { name, kind, presence: Presence::Optional }
    }

    pub(super) const fn required(self) -> Self {
        Self { presence: Presence::Required, ..self }
    }

    pub(super) const fn default(self, default: &'static str) -> Self {
        Self { presence: Presence::Default(default), ..self }
    }
}

impl Kind {
    /// The type, in a word or two.
    pub fn type_name(&self) -> String {
        match self {
            Self::Flag => "flag".into(),
            Self::Count { .. } => "count".into(),
            Self::Duration { .. } => "duration".into(),
            Self::Size { .. } => "size".into(),
            Self::Choice(_) => "choice".into(),
            Self::Text(form) => (*form).into(),
            Self::List { of, .. } => format!("list: {of}"),
            Self::Section(_) => "mapping".into(),
            Self::Sections { .. } => "list of mappings".into(),
            Self::Named { .. } => "mapping by name".into(),
        }
    }

    /// The bounds, in words; empty when the type says all.
    pub fn bounds(&self) -> String {
        match self {
            Self::Count { min, max } => format!("{min} to {max}"),
            Self::Duration { min, max } => format!("{} to {}", duration::text(*min), duration::text(*max)),
            Self::Size { min, max } => format!("{} to {}", size::text(*min), size::text(*max)),
            Self::Choice(words) => words.join(", "),
            Self::List { min, max, .. } | Self::Sections { min, max, .. } => format!("{min} to {max} entries"),
            Self::Named { max, .. } => format!("0 to {max} entries"),
            Self::Flag => "true, false".into(),
            Self::Text(_) | Self::Section(_) => String::new(),
        }
    }
}

/// Where in the file a key of this name has its place, for one that stands somewhere else.
pub fn homes(file: &'static Section, name: &str) -> Vec<String> {
    let mut homes = Vec::new();
    visit(file, "", &mut |path, key| {
        if key.name == name {
            homes.push(path.to_owned());
        }
    });
    homes
}

/// Calls `each` with the path and the key of every key, depth first: `listeners[].tls.alpn`, `trust.<name>.bundle`.
pub fn visit(section: &'static Section, path: &str, each: &mut dyn FnMut(&str, &'static Key)) {
    for key in section.keys {
        let path = if path.is_empty() { key.name.to_owned() } else { format!("{path}.{}", key.name) };
        each(&path, key);
        match &key.kind {
            Kind::Section(inner) => visit(inner, &path, each),
            Kind::Sections { section, .. } => visit(section, &format!("{path}[]"), each),
            Kind::Named { section, .. } => visit(section, &format!("{path}.<name>"), each),
            _ => {}
        }
    }
}
