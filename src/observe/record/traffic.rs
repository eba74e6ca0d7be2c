//! What passes through one connection.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use crate::observe::{
    Component,
    labels::{Direction, Label},
};

/// What passes through one connection: counted for its record and, at once, for both components.
#[derive(Debug)]
pub struct Traffic {
    listener: Arc<Component>,
    pub(super) upstream: Arc<Component>,
    streams: AtomicU64,
    bytes: [AtomicU64; 2],
    datagrams_dropped: AtomicU64,
}

impl Traffic {
    pub(super) fn new(listener: Arc<Component>, upstream: Arc<Component>) -> Self {
        Self {
            listener,
            upstream,
            streams: AtomicU64::new(0),
            bytes: Default::default(),
            datagrams_dropped: AtomicU64::new(0),
        }
    }

    /// One more stream, of either kind, opened by either side.
    pub fn stream(&self) {
        self.streams.fetch_add(1, Relaxed);
        self.listener.stream();
        self.upstream.stream();
    }

    /// Bytes of streams or datagrams that went this way.
    pub fn bytes(&self, direction: Direction, bytes: u64) {
        self.bytes[direction.index()].fetch_add(bytes, Relaxed);
        self.listener.bytes(direction, bytes);
        self.upstream.bytes(direction, bytes);
    }

    /// A datagram that went this way did not fit or found no room. Counted with the component that should have had it.
    pub fn datagram_dropped(&self, direction: Direction) {
        self.datagrams_dropped.fetch_add(1, Relaxed);
        match direction {
            Direction::Upstream => self.upstream.datagram_dropped(),
            Direction::Downstream => self.listener.datagram_dropped(),
        }
    }

    /// Streams so far.
    pub fn streams(&self) -> u64 {
        self.streams.load(Relaxed)
    }

    /// Bytes so far that went this way.
    pub fn bytes_passed(&self, direction: Direction) -> u64 {
        self.bytes[direction.index()].load(Relaxed)
    }

    /// Datagrams dropped so far, both ways.
    pub fn datagrams_dropped(&self) -> u64 {
        self.datagrams_dropped.load(Relaxed)
    }
}
