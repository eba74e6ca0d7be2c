//! Accepting: the configuration is chosen when the ClientHello is there.

use std::{
    any::Any,
    sync::{Arc, OnceLock},
};

use iris_loopback::PeerLimits;
use quinn::crypto::rustls::QuicServerConfig;
use quinn_proto::{
    ConnectionId, Side, TransportError,
    crypto::{
        ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey, ServerConfig, Session, UnsupportedVersion,
    },
    transport_parameters::TransportParameters,
};
use rustls::pki_types::UnixTime;

use super::{
    Learned, VERSION,
    hello::{HelloBuffer, Offer},
};
use crate::{
    observe::labels::HandshakeFailure,
    tls::{
        alert::Alert,
        listener::{Chosen, ListenerConfigs},
        server,
    },
};

/// The crypto of one accepted connection, and what will be known of it.
pub fn accept(configs: &Arc<ListenerConfigs>) -> (Arc<dyn ServerConfig>, Arc<AcceptOutcome>) {
    let outcome = Arc::new(AcceptOutcome::default());
    (Arc::new(Accepting { configs: Some(configs.clone()), outcome: outcome.clone() }), outcome)
}

/// Crypto for an endpoint as such: it reads Initial packets and signs Retry, shows no certificate, and refuses every
/// handshake. Each connection is accepted with its own.
pub fn initial_only() -> Arc<dyn ServerConfig> {
    Arc::new(Accepting { configs: None, outcome: Arc::default() })
}

/// What became of one accepted connection's handshake.
#[derive(Debug, Default)]
pub struct AcceptOutcome {
    chosen: OnceLock<Chosen>,
    learned: Learned,
}

impl AcceptOutcome {
    /// What was chosen, once the ClientHello was read.
    pub fn chosen(&self) -> Option<&Chosen> {
        self.chosen.get()
    }

    /// Why the handshake failed, where that was our verdict.
    pub fn failure(&self) -> Option<HandshakeFailure> {
        self.learned.failure.get().copied()
    }

    /// As of when the peer's chain was judged, once it was found good. `None` where no verifier was asked.
    pub fn judged_at(&self) -> Option<UnixTime> {
        self.learned.judged_at.get().copied()
    }

    /// What the peer allows from the start.
    pub fn limits(&self) -> Option<PeerLimits> {
        self.learned.limits.get().copied()
    }
}

struct Accepting {
    /// `None`: nobody is let in.
    configs: Option<Arc<ListenerConfigs>>,
    outcome: Arc<AcceptOutcome>,
}

/// The part that all handshakes share before a configuration is chosen.
fn blank() -> &'static Arc<QuicServerConfig> {
    static BLANK: OnceLock<Arc<QuicServerConfig>> = OnceLock::new();
    BLANK.get_or_init(|| server::blank().expect("the provider has TLS 1.3 and the suite of Initial packets"))
}

impl ServerConfig for Accepting {
    fn initial_keys(&self, version: u32, dst_cid: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        if version == VERSION { blank().initial_keys(version, dst_cid) } else { Err(UnsupportedVersion) }
    }

    fn retry_tag(&self, version: u32, orig_dst_cid: &ConnectionId, packet: &[u8]) -> [u8; 16] {
        blank().retry_tag(version, orig_dst_cid, packet)
    }

    fn start_session(self: Arc<Self>, version: u32, parameters: &TransportParameters) -> Box<dyn Session> {
        Box::new(AcceptSession {
            accepting: self,
            version,
            state: State::Hello(Box::new(Hello { buffer: HelloBuffer::default(), parameters: *parameters })),
        })
    }
}

struct AcceptSession {
    accepting: Arc<Accepting>,
    version: u32,
    state: State,
}

enum State {
    /// The ClientHello is not whole yet.
    Hello(Box<Hello>),
    Running(Box<dyn Session>),
    Failed,
}

struct Hello {
    buffer: HelloBuffer,
    /// Our own, for the session that goes on.
    parameters: TransportParameters,
}

impl AcceptSession {
    fn running(&self) -> Option<&dyn Session> {
        match &self.state {
            State::Running(session) => Some(&**session),
            State::Hello(..) | State::Failed => None,
        }
    }

    fn refuse(&self, failure: HandshakeFailure, alert: Alert, reason: &str) -> TransportError {
        self.accepting.outcome.learned.fail(failure);
        TransportError { code: alert.code(), frame: None, reason: reason.to_owned() }
    }

    /// quinn's session for what the peer offered.
    fn choose(&self, offer: &Offer, parameters: &TransportParameters) -> Result<Box<dyn Session>, TransportError> {
        let accepting = &*self.accepting;
        let Some(configs) = &accepting.configs else {
            let reason = "nobody is let in";
            return Err(self.refuse(HandshakeFailure::NotReady, Alert::HANDSHAKE_FAILURE, reason));
        };
        let alpn: Option<Vec<&[u8]>> = offer.alpn.as_ref().map(|all| all.iter().map(Vec::as_slice).collect());
        match configs.choose(offer.server_name.as_deref(), alpn.as_deref()) {
            Ok((chosen, config)) => {
                let quic = config.quic.clone().ok_or_else(|| {
                    self.refuse(HandshakeFailure::NotReady, Alert::HANDSHAKE_FAILURE, "nothing for QUIC")
                })?;
                accepting.outcome.chosen.get_or_init(|| chosen);
                Ok(quic.start_session(self.version, parameters))
            }
            Err(refused) => Err(self.refuse(refused.failure, refused.alert, refused.reason)),
        }
    }
}

impl Session for AcceptSession {
    fn initial_keys(&self, dst_cid: &ConnectionId, _side: Side) -> Keys {
        blank().initial_keys(self.version, dst_cid).unwrap_or_else(|UnsupportedVersion| {
            unreachable!("a session starts only for a version whose Initial keys were made")
        })
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        self.running()?.handshake_data()
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        self.running()?.peer_identity()
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        // Never: what comes early comes before the client is authenticated.
        None
    }

    fn early_data_accepted(&self) -> Option<bool> {
        None
    }

    fn is_handshaking(&self) -> bool {
        self.running().is_none_or(Session::is_handshaking)
    }

    fn read_handshake(&mut self, bytes: &[u8]) -> Result<bool, TransportError> {
        match std::mem::replace(&mut self.state, State::Failed) {
            State::Running(mut session) => {
                let result = self.accepting.outcome.learned.read(&mut *session, bytes);
                self.state = State::Running(session);
                result
            }
            State::Hello(mut hello) => match hello.buffer.push(bytes) {
                Ok(None) => {
                    self.state = State::Hello(hello);
                    Ok(false)
                }
                Ok(Some(offer)) => {
                    let mut session = self.choose(&offer, &hello.parameters)?;
                    let result = self.accepting.outcome.learned.read(&mut *session, &hello.buffer.into_bytes());
                    self.state = State::Running(session);
                    result
                }
                Err((alert, reason)) => Err(self.refuse(alert.failure(), alert, reason)),
            },
            State::Failed => Err(self.refuse(HandshakeFailure::Protocol, Alert::UNEXPECTED_MESSAGE, "refused before")),
        }
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        self.running().map_or(Ok(None), Session::transport_parameters)
    }

    fn write_handshake(&mut self, out: &mut Vec<u8>) -> Option<Keys> {
        match &mut self.state {
            State::Running(session) => session.write_handshake(out),
            State::Hello(..) | State::Failed => None,
        }
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        match &mut self.state {
            State::Running(session) => session.next_1rtt_keys(),
            State::Hello(..) | State::Failed => None,
        }
    }

    fn is_valid_retry(&self, _orig_dst_cid: &ConnectionId, _header: &[u8], _payload: &[u8]) -> bool {
        // Servers send Retry and get none.
        false
    }

    fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        self.running().ok_or(ExportKeyingMaterialError)?.export_keying_material(output, label, context)
    }
}
