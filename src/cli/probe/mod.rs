//! `iris probe`: connect, verify as Iris would, print what the server shows, and say what fails. `docs/probe.md` explains
//! it.

pub(super) mod args;
mod attempt;
mod failure;
mod material;
mod quic;
mod report;
mod target;
mod tcp;
mod text;

use std::time::SystemTime;

use rustls::pki_types::ServerName;

use self::{
    args::ProbeArguments,
    attempt::{Seen, Task},
    failure::{Failure, Reason, Step},
    report::Report,
};
use super::{exit::Exit, output};
use crate::{material::provider, tls::probe::Probing};

/// Runs the command.
pub(super) fn run(arguments: &ProbeArguments) -> Exit {
    let report = probe(arguments, SystemTime::now());
    let text = if arguments.json { report.to_json() } else { text::write(&report) };
    output::print(&text, report.exit())
}

fn probe(arguments: &ProbeArguments, now: SystemTime) -> Report {
    let target = &arguments.target;
    // The host of a target is a DNS name or an IP address, and so a server name.
    let name = arguments.server_name.clone().map_or_else(|| target::server_name(&target.to.host), Ok);
    let (task, failed) = match (name, material::load(arguments, now)) {
        (Ok(name), Ok((plan, probing))) => {
            let (target, time) = (target.clone(), arguments.timeout);
            (Some(Task { target, name, plan, probing, time }), None)
        }
        (Err(words), _) => (None, Some(Failure::new(Reason::Name, Step::Files, words))),
        (_, Err(rejection)) => (None, Some(Failure::new(Reason::File, Step::Files, rejection.to_string()))),
    };
    // The first random numbers of a process take long to gather, and belong to no step of the probe.
    let _ = provider().secure_random.fill(&mut [0; 32]);
    let Some(task) = task else { return Report::new(arguments, None, Seen::default(), failed, now) };
    let (seen, result) = carry_out(&task);
    let failed = result.err().or_else(|| not_verified(&task.probing));
    Report::new(arguments, Some(&task), seen, failed, now)
}

/// All of it on a runtime of its own.
fn carry_out(task: &Task) -> (Seen, Result<(), Failure>) {
    match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => {
            let outcome = runtime.block_on(attempt::run(task));
            // A resolver that hangs has a thread of its own, which nobody waits for.
            runtime.shutdown_background();
            outcome
        }
        Err(error) => (Seen::default(), Err(Failure::new(Reason::System, Step::Connect, error.to_string()))),
    }
}

/// What nobody vouched for is no success, however well it went.
fn not_verified(probing: &Probing) -> Option<Failure> {
    let nobody = probing.authority.is_none();
    nobody.then(|| Failure::new(Reason::NotVerified, Step::Verify, "no --ca was given: anybody could have answered"))
}

/// A server name as it is shown.
fn shown(name: &ServerName<'_>) -> String {
    name.to_str().into_owned()
}
