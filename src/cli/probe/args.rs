//! The command line of `iris probe`.

use std::{path::PathBuf, time::Duration};

use clap::Args;
use rustls::pki_types::ServerName;

use super::target::{self, Target};
use crate::cli::exit;

pub(in crate::cli) const EXAMPLES: &str = "\
Examples:
  iris probe tls://edge.example:50071 --ca ca.crt --alpn h2
  iris probe quic://10.0.0.7:50072 --ca ca.crt --server-name edge.example
  iris probe quic://edge.example:50072 --ca ca.crt --certificate tls.crt --private-key tls.key
  iris probe tls://edge.example:50071 --json      shows the chain; without --ca it never succeeds";

/// Of `iris probe`.
#[derive(Debug, Args)]
#[command(after_help = after_help())]
pub(in crate::cli) struct ProbeArguments {
    /// What to connect to: tls://host:port (TLS over TCP) or quic://host:port.
    #[arg(value_name = "TARGET", value_parser = target::target)]
    pub(super) target: Target,
    /// PEM file of the CAs to believe. The system's are never consulted: without this nothing is verified, and the
    /// probe ends with 26.
    #[arg(long, value_name = "FILE")]
    pub(super) ca: Option<PathBuf>,
    /// PEM file of revocation lists of these CAs. May be given several times.
    #[arg(long, value_name = "FILE", requires = "ca")]
    pub(super) crl: Vec<PathBuf>,
    /// The name to ask for and to find in the certificate, instead of the host of TARGET.
    #[arg(long, value_name = "NAME", value_parser = target::server_name)]
    pub(super) server_name: Option<ServerName<'static>>,
    /// An application protocol to offer, such as h2. May be given several times, the preferred first.
    #[arg(long, value_name = "PROTOCOL", value_parser = target::protocol)]
    pub(super) alpn: Vec<String>,
    /// PEM file of the certificate chain to show when the server asks. Needs --ca: nobody unverified is shown it.
    #[arg(long, value_name = "FILE", requires = "private_key", requires = "ca")]
    pub(super) certificate: Option<PathBuf>,
    /// PEM file of the key of --certificate.
    #[arg(long, value_name = "FILE", requires = "certificate")]
    pub(super) private_key: Option<PathBuf>,
    /// How long all of it may take.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = target::timeout)]
    pub(super) timeout: Duration,
    /// Print one JSON object.
    #[arg(long)]
    pub(super) json: bool,
}

fn after_help() -> String {
    format!("{EXAMPLES}\n\n{}", exit::PROBE_TABLE)
}
