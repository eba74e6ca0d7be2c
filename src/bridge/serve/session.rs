//! An arrival that is a session, carried to an upstream that is one.

use std::{sync::Arc, time::Instant};

use iris_loopback::Answer;
use tokio::time::timeout;

use super::{Bridge, enter, fan_out::serve_fan_out, not_dialled, text};
use crate::{
    bridge::Pair,
    dial::{DialError, DialRequest, Dialled},
    listen::{Arrival, ArrivalEnd, loopback::refuse},
    live::{Admitted, FarSide, Footing, Order, Ticket},
    observe::{Attempt, Side, labels::HandshakeFailure},
    plan::{Limits, Plan, Unit, UpstreamId},
    tls,
    transport::{
        Close, Code, Session,
        config::{StreamLimits, connection_window, loopback},
    },
};

/// Carries an arrival to its upstream and relays until one of them has enough. `admitted` is its room, which it gives
/// back at the end.
pub async fn serve(bridge: &Arc<Bridge>, mut arrival: Arrival, mut attempt: Attempt, mut admitted: Admitted) {
    let plan = &*bridge.plan;
    let upstream_id = plan.listener(arrival.listener).routes[arrival.route].upstream;
    if plan.upstream(upstream_id).end.unit() == Unit::Stream {
        return serve_fan_out(bridge, arrival, attempt, admitted).await;
    }
    let upstream = bridge.observer.upstream(upstream_id.0).clone();
    let (route, footing) = ((arrival.listener, arrival.route), Footing::new(arrival.standing, arrival.judged.take()));
    let ticket = enter(bridge, (route, upstream_id), arrival.peer, arrival.server_name.as_deref(), footing);
    let began = Instant::now();
    let mut dialled = match dial(bridge, upstream_id, &arrival, &ticket).await {
        Ok(dialled) => dialled,
        Err(NotDialled::ArrivalGone(why)) => return attempt.fail(HandshakeFailure::Protocol, &why),
        Err(NotDialled::Ordered(order)) => {
            turn_away(arrival, order.failure(), &order.close);
            return attempt.fail(order.failure(), &text(&order.close));
        }
        Err(NotDialled::Failed(error)) => {
            let reason = error.reason;
            match arrival.end {
                ArrivalEnd::Established(session) => session.close(&error.close()),
                ArrivalEnd::Held(pending) => drop(refuse(*pending, reason, error.to_string())),
            }
            return not_dialled(attempt, &upstream, reason, &error.detail);
        }
    };
    let dialled_in = began.elapsed();
    attempt.facts().alpn = dialled.alpn.clone();
    let footing = Footing::new(dialled.standing, dialled.judged.take());
    bridge.contraction.connected(&ticket, FarSide { footing, alpn: dialled.alpn.clone() });
    // Nobody is let through to, or from, whom the latest trust does not know.
    if let Some(order) = ticket.connection().decided() {
        dialled.session.close(&order.close);
        turn_away(arrival, order.failure(), &order.close);
        return match order.side {
            Side::Dialled => attempt.fail_dial(&upstream, order.failure(), &text(&order.close)),
            Side::Accepted | Side::Both => attempt.fail(order.failure(), &text(&order.close)),
        };
    }
    let accepted = match settle(plan, arrival, &dialled).await {
        Ok(accepted) => accepted,
        Err((reason, detail)) => {
            dialled.session.close(&Code::FarSideLost.close());
            return attempt.fail(reason, &detail);
        }
    };
    admitted.handshake_done();
    let record = attempt.established(&upstream, dialled_in);
    ticket.connection().established(record.traffic().clone());
    let pair = Pair {
        accepted,
        dialled: dialled.session,
        traffic: record.traffic().clone(),
        close_grace: plan.timeouts.close_grace,
    };
    let end = pair.run(&bridge.tasks, &ticket).await;
    record.end(end.ending());
}

enum NotDialled {
    ArrivalGone(String),
    Ordered(Order),
    Failed(DialError),
}

async fn dial(bridge: &Bridge, to: UpstreamId, arrival: &Arrival, ticket: &Ticket) -> Result<Dialled, NotDialled> {
    let limits = &arrival.limits;
    let request = DialRequest {
        server_name: arrival.server_name.as_deref(),
        alpn: &arrival.alpn,
        destination: arrival.destination.as_deref(),
        peer: arrival.info(),
        streams: mirror(limits, &bridge.plan.limits),
        datagram_size: arrival.datagram_size(),
    };
    tokio::select! { biased;
        order = ticket.ordered() => Err(NotDialled::Ordered(order.clone())),
        why = gone(&arrival.end) => Err(NotDialled::ArrivalGone(why)),
        dialled = bridge.dialer.dial(to, &request) => dialled.map_err(NotDialled::Failed),
    }
}

fn mirror(limits: &iris_loopback::PeerLimits, most: &Limits) -> StreamLimits {
    StreamLimits::mirroring(limits.bidi_streams, limits.uni_streams, most)
}

/// Completes when there is nobody left to dial for.
async fn gone(end: &ArrivalEnd) -> String {
    match end {
        ArrivalEnd::Established(session) => format!("gone before the upstream was there: {}", session.closed().await),
        // It waits for an answer and cannot say anything.
        ArrivalEnd::Held(_) => std::future::pending().await,
    }
}

/// Says no to an arrival, with a close of ours.
fn turn_away(arrival: Arrival, reason: HandshakeFailure, close: &Close) {
    match arrival.end {
        ArrivalEnd::Established(session) => session.close(close),
        ArrivalEnd::Held(pending) => drop(refuse(*pending, reason, text(close))),
    }
}

/// Brings the accepted side to what the far side permits.
async fn settle(plan: &Plan, arrival: Arrival, dialled: &Dialled) -> Result<Session, (HandshakeFailure, String)> {
    let far = mirror(&dialled.limits, &plan.limits);
    match arrival.end {
        ArrivalEnd::Established(session) => {
            // It was given the initial limits before the far side's were known.
            let limits = StreamLimits::INITIAL.raised_to(far);
            session.permit_streams(limits.bidi, limits.uni, connection_window(limits, plan.limits.stream_window));
            Ok(session)
        }
        ArrivalEnd::Held(pending) => {
            let answer = Answer { alpn: dialled.alpn.clone(), datagram_size: dialled.session.datagram_size().into() };
            let failed = |error: quinn::ConnectionError| (tls::classify(&error, None), format!("component: {error}"));
            let connecting = pending.accept(answer, loopback(plan, far)).map_err(failed)?;
            match timeout(plan.timeouts.handshake, connecting).await {
                Ok(connected) => connected.map(Session::from).map_err(failed),
                Err(_) => Err((HandshakeFailure::Timeout, "the component did not complete the handshake".into())),
            }
        }
    }
}
