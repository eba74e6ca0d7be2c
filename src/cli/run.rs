//! `iris run`: the process as it runs in a pod. SIGHUP has all materials read again.

use std::{error::Error, pin::pin, time::Duration};

use super::{args::RunArguments, exit::Exit, file, output, warning};
use crate::{
    app::{App, StartError},
    material::reload::ReloadError,
    observe::log,
    plan::{LogFormat, Plan},
    runtime::{
        drain,
        signals::{Hangup, Termination},
    },
};

/// Runs the command: until the first SIGTERM or SIGINT and the drain that it begins, or until the second.
pub(super) fn run(arguments: &RunArguments) -> Exit {
    let plan = match file::plan(&arguments.config) {
        Ok(plan) => plan,
        Err(refused) => {
            output::complain(&refused.to_string());
            return Exit::Configuration;
        }
    };
    let format = match plan.log.format {
        LogFormat::Text => log::Format::Text,
        LogFormat::Json => log::Format::Json,
    };
    // Written out when this function is left: the last lines say how it ended.
    let _flush = match log::init(format, plan.log.level) {
        Ok(flush) => flush,
        Err(error) => {
            output::complain(&format!("iris: cannot start the log: {error}"));
            return Exit::System;
        }
    };
    tracing::info!(version = env!("CARGO_PKG_VERSION"), config = %arguments.config.display(), "starting");
    for warning in warning::of_plan(&plan) {
        tracing::warn!(subject = warning.subject, "{}", warning.message);
    }
    match serve(plan) {
        Ok(()) => Exit::Success,
        Err(error) => {
            tracing::error!(cause = causes(&*error), "{error}");
            match error.downcast_ref() {
                Some(StartError::Materials(ReloadError::Derive(_))) => Exit::Problems,
                _ => Exit::System,
            }
        }
    }
}

/// Binds everything and serves. The runtime of this thread has signals and the operator's HTTP; connections have the
/// workers.
fn serve(plan: Plan) -> Result<(), Box<dyn Error + Send + Sync>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        // Before anything is bound, so that no signal finds the default disposition.
        let (mut termination, mut hangup) = (Termination::install()?, Hangup::install()?);
        let (trigger, signal) = drain::channel();
        let drain_time: Duration = plan.timeouts.drain;
        let app = App::bind(plan, signal)?;
        let reread = app.reread();
        let mut serving = pin!(app.serve());
        let mut begun = false;
        loop {
            tokio::select! {
                () = &mut serving => return Ok(()),
                signal = termination.next() => {
                    if begun {
                        tracing::warn!(signal, "a second signal: stopping at once");
                        return Ok(());
                    }
                    begun = true;
                    tracing::info!(signal, "stopping");
                    trigger.begin(drain_time);
                }
                () = hangup.next() => {
                    if begun {
                        tracing::info!(signal = "SIGHUP", "stopping already: nothing is read any more");
                    } else {
                        tracing::info!(signal = "SIGHUP", "reading all materials again");
                        reread.now();
                    }
                }
            }
        }
    })
}

/// The causes of an error, each after the other.
fn causes(error: &(dyn Error + 'static)) -> Option<String> {
    let causes: Vec<String> =
        std::iter::successors(error.source(), |cause| (*cause).source()).map(ToString::to_string).collect();
    (!causes.is_empty()).then(|| causes.join(": "))
}
