//! The handles of one listener or upstream.

use std::{marker::PhantomData, time::Duration};

use prometheus::{Histogram, IntCounter, IntGauge};

use super::families::Families;
use crate::observe::{
    component::Kind,
    labels::{CloseReason, ConnectionResult, Direction, HandshakeFailure, Label, Transport},
};

/// Counters and gauges of one component, looked up once. Counting is an atomic addition.
#[derive(Debug)]
pub struct ComponentMetrics {
    ready: IntGauge,
    active: IntGauge,
    results: ByLabel<ConnectionResult>,
    closes: ByLabel<CloseReason>,
    failures: ByLabel<HandshakeFailure>,
    streams: IntCounter,
    bytes: ByLabel<Direction>,
    datagrams_dropped: IntCounter,
    /// Upstreams only.
    connect_seconds: Option<Histogram>,
    recycle_pending: IntGauge,
}

/// A connection that is still to be recycled, counted as long as this is held.
#[derive(Debug)]
pub struct PendingRecycle(IntGauge);

impl Drop for PendingRecycle {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl ComponentMetrics {
    pub(super) fn new(families: &Families, kind: Kind, name: &str, transport: Transport) -> Self {
        let carried = transport.as_str();
        Self {
            ready: families.ready.with_label_values(&[name]),
            active: families.connections_active.with_label_values(&[name, carried]),
            results: ByLabel::new(|result| families.connections.with_label_values(&[name, carried, result])),
            closes: ByLabel::new(|reason| families.closes.with_label_values(&[name, reason])),
            failures: ByLabel::new(|reason| families.handshake_failures.with_label_values(&[name, reason])),
            streams: families.streams.with_label_values(&[name]),
            bytes: ByLabel::new(|direction| families.bytes.with_label_values(&[name, direction])),
            datagrams_dropped: families.datagrams_dropped.with_label_values(&[name]),
            connect_seconds: (kind == Kind::Upstream).then(|| families.connect_seconds.with_label_values(&[name])),
            recycle_pending: families.recycle_pending.with_label_values(&[name]),
        }
    }

    /// Whether the component is able to do its work.
    pub fn set_ready(&self, ready: bool) {
        self.ready.set(i64::from(ready));
    }

    /// One more established connection.
    pub fn opened(&self) {
        self.results.get(ConnectionResult::Established).inc();
        self.active.inc();
    }

    /// One established connection less. Every call of [`opened`](Self::opened) is followed by one of these, which
    /// [`ConnectionRecord`](crate::observe::ConnectionRecord) takes care of.
    pub fn closed(&self, reason: CloseReason) {
        self.active.dec();
        self.closes.get(reason).inc();
    }

    /// An attempt that came to nothing. `result` is `refused` or `failed`.
    pub fn not_opened(&self, result: ConnectionResult) {
        self.results.get(result).inc();
    }

    /// Why an attempt came to nothing.
    pub fn handshake_failed(&self, reason: HandshakeFailure) {
        self.failures.get(reason).inc();
    }

    /// One more stream is relayed.
    pub fn stream(&self) {
        self.streams.inc();
    }

    /// Bytes were relayed.
    pub fn bytes(&self, direction: Direction, bytes: u64) {
        self.bytes.get(direction).inc_by(bytes);
    }

    /// A datagram could not be passed on to this component's connection.
    pub fn datagram_dropped(&self) {
        self.datagrams_dropped.inc();
    }

    /// A dial of this upstream took so long to succeed.
    pub fn connected_in(&self, took: Duration) {
        if let Some(histogram) = &self.connect_seconds {
            histogram.observe(took.as_secs_f64());
        }
    }

    /// One more connection is to be recycled, until what is returned is dropped.
    pub fn recycle_pending(&self) -> PendingRecycle {
        self.recycle_pending.inc();
        PendingRecycle(self.recycle_pending.clone())
    }

    /// Established connections now.
    pub fn active(&self) -> u64 {
        u64::try_from(self.active.get()).unwrap_or(0)
    }

    /// Established connections since the start.
    pub fn established_total(&self) -> u64 {
        self.results.get(ConnectionResult::Established).get()
    }
}

/// One counter for each value of a closed set.
#[derive(Debug)]
struct ByLabel<L> {
    counters: Vec<IntCounter>,
    label: PhantomData<L>,
}

impl<L: Label> ByLabel<L> {
    fn new(make: impl Fn(&str) -> IntCounter) -> Self {
        Self { counters: L::ALL.iter().map(|value| make(value.as_str())).collect(), label: PhantomData }
    }

    fn get(&self, value: L) -> &IntCounter {
        &self.counters[value.index()]
    }
}
