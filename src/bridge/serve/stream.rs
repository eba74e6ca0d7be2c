//! An arrival that is one stream, carried to an upstream that takes one.

use std::time::Instant;

use super::{Bridge, not_dialled, text};
use crate::{
    bridge::splice::Splice,
    dial::{DialError, DialledStream, StreamRequest},
    listen::StreamArrival,
    live::{Admitted, Connection, FarSide, Footing, Order, Ticket},
    observe::{Attempt, Side, labels::HandshakeFailure},
    plan::UpstreamId,
};

/// Carries an arrival to its upstream and relays until both have enough. `admitted` is its room, which it gives back at
/// the end.
pub async fn serve_stream(bridge: &Bridge, mut arrival: StreamArrival, mut attempt: Attempt, mut admitted: Admitted) {
    let plan = &*bridge.plan;
    let listener = plan.listener(arrival.listener);
    let upstream_id = listener.routes[arrival.route].upstream;
    let upstream = bridge.observer.upstream(upstream_id.0).clone();
    let (route, footing) = ((arrival.listener, arrival.route), Footing::new(arrival.standing, arrival.judged.take()));
    let mut entry = Connection::new(route, upstream_id, arrival.peer, footing);
    entry.server_name.clone_from(&arrival.server_name);
    // From here on it is swept; and what was published before has been asked about it.
    let ticket = bridge.contraction.enter(entry);
    let began = Instant::now();
    let mut dialled = match dial(bridge, upstream_id, &arrival, &ticket).await {
        Ok(dialled) => dialled,
        Err(why) => {
            // There is no word for it on a stream: an abort says that nothing came of it.
            arrival.stream.abort();
            return match why {
                NotDialled::ArrivalGone(why) => attempt.fail(HandshakeFailure::Protocol, &why),
                NotDialled::Ordered(order) => attempt.fail(order.failure(), &text(&order.close)),
                NotDialled::Failed(error) => not_dialled(attempt, &upstream, error.reason, &error.detail),
            };
        }
    };
    let dialled_in = began.elapsed();
    attempt.facts().alpn = arrival.alpn.clone().or_else(|| dialled.alpn.clone());
    let footing = Footing::new(dialled.standing, dialled.judged.take());
    bridge.contraction.connected(&ticket, FarSide { footing, alpn: attempt.facts().alpn.clone() });
    // Nobody is let through to, or from, whom the latest trust does not know.
    if let Some(order) = ticket.connection().decided() {
        arrival.stream.abort();
        dialled.stream.abort();
        return match order.side {
            Side::Dialled => attempt.fail_dial(&upstream, order.failure(), &text(&order.close)),
            Side::Accepted | Side::Both => attempt.fail(order.failure(), &text(&order.close)),
        };
    }
    admitted.handshake_done();
    let record = attempt.established(&upstream, dialled_in);
    record.traffic().stream();
    ticket.connection().established(record.traffic().clone());
    let splice = Splice {
        accepted: arrival.stream,
        dialled: dialled.stream,
        alpn: ticket.connection().far().and_then(|far| far.alpn.clone()),
        traffic: record.traffic().clone(),
        idle_timeout: listener.idle_timeout,
        close_grace: plan.timeouts.close_grace,
    };
    let end = splice.run(&ticket).await;
    if let Some(failure) = end.late_failure() {
        upstream.handshake_failed(failure);
    }
    record.end(end.ending());
}

enum NotDialled {
    ArrivalGone(String),
    Ordered(Order),
    Failed(DialError),
}

async fn dial(
    bridge: &Bridge,
    to: UpstreamId,
    arrival: &StreamArrival,
    ticket: &Ticket,
) -> Result<DialledStream, NotDialled> {
    let alpn: Vec<_> = arrival.alpn.iter().cloned().collect();
    let request = StreamRequest { server_name: arrival.server_name.as_deref(), alpn: &alpn };
    tokio::select! { biased;
        order = ticket.ordered() => Err(NotDialled::Ordered(order.clone())),
        error = arrival.stream.broken() => {
            Err(NotDialled::ArrivalGone(format!("gone before the upstream was there: {error}")))
        }
        dialled = bridge.dialer.dial_stream(to, &request) => dialled.map_err(NotDialled::Failed),
    }
}
