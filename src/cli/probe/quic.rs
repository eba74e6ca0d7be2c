//! `quic://`: QUIC v1 with TLS 1.3.

use std::{
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
    time::Instant,
};

use quinn::{ClientConfig, ConnectionError, Endpoint, EndpointConfig, TokioRuntime, TransportErrorCode, VarInt};

use tokio::time::timeout;

use super::{
    attempt::{PARTING, Seen, Task},
    failure::{Failure, Reason, Step},
};
use crate::{
    dial::quic::confirmed,
    tls::Alert,
    transport::{
        config::{StreamLimits, secured},
        socket::bind_udp,
    },
};

/// One handshake, up to the server's confirmation: before it a client certificate may still be refused (RFC 9001
/// section 4.1.2).
pub(super) async fn attempt(task: &Task, address: SocketAddr, seen: &mut Seen) -> Result<(), Failure> {
    seen.step = Step::Connect;
    let system = |error: &dyn std::fmt::Display| Failure::new(Reason::System, Step::Connect, error.to_string());
    let any: SocketAddr =
        if address.is_ipv4() { (Ipv4Addr::UNSPECIFIED, 0).into() } else { (Ipv6Addr::UNSPECIFIED, 0).into() };
    let socket = bind_udp(any, task.plan.transport.socket_buffer).map_err(|error| system(&error))?;
    let endpoint = Endpoint::new(EndpointConfig::default(), None, socket, Arc::new(TokioRuntime))
        .map_err(|error| system(&error))?;
    let (crypto, shown) = task.probing.quic().map_err(|error| system(&error))?;
    seen.shown = shown;
    let mut config = ClientConfig::new(crypto);
    config.transport_config(secured(&task.plan, StreamLimits::INITIAL));
    seen.step = Step::Handshake;
    let began = Instant::now();
    let connecting = endpoint
        .connect_with(config, address, &task.name.to_str())
        .map_err(|error| Failure::new(Reason::Unreachable, Step::Connect, error.to_string()))?;
    let connection = connecting.await.map_err(|error| failure(&error, seen))?;
    seen.handshake = Some(began.elapsed());
    seen.version = Some("TLSv1.3");
    let data =
        connection.handshake_data().and_then(|data| data.downcast::<quinn::crypto::rustls::HandshakeData>().ok());
    seen.alpn = data.and_then(|data| data.protocol);
    seen.step = Step::Confirm;
    let result = confirmed(&connection).await.map_err(|error| failure(&error, seen));
    seen.confirm = Some(began.elapsed() - seen.handshake.unwrap_or_default());
    connection.close(VarInt::from_u32(0), b"probe");
    // For the sake of the server's log: nothing is lost when it cannot be said.
    let _ = timeout(PARTING, endpoint.wait_idle()).await;
    result
}

fn failure(error: &ConnectionError, seen: &Seen) -> Failure {
    if let Some(refusal) = seen.shown.refusal() {
        return Failure::refused(refusal);
    }
    let step = seen.step;
    match error {
        ConnectionError::ConnectionClosed(close) => match Alert::of_code(close.error_code) {
            Some(Alert(alert)) => Failure::alert(alert, seen.shown.asked_for_certificate(), step),
            None if close.error_code == TransportErrorCode::CONNECTION_REFUSED => {
                let found = "the server is there and takes no connection (CONNECTION_REFUSED)";
                Failure::new(Reason::Unreachable, step, found)
            }
            None => Failure::new(Reason::Protocol, step, close.to_string()),
        },
        ConnectionError::TransportError(error) if error.code == Alert::NO_APPLICATION_PROTOCOL.code() => {
            Failure::new(Reason::Alpn, step, "the server chose none of those offered")
        }
        ConnectionError::VersionMismatch => {
            Failure::new(Reason::Protocol, step, "the server speaks other versions of QUIC than 1")
        }
        ConnectionError::TimedOut => Failure::new(Reason::Timeout, step, "the server stopped answering"),
        ConnectionError::ApplicationClosed(close) => {
            Failure::new(Reason::Protocol, step, format!("the server closed the connection at once: {close}"))
        }
        other => Failure::new(Reason::Protocol, step, other.to_string()),
    }
}
