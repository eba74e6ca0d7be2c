//! Which streams are open (RFC 9113 section 5.1), as far as a drain has to wait for them.

use std::collections::{BTreeMap, BTreeSet};

use super::{cut::Lost, head::ID, order::Ends};

/// Streams that are followed at once. Servers permit far fewer; one that does not is not followed any further.
pub(super) const BOUND: usize = 65_536;

/// Who sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sender {
    Client,
    Server,
}

/// The open streams. Trees, since an empty one holds no memory.
#[derive(Debug)]
pub(super) struct Streams {
    /// Those of the client, each with who is done already.
    called: BTreeMap<u32, Option<Sender>>,
    /// Those that the server has promised (RFC 9113 section 8.4): the client never sends on them.
    promised: BTreeSet<u32>,
    /// The highest that the client has begun.
    highest: u32,
    /// Above this the server processes nothing, so nobody waits (RFC 9113 section 6.8).
    last: u32,
}

impl Default for Streams {
    fn default() -> Self {
        Self { called: BTreeMap::new(), promised: BTreeSet::new(), highest: 0, last: ID }
    }
}

impl Streams {
    /// The client sends HEADERS on `stream`: a new one, or trailers of one that is open.
    pub(super) fn called(&mut self, stream: u32) -> Result<(), Lost> {
        // A lower one was begun before, or skipped and never will be (RFC 9113 section 5.1.1).
        if stream % 2 == 1 && stream > self.highest {
            self.highest = stream;
            if stream <= self.last {
                self.called.insert(stream, None);
            }
        }
        self.bounded()
    }

    /// The server promises `stream`.
    pub(super) fn promised(&mut self, stream: u32) -> Result<(), Lost> {
        if stream != 0 && stream.is_multiple_of(2) {
            self.promised.insert(stream);
        }
        self.bounded()
    }

    /// What `sender` has sent whole ends something.
    pub(super) fn ends(&mut self, sender: Sender, ends: Ends) {
        match ends {
            Ends::Nothing => {}
            Ends::Stream(stream) => self.remove(stream),
            Ends::Half(stream) => match self.called.get_mut(&stream) {
                Some(done) if done.is_some_and(|done| done != sender) => self.remove(stream),
                Some(done) => *done = Some(sender),
                None if sender == Sender::Server => self.remove(stream),
                None => {}
            },
        }
    }

    /// Nobody waits any more for the client's streams above `last`.
    pub(super) fn processed_to(&mut self, last: u32) {
        if last < self.last {
            self.last = last;
            self.called.split_off(&(last + 1));
        }
    }

    /// The highest stream that the client has begun and that may have been processed.
    pub(super) fn last(&self) -> u32 {
        self.highest.min(self.last)
    }

    /// Whether none is open.
    pub(super) fn is_empty(&self) -> bool {
        self.called.is_empty() && self.promised.is_empty()
    }

    fn remove(&mut self, stream: u32) {
        self.called.remove(&stream);
        self.promised.remove(&stream);
    }

    fn bounded(&self) -> Result<(), Lost> {
        if self.called.len() + self.promised.len() > BOUND { Err(Lost) } else { Ok(()) }
    }
}
