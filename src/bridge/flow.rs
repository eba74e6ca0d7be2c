//! One direction of a pair: what one side opens, opened on the other in the same order.
//!
//! A stream keeps its identifier because each direction and kind has exactly one opener, which opens on the far side
//! exactly what it accepts here, in the order of identifiers (RFC 9000 section 2.1), and because nothing else ever
//! opens a stream. So whatever names streams by number passes through untouched.

use std::sync::Arc;

use quinn::StreamId;

use super::{
    relay::{Outcome, relay},
    work::{Item, Work},
};
use crate::{
    observe::{Traffic, labels::Direction},
    runtime::Tasks,
    transport::{Close, Code, RecvHalf, SendHalf, Session, session::DatagramOutcome},
};

/// One direction of a pair.
pub(super) struct Flow {
    /// Where streams and datagrams come from.
    pub(super) from: Session,
    /// Where they go.
    pub(super) to: Session,
    /// What still has to reach `to`.
    pub(super) work: Work,
    /// Which way that is, seen from the component behind a listener.
    pub(super) direction: Direction,
    pub(super) traffic: Arc<Traffic>,
}

/// What the tasks of a pair share.
pub(super) struct Shared {
    pub(super) flows: [Arc<Flow>; 2],
    pub(super) tasks: Tasks,
    /// Set when both sides have been closed.
    pub(super) closed: Ended,
}

/// Set once, waited for by those who hold cut streams.
#[derive(Debug, Clone, Default)]
pub(super) struct Ended(tokio_util::sync::CancellationToken);

impl Ended {
    pub(super) fn set(&self) {
        self.0.cancel();
    }

    async fn wait(&self) {
        self.0.cancelled().await;
    }
}

impl Shared {
    /// Starts the openers and the datagrams of both directions.
    pub(super) fn start(self: &Arc<Self>) {
        for (index, flow) in self.flows.iter().enumerate() {
            // Begun here and not in the task: a close must not find the direction idle before it has started.
            let items = [flow.work.begin(), flow.work.begin(), flow.work.begin()];
            let [bidi, uni, datagrams] = items;
            self.tasks.spawn(carry_bidi(self.clone(), index, bidi));
            self.tasks.spawn(carry_uni(self.clone(), index, uni));
            self.tasks.spawn(carry_datagrams(flow.clone(), datagrams));
        }
    }
}

async fn carry_bidi(shared: Arc<Shared>, index: usize, _work: Item) {
    let (flow, back) = (&shared.flows[index], &shared.flows[1 - index]);
    while let Ok((send, recv)) = flow.from.accept_bi().await {
        let Ok((far_send, far_recv)) = flow.to.open_bi().await else {
            return hold(&shared, (send, recv)).await;
        };
        if !same_number(&shared, recv.id(), far_send.id()) {
            return;
        }
        flow.traffic.stream();
        let (forth, back) = (Half::new(flow, recv, far_send), Half::new(back, far_recv, send));
        let closed = shared.closed.clone();
        // One task for both halves: they share the connections' locks and mostly wake together.
        shared.tasks.spawn(async move {
            let held = tokio::join!(forth.run(), back.run());
            keep_until(&closed, held).await;
        });
    }
}

async fn carry_uni(shared: Arc<Shared>, index: usize, _work: Item) {
    let flow = &shared.flows[index];
    while let Ok(recv) = flow.from.accept_uni().await {
        let Ok(far_send) = flow.to.open_uni().await else {
            return hold(&shared, recv).await;
        };
        if !same_number(&shared, recv.id(), far_send.id()) {
            return;
        }
        flow.traffic.stream();
        let (half, closed) = (Half::new(flow, recv, far_send), shared.closed.clone());
        shared.tasks.spawn(async move {
            let held = (half.run().await, None);
            keep_until(&closed, held).await;
        });
    }
}

async fn carry_datagrams(flow: Arc<Flow>, _work: Item) {
    while let Ok(datagram) = flow.from.read_datagram().await {
        let size = datagram.len() as u64;
        match flow.to.send_datagram(datagram) {
            DatagramOutcome::Sent => flow.traffic.bytes(flow.direction, size),
            DatagramOutcome::Dropped => flow.traffic.datagram_dropped(flow.direction),
            DatagramOutcome::Lost => return,
        }
    }
}

/// A stream that was accepted but has no partner, since the far side is gone: kept as it is until the close is out.
async fn hold<T>(shared: &Shared, stream: T) {
    shared.closed.wait().await;
    drop(stream);
}

type Held = Option<(RecvHalf, SendHalf)>;

async fn keep_until(closed: &Ended, held: (Held, Held)) {
    if held.0.is_some() || held.1.is_some() {
        closed.wait().await;
    }
}

/// One direction of one stream, with the work item that it is.
struct Half {
    flow: Arc<Flow>,
    from: RecvHalf,
    to: SendHalf,
    work: Item,
}

impl Half {
    fn new(flow: &Arc<Flow>, from: RecvHalf, to: SendHalf) -> Self {
        Self { flow: flow.clone(), from, to, work: flow.work.begin() }
    }

    async fn run(self) -> Held {
        let Self { flow, from, to, work } = self;
        let outcome = relay(from, to, |bytes| flow.traffic.bytes(flow.direction, bytes)).await;
        drop(work);
        match outcome {
            Outcome::Held { from, to } => Some((from, to)),
            Outcome::Finished | Outcome::Cut => None,
        }
    }
}

/// The invariant of the bridge. Should it ever break, bytes would reach the wrong stream: both sides are closed.
fn same_number(shared: &Shared, here: StreamId, there: StreamId) -> bool {
    if here == there {
        return true;
    }
    tracing::error!(%here, %there, "stream identifiers of a pair differ; closing both sides");
    let close: Close = Code::Internal.close();
    shared.flows.iter().for_each(|flow| flow.to.close(&close));
    false
}
