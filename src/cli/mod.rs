//! The commands, their output and their exit codes.

mod args;
mod check;
pub mod demo;
mod exit;
mod file;
mod output;
mod probe;
mod run;
mod warning;

use std::process::ExitCode;

use clap::Parser;

use self::{
    args::{Arguments, Command},
    exit::Exit,
};

/// Runs the command line of the process and returns the exit code.
pub fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(problem) => {
            // Help and version go to standard output and are no failure. A reader that went away is none either.
            let _ = problem.print();
            return if problem.use_stderr() { Exit::Usage } else { Exit::Success }.into();
        }
    };
    match arguments.command {
        Command::Run(arguments) => run::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Probe(arguments) => probe::run(&arguments),
        Command::Demo(arguments) => demo::run(arguments.json),
    }
    .into()
}
