//! The registration service as a process: the backend of the end-to-end tests for gRPC.
//!
//! ```text
//! registry --address 127.0.0.1:0 --token TOKEN --descriptors FILE [--every-ms 5000] [--dial-address https://...]
//! ```
//!
//! It speaks HTTP/2 in plaintext, and tells what happens in JSON lines on standard output.

#![allow(clippy::print_stdout, reason = "its output is its purpose")]
#![allow(clippy::disallowed_methods, reason = "a test program: its tasks end with the process")]

#[path = "../../tests/it/support/registry/mod.rs"]
#[allow(dead_code, reason = "the tests in Rust use more of it")]
mod registry;

use std::{io::Write, net::SocketAddr, path::PathBuf, process::ExitCode, time::Duration};

use clap::Parser;
use serde_json::{Value, json};

use registry::{Registry, Settings, journal::Journal};

#[derive(Parser)]
struct Arguments {
    #[arg(long)]
    address: SocketAddr,
    #[arg(long)]
    token: String,
    /// A `FileDescriptorSet` of `registration.proto`, for reflection.
    #[arg(long)]
    descriptors: PathBuf,
    /// Between two snapshots of a Watch, in milliseconds.
    #[arg(long, default_value_t = 5000)]
    every_ms: u64,
    /// What every Stargate is said to be dialled at.
    #[arg(long, default_value = "https://stargate.example.com:50071")]
    dial_address: String,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run(Arguments::parse()).await {
        Ok(never) => match never {},
        Err(error) => {
            print(&json!({ "event": "fatal", "error": error.to_string() }));
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: Arguments) -> std::io::Result<std::convert::Infallible> {
    let settings = Settings {
        address: arguments.address,
        token: arguments.token,
        every: Duration::from_millis(arguments.every_ms),
        dial_address: arguments.dial_address,
        descriptors: Some(std::fs::read(&arguments.descriptors)?),
        tls: None,
    };
    let registry = Registry::start(settings, Journal::new(print)).await?;
    print(&json!({ "event": "listening", "address": registry.address.to_string() }));
    std::future::pending().await
}

/// One line, at once.
fn print(event: &Value) {
    let mut out = std::io::stdout().lock();
    // Whoever started this program and went away does not read any more.
    let _ = writeln!(out, "{event}").and_then(|()| out.flush());
}
