//! A caller: it dials a component, or an Iris that listens on loopback, and takes the steps it is told. Made for scripts.
//!
//! ```text
//! caller ADDRESS [--server-name NAME] [--alpn h3,x] [--destination HOST:PORT]
//!        [--bidi-limit N] [--uni-limit N] [--idle-seconds N] [--datagrams echo|keep|off] STEP...
//! ```
//!
//! Each step is one argument; they are taken in order. COMMAND is a line of the language at the head of `component.rs`,
//! which the caller speaks as well: streams that the other side opens are served at any time.
//!
//! | step | what it does |
//! |---|---|
//! | `call BYTES COMMAND` | bidirectional stream: send the line and BYTES bytes, finish, read to the end |
//! | `calls N BYTES COMMAND` | N of those at once |
//! | `push BYTES COMMAND` | unidirectional stream: send the line and BYTES bytes, finish |
//! | `hold COMMAND` | bidirectional stream: send the line, and leave it open |
//! | `reset CODE COMMAND` | bidirectional stream: send the line, then RESET_STREAM with CODE, read to the end |
//! | `stop CODE COMMAND` | bidirectional stream: send the line, read one chunk, then STOP_SENDING with CODE, and finish |
//! | `datagrams N SIZE` | send N datagrams, each when the one before was echoed, or after a second |
//! | `open-bidi N`, `open-uni N`, `open-reset N CODE` | as in `component.rs` |
//! | `sleep MILLISECONDS` | do nothing for a while |
//! | `wait` | until the other side closes the connection |
//! | `close CODE REASON` | close the connection |
//!
//! Every line of output is one JSON object with an `event`; each step ends with `step`, with `ok`, and what came of it. The
//! exit code is 0 when all steps went as they should, 1 when one did not or the connect failed (`connect-failed` has code,
//! reason and milliseconds), 2 for a wrong argument. Without a `close` the connection is closed with code 0 at the end.

#![allow(clippy::disallowed_methods, reason = "a program of its own: tasks end with it")]

mod support;

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use iris_loopback::{ClientHello, HandshakeData, client_endpoint, connect};
use quinn::{Connection, RecvStream, SendStream, TransportConfig, VarInt};
use serde_json::{Value, json};
use support::command::Command;
use support::serve::{drain, finish, initiate, source, varint, write_error};
use support::{Shared, event, pattern, protocols, reason, serve, text, value};

struct Options {
    to: SocketAddr,
    hello: ClientHello,
    transport: TransportConfig,
    echo_datagrams: bool,
    steps: Vec<String>,
}

fn options(mut args: impl Iterator<Item = String>) -> Result<Options, String> {
    let to = value("ADDRESS", args.next())?;
    let (mut hello, mut shared, mut steps) = (ClientHello::default(), Shared::new("keep"), Vec::new());
    while let Some(option) = args.next() {
        match option.as_str() {
            "--server-name" => hello.server_name = Some(value(&option, args.next())?),
            "--alpn" => hello.alpn = protocols(&value::<String>(&option, args.next())?),
            "--destination" => hello.destination = Some(value(&option, args.next())?),
            other if other.starts_with("--") => shared.option(other, &mut args)?,
            _ => steps.push(option),
        }
    }
    Ok(Options { to, hello, transport: shared.transport, echo_datagrams: shared.echo_datagrams, steps })
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let options = match options(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(error) => {
            event("usage", json!({"error": error}));
            return ExitCode::from(2);
        }
    };
    if run(options).await { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

async fn run(options: Options) -> bool {
    let Options { to, hello, transport, echo_datagrams, steps } = options;
    let local = SocketAddr::new(to.ip(), 0);
    let began = Instant::now();
    let connecting =
        client_endpoint(local).map_err(|error| json!({"reason": error.to_string()})).and_then(|endpoint| {
            let connecting = connect(&endpoint, to, hello, Arc::new(transport));
            Ok((connecting.map_err(|error| json!({"reason": error.to_string()}))?, endpoint))
        });
    let connected = match connecting {
        Ok((connecting, endpoint)) => match connecting.await {
            Ok(connection) => Ok((connection, endpoint)),
            Err(error) => Err(reason(&error)),
        },
        Err(error) => Err(error),
    };
    let millis = began.elapsed().as_secs_f64() * 1e3;
    let (connection, endpoint) = match connected {
        Ok(connected) => connected,
        Err(mut error) => {
            error["millis"] = json!(millis);
            event("connect-failed", error);
            return false;
        }
    };
    event("connected", describe(&connection, millis));
    let server = tokio::spawn(serve::serve(connection.clone(), 1, echo_datagrams));
    let mut ok = true;
    for step in &steps {
        ok &= take(step, &connection).await;
    }
    connection.close(0u32.into(), b"");
    // The goodbye must leave before the process does.
    endpoint.wait_idle().await;
    ok && server.await.is_ok()
}

fn describe(connection: &Connection, millis: f64) -> Value {
    let data = connection.handshake_data().and_then(|data| data.downcast::<HandshakeData>().ok()).unwrap_or_default();
    json!({
        "alpn": data.alpn.as_deref().map(text),
        "bidi_limit": data.limits.bidi_streams,
        "uni_limit": data.limits.uni_streams,
        "max_datagram": connection.max_datagram_size(),
        "millis": millis,
    })
}

/// Takes one step and reports it.
async fn take(step: &str, connection: &Connection) -> bool {
    let began = Instant::now();
    let outcome = match step.split_once(' ').unwrap_or((step, "")) {
        ("call", rest) => call(connection, rest).await,
        ("calls", rest) => calls(connection, rest).await,
        ("push", rest) => push(connection, rest).await,
        ("hold", rest) => hold(connection, rest).await,
        ("reset", rest) => reset(connection, rest).await,
        ("stop", rest) => stop(connection, rest).await,
        ("datagrams", rest) => datagrams(connection, rest).await,
        ("sleep", rest) => sleep(rest).await,
        ("wait", _) => Ok(reason(&connection.closed().await)),
        _ => own(connection, step).await,
    };
    let ok = outcome.is_ok();
    let mut fields = outcome.unwrap_or_else(|error| error);
    fields["step"] = json!(step);
    fields["ok"] = json!(ok);
    fields["millis"] = json!(began.elapsed().as_secs_f64() * 1e3);
    event("step", fields);
    ok
}

type Outcome = Result<Value, Value>;

/// A number and the rest.
fn number<T: std::str::FromStr>(rest: &str) -> Result<(T, &str), Value> {
    let (word, rest) = rest.split_once(' ').unwrap_or((rest, ""));
    let number = word.parse().map_err(|_| json!({"error": format!("{word:?} is no number")}))?;
    Ok((number, rest))
}

/// Opens a stream and sends the command's line.
async fn open(connection: &Connection, command: &str) -> Result<(SendStream, RecvStream), Value> {
    let (mut send, recv) = connection.open_bi().await.map_err(|error| reason(&error))?;
    send.write_all(format!("{command}\n").as_bytes()).await.map_err(|error| write_error(&error))?;
    Ok((send, recv))
}

async fn call(connection: &Connection, rest: &str) -> Outcome {
    let (count, command) = number::<usize>(rest)?;
    let (mut send, mut recv) = open(connection, command).await?;
    let stream = VarInt::from(send.id()).into_inner();
    // Both halves at once: an echo of more than the windows hold would wait for its reader.
    let (sent, received) = tokio::join!(
        async {
            source(&mut send, count).await?;
            finish(&mut send).await
        },
        recv.read_to_end(1 << 30),
    );
    let reply = received.map_err(|error| match error {
        quinn::ReadToEndError::Read(error) => serve::read_error(&error),
        other => json!({"error": other.to_string()}),
    })?;
    let mut outcome = json!({
        "stream": stream,
        "bytes": reply.len(),
        "intact": reply == pattern(0, reply.len()),
        "text": text(&reply[..reply.len().min(100)]),
    });
    if let Err(error) = sent {
        outcome["send"] = error;
    }
    Ok(outcome)
}

async fn calls(connection: &Connection, rest: &str) -> Outcome {
    let (count, rest) = number::<usize>(rest)?;
    let mut running = tokio::task::JoinSet::new();
    for _ in 0..count {
        let (connection, rest) = (connection.clone(), rest.to_owned());
        running.spawn(async move { call(&connection, &rest).await });
    }
    let mut bytes = 0;
    while let Some(ended) = running.join_next().await {
        let outcome = ended.map_err(|error| json!({"error": error.to_string()}))??;
        bytes += outcome["bytes"].as_u64().unwrap_or(0);
    }
    Ok(json!({"calls": count, "bytes": bytes}))
}

async fn push(connection: &Connection, rest: &str) -> Outcome {
    let (count, command) = number::<usize>(rest)?;
    let mut send = connection.open_uni().await.map_err(|error| reason(&error))?;
    send.write_all(format!("{command}\n").as_bytes()).await.map_err(|error| write_error(&error))?;
    source(&mut send, count).await?;
    finish(&mut send).await?;
    Ok(json!({"stream": VarInt::from(send.id()).into_inner()}))
}

async fn hold(connection: &Connection, command: &str) -> Outcome {
    let (send, recv) = open(connection, command).await?;
    let stream = VarInt::from(send.id()).into_inner();
    let connection = connection.clone();
    tokio::spawn(async move {
        connection.closed().await;
        drop((send, recv));
    });
    Ok(json!({"stream": stream}))
}

async fn reset(connection: &Connection, rest: &str) -> Outcome {
    let (code, command) = number(rest)?;
    let (mut send, mut recv) = open(connection, command).await?;
    let _ = send.reset(varint(code));
    // How the other side takes it is the outcome, whatever that is.
    Ok(drain(&mut recv).await.map_or_else(|end| end, |received| json!({"received": received})))
}

async fn stop(connection: &Connection, rest: &str) -> Outcome {
    let (code, command) = number(rest)?;
    let (mut send, mut recv) = open(connection, command).await?;
    let first = recv.read_chunk(usize::MAX, true).await.map_err(|error| serve::read_error(&error))?;
    let _ = recv.stop(varint(code));
    let _ = send.finish();
    Ok(json!({"received": first.map_or(0, |chunk| chunk.bytes.len())}))
}

async fn datagrams(connection: &Connection, rest: &str) -> Outcome {
    let (count, rest) = number::<usize>(rest)?;
    let (size, _) = number::<usize>(rest)?;
    let before = connection.stats().frame_rx.datagram;
    for index in 0..count as u64 {
        let sent = connection.send_datagram(pattern(0, size).into());
        sent.map_err(|error| json!({"error": error.to_string()}))?;
        let patience = Instant::now() + Duration::from_secs(1);
        while connection.stats().frame_rx.datagram <= before + index && Instant::now() < patience {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    Ok(json!({"sent": count, "received": connection.stats().frame_rx.datagram - before}))
}

async fn sleep(rest: &str) -> Outcome {
    let (millis, _) = number(rest)?;
    tokio::time::sleep(Duration::from_millis(millis)).await;
    Ok(json!({}))
}

/// A command that the caller itself runs.
async fn own(connection: &Connection, step: &str) -> Outcome {
    match step.parse().map_err(|error: String| json!({"error": error}))? {
        Command::Close(code, why) => {
            connection.close(varint(code), why.as_bytes());
            Ok(json!({}))
        }
        command => Ok(json!({"opened": initiate(&command, connection, 1).await?})),
    }
}
