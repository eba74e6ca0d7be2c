//! Names and what they refer to.

use std::collections::{HashMap, HashSet};

use super::Compiler;
use crate::config::{
    Field, Located,
    keys::MAX_COMPONENTS,
    problem::{Fault, near, shown},
    section::upstream::Upstream,
};

/// The names of one kind of thing, each with its position.
pub(super) struct Names<'a> {
    what: &'static str,
    /// `None`: the section could not be read, so that nobody can say what is missing.
    positions: Option<HashMap<&'a str, usize>>,
}

impl<'a> Names<'a> {
    pub(super) fn of_materials<T>(what: &'static str, all: &'a Field<Vec<(String, Field<T>)>>) -> Self {
        let positions = (!all.is_invalid()).then(|| {
            all.value().into_iter().flatten().enumerate().map(|(at, (name, _))| (name.as_str(), at)).collect()
        });
        Self { what, positions }
    }

    pub(super) fn of_upstreams(all: &'a Field<Vec<Located<Upstream>>>) -> Self {
        let positions = all.value().map(|all| {
            let mut positions = HashMap::new();
            for (at, upstream) in all.iter().enumerate() {
                if let Some(name) = upstream.value.name.value() {
                    // The first of a name: that a second one has it is a problem of its own.
                    positions.entry(name.as_str()).or_insert(at);
                }
            }
            positions
        });
        Self { what: "upstream", positions }
    }

    /// The position of `name`, if there is one; says nothing if there is none.
    pub(super) fn position(&self, name: &str) -> Option<usize> {
        self.positions.as_ref()?.get(name).copied()
    }
}

impl Compiler<'_> {
    /// What a reference points to. `None`, and a problem, when it points to nothing.
    pub(super) fn refer(&self, names: &Names<'_>, reference: &Located<String>) -> Option<usize> {
        let positions = names.positions.as_ref()?;
        let name = &reference.value;
        let found = positions.get(name.as_str()).copied();
        if found.is_none() {
            self.sink.report_with(&reference.spot, || {
                Fault::new(format!("there is no {} {}", names.what, shown(name)), list(names.what, positions))
                    .meant(near(name, positions.keys().copied()))
            });
        }
        found
    }

    /// What an optional reference points to: `Some(None)` when there is none, `None` when it is wrong.
    pub(super) fn refer_if_given(&self, names: &Names<'_>, field: &Field<String>) -> Option<Option<usize>> {
        match field {
            Field::Absent => Some(None),
            Field::Invalid => None,
            Field::Given(reference) => self.refer(names, reference).map(Some),
        }
    }

    /// Names of listeners and upstreams are labels of metrics: each stands for one thing, and there are few.
    pub(super) fn check_component_names(&self) {
        let listeners = self.document.listeners.value().into_iter().flatten().map(|one| &one.value.name);
        let upstreams = self.document.upstreams.value().into_iter().flatten().map(|one| &one.value.name);
        let mut seen = HashSet::new();
        let mut number = 0;
        for name in listeners.chain(upstreams) {
            number += 1;
            let Some(name) = name.given() else { continue };
            if !seen.insert(name.value.as_str()) {
                let message = format!("the name {} is taken", shown(&name.value));
                self.report(&name.spot, Fault::new(message, "a name that no other listener or upstream has"));
            }
            if number == MAX_COMPONENTS + 1 {
                let message = format!("listeners and upstreams are more than {MAX_COMPONENTS}");
                self.report(&name.spot, Fault::new(message, format!("at most {MAX_COMPONENTS} together")));
            }
        }
    }
}

/// What a reference may name.
fn list(what: &str, positions: &HashMap<&str, usize>) -> String {
    const LISTED: usize = 8;
    let mut names: Vec<_> = positions.iter().map(|(name, at)| (*at, *name)).collect();
    names.sort_unstable();
    let listed: Vec<_> = names.iter().take(LISTED).map(|(_, name)| shown(name)).collect();
    match names.len() {
        0 => format!("the name of one that the file defines, and it defines no {what}"),
        len if len > LISTED => format!("one of {} and {} more", listed.join(", "), len - LISTED),
        _ => format!("one of {}", listed.join(", ")),
    }
}
