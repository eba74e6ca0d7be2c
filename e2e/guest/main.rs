//! A component that does what the far end of each stream asks for: the other side of the end-to-end tests.
//!
//! ```text
//! guest listen --address 127.0.0.1:0 [--alpn NAME]... [--alpn-optional]
//! guest call   --address 127.0.0.1:PORT [--server-name NAME] [--alpn NAME]... [--destination HOST:PORT]
//! ```
//!
//! It speaks loopback QUIC and tells what happens in JSON lines on standard output. The first line of every stream that
//! the far end opens says what to do with it ([`streams`]); a `control` stream, and the standard input of `guest call`,
//! take orders for streams and connection ([`orders`]).

#![allow(clippy::print_stdout, reason = "its output is its purpose")]
#![allow(clippy::disallowed_methods, reason = "a test program: its tasks end with the process")]

mod journal;
mod orders;
mod pattern;
mod streams;

use std::{io, net::SocketAddr, process::ExitCode, sync::Arc, time::Instant};

use clap::{Args, Parser, Subcommand};
use iris_loopback::{ClientHello, HandshakeData, ServerConfig};
use quinn::{Connection, ConnectionError, Endpoint};
use serde_json::json;
use tokio::sync::mpsc;

use crate::{journal::Journal, orders::Guest};

#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    role: Role,
}

#[derive(Subcommand)]
enum Role {
    /// Accept connections until killed.
    Listen(Listen),
    /// Make one connection, take orders from standard input, close at its end.
    Call(Call),
}

#[derive(Args)]
struct Listen {
    #[arg(long)]
    address: SocketAddr,
    #[arg(long)]
    alpn: Vec<String>,
    #[arg(long)]
    alpn_optional: bool,
}

#[derive(Args)]
struct Call {
    #[arg(long)]
    address: SocketAddr,
    #[arg(long)]
    server_name: Option<String>,
    #[arg(long)]
    alpn: Vec<String>,
    #[arg(long)]
    destination: Option<String>,
}

fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime can be made");
    let outcome = match Arguments::parse().role {
        Role::Listen(role) => runtime.block_on(listen(role)),
        Role::Call(role) => runtime.block_on(call(role)),
    };
    match outcome {
        Ok(code) => code,
        Err(error) => {
            journal::print(&json!({ "event": "fatal", "error": error.to_string() }));
            ExitCode::FAILURE
        }
    }
}

async fn listen(role: Listen) -> io::Result<ExitCode> {
    let config = ServerConfig { alpn: bytes(&role.alpn), alpn_optional: role.alpn_optional, ..ServerConfig::default() };
    let endpoint = iris_loopback::server_endpoint(role.address, config)?;
    journal::print(&json!({ "event": "listening", "address": endpoint.local_addr()?.to_string() }));
    let mut number = 0;
    while let Some(incoming) = endpoint.accept().await {
        number += 1;
        let journal = Arc::new(Journal::new(number));
        tokio::spawn(async move {
            match incoming.await {
                Ok(connection) => serve(&connection, &journal, true).await,
                Err(error) => journal.write(failed(&error)),
            }
        });
    }
    Ok(ExitCode::SUCCESS)
}

async fn call(role: Call) -> io::Result<ExitCode> {
    let from = SocketAddr::from(match role.address {
        SocketAddr::V4(_) => (std::net::IpAddr::from([127, 0, 0, 1]), 0),
        SocketAddr::V6(_) => (std::net::Ipv6Addr::LOCALHOST.into(), 0),
    });
    let endpoint = iris_loopback::client_endpoint(from)?;
    let hello = ClientHello {
        server_name: role.server_name,
        alpn: bytes(&role.alpn),
        destination: role.destination,
        ..ClientHello::default()
    };
    let journal = Arc::new(Journal::new(1));
    let started = Instant::now();
    let attempt = iris_loopback::connect_default(&endpoint, role.address, hello).map_err(io::Error::other)?;
    let outcome = attempt.await;
    let milliseconds = started.elapsed().as_secs_f64() * 1e3;
    let code = match outcome {
        Ok(connection) => {
            journal.write(json!({ "event": "dialled", "milliseconds": milliseconds }));
            serve(&connection, &journal, false).await;
            ExitCode::SUCCESS
        }
        Err(error) => {
            let mut event = failed(&error);
            event["milliseconds"] = milliseconds.into();
            journal.write(event);
            ExitCode::FAILURE
        }
    };
    settle(&endpoint).await;
    Ok(code)
}

/// Serves a connection until it is over.
async fn serve(connection: &Connection, journal: &Arc<Journal>, component: bool) {
    journal.write(connected(connection));
    let guest = Guest::new(connection.clone(), journal.clone());
    let tasks = [
        tokio::spawn(streams::accept_bidirectional(guest.clone())),
        tokio::spawn(streams::accept_unidirectional(guest.clone())),
        tokio::spawn(streams::datagrams(guest.clone(), component)),
    ];
    if !component {
        tokio::spawn(from_standard_input(guest.clone()));
    }
    let error = connection.closed().await;
    // What arrived before the close can still be read: each loop ends by itself.
    for task in tasks {
        let _ = task.await;
    }
    journal.write(closed(&error));
}

/// Lines of standard input are orders; its end closes the connection.
async fn from_standard_input(guest: Arc<Guest>) {
    let (lines, mut incoming) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in io::stdin().lines().map_while(Result::ok) {
            if lines.send(line).is_err() {
                break;
            }
        }
    });
    while let Some(line) = incoming.recv().await {
        guest.obey(&line).await;
    }
    guest.connection.close(0u32.into(), b"");
}

/// Lets the last packets leave.
async fn settle(endpoint: &Endpoint) {
    endpoint.close(0u32.into(), b"");
    let _ = tokio::time::timeout(std::time::Duration::from_secs(2), endpoint.wait_idle()).await;
}

fn bytes(names: &[String]) -> Vec<Vec<u8>> {
    names.iter().map(|name| name.as_bytes().to_vec()).collect()
}

fn text(protocol: &Option<Vec<u8>>) -> Option<String> {
    protocol.as_ref().map(|p| String::from_utf8_lossy(p).into_owned())
}

fn connected(connection: &Connection) -> serde_json::Value {
    let data = connection.handshake_data().and_then(|data| data.downcast::<HandshakeData>().ok());
    let data = data.expect("a loopback session has a hello behind it once it is connected");
    let peer = data.peer.as_ref().map(|peer| {
        json!({
            "address": peer.address.map(|a| a.to_string()),
            "server_name": peer.server_name,
            "alpn": text(&peer.alpn),
            "tls_version": peer.tls_version,
            "datagram_size": peer.datagram_size,
            "certificate": peer.certificate.as_ref().map(|certificate| json!({
                "sha256": certificate.sha256.iter().map(|b| format!("{b:02x}")).collect::<String>(),
                "dns_names": certificate.dns_names,
                "uris": certificate.uris,
            })),
        })
    });
    json!({
        "event": "connected",
        "server_name": data.server_name,
        "alpn": text(&data.alpn),
        "offered": data.offered_alpn.iter().map(|p| String::from_utf8_lossy(p).into_owned()).collect::<Vec<_>>(),
        "destination": data.destination,
        "peer": peer,
        "limits": { "bidi": data.limits.bidi_streams, "uni": data.limits.uni_streams },
        "max_datagram_size": connection.max_datagram_size(),
    })
}

fn failed(error: &ConnectionError) -> serde_json::Value {
    let mut event = closed(error);
    event["event"] = "failed".into();
    event
}

fn closed(error: &ConnectionError) -> serde_json::Value {
    let (by, code, reason) = match error {
        ConnectionError::ApplicationClosed(close) => {
            ("application", Some(close.error_code.into_inner()), String::from_utf8_lossy(&close.reason).into_owned())
        }
        ConnectionError::ConnectionClosed(close) => {
            ("transport", Some(u64::from(close.error_code)), String::from_utf8_lossy(&close.reason).into_owned())
        }
        ConnectionError::TransportError(error) => ("error", Some(u64::from(error.code)), error.reason.clone()),
        ConnectionError::VersionMismatch => ("version", None, String::new()),
        ConnectionError::TimedOut => ("timeout", None, String::new()),
        ConnectionError::LocallyClosed => ("local", None, String::new()),
        other => ("other", None, other.to_string()),
    };
    json!({ "event": "closed", "by": by, "code": code, "reason": reason })
}
