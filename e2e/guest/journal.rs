//! What happened, as JSON lines: on standard output, and on every `control` stream of the connection.

use std::{
    io::Write,
    sync::{Mutex, PoisonError},
};

use serde_json::{Value, json};
use tokio::sync::mpsc;

/// The events of one connection.
pub(crate) struct Journal {
    number: u64,
    subscribers: Mutex<Vec<mpsc::UnboundedSender<String>>>,
}

impl Journal {
    pub(crate) fn new(number: u64) -> Self {
        Self { number, subscribers: Mutex::default() }
    }

    pub(crate) fn write(&self, mut event: Value) {
        event["connection"] = self.number.into();
        print(&event);
        let line = format!("{event}\n");
        let mut subscribers = self.subscribers.lock().unwrap_or_else(PoisonError::into_inner);
        subscribers.retain(|subscriber| subscriber.send(line.clone()).is_ok());
    }

    /// An event of one stream, with further fields.
    pub(crate) fn stream(&self, event: &str, id: quinn::StreamId, fields: &Value) {
        let mut line = json!({ "event": event, "stream": u64::from(quinn::VarInt::from(id)) });
        for (key, value) in fields.as_object().into_iter().flatten() {
            line[key] = value.clone();
        }
        self.write(line);
    }

    /// The lines from now on.
    pub(crate) fn subscribe(&self) -> mpsc::UnboundedReceiver<String> {
        let (subscriber, lines) = mpsc::unbounded_channel();
        self.subscribers.lock().unwrap_or_else(PoisonError::into_inner).push(subscriber);
        lines
    }
}

/// One line on standard output, at once.
pub(crate) fn print(event: &Value) {
    let mut out = std::io::stdout().lock();
    // Whoever started this program and went away does not read any more.
    let _ = writeln!(out, "{event}").and_then(|()| out.flush());
}
