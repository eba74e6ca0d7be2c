//! What Iris itself says to the client when it drains: GOAWAY, a PING to learn that the client has read it, and the last
//! GOAWAY (RFC 9113 section 6.8).

use std::hash::{BuildHasher, RandomState};

use super::{
    cut::Injected,
    head::{self, Head, ID},
};

/// How far it has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Nothing was asked for.
    Silent,
    /// The first GOAWAY is to come.
    Asked,
    /// The PING is to come.
    Warned,
    /// The answer to the PING is to come.
    Announced,
    /// The last GOAWAY is to come.
    Answered,
    /// All has been said.
    Final,
}

/// What is to be said, and what was.
#[derive(Debug)]
pub(super) struct Notice {
    step: Step,
    /// The data of the PING, from when it is out until it is acknowledged.
    ping: Option<[u8; 8]>,
    /// The lowest last stream identifier that the client has seen, whoever sent it.
    told: Option<u32>,
    /// The lowest one of ours.
    ours: Option<u32>,
}

impl Notice {
    pub(super) fn new() -> Self {
        Self { step: Step::Silent, ping: None, told: None, ours: None }
    }

    pub(super) fn step(&self) -> Step {
        self.step
    }

    /// Asks for all of it.
    pub(super) fn ask(&mut self) {
        if self.step == Step::Silent {
            self.step = Step::Asked;
        }
    }

    /// The client has read the first GOAWAY, or there is no more waiting for that.
    pub(super) fn answered(&mut self) {
        if self.step == Step::Announced {
            self.step = Step::Answered;
        }
    }

    /// Whether a frame of the client is the answer to our PING, which nobody else asked for. Once: should the server have
    /// sent a PING of the same data, then its own answer looks the same and passes.
    pub(super) fn is_answered_by(&mut self, head: &Head) -> bool {
        let is = self.ping.is_some_and(|data| head.is_ping(true, data));
        if is {
            self.ping = None;
            self.answered();
        }
        is
    }

    /// The next frame to be said. `highest` is the highest stream that may have been processed.
    pub(super) fn next(&mut self, highest: u32) -> Option<Injected> {
        match self.step {
            Step::Asked => {
                self.step = Step::Warned;
                Some(self.go_away(ID))
            }
            Step::Warned => {
                self.step = Step::Announced;
                // Not to be guessed, so that no PING of the server's has the same.
                let data = RandomState::new().hash_one(()).to_be_bytes();
                self.ping = Some(data);
                Some(head::ping(data))
            }
            Step::Answered => {
                self.step = Step::Final;
                Some(self.go_away(highest))
            }
            Step::Silent | Step::Announced | Step::Final => None,
        }
    }

    /// The server says GOAWAY itself: the identifier to pass on. It is the server's own unless that is above what Iris has
    /// told the client. Such a one must not be sent (RFC 9113 section 6.8), and clients end the connection for it with
    /// all its streams; it is what a server says that begins to drain after Iris did.
    pub(super) fn told(&mut self, last: u32) -> u32 {
        let last = self.ours.map_or(last, |ours| last.min(ours));
        self.told = Some(self.told.map_or(last, |told| told.min(last)));
        last
    }

    fn go_away(&mut self, last: u32) -> Injected {
        let last = self.told.map_or(last, |told| told.min(last));
        (self.told, self.ours) = (Some(last), Some(last));
        head::go_away(last)
    }
}
