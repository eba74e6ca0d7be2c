//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use super::{exit, probe::args::ProbeArguments};

const EXAMPLES: &str = "\
Examples:
  iris run --config iris.yaml
  iris check --config iris.yaml                 the file, then the certificates
  iris check --config iris.yaml --config-only   the file alone
  iris check --config iris.yaml --json          for machines
  iris probe tls://edge.example:50071 --ca ca.crt   what a server shows, and what is wrong
  iris demo                                     see it work: needs no files, ports or privileges";

/// The TLS edge of a pod: Raw QUIC, WebTransport and TLS/h2, with identities and trust that reload while it runs.
#[derive(Debug, Parser)]
#[command(name = "iris", version, after_help = after_help(), disable_help_subcommand = true)]
pub(super) struct Arguments {
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Serve until SIGTERM or SIGINT; then let connections end, until the drain is over. A second signal ends at once.
    Run(RunArguments),
    /// List every problem of a configuration and of the certificates that it names.
    Check(CheckArguments),
    /// Connect to a TLS or QUIC server, verify it as Iris would, and print what it shows and what fails.
    Probe(ProbeArguments),
    /// Run a component, a caller and two Iris between them with a throwaway PKI, and tell with figures what passes.
    Demo(DemoArguments),
}

/// Of `iris demo`.
#[derive(Debug, Args)]
pub(super) struct DemoArguments {
    /// Print one JSON object a line.
    #[arg(long)]
    pub(super) json: bool,
}

/// Of `iris run`.
#[derive(Debug, Args)]
pub(super) struct RunArguments {
    /// The configuration file.
    #[arg(long, short, value_name = "FILE")]
    pub(super) config: PathBuf,
}

/// Of `iris check`.
#[derive(Debug, Args)]
pub(super) struct CheckArguments {
    /// The configuration file.
    #[arg(long, short, value_name = "FILE")]
    pub(super) config: PathBuf,
    /// Look at the file alone, not at the certificates that it names.
    #[arg(long)]
    pub(super) config_only: bool,
    /// Print one JSON object.
    #[arg(long)]
    pub(super) json: bool,
}

fn after_help() -> String {
    format!("{EXAMPLES}\n\n{}", exit::TABLE)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn every_example_parses() {
        let examples = EXAMPLES.lines().skip(1).chain(crate::cli::probe::args::EXAMPLES.lines().skip(1));
        let examples = examples.map(|line| line.trim().split("   ").next().unwrap());
        for example in examples {
            Arguments::try_parse_from(example.split_whitespace())
                .unwrap_or_else(|problem| panic!("{example}: {problem}"));
        }
    }

    #[test]
    fn help_has_the_exit_codes() {
        let help = Arguments::command().render_help().to_string();
        assert!(help.contains("Exit codes:") && help.contains("iris check --config iris.yaml"), "{help}");
    }
}
