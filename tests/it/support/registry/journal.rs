//! What happened at the stand-in, in order.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

/// The events so far, shared by all who write them.
#[derive(Clone)]
pub(crate) struct Journal(Arc<Inner>);

struct Inner {
    events: Mutex<Vec<Value>>,
    print: fn(&Value),
}

impl Journal {
    /// Hands each event to `print` as well.
    pub(crate) fn new(print: fn(&Value)) -> Self {
        Self(Arc::new(Inner { events: Mutex::default(), print }))
    }

    pub(crate) fn write(&self, event: Value) {
        (self.0.print)(&event);
        self.0.events.lock().unwrap_or_else(PoisonError::into_inner).push(event);
    }

    /// Every event with this name.
    pub(crate) fn events(&self, name: &str) -> Vec<Value> {
        let events = self.0.events.lock().unwrap_or_else(PoisonError::into_inner);
        events.iter().filter(|event| event["event"] == name).cloned().collect()
    }

    /// Begins a call, which ends when it is dropped.
    pub(crate) fn call(&self, connection: u64, method: &str, authority: Option<&str>) -> Call {
        let number = self.events("call").len() as u64 + 1;
        let event = json!({ "event": "call", "call": number, "connection": connection, "method": method, "authority": authority });
        self.write(event);
        Call { journal: self.clone(), number, method: method.to_owned(), finished: false }
    }
}

/// A call that lives.
pub(crate) struct Call {
    journal: Journal,
    number: u64,
    method: String,
    /// It came to its own end.
    pub(crate) finished: bool,
}

impl Call {
    /// Something that happened in it.
    pub(crate) fn note(&self, event: &str, sequence: u64) {
        self.journal.write(json!({ "event": event, "call": self.number, "sequence": sequence }));
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let event = if self.finished { "finished" } else { "cancelled" };
        self.journal.write(json!({ "event": event, "call": self.number, "method": self.method }));
    }
}
