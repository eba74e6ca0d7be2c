//! A watcher, and all that came out of it.

use super::{
    super::{Phase, Watcher},
    wire::{Frame, PREFACE, read, settings},
};

pub(super) struct Rig {
    watcher: Watcher,
    pub(super) to_server: Vec<u8>,
    pub(super) to_client: Vec<u8>,
}

impl Rig {
    /// Nothing has passed.
    pub(super) fn new() -> Self {
        Self { watcher: Watcher::new(), to_server: Vec::new(), to_client: Vec::new() }
    }

    /// Both ends have said hello, and that is out of the way.
    pub(super) fn greeted() -> Self {
        let mut rig = Self::new();
        rig.client_bytes(&[PREFACE, &settings().bytes()].concat());
        rig.server(&settings());
        (rig.to_server, rig.to_client) = Default::default();
        rig
    }

    pub(super) fn client_bytes(&mut self, bytes: &[u8]) {
        self.watcher.client_sent(bytes, &mut |bytes| self.to_server.extend_from_slice(bytes));
    }

    pub(super) fn server_bytes(&mut self, bytes: &[u8]) {
        self.watcher.server_sent(bytes, &mut |bytes| self.to_client.extend_from_slice(bytes));
    }

    pub(super) fn client(&mut self, frame: &Frame) {
        self.client_bytes(&frame.bytes());
    }

    pub(super) fn server(&mut self, frame: &Frame) {
        self.server_bytes(&frame.bytes());
    }

    pub(super) fn client_ended(&mut self) {
        self.watcher.client_ended(&mut |bytes| self.to_server.extend_from_slice(bytes));
    }

    pub(super) fn server_ended(&mut self) {
        self.watcher.server_ended(&mut |bytes| self.to_client.extend_from_slice(bytes));
    }

    pub(super) fn go_away(&mut self) {
        self.watcher.go_away();
    }

    pub(super) fn round_trip_over(&mut self) {
        self.watcher.round_trip_over();
    }

    pub(super) fn inject(&mut self) {
        self.watcher.injected(&mut |bytes| self.to_client.extend_from_slice(bytes));
    }

    /// What the client has been told since this was asked last.
    pub(super) fn told(&mut self) -> Vec<Frame> {
        read(&std::mem::take(&mut self.to_client))
    }

    /// Drains as far as the PING, and returns its data.
    pub(super) fn announced(&mut self) -> Vec<u8> {
        self.go_away();
        self.inject();
        assert_eq!(self.phase(), Phase::Announced);
        self.told().pop().expect("a GOAWAY and a PING").payload
    }

    pub(super) fn phase(&self) -> Phase {
        self.watcher.phase()
    }

    pub(super) fn size(&self) -> usize {
        size_of_val(&self.watcher)
    }
}
