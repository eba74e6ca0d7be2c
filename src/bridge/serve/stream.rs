//! An arrival that is one stream, carried to an upstream that takes one.

use std::{sync::Arc, time::Instant};

use tokio::{io::AsyncWriteExt, time::timeout};

use super::{Bridge, enter, not_dialled, text};
use crate::{
    bridge::{
        pool::{Leased, Pooled},
        splice::Splice,
        work::Item,
    },
    dial::{DialError, DialledStream, StreamRequest},
    listen::StreamArrival,
    live::{Admitted, FarSide, Footing, Order, Ticket},
    observe::{Attempt, Side, labels::HandshakeFailure},
    plan::{Unit, UpstreamId},
    transport::ByteStream,
};

/// Carries an arrival to its upstream and relays until both have enough. `admitted` is its room, which it gives back at
/// the end.
pub async fn serve_stream(
    bridge: &Arc<Bridge>,
    mut arrival: StreamArrival,
    mut attempt: Attempt,
    mut admitted: Admitted,
) {
    let plan = &*bridge.plan;
    let listener = plan.listener(arrival.listener);
    let upstream_id = listener.routes[arrival.route].upstream;
    let upstream = bridge.observer.upstream(upstream_id.0).clone();
    // Before what the peer was judged by moves on.
    let header = plan.upstream(upstream_id).proxy_header.then(|| arrival.proxy_header().encode());
    let (route, footing) = ((arrival.listener, arrival.route), Footing::new(arrival.standing, arrival.judged.take()));
    let ticket = enter(bridge, (route, upstream_id), arrival.peer, arrival.server_name.as_deref(), footing);
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
    let alpn = arrival.alpn.clone().or_else(|| dialled.alpn.clone());
    attempt.facts().alpn.clone_from(&alpn);
    bridge.contraction.connected(&ticket, FarSide { footing: dialled.footing, alpn: alpn.clone() });
    // Nobody is let through to, or from, whom the latest trust does not know.
    if let Some(order) = ticket.connection().decided() {
        arrival.stream.abort();
        dialled.stream.abort();
        return match order.side {
            Side::Dialled => attempt.fail_dial(&upstream, order.failure(), &text(&order.close)),
            Side::Accepted | Side::Both => attempt.fail(order.failure(), &text(&order.close)),
        };
    }
    if let Some(header) = header {
        let written = timeout(plan.timeouts.connect, dialled.stream.write_all(&header)).await;
        let Ok(Ok(())) = written else {
            arrival.stream.abort();
            return attempt.fail_dial(&upstream, HandshakeFailure::Unreachable, "gone before its first byte");
        };
    }
    admitted.handshake_done();
    let record = match &dialled.pooled {
        Some(_) => attempt.carried(&upstream),
        None => attempt.established(&upstream, dialled_in),
    };
    record.traffic().stream();
    ticket.connection().established(record.traffic().clone());
    let splice = Splice {
        accepted: arrival.stream,
        dialled: dialled.stream,
        alpn,
        traffic: record.traffic().clone(),
        idle_timeout: listener.idle_timeout,
        close_grace: plan.timeouts.close_grace,
    };
    let end = splice.run(&ticket, dialled.pooled.as_ref().map(|(pooled, _)| &pooled.ticket)).await;
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

/// The far side of an arrival.
struct FarStream {
    stream: ByteStream,
    alpn: Option<Vec<u8>>,
    footing: Footing,
    /// The connection that the stream is one of, and its place there.
    pooled: Option<(Arc<Pooled>, Item)>,
}

impl From<DialledStream> for FarStream {
    fn from(dialled: DialledStream) -> Self {
        let footing = Footing::new(dialled.standing, dialled.judged);
        Self { stream: dialled.stream, alpn: dialled.alpn, footing, pooled: None }
    }
}

impl From<Leased> for FarStream {
    fn from(leased: Leased) -> Self {
        // What a pooled connection stands on is its own entry's.
        let (footing, pooled) = (Footing::default(), Some((leased.pooled, leased.item)));
        Self { stream: leased.stream, alpn: leased.alpn, footing, pooled }
    }
}

async fn dial(
    bridge: &Arc<Bridge>,
    to: UpstreamId,
    arrival: &StreamArrival,
    ticket: &Ticket,
) -> Result<FarStream, NotDialled> {
    let alpn: Vec<_> = arrival.alpn.iter().cloned().collect();
    let request = StreamRequest { server_name: arrival.server_name.as_deref(), alpn: &alpn };
    let dialled = async {
        match bridge.plan.upstream(to).end.unit() {
            Unit::Stream => bridge.dialer.dial_stream(to, &request).await.map(FarStream::from),
            Unit::Session => {
                let route = (arrival.listener, arrival.route);
                bridge.pools.lease(bridge, to, route).await.map(FarStream::from)
            }
        }
    };
    tokio::select! { biased;
        order = ticket.ordered() => Err(NotDialled::Ordered(order.clone())),
        error = arrival.stream.broken() => {
            Err(NotDialled::ArrivalGone(format!("gone before the upstream was there: {error}")))
        }
        dialled = dialled => dialled.map_err(NotDialled::Failed),
    }
}
