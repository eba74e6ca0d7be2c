//! `quic+plaintext://`: QUIC without TLS, from a component.

use std::{io, net::SocketAddr};

use iris_loopback::{Listener, Pending};

use super::{Arrival, ArrivalEnd, socket_of};
use crate::{
    observe::labels::HandshakeFailure,
    plan::{ListenerId, Plan},
    tls::{Alert, Standing},
};

/// A bound `quic+plaintext://` listener.
pub struct LoopbackListener {
    /// Its position in the plan.
    pub id: ListenerId,
    listener: Listener,
}

/// A component that was refused before anything was dialled.
#[derive(Debug)]
pub struct Refused {
    /// The component's address.
    pub peer: SocketAddr,
    /// What it is counted under.
    pub reason: HandshakeFailure,
    /// What happened; the component reads it as well.
    pub detail: String,
}

impl LoopbackListener {
    /// Binds the listener on the runtime of the caller, which will drive its socket.
    ///
    /// # Errors
    ///
    /// The socket cannot be bound, or is not loopback and need not be anything else.
    pub fn bind(plan: &Plan, id: ListenerId) -> io::Result<Self> {
        let address = socket_of(plan.listener(id))?;
        let listener =
            Listener::bind_with(address, plan.development.allow_remote_plaintext, plan.transport.socket_buffer)?;
        Ok(Self { id, listener })
    }

    /// The address that it is bound to.
    ///
    /// # Errors
    ///
    /// The socket is gone.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// The next attempt, not yet answered; `None` when the endpoint is closed.
    pub async fn accept(&self) -> Option<Pending> {
        self.listener.accept().await
    }

    /// The endpoint below.
    pub fn endpoint(&self) -> &quinn::Endpoint {
        self.listener.endpoint()
    }

    /// Reads where a component wants to go. It is answered only when that is known to work.
    ///
    /// # Errors
    ///
    /// Its hello is not in its first datagram, or no route fits. It has been refused with the reason.
    pub fn read(&self, plan: &Plan, pending: Pending) -> Result<Arrival, Refused> {
        let peer = pending.remote_address();
        let (hello, limits) = match (pending.hello(), pending.limits()) {
            (Ok(hello), Some(limits)) => (hello.clone(), *limits),
            (Err(error), _) => {
                return Err(refuse(pending, HandshakeFailure::Protocol, format!("unreadable hello: {error}")));
            }
            (Ok(_), None) => {
                return Err(refuse(pending, HandshakeFailure::Protocol, "a hello without transport parameters".into()));
            }
        };
        let listener = plan.listener(self.id);
        let Some((route, _)) = listener.route_for(hello.server_name.as_deref()) else {
            let detail = match &hello.server_name {
                Some(name) => format!("no route of listener {} fits server name {name:?}", listener.name),
                None => format!("no route of listener {} fits a component that asks for no name", listener.name),
            };
            return Err(refuse(pending, HandshakeFailure::NoRoute, detail));
        };
        Ok(Arrival {
            listener: self.id,
            route,
            peer,
            local: None,
            server_name: hello.server_name,
            alpn: hello.alpn,
            destination: hello.destination,
            limits,
            standing: Standing::default(),
            judged: None,
            identity: None,
            end: ArrivalEnd::Held(Box::new(pending)),
        })
    }
}

/// Refuses a component with a code and words that its connect fails with at once.
pub fn refuse(pending: Pending, reason: HandshakeFailure, detail: String) -> Refused {
    let peer = pending.remote_address();
    pending.refuse(code(reason), &format!("iris: {detail}"));
    Refused { peer, reason, detail }
}

/// The transport error code of a refusal (RFC 9000 section 20.1): the TLS alert that the far side's peer would have
/// meant, where there is one, so that a component's own error handling sees what it would see with TLS.
fn code(reason: HandshakeFailure) -> u64 {
    let alert = match reason {
        HandshakeFailure::UnknownIssuer => Alert::UNKNOWN_CA,
        HandshakeFailure::NameMismatch | HandshakeFailure::BadCertificate => Alert::BAD_CERTIFICATE,
        HandshakeFailure::Expired | HandshakeFailure::NotYetValid => Alert::CERTIFICATE_EXPIRED,
        HandshakeFailure::Revoked => Alert::CERTIFICATE_REVOKED,
        HandshakeFailure::NoClientCertificate => Alert::CERTIFICATE_REQUIRED,
        HandshakeFailure::NameNotAllowed | HandshakeFailure::DestinationNotAllowed => Alert::ACCESS_DENIED,
        HandshakeFailure::NoAlpn => Alert::NO_APPLICATION_PROTOCOL,
        HandshakeFailure::NoRoute => Alert::UNRECOGNIZED_NAME,
        HandshakeFailure::NotReady
        | HandshakeFailure::Timeout
        | HandshakeFailure::Version
        | HandshakeFailure::Limit
        | HandshakeFailure::Protocol
        | HandshakeFailure::Unreachable => return CONNECTION_REFUSED,
    };
    alert.code().into()
}

/// RFC 9000 section 20.1.
const CONNECTION_REFUSED: u64 = 0x2;
