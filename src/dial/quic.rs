//! `quic://`: QUIC v1 with TLS.

use std::{
    io,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use quinn::{ClientConfig, Connection, Endpoint, EndpointConfig, TokioRuntime};
use tokio::time::{Instant, sleep, timeout};

use super::{
    DialRequest, Dialled, Failure,
    resolve::{addresses, destination, share},
};
use crate::{
    observe::labels::HandshakeFailure,
    plan::{Destination, HostPort, Plan},
    tls::{self, Judged, UpstreamConfigs},
    transport::{Session, config::secured, socket::bind_udp},
};

/// The sockets that one worker dials secured peers from.
pub(super) struct QuicDialer {
    v4: Endpoint,
    /// Absent where the machine has no IPv6.
    v6: Option<Endpoint>,
}

impl QuicDialer {
    pub(super) fn open(plan: &Plan) -> io::Result<Self> {
        let open = |address: SocketAddr| {
            let socket = bind_udp(address, plan.transport.socket_buffer)?;
            Endpoint::new(EndpointConfig::default(), None, socket, Arc::new(TokioRuntime))
        };
        Ok(Self { v4: open((Ipv4Addr::UNSPECIFIED, 0).into())?, v6: open((Ipv6Addr::UNSPECIFIED, 0).into()).ok() })
    }

    pub(super) async fn dial(
        &self,
        plan: &Plan,
        to: &Destination,
        configs: &UpstreamConfigs,
        request: &DialRequest<'_>,
    ) -> Result<Dialled, Failure> {
        let to = destination(to, request.destination)?;
        let name = configs.server_name(request.server_name).ok_or_else(|| {
            (HandshakeFailure::NameMismatch, "server_name is `requested`, and none was asked for".into())
        })?;
        let deadline = Instant::now() + plan.timeouts.connect;
        let candidates = addresses(&to).await?;
        let mut first_failure = None;
        for (index, address) in candidates.iter().enumerate() {
            let time = share(deadline.saturating_duration_since(Instant::now()), candidates.len() - index);
            match self.attempt(plan, *address, name, configs, request, time).await {
                Ok(dialled) => return Ok(dialled),
                // The first says most: later ones are fallbacks.
                Err((reason, detail)) => {
                    first_failure.get_or_insert((reason, format!("{}: {detail}", place(&to, *address))))
                }
            };
        }
        Err(first_failure.unwrap_or_else(|| (HandshakeFailure::Unreachable, format!("{to} has no address"))))
    }

    async fn attempt(
        &self,
        plan: &Plan,
        address: SocketAddr,
        name: &str,
        configs: &UpstreamConfigs,
        request: &DialRequest<'_>,
        time: Duration,
    ) -> Result<Dialled, Failure> {
        let endpoint = match (address, &self.v6) {
            (SocketAddr::V4(_), _) => &self.v4,
            (SocketAddr::V6(_), Some(v6)) => v6,
            (SocketAddr::V6(_), None) => return Err((HandshakeFailure::Unreachable, "no IPv6 here".into())),
        };
        let (crypto, outcome) = configs.dial(request.alpn);
        let mut config = ClientConfig::new(crypto);
        config.transport_config(secured(plan, request.streams));
        let connecting = endpoint
            .connect_with(config, address, name)
            .map_err(|error| (HandshakeFailure::Unreachable, error.to_string()))?;
        let connected = async {
            let connection = connecting.await?;
            // A server judges our certificate after its own part is done, and says no on what looks like a live
            // connection: only its confirmation means that we are in (RFC 9001 section 4.1.2).
            if configs.standing().identity.is_some() {
                confirmed(&connection).await?;
            }
            Ok(connection)
        };
        let connection = match timeout(time, connected).await {
            Ok(Ok(connection)) => connection,
            Ok(Err(error)) => return Err((tls::classify(&error, outcome.failure()), describe(&error))),
            Err(_) => return Err((HandshakeFailure::Timeout, format!("no answer in {time:.1?}"))),
        };
        let Some(limits) = outcome.limits() else {
            return Err((HandshakeFailure::Protocol, "complete without transport parameters".into()));
        };
        let judged = outcome.judged_at().and_then(|at| Some(Judged { chain: tls::chain_of(&connection)?, at }));
        Ok(Dialled {
            session: Session::from(connection),
            address,
            alpn: outcome.alpn(),
            limits,
            standing: outcome.standing,
            judged,
        })
    }

    pub(super) async fn idle(&self) {
        self.v4.wait_idle().await;
        if let Some(v6) = &self.v6 {
            v6.wait_idle().await;
        }
    }
}

/// The destination, and its address where that says more.
pub(super) fn place(to: &HostPort, address: SocketAddr) -> String {
    let (to, address) = (to.to_string(), address.to_string());
    if to == address { to } else { format!("{to} at {address}") }
}

/// Completes when the server has confirmed the handshake.
pub(crate) async fn confirmed(connection: &Connection) -> Result<(), quinn::ConnectionError> {
    // quinn has no event for it, but counts the frame. It comes one round trip after the end of our own part.
    let mut pause = Duration::from_millis(1);
    while connection.stats().frame_rx.handshake_done == 0 {
        tokio::select! {
            error = connection.closed() => return Err(error),
            () = sleep(pause) => pause = (pause * 2).min(Duration::from_millis(20)),
        }
    }
    connection.close_reason().map_or(Ok(()), Err)
}

/// The error with the peer's own words, where it has some.
fn describe(error: &quinn::ConnectionError) -> String {
    match error {
        quinn::ConnectionError::ConnectionClosed(close) if !close.reason.is_empty() => {
            format!("refused by peer: {} ({})", String::from_utf8_lossy(&close.reason), close.error_code)
        }
        other => other.to_string(),
    }
}
