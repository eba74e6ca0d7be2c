//! What to do with a stream, by its first line:
//!
//! ```text
//! echo            sends back what comes, finishes when it finishes
//! sink            reads to the end; answers "BYTES ADLER32\n" where it can, and an event "end" either way
//! source N        writes N bytes of the pattern and finishes; reads to the end
//! early N         the same, and tells of the end of what it read in an event
//! part N          writes N bytes and leaves the stream open, for orders
//! hold            reads nothing more; tells of a reset; takes orders
//! flood           writes the pattern until stopped; takes orders
//! last N CODE     writes N bytes, finishes, and when all is acknowledged closes the connection with the code
//! control         lines are orders; events of the connection come back
//! ```

use std::{pin::pin, sync::Arc};

use quinn::{ReadError, RecvStream, SendStream, StoppedError, VarInt, WriteError};
use serde_json::json;
use tokio::sync::mpsc;

use crate::{
    orders::{Guest, Receiving, Sending},
    pattern::{self, Adler32},
};

const MAX_LINE: usize = 4096;
const CHUNK: usize = 64 * 1024;

pub(crate) async fn accept_bidirectional(guest: Arc<Guest>) {
    while let Ok((send, recv)) = guest.connection.accept_bi().await {
        tokio::spawn(serve(guest.clone(), Some(send), recv));
    }
}

pub(crate) async fn accept_unidirectional(guest: Arc<Guest>) {
    while let Ok(recv) = guest.connection.accept_uni().await {
        tokio::spawn(serve(guest.clone(), None, recv));
    }
}

/// A component sends datagrams back; a caller tells of them.
pub(crate) async fn datagrams(guest: Arc<Guest>, component: bool) {
    while let Ok(datagram) = guest.connection.read_datagram().await {
        let text = String::from_utf8_lossy(&datagram[..datagram.len().min(64)]).into_owned();
        guest.journal.write(json!({ "event": "datagram", "bytes": datagram.len(), "text": text }));
        if component {
            // Too large for the way back, or no room: as lost as any datagram.
            let _ = guest.connection.send_datagram(datagram);
        }
    }
}

/// Opens a stream that takes orders.
pub(crate) async fn open(guest: &Arc<Guest>, unidirectional: bool, text: &str) -> Result<(), WriteError> {
    let (mut send, recv) = if unidirectional {
        (guest.connection.open_uni().await?, None)
    } else {
        let (send, recv) = guest.connection.open_bi().await?;
        (send, Some(recv))
    };
    let id = send.id();
    if !text.is_empty() {
        send.write_all(format!("{text}\n").as_bytes()).await?;
    }
    send_under_orders(guest, send, 0);
    if let Some(recv) = recv {
        receive_under_orders(guest, recv, true);
    }
    guest.journal.stream("opened", id, &json!({}));
    Ok(())
}

async fn serve(guest: Arc<Guest>, send: Option<SendStream>, mut recv: RecvStream) {
    let id = recv.id();
    let line = match first_line(&mut recv).await {
        Ok(line) => line,
        Err(ReadError::Reset(code)) => {
            guest.journal.stream("reset", id, &json!({ "code": code.into_inner(), "bytes": 0 }));
            // The other direction is another matter, and dropping it would finish it.
            return send.into_iter().for_each(|send| send_under_orders(&guest, send, 0));
        }
        Err(_) => return,
    };
    let mut words = line.split(' ');
    let verb = words.next().unwrap_or("");
    let mut argument = || words.next().and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
    match (verb, send) {
        ("echo", Some(send)) => echo(&guest, send, recv).await,
        ("sink", send) => sink(&guest, send, recv).await,
        ("source" | "early", Some(send)) => {
            tokio::spawn(source(guest.clone(), send, argument()));
            receive_under_orders(&guest, recv, true);
        }
        ("part", Some(send)) => {
            send_under_orders(&guest, send, argument());
            receive_under_orders(&guest, recv, true);
        }
        ("flood", Some(send)) => {
            send_under_orders(&guest, send, u64::MAX);
            receive_under_orders(&guest, recv, true);
        }
        ("hold", send) => {
            send.into_iter().for_each(|send| send_under_orders(&guest, send, 0));
            receive_under_orders(&guest, recv, false);
            guest.journal.stream("held", id, &json!({}));
        }
        ("last", Some(send)) => last(&guest, send, argument(), argument()).await,
        ("control", Some(send)) => control(&guest, send, recv).await,
        _ => guest.journal.stream("problem", id, &json!({ "problem": format!("cannot {line:?}") })),
    }
}

async fn echo(guest: &Arc<Guest>, mut send: SendStream, mut recv: RecvStream) {
    let id = recv.id();
    loop {
        match recv.read_chunk(CHUNK, true).await {
            Ok(Some(chunk)) => {
                if let Err(error) = send.write_chunk(chunk.bytes).await {
                    return not_written(guest, &send, &error, 0);
                }
            }
            Ok(None) => break,
            Err(error) => {
                not_read(guest, &recv, &error, 0);
                let _ = send.reset(VarInt::from_u32(1));
                return;
            }
        }
    }
    let _ = send.finish();
    guest.journal.stream("echoed", id, &json!({}));
}

async fn sink(guest: &Arc<Guest>, send: Option<SendStream>, mut recv: RecvStream) {
    let (mut bytes, mut sum) = (0, Adler32::new());
    loop {
        match recv.read_chunk(CHUNK, true).await {
            Ok(Some(chunk)) => {
                bytes += chunk.bytes.len() as u64;
                sum.add(&chunk.bytes);
            }
            Ok(None) => break,
            Err(error) => return not_read(guest, &recv, &error, bytes),
        }
    }
    guest.journal.stream("end", recv.id(), &json!({ "bytes": bytes, "adler32": sum.value() }));
    if let Some(mut send) = send {
        let answer = format!("{bytes} {}\n", sum.value());
        if let Err(error) = send.write_all(answer.as_bytes()).await {
            return not_written(guest, &send, &error, 0);
        }
        let _ = send.finish();
    }
}

async fn source(guest: Arc<Guest>, mut send: SendStream, length: u64) {
    match write_pattern(&mut send, length).await {
        Ok(()) => _ = send.finish(),
        Err(error) => not_written(&guest, &send, &error, 0),
    }
}

async fn last(guest: &Arc<Guest>, mut send: SendStream, length: u64, code: u64) {
    if let Err(error) = write_pattern(&mut send, length).await {
        return not_written(guest, &send, &error, 0);
    }
    let _ = send.finish();
    let _ = send.stopped().await;
    guest.connection.close(VarInt::from_u64(code).unwrap_or(VarInt::MAX), b"done");
}

async fn control(guest: &Arc<Guest>, mut send: SendStream, mut recv: RecvStream) {
    let mut events = guest.journal.subscribe();
    let write = async {
        while let Some(line) = events.recv().await {
            if send.write_all(line.as_bytes()).await.is_err() {
                break;
            }
        }
    };
    let read = async {
        while let Ok(line) = first_line(&mut recv).await {
            guest.obey(&line).await;
        }
    };
    tokio::join!(read, write);
}

/// Orders for this half are taken from here on.
fn send_under_orders(guest: &Arc<Guest>, send: SendStream, outstanding: u64) {
    let orders = guest.sender(send.id());
    tokio::spawn(sending(guest.clone(), send, orders, outstanding));
}

/// Orders for this half are taken from here on.
fn receive_under_orders(guest: &Arc<Guest>, recv: RecvStream, reads: bool) {
    let orders = guest.receiver(recv.id());
    tokio::spawn(receiving(guest.clone(), recv, orders, reads));
}

/// A sending half under orders: writes `outstanding` bytes first and is never finished unasked; asked, it is once
/// all is written.
async fn sending(
    guest: Arc<Guest>,
    mut send: SendStream,
    mut orders: mpsc::UnboundedReceiver<Sending>,
    mut outstanding: u64,
) {
    let mut stopped = pin!(send.stopped());
    let (mut written, mut open, mut finishes) = (0, true, false);
    loop {
        if open && finishes && outstanding == 0 {
            open = false;
            let _ = send.finish();
        }
        tokio::select! {
            biased;
            end = &mut stopped => {
                return match end {
                    Ok(None) => guest.journal.stream("acknowledged", send.id(), &json!({ "bytes": written })),
                    Ok(Some(code)) => stopped_with(&guest, &send, code, written),
                    Err(StoppedError::ConnectionLost(_) | StoppedError::ZeroRttRejected) => {}
                };
            }
            Some(order) = orders.recv(), if open => match order {
                Sending::Write(more) => outstanding = outstanding.saturating_add(more),
                Sending::Finish => finishes = true,
                Sending::Reset(code) => {
                    let _ = send.reset(code);
                    return;
                }
            },
            wrote = send.write(limited(pattern::from(written), outstanding)), if open && outstanding > 0 => match wrote {
                Ok(bytes) => (written, outstanding) = (written + bytes as u64, outstanding.saturating_sub(bytes as u64)),
                Err(error) => return not_written(&guest, &send, &error, written),
            },
        }
    }
}

/// A receiving half under orders. Held, it reads nothing, and sees a reset all the same.
async fn receiving(
    guest: Arc<Guest>,
    mut recv: RecvStream,
    mut orders: mpsc::UnboundedReceiver<Receiving>,
    mut reads: bool,
) {
    let (mut bytes, mut sum, mut text) = (0, Adler32::new(), Vec::new());
    let error = loop {
        let next = async {
            if reads {
                recv.read_chunk(CHUNK, true).await
            } else {
                match recv.received_reset().await {
                    Ok(Some(code)) => Err(ReadError::Reset(code)),
                    Ok(None) => std::future::pending().await,
                    Err(error) => Err(error.into()),
                }
            }
        };
        tokio::select! {
            biased;
            Some(order) = orders.recv() => match order {
                Receiving::Read => reads = true,
                Receiving::Stop(code) => {
                    let _ = recv.stop(code);
                    return;
                }
            },
            chunk = next => match chunk {
                Ok(Some(chunk)) => {
                    bytes += chunk.bytes.len() as u64;
                    sum.add(&chunk.bytes);
                    text.extend(chunk.bytes.iter().take(256usize.saturating_sub(text.len())));
                }
                Ok(None) => {
                    let text = String::from_utf8_lossy(&text);
                    let fields = json!({ "bytes": bytes, "adler32": sum.value(), "text": text });
                    return guest.journal.stream("end", recv.id(), &fields);
                }
                Err(error) => break error,
            },
        }
    };
    not_read(&guest, &recv, &error, bytes);
}

async fn write_pattern(send: &mut SendStream, length: u64) -> Result<(), WriteError> {
    let mut written = 0;
    while written < length {
        written += send.write(limited(pattern::from(written), length - written)).await? as u64;
    }
    Ok(())
}

fn limited(bytes: &[u8], most: u64) -> &[u8] {
    &bytes[..usize::try_from(most).unwrap_or(usize::MAX).min(bytes.len())]
}

/// The next line without its newline; at the end of the stream what there is, or the error `ClosedStream`.
async fn first_line(recv: &mut RecvStream) -> Result<String, ReadError> {
    let mut line = Vec::new();
    let mut byte = [0];
    while line.len() < MAX_LINE {
        match recv.read(&mut byte).await? {
            Some(_) if byte[0] == b'\n' => break,
            Some(_) => line.push(byte[0]),
            None if line.is_empty() => return Err(ReadError::ClosedStream),
            None => break,
        }
    }
    Ok(String::from_utf8_lossy(&line).into_owned())
}

fn not_read(guest: &Guest, recv: &RecvStream, error: &ReadError, bytes: u64) {
    match error {
        ReadError::Reset(code) => {
            guest.journal.stream("reset", recv.id(), &json!({ "code": code.into_inner(), "bytes": bytes }));
        }
        other => guest.journal.stream("lost", recv.id(), &json!({ "error": other.to_string(), "bytes": bytes })),
    }
}

fn not_written(guest: &Guest, send: &SendStream, error: &WriteError, bytes: u64) {
    match error {
        WriteError::Stopped(code) => stopped_with(guest, send, *code, bytes),
        other => guest.journal.stream("lost", send.id(), &json!({ "error": other.to_string(), "bytes": bytes })),
    }
}

fn stopped_with(guest: &Guest, send: &SendStream, code: VarInt, bytes: u64) {
    guest.journal.stream("stopped", send.id(), &json!({ "code": code.into_inner(), "bytes": bytes }));
}
