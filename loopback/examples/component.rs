//! A component: it listens on loopback, and does what its callers ask for. Made for scripts that drive it through an Iris.
//!
//! ```text
//! component [--listen 127.0.0.1:0] [--alpn h3,x] [--alpn-optional] [--on-connect COMMAND]...
//!           [--bidi-limit N] [--uni-limit N] [--idle-seconds N] [--datagrams echo|keep|off]
//! ```
//!
//! The first line of output is `listening ADDRESS`. Every further line is one JSON object with an `event`: `connected`,
//! `stream`, `stream-end`, `reply`, `datagram`, `closed`. It runs until it is killed.
//!
//! # The language of streams
//!
//! The first line of a stream that the other side opens says what to do with it. It ends with a line feed (or with the
//! stream), and is at most 1,024 bytes long. Numbers are decimal.
//!
//! | line | on a bidirectional stream |
//! |---|---|
//! | `echo` | send back what follows, finish when the other side has finished |
//! | `sink` | read everything, answer with the number of bytes and a line feed, finish (on a unidirectional stream: just read) |
//! | `source BYTES` | send BYTES bytes, finish |
//! | `flood` | send until the other side stops the stream or the connection ends; `stream-end` has the code |
//! | `reset CODE [BYTES]` | send BYTES bytes (0), then RESET_STREAM with CODE |
//! | `stop CODE` | STOP_SENDING with CODE, and finish without a byte |
//! | `half-close` | finish at once, then read to the end; `stream-end` has the number of bytes |
//! | `pause` | neither read nor write until the connection ends |
//! | `close CODE REASON` | close the connection with CODE and REASON |
//! | `source-close BYTES CODE REASON` | send BYTES bytes, finish, and close the connection when they are acknowledged |
//! | `die-after BYTES` | send BYTES bytes, then abort the process |
//! | `open-bidi N` | open N bidirectional streams, write the lines `echo` and `bidi INDEX` on each, finish, read to the end (`reply`); answer N |
//! | `open-uni N` | open N unidirectional streams, write the lines `sink` and `uni INDEX` on each, finish; answer N |
//! | `open-reset N CODE` | open N bidirectional streams and reset each with CODE before any byte; answer N |
//! | `datagrams N SIZE` | send N datagrams of SIZE bytes; answer N |
//!
//! `sink`, `stop`, `pause` and `close` work on unidirectional streams, too. Bytes that are sent are their position modulo
//! 251, so that whoever receives them can tell whether they are whole. Datagrams that arrive are echoed, or only reported
//! (`--datagrams keep`), or not supported (`off`). `--on-connect` runs one of the last four lines when a connection stands.

#![allow(clippy::disallowed_methods, reason = "a program of its own: tasks end with it")]

mod support;

use std::sync::Arc;

use iris_loopback::{HandshakeData, ServerConfig, server_endpoint};
use quinn::Connection;
use serde_json::{Value, json};
use support::command::Command;
use support::{Shared, event, protocols, reason, serve, text, value};

struct Options {
    listen: std::net::SocketAddr,
    config: ServerConfig,
    echo_datagrams: bool,
    on_connect: Vec<Command>,
}

fn options(mut args: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut listen = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
    let (mut config, mut shared, mut on_connect) = (ServerConfig::default(), Shared::new("echo"), Vec::new());
    while let Some(option) = args.next() {
        match option.as_str() {
            "--listen" => listen = value(&option, args.next())?,
            "--alpn" => config.alpn = protocols(&value::<String>(&option, args.next())?),
            "--alpn-optional" => config.alpn_optional = true,
            "--on-connect" => on_connect.push(value::<String>(&option, args.next())?.parse()?),
            other => shared.option(other, &mut args)?,
        }
    }
    config.transport = Arc::new(shared.transport);
    Ok(Options { listen, config, echo_datagrams: shared.echo_datagrams, on_connect })
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), String> {
    let Options { listen, config, echo_datagrams, on_connect } = options(std::env::args().skip(1))?;
    let endpoint = server_endpoint(listen, config).map_err(|error| error.to_string())?;
    announce(&endpoint)?;
    let mut id = 0;
    while let Some(incoming) = endpoint.accept().await {
        id += 1;
        let on_connect = on_connect.clone();
        tokio::spawn(async move {
            match incoming.await {
                Ok(connection) => {
                    event("connected", connected(&connection, id));
                    tokio::join!(
                        serve::serve(connection.clone(), id, echo_datagrams),
                        greet(connection, id, on_connect)
                    );
                }
                Err(error) => event("refused", reason(&error)),
            }
        });
    }
    Ok(())
}

#[allow(clippy::print_stdout, reason = "the first line is for the script that waits for it")]
fn announce(endpoint: &quinn::Endpoint) -> Result<(), String> {
    println!("listening {}", endpoint.local_addr().map_err(|error| error.to_string())?);
    Ok(())
}

/// What is done without being asked.
async fn greet(connection: Connection, id: usize, commands: Vec<Command>) {
    for command in commands {
        if let Err(error) = serve::initiate(&command, &connection, id).await {
            event("greeting-failed", error);
        }
    }
}

/// Everything that the handshake told.
fn connected(connection: &Connection, id: usize) -> Value {
    let data = connection.handshake_data().and_then(|data| data.downcast::<HandshakeData>().ok());
    let data = data.map(|data| *data).unwrap_or_default();
    let peer = data.peer.map(|peer| {
        json!({
            "address": peer.address.map(|address| address.to_string()),
            "server_name": peer.server_name,
            "alpn": peer.alpn.as_deref().map(text),
            "tls_version": peer.tls_version,
            "datagram_size": peer.datagram_size,
            "certificate": peer.certificate.map(|certificate| json!({
                "sha256": certificate.sha256.iter().map(|byte| format!("{byte:02x}")).collect::<String>(),
                "dns_names": certificate.dns_names,
                "uris": certificate.uris,
                "names_truncated": certificate.names_truncated,
            })),
        })
    });
    json!({
        "connection": id,
        "remote": connection.remote_address().to_string(),
        "server_name": data.server_name,
        "alpn": data.alpn.as_deref().map(text),
        "offered_alpn": data.offered_alpn.iter().map(|protocol| text(protocol)).collect::<Vec<_>>(),
        "destination": data.destination,
        "peer": peer,
        "bidi_limit": data.limits.bidi_streams,
        "uni_limit": data.limits.uni_streams,
        "max_datagram": connection.max_datagram_size(),
    })
}
