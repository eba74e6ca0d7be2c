//! Serving a connection: whatever the other side opens does what it asks for.

use std::time::Duration;

use quinn::{Connection, ReadError, RecvStream, SendStream, VarInt, WriteError};
use serde_json::{Value, json};

use super::command::Command;
use super::{event, pattern, reason, text};

/// The longest first line of a stream, in bytes.
const LONGEST_LINE: usize = 1024;

/// How a command ended, as far as the event tells.
type Outcome = Result<Value, Value>;

/// Serves until the connection ends, and says how it did.
pub(crate) async fn serve(connection: Connection, id: usize, echo_datagrams: bool) {
    tokio::join!(
        bidirectional(&connection, id),
        unidirectional(&connection, id),
        datagrams(&connection, id, echo_datagrams)
    );
    let mut end = reason(&connection.closed().await);
    end["connection"] = json!(id);
    event("closed", end);
}

async fn bidirectional(connection: &Connection, id: usize) {
    while let Ok((send, recv)) = connection.accept_bi().await {
        tokio::spawn(stream(connection.clone(), id, Some(send), recv));
    }
}

async fn unidirectional(connection: &Connection, id: usize) {
    while let Ok(recv) = connection.accept_uni().await {
        tokio::spawn(stream(connection.clone(), id, None, recv));
    }
}

async fn datagrams(connection: &Connection, id: usize, echo: bool) {
    while let Ok(datagram) = connection.read_datagram().await {
        event("datagram", json!({"connection": id, "bytes": datagram.len()}));
        if echo {
            // One that does not fit is dropped, as the network would drop it.
            let _ = connection.send_datagram(datagram);
        }
    }
}

/// Reads the first line of a stream and does what it says.
async fn stream(connection: Connection, id: usize, send: Option<SendStream>, mut recv: RecvStream) {
    let stream = VarInt::from(recv.id()).into_inner();
    let outcome = match line(&mut recv).await {
        Ok(line) => {
            event("stream", json!({"connection": id, "stream": stream, "command": line}));
            match line.parse() {
                Ok(command) => run(command, &connection, id, send, recv).await,
                Err(error) => Err(json!({"error": error})),
            }
        }
        Err(error) => Err(error),
    };
    let (ok, mut fields) = match outcome {
        Ok(fields) => (true, fields),
        Err(fields) => (false, fields),
    };
    fields["connection"] = json!(id);
    fields["stream"] = json!(stream);
    fields["ok"] = json!(ok);
    event("stream-end", fields);
}

/// The bytes up to the first line feed, one by one: what follows belongs to the command.
async fn line(recv: &mut RecvStream) -> Result<String, Value> {
    let mut line = Vec::new();
    let mut byte = [0];
    loop {
        match recv.read(&mut byte).await {
            Ok(Some(_)) if byte[0] == b'\n' => return Ok(text(&line)),
            Ok(None) => return Ok(text(&line)),
            Ok(Some(_)) if line.len() == LONGEST_LINE => return Err(json!({"error": "the first line is too long"})),
            Ok(Some(_)) => line.push(byte[0]),
            Err(error) => return Err(read_error(&error)),
        }
    }
}

/// Runs one command. Commands that need something to send on fail where there is nothing.
pub(crate) async fn run(
    command: Command,
    connection: &Connection,
    id: usize,
    send: Option<SendStream>,
    mut recv: RecvStream,
) -> Outcome {
    match command {
        Command::Sink => {
            let received = drain(&mut recv).await?;
            if let Some(mut send) = send {
                write(&mut send, format!("{received}\n").as_bytes()).await?;
                finish(&mut send).await?;
            }
            return Ok(json!({"received": received}));
        }
        Command::Stop(code) => {
            let _ = recv.stop(varint(code));
            return Ok(json!({}));
        }
        Command::Pause => {
            connection.closed().await;
            return Ok(json!({}));
        }
        Command::Close(code, why) => {
            connection.close(varint(code), why.as_bytes());
            return Ok(json!({}));
        }
        _ => {}
    }
    let mut send = send.ok_or_else(|| json!({"error": "this command needs a bidirectional stream"}))?;
    match command {
        Command::Echo => {
            let mut echoed = 0;
            while let Some(chunk) = recv.read_chunk(usize::MAX, true).await.map_err(|error| read_error(&error))? {
                echoed += chunk.bytes.len();
                send.write_chunk(chunk.bytes).await.map_err(|error| write_error(&error))?;
            }
            finish(&mut send).await?;
            Ok(json!({"received": echoed, "sent": echoed}))
        }
        Command::Source(count) => {
            source(&mut send, count).await?;
            finish(&mut send).await?;
            Ok(json!({"sent": count}))
        }
        Command::Flood => flood(&mut send).await,
        Command::Reset(code, count) => {
            source(&mut send, count).await?;
            let _ = send.reset(varint(code));
            Ok(json!({"sent": count}))
        }
        Command::HalfClose => {
            finish(&mut send).await?;
            Ok(json!({"received": drain(&mut recv).await?}))
        }
        Command::SourceClose(count, code, why) => {
            source(&mut send, count).await?;
            finish(&mut send).await?;
            connection.close(varint(code), why.as_bytes());
            Ok(json!({"sent": count}))
        }
        Command::DieAfter(count) => {
            let before = connection.stats().udp_tx.bytes;
            source(&mut send, count).await?;
            while connection.stats().udp_tx.bytes < before + count as u64 && connection.close_reason().is_none() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            // Not even a goodbye: this is a component that was killed.
            std::process::abort();
        }
        other => {
            let opened = initiate(&other, connection, id).await?;
            write(&mut send, format!("{opened}\n").as_bytes()).await?;
            finish(&mut send).await?;
            Ok(json!({"opened": opened}))
        }
    }
}

/// The commands that open streams or send datagrams of our own. They work without a stream that asks, too.
pub(crate) async fn initiate(command: &Command, connection: &Connection, id: usize) -> Result<usize, Value> {
    let lost = |error: quinn::ConnectionError| reason(&error);
    match *command {
        Command::OpenBidi(count) => {
            for index in 0..count {
                let (mut send, mut recv) = connection.open_bi().await.map_err(lost)?;
                write(&mut send, format!("echo\nbidi {index}\n").as_bytes()).await?;
                send.finish().map_err(|error| json!({"error": error.to_string()}))?;
                tokio::spawn(async move {
                    let stream = VarInt::from(recv.id()).into_inner();
                    let mut fields = match recv.read_to_end(1 << 30).await {
                        Ok(reply) => json!({"bytes": reply.len(), "text": text(&reply[..reply.len().min(100)])}),
                        Err(quinn::ReadToEndError::Read(error)) => read_error(&error),
                        Err(error) => json!({"error": error.to_string()}),
                    };
                    fields["connection"] = json!(id);
                    fields["stream"] = json!(stream);
                    event("reply", fields);
                });
            }
            Ok(count)
        }
        Command::OpenUni(count) => {
            for index in 0..count {
                let mut send = connection.open_uni().await.map_err(lost)?;
                write(&mut send, format!("sink\nuni {index}\n").as_bytes()).await?;
                send.finish().map_err(|error| json!({"error": error.to_string()}))?;
            }
            Ok(count)
        }
        Command::OpenReset(count, code) => {
            for _ in 0..count {
                let (mut send, _recv) = connection.open_bi().await.map_err(lost)?;
                let _ = send.reset(varint(code));
            }
            Ok(count)
        }
        Command::Datagrams(count, size) => {
            for _ in 0..count {
                let datagram = pattern(0, size).into();
                connection.send_datagram_wait(datagram).await.map_err(|error| json!({"error": error.to_string()}))?;
            }
            Ok(count)
        }
        ref other => Err(json!({"error": format!("{other:?} needs a stream")})),
    }
}

/// Sends the pattern.
pub(crate) async fn source(send: &mut SendStream, count: usize) -> Result<(), Value> {
    const CHUNK: usize = 64 * 1024;
    for from in (0..count).step_by(CHUNK) {
        write(send, &pattern(from, CHUNK.min(count - from))).await?;
    }
    Ok(())
}

/// Sends without end. How it ends is the outcome: a stop with its code, or the connection's end.
async fn flood(send: &mut SendStream) -> Outcome {
    let chunk = bytes::Bytes::from(pattern(0, 64 * 1024));
    let mut sent = 0;
    loop {
        match send.write_chunk(chunk.clone()).await {
            Ok(()) => sent += chunk.len(),
            Err(error) => {
                let mut end = write_error(&error);
                end["sent"] = json!(sent);
                return Ok(end);
            }
        }
    }
}

/// Reads to the end and counts.
pub(crate) async fn drain(recv: &mut RecvStream) -> Result<usize, Value> {
    let mut received = 0;
    loop {
        match recv.read_chunk(usize::MAX, false).await {
            Ok(Some(chunk)) => received += chunk.bytes.len(),
            Ok(None) => return Ok(received),
            Err(error) => {
                let mut end = read_error(&error);
                end["received"] = json!(received);
                return Err(end);
            }
        }
    }
}

async fn write(send: &mut SendStream, bytes: &[u8]) -> Result<(), Value> {
    send.write_all(bytes).await.map_err(|error| write_error(&error))
}

/// Finishes and waits until everything is acknowledged. Behind an Iris that means that Iris has it.
pub(crate) async fn finish(send: &mut SendStream) -> Result<(), Value> {
    send.finish().map_err(|error| json!({"error": error.to_string()}))?;
    match send.stopped().await {
        Ok(None) => Ok(()),
        Ok(Some(code)) => Err(json!({"stopped": u64::from(code)})),
        Err(error) => Err(json!({"error": error.to_string()})),
    }
}

/// What a read that failed says about the other side.
pub(crate) fn read_error(error: &ReadError) -> Value {
    match error {
        ReadError::Reset(code) => json!({"reset": u64::from(*code)}),
        ReadError::ConnectionLost(error) => reason(error),
        other => json!({"error": other.to_string()}),
    }
}

/// What a write that failed says about the other side.
pub(crate) fn write_error(error: &WriteError) -> Value {
    match error {
        WriteError::Stopped(code) => json!({"stopped": u64::from(*code)}),
        WriteError::ConnectionLost(error) => reason(error),
        other => json!({"error": other.to_string()}),
    }
}

/// A code of a stream or a connection. Codes have 62 bits; larger ones become the largest.
pub(crate) fn varint(code: u64) -> VarInt {
    VarInt::from_u64(code).unwrap_or(VarInt::MAX)
}
