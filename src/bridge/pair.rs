//! Two sessions, bridged.

use std::{sync::Arc, time::Duration};

use quinn::ConnectionError;
use tokio::time::timeout;

use super::{
    end::PairEnd,
    flow::{Ended, Flow, Shared},
};
use crate::{
    live::{Order, Ticket},
    observe::{Side, Traffic, labels::Direction},
    runtime::Tasks,
    transport::{Close, Session},
};

/// Two sessions that are to be bridged.
pub struct Pair {
    /// The one that Iris accepted.
    pub accepted: Session,
    /// The one that it dialled for it.
    pub dialled: Session,
    /// Counts what passes.
    pub traffic: Arc<Traffic>,
    /// How long one side stays open after the other closed.
    pub close_grace: Duration,
}

impl Pair {
    /// Relays until one side has closed or `ticket` brings an order, closes what is still open and says why.
    ///
    /// When one side closes, what it sent before still arrives: queued streams are accepted, relays run dry and the far
    /// side acknowledges every end, all within `close_grace`. Then the far side is closed with the same code and
    /// reason. An acknowledgement that either side gets means that Iris has the bytes. An order skips the wait.
    pub async fn run(self, tasks: &Tasks, ticket: &Ticket) -> PairEnd {
        let Self { accepted, dialled, traffic, close_grace } = self;
        let flow = |from: &Session, to: &Session, direction| {
            let (from, to, traffic) = (from.clone(), to.clone(), traffic.clone());
            Arc::new(Flow { from, to, direction, traffic, work: Default::default() })
        };
        let shared = Arc::new(Shared {
            flows: [flow(&accepted, &dialled, Direction::Upstream), flow(&dialled, &accepted, Direction::Downstream)],
            tasks: tasks.clone(),
            closed: Ended::default(),
        });
        shared.start();
        let end = tokio::select! { biased;
            order = ticket.ordered() => obey(&shared, order),
            error = accepted.closed() => follow(&shared, Side::Accepted, error, close_grace, ticket).await,
            error = dialled.closed() => follow(&shared, Side::Dialled, error, close_grace, ticket).await,
        };
        shared.closed.set();
        end
    }
}

/// Closes both sides at once.
fn obey(shared: &Shared, order: &Order) -> PairEnd {
    for flow in &shared.flows {
        flow.to.close(&order.close);
    }
    PairEnd::Ordered(order.clone())
}

/// One side has closed: lets the other have what is still on its way, then closes it likewise.
async fn follow(shared: &Shared, side: Side, error: ConnectionError, grace: Duration, ticket: &Ticket) -> PairEnd {
    let flow = match side {
        Side::Accepted | Side::Both => &shared.flows[0],
        Side::Dialled => &shared.flows[1],
    };
    let close = Close::passed_on(&error);
    tokio::select! { biased;
        order = ticket.ordered() => flow.to.close(&order.close),
        _ = timeout(grace, flow.work.idle()) => {
            // What was only just queued, resets above all, goes out first: its driver waits for its turn on this worker.
            tokio::task::yield_now().await;
            flow.to.close(&close);
        }
        _ = flow.to.closed() => {}
    }
    PairEnd::Closed { side, error }
}
