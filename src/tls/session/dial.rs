//! Dialling: quinn's own session, watched.

use std::{
    any::Any,
    sync::{Arc, OnceLock},
};

use iris_loopback::PeerLimits;
use quinn::crypto::rustls::{HandshakeData, QuicClientConfig};
use quinn_proto::{
    ConnectError, ConnectionId, Side, TransportError,
    crypto::{ClientConfig, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey, Session},
    transport_parameters::TransportParameters,
};
use rustls::pki_types::UnixTime;

use super::{Learned, VERSION};
use crate::{
    observe::labels::HandshakeFailure,
    tls::{server::initial_suite, standing::Standing},
};

/// What became of one dial's handshake.
#[derive(Debug)]
pub struct DialOutcome {
    /// The generations that it stands on.
    pub standing: Standing,
    alpn: OnceLock<Option<Vec<u8>>>,
    learned: Learned,
}

impl DialOutcome {
    pub(in crate::tls) fn new(standing: Standing) -> Self {
        Self { standing, alpn: OnceLock::new(), learned: Learned::default() }
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

    /// The application protocol that the peer chose, once it has.
    pub fn alpn(&self) -> Option<Vec<u8>> {
        self.alpn.get().cloned().flatten()
    }
}

/// The crypto of one dial.
pub(in crate::tls) struct Dialling {
    config: Arc<rustls::ClientConfig>,
    outcome: Arc<DialOutcome>,
}

impl Dialling {
    pub(in crate::tls) fn new(config: Arc<rustls::ClientConfig>, outcome: Arc<DialOutcome>) -> Self {
        Self { config, outcome }
    }

    /// Whether the offer can be written (RFC 7301 section 3.1): rustls would cut a length to one byte.
    fn offer_is_sound(&self) -> bool {
        let protocols = &self.config.alpn_protocols;
        let sound = protocols.iter().all(|protocol| (1..=255).contains(&protocol.len()));
        sound && protocols.iter().map(|protocol| protocol.len() + 1).sum::<usize>() <= 8 * 1024
    }
}

impl ClientConfig for Dialling {
    fn start_session(
        self: Arc<Self>,
        version: u32,
        server_name: &str,
        parameters: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        if version != VERSION {
            return Err(ConnectError::UnsupportedVersion);
        }
        if !self.offer_is_sound() {
            self.outcome.learned.fail(HandshakeFailure::NoAlpn);
            // quinn has no word for it; the outcome has.
            return Err(ConnectError::UnsupportedVersion);
        }
        let config = QuicClientConfig::with_initial(self.config.clone(), initial_suite())
            .map_err(|_| ConnectError::UnsupportedVersion)?;
        let inner = Arc::new(config).start_session(version, server_name, parameters)?;
        Ok(Box::new(DialSession { inner, outcome: self.outcome.clone() }))
    }
}

struct DialSession {
    inner: Box<dyn Session>,
    outcome: Arc<DialOutcome>,
}

impl Session for DialSession {
    fn initial_keys(&self, dst_cid: &ConnectionId, side: Side) -> Keys {
        self.inner.initial_keys(dst_cid, side)
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        self.inner.handshake_data()
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        self.inner.peer_identity()
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        None
    }

    fn early_data_accepted(&self) -> Option<bool> {
        self.inner.early_data_accepted()
    }

    fn is_handshaking(&self) -> bool {
        self.inner.is_handshaking()
    }

    fn read_handshake(&mut self, bytes: &[u8]) -> Result<bool, TransportError> {
        let ready = self.outcome.learned.read(&mut *self.inner, bytes)?;
        if ready
            && let Some(data) = self.inner.handshake_data()
            && let Ok(data) = data.downcast::<HandshakeData>()
        {
            self.outcome.alpn.get_or_init(|| data.protocol);
        }
        Ok(ready)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        self.inner.transport_parameters()
    }

    fn write_handshake(&mut self, out: &mut Vec<u8>) -> Option<Keys> {
        self.inner.write_handshake(out)
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        self.inner.next_1rtt_keys()
    }

    fn is_valid_retry(&self, orig_dst_cid: &ConnectionId, header: &[u8], payload: &[u8]) -> bool {
        self.inner.is_valid_retry(orig_dst_cid, header, payload)
    }

    fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        self.inner.export_keying_material(output, label, context)
    }
}
