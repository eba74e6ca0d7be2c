//! `quic://`: QUIC v1 with TLS, any application protocol or none.

use std::{io, net::SocketAddr, sync::Arc};

use quinn::{Endpoint, EndpointConfig, Incoming, ServerConfig, TokioRuntime, TransportConfig};
use tokio::time::timeout;

use super::{Arrival, ArrivalEnd, socket_of};
use crate::{
    observe::labels::HandshakeFailure,
    plan::{ListenerId, Plan},
    tls::{self, Judged, ListenerConfigs, PeerIdentity},
    transport::{
        Session,
        config::{StreamLimits, secured},
        socket::bind_udp,
    },
};

/// A bound `quic://` listener.
#[derive(Debug)]
pub struct QuicListener {
    /// Its position in the plan.
    pub id: ListenerId,
    endpoint: Endpoint,
    template: ServerConfig,
    transport: Arc<TransportConfig>,
}

/// A handshake that came to nothing.
#[derive(Debug)]
pub struct Refused {
    /// What it is counted under.
    pub reason: HandshakeFailure,
    /// What happened.
    pub detail: String,
}

impl QuicListener {
    /// Binds the listener on the runtime of the caller, which will drive its socket.
    ///
    /// `template` is a configuration that shows no certificate. One for the process: its token key must outlive every
    /// reload, or a client that was asked to prove its address fails the handshake (RFC 9000 section 8.1.2).
    ///
    /// # Errors
    ///
    /// The socket cannot be bound.
    pub fn bind(plan: &Plan, id: ListenerId, template: &ServerConfig) -> io::Result<Self> {
        let socket = bind_udp(socket_of(plan.listener(id))?, plan.transport.socket_buffer)?;
        let transport = secured(plan, StreamLimits::INITIAL);
        let mut template = template.clone();
        template.max_incoming(plan.limits.handshakes).transport_config(transport.clone());
        let endpoint =
            Endpoint::new(EndpointConfig::default(), Some(template.clone()), socket, Arc::new(TokioRuntime))?;
        Ok(Self { id, endpoint, template, transport })
    }

    /// The address that it is bound to.
    ///
    /// # Errors
    ///
    /// The socket is gone.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.endpoint.local_addr()
    }

    /// The next attempt, not yet answered; `None` when the endpoint is closed.
    pub async fn accept(&self) -> Option<Incoming> {
        self.endpoint.accept().await
    }

    /// The address that a connection reached: the machine tells the address, the socket the port.
    fn local(&self, connection: &quinn::Connection) -> Option<SocketAddr> {
        let bound = self.endpoint.local_addr().ok()?;
        Some(SocketAddr::new(connection.local_ip().unwrap_or(bound.ip()), bound.port()))
    }

    /// The endpoint below.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Carries the handshake through under the configurations of now. Runs on the worker that will own the connection.
    ///
    /// # Errors
    ///
    /// The peer fails it, or takes longer than `timeouts.handshake`.
    pub async fn handshake(
        &self,
        plan: &Plan,
        configs: &Arc<ListenerConfigs>,
        incoming: Incoming,
    ) -> Result<Arrival, Refused> {
        let (crypto, outcome) = tls::accept(configs);
        let mut config = self.template.clone();
        config.crypto = crypto;
        config.transport = self.transport.clone();
        let failed = |error: &quinn::ConnectionError| Refused {
            reason: tls::classify(error, outcome.failure()),
            detail: error.to_string(),
        };
        let connecting = incoming.accept_with(Arc::new(config)).map_err(|error| failed(&error))?;
        let connection = match timeout(plan.timeouts.handshake, connecting).await {
            Ok(Ok(connection)) => connection,
            Ok(Err(error)) => return Err(failed(&error)),
            Err(_) => {
                return Err(Refused {
                    reason: HandshakeFailure::Timeout,
                    detail: format!("not complete after {:?}", plan.timeouts.handshake),
                });
            }
        };
        let (Some(chosen), Some(limits)) = (outcome.chosen(), outcome.limits()) else {
            // No handshake completes before both are known.
            return Err(Refused { reason: HandshakeFailure::Protocol, detail: "complete without a choice".into() });
        };
        let identity = PeerIdentity::of(&connection);
        let judged = outcome.judged_at().zip(identity.as_ref());
        Ok(Arrival {
            listener: self.id,
            route: chosen.route,
            peer: connection.remote_address(),
            local: self.local(&connection),
            server_name: chosen.server_name.clone(),
            alpn: chosen.alpn.iter().cloned().collect(),
            destination: None,
            limits,
            standing: chosen.standing,
            judged: judged.map(|(at, identity)| Judged { chain: identity.chain.clone(), at }),
            identity,
            end: ArrivalEnd::Established(Session::from(connection)),
        })
    }
}
