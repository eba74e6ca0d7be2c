//! Document to plan: defaults filled in, names turned into indices, and everything that must go together checked.
//! Every problem of a file comes out at once, those of its reading included.

mod listener;
mod material;
mod names;
mod policy;
mod route;
mod settings;
mod sockets;
mod upstream;

use self::names::Names;
use super::{Development, Plan};
use crate::config::{
    self, Document, Problems, Spot,
    problem::{Fault, Sink},
};

/// Compiles the text of a configuration file.
///
/// # Errors
/// Every problem of the file, of its YAML, its values and of what goes together, in the order of lines.
pub fn from_yaml(text: impl AsRef<[u8]>) -> Result<Plan, Problems> {
    compile(&config::parse(text.as_ref()))
}

/// Compiles a document.
///
/// # Errors
/// Every problem of the document, those included that were found when it was read.
pub fn compile(document: &Document) -> Result<Plan, Problems> {
    let sink = Sink::with(document.problems.clone());
    let compiler = Compiler {
        document,
        sink: &sink,
        development: settings::development(document),
        identities: Names::of_materials("identity", &document.identities),
        trust: Names::of_materials("trust bundle", &document.trust),
        upstreams: Names::of_upstreams(&document.upstreams),
    };
    let plan = compiler.plan();
    let problems = sink.finish();
    match plan {
        Some(plan) if problems.is_empty() => Ok(plan),
        _ => {
            debug_assert!(!problems.is_empty(), "a part of the plan is missing and no problem says so");
            Err(problems)
        }
    }
}

/// What every part of the compilation needs.
struct Compiler<'a> {
    document: &'a Document,
    sink: &'a Sink,
    development: Development,
    identities: Names<'a>,
    trust: Names<'a>,
    upstreams: Names<'a>,
}

impl Compiler<'_> {
    /// The plan. `None` when something is missing from it, which has been reported.
    fn plan(&self) -> Option<Plan> {
        let admin = self.admin();
        let timeouts = self.timeouts();
        let reload = self.reload();
        let identities = self.all_identities();
        let trust = self.all_trust(&reload);
        let upstreams = self.all_upstreams();
        let listeners = self.all_listeners();
        self.check_component_names();
        self.check_sockets();
        self.check_requested_upstreams();
        Some(Plan {
            admin,
            log: self.log(),
            development: self.development,
            workers: self.workers(),
            limits: self.limits(),
            timeouts,
            transport: self.transport(),
            reload,
            identities: identities?,
            trust: trust?,
            listeners: listeners?,
            upstreams: upstreams?,
        })
    }

    fn report(&self, spot: &Spot, fault: Fault) {
        self.sink.report(spot, fault);
    }
}

/// All of `parts`, or `None` when one is missing.
fn whole<T>(parts: impl IntoIterator<Item = Option<T>>) -> Option<Vec<T>> {
    // Not `collect` into an `Option`, which would stop at the first that is missing and find no more problems.
    let parts: Vec<_> = parts.into_iter().collect();
    parts.into_iter().collect()
}

#[cfg(test)]
mod tests;
