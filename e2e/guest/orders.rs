//! Orders, one a line:
//!
//! ```text
//! open bidi|uni TEXT       opens a stream and writes the text and a newline; event "opened"
//! send ID BYTES            writes so much of the pattern
//! flood ID                 writes the pattern for ever
//! finish ID | reset ID CODE | stop ID CODE
//! read ID                  reads a stream that was held
//! datagram TEXT | datagram-of BYTES
//! close CODE REASON        closes the connection
//! die                      ends the process at once, with nothing said
//! ```

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use quinn::{Connection, StreamId, VarInt};
use serde_json::json;
use tokio::sync::mpsc;

use crate::{journal::Journal, pattern, streams};

/// An order for a sending half.
pub(crate) enum Sending {
    Write(u64),
    Finish,
    Reset(VarInt),
}

/// An order for a receiving half.
pub(crate) enum Receiving {
    Read,
    Stop(VarInt),
}

/// One connection and those of its streams that take orders.
pub(crate) struct Guest {
    pub(crate) connection: Connection,
    pub(crate) journal: Arc<Journal>,
    senders: Mutex<HashMap<u64, mpsc::UnboundedSender<Sending>>>,
    receivers: Mutex<HashMap<u64, mpsc::UnboundedSender<Receiving>>>,
}

impl Guest {
    pub(crate) fn new(connection: Connection, journal: Arc<Journal>) -> Arc<Self> {
        Arc::new(Self { connection, journal, senders: Mutex::default(), receivers: Mutex::default() })
    }

    pub(crate) fn sender(&self, id: StreamId) -> mpsc::UnboundedReceiver<Sending> {
        register(&self.senders, id)
    }

    pub(crate) fn receiver(&self, id: StreamId) -> mpsc::UnboundedReceiver<Receiving> {
        register(&self.receivers, id)
    }

    /// Carries out one line. What cannot be carried out becomes an event.
    pub(crate) async fn obey(self: &Arc<Self>, line: &str) {
        if let Err(problem) = self.carry_out(line).await {
            self.journal.write(json!({ "event": "problem", "order": line, "problem": problem }));
        }
    }

    async fn carry_out(self: &Arc<Self>, line: &str) -> Result<(), String> {
        let (verb, rest) = line.trim_end().split_once(' ').unwrap_or((line.trim_end(), ""));
        let (first, second) = rest.split_once(' ').unwrap_or((rest, ""));
        match verb {
            "" => Ok(()),
            "open" => streams::open(self, first == "uni", second).await.map_err(|error| error.to_string()),
            "send" => order(&self.senders, number(first)?, Sending::Write(number(second)?)),
            "flood" => order(&self.senders, number(first)?, Sending::Write(u64::MAX)),
            "finish" => order(&self.senders, number(first)?, Sending::Finish),
            "reset" => order(&self.senders, number(first)?, Sending::Reset(code(second)?)),
            "read" => order(&self.receivers, number(first)?, Receiving::Read),
            "stop" => order(&self.receivers, number(first)?, Receiving::Stop(code(second)?)),
            "datagram" => self.datagram(rest.as_bytes()),
            "datagram-of" => {
                let length = usize::try_from(number(first)?).map_err(|error| error.to_string())?;
                self.datagram(&pattern::from(0)[..length.min(60_000)])
            }
            "close" => {
                self.connection.close(code(first)?, second.as_bytes());
                Ok(())
            }
            "die" => std::process::abort(),
            _ => Err("unknown order".to_owned()),
        }
    }

    fn datagram(&self, bytes: &[u8]) -> Result<(), String> {
        self.connection.send_datagram(bytes.to_vec().into()).map_err(|error| error.to_string())
    }
}

type Orders<T> = Mutex<HashMap<u64, mpsc::UnboundedSender<T>>>;

fn register<T>(orders: &Orders<T>, id: StreamId) -> mpsc::UnboundedReceiver<T> {
    let (sender, receiver) = mpsc::unbounded_channel();
    orders.lock().unwrap_or_else(PoisonError::into_inner).insert(VarInt::from(id).into_inner(), sender);
    receiver
}

fn order<T>(orders: &Orders<T>, id: u64, order: T) -> Result<(), String> {
    let orders = orders.lock().unwrap_or_else(PoisonError::into_inner);
    let stream = orders.get(&id).ok_or_else(|| format!("no stream {id} takes this order"))?;
    stream.send(order).map_err(|_| format!("stream {id} is over"))
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("{text:?} is no number"))
}

fn code(text: &str) -> Result<VarInt, String> {
    VarInt::from_u64(number(text)?).map_err(|error| error.to_string())
}
