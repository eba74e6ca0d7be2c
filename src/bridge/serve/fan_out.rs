//! An arrival that is a session, carried to an upstream that takes streams: each bidirectional stream is a connection
//! there.

use std::{sync::Arc, time::Instant};

use quinn::ConnectionError;
use tokio::{io::AsyncWriteExt, time::timeout};

use super::{Bridge, enter, text};
use crate::{
    bridge::{PairEnd, splice::Splice, work::Work},
    dial::{DialledStream, StreamRequest},
    listen::{Arrival, ArrivalEnd},
    live::{Admitted, Footing, Ticket},
    observe::{
        Attempt, Component, Side, Traffic,
        labels::{Direction, HandshakeFailure},
    },
    plan::UpstreamId,
    transport::{
        ByteStream, Code, RecvHalf, SendHalf, Session,
        config::{StreamLimits, connection_window},
    },
};

/// Takes the streams of an arrival until it has gone, and carries each to a connection of its own. `admitted` is its room,
/// which it gives back at the end.
pub(super) async fn serve_fan_out(
    bridge: &Arc<Bridge>,
    mut arrival: Arrival,
    attempt: Attempt,
    mut admitted: Admitted,
) {
    let plan = &*bridge.plan;
    let upstream_id = plan.listener(arrival.listener).routes[arrival.route].upstream;
    let upstream = bridge.observer.upstream(upstream_id.0).clone();
    // Before what the peer was judged by moves on.
    let header = plan.upstream(upstream_id).proxy_header.then(|| arrival.proxy_header().encode());
    let ArrivalEnd::Established(session) = arrival.end else {
        // A plan leads no component here.
        return attempt.refuse(HandshakeFailure::Protocol, "the upstream is not for a session");
    };
    let (route, footing) = ((arrival.listener, arrival.route), Footing::new(arrival.standing, arrival.judged.take()));
    let ticket = enter(bridge, (route, upstream_id), arrival.peer, arrival.server_name.as_deref(), footing);
    if let Some(order) = ticket.connection().decided() {
        session.close(&order.close);
        return attempt.fail(order.failure(), &text(&order.close));
    }
    admitted.handshake_done();
    let record = attempt.carried(&upstream);
    ticket.connection().established(record.traffic().clone());
    let limits = StreamLimits { bidi: plan.limits.streams, uni: StreamLimits::INITIAL.uni };
    session.permit_streams(limits.bidi, limits.uni, connection_window(limits, plan.limits.stream_window));
    let fan = Arc::new(Fan {
        bridge: bridge.clone(),
        upstream_id,
        upstream,
        server_name: arrival.server_name,
        alpn: arrival.alpn,
        header,
        traffic: record.traffic().clone(),
        ticket,
        work: Work::default(),
    });
    let end = tokio::select! { biased;
        order = fan.ticket.ordered() => {
            session.close(&order.close);
            PairEnd::Ordered(order.clone())
        }
        error = fan.clone().take(&session) => {
            // What was sent before the close is still on its way.
            let _ = timeout(plan.timeouts.close_grace, fan.work.idle()).await;
            PairEnd::Closed { side: Side::Accepted, error }
        }
    };
    record.end(end.ending());
}

/// What the streams of one session share.
struct Fan {
    bridge: Arc<Bridge>,
    upstream_id: UpstreamId,
    upstream: Arc<Component>,
    server_name: Option<String>,
    alpn: Vec<Vec<u8>>,
    /// What a component is told in front of each stream.
    header: Option<Vec<u8>>,
    traffic: Arc<Traffic>,
    ticket: Ticket,
    work: Work,
}

impl Fan {
    /// Takes streams until the session has ended. What has no place at the upstream is refused: unidirectional streams are
    /// stopped, datagrams dropped and counted.
    async fn take(self: Arc<Self>, session: &Session) -> ConnectionError {
        let uni = async {
            loop {
                match session.accept_uni().await {
                    Ok(mut recv) => recv.stop(Code::NoRoute.number().into()),
                    Err(error) => break error,
                }
            }
        };
        let datagrams = async {
            while session.read_datagram().await.is_ok() {
                self.traffic.datagram_dropped(Direction::Upstream);
            }
            std::future::pending::<()>().await;
        };
        let bidi = async {
            loop {
                let (send, recv) = match session.accept_bi().await {
                    Ok(stream) => stream,
                    Err(error) => break error,
                };
                let (fan, item) = (self.clone(), self.work.begin());
                self.bridge.tasks.spawn(async move {
                    fan.carry(send, recv).await;
                    drop(item);
                });
            }
        };
        tokio::select! { error = uni => error, () = datagrams => session.closed().await, error = bidi => error }
    }

    async fn carry(&self, send: SendHalf, recv: RecvHalf) {
        let stream = ByteStream::Quic(send, recv);
        let plan = &self.bridge.plan;
        let dialled = match self.dial(&stream).await {
            Ok(dialled) => dialled,
            Err(reason) => {
                self.upstream.handshake_failed(reason);
                return stream.abort();
            }
        };
        self.traffic.stream();
        let splice = Splice {
            accepted: stream,
            dialled: dialled.stream,
            alpn: None,
            traffic: self.traffic.clone(),
            idle_timeout: None,
            close_grace: plan.timeouts.close_grace,
        };
        splice.run(&self.ticket, None).await;
    }

    async fn dial(&self, stream: &ByteStream) -> Result<DialledStream, HandshakeFailure> {
        let request = StreamRequest { server_name: self.server_name.as_deref(), alpn: &self.alpn };
        let began = Instant::now();
        let mut dialled = tokio::select! { biased;
            order = self.ticket.ordered() => return Err(order.failure()),
            _ = stream.broken() => return Err(HandshakeFailure::Protocol),
            dialled = self.bridge.dialer.dial_stream(self.upstream_id, &request) => {
                dialled.map_err(|error| error.reason)?
            }
        };
        self.upstream.connected_in(began.elapsed());
        if let Some(header) = &self.header {
            let written = timeout(self.bridge.plan.timeouts.connect, dialled.stream.write_all(header)).await;
            written.map_err(|_| HandshakeFailure::Timeout)?.map_err(|_| HandshakeFailure::Unreachable)?;
        }
        Ok(dialled)
    }
}
