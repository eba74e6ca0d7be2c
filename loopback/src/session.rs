//! The handshake: one crypto session of quinn, with hellos in place of TLS messages.
//!
//! ```text
//! client                                    server
//!   Initial    CRYPTO: client hello  ──────▶
//!                                    ◀──────  Initial    CRYPTO: server hello
//!                                    ◀──────  Handshake  CRYPTO: finish
//!   Handshake  CRYPTO: finish        ──────▶
//!                                    ◀──────  1-RTT      HANDSHAKE_DONE
//! ```
//!
//! The finish is one byte. It is there because QUIC leaves the handshake only when something has come in the Handshake
//! space, in both directions.
//!
//! Whatever a peer sends, `read_handshake` answers with an error at worst. A panic in here would happen under the lock of
//! the whole endpoint, poison it, and end the process at the next accept.

use std::any::Any;
use std::sync::Arc;

use quinn_proto::crypto::{self, ExportKeyingMaterialError, KeyPair, Keys, PacketKey};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectionId, Side, TransportError};

use crate::hello::reassembly::{Reassembly, Whole};
use crate::hello::{HelloError, PeerInfo, decode, encode};
use crate::keys::{self, Generation};
use crate::parameters::PeerLimits;
use crate::policy::{no_application_protocol, violation};
use crate::provider::{Client, Server};

#[cfg(test)]
mod tests;

/// The only message of the Handshake space.
const FINISH: u8 = 0x01;

/// What the handshake told: `connection.handshake_data()` gives it as `Box<dyn Any>`, on both sides.
///
/// ```no_run
/// # fn read(connection: quinn::Connection) {
/// let data = connection.handshake_data().expect("there once the connection is");
/// let data = data.downcast::<iris_loopback::HandshakeData>().expect("a loopback connection");
/// # }
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HandshakeData {
    /// The server name that the client asked for.
    pub server_name: Option<String>,
    /// The application protocol that both agreed on; `None` when the client offered none.
    pub alpn: Option<Vec<u8>>,
    /// The protocols that the client offered, the preferred one first.
    pub offered_alpn: Vec<Vec<u8>>,
    /// Where the client wants Iris to dial, as `host:port`.
    pub destination: Option<String>,
    /// What the secured side knows about its peer, when Iris is the client. Empty on the client's own side.
    pub peer: Option<PeerInfo>,
    /// What the far end allows from the start.
    pub limits: PeerLimits,
}

/// Which side this is, and what its configuration says.
pub(crate) enum Role {
    /// Has asked for something.
    Client(Arc<Client>),
    /// Answers by a policy.
    Server(Arc<Server>),
}

/// What is awaited from the other side.
enum Awaiting {
    Hello(Reassembly),
    Finish,
    Nothing,
}

/// What quinn is to be given next, once it may be.
enum Next {
    Hello,
    HandshakeKeys,
    FinishAndDataKeys,
    Nothing,
}

/// One connection's handshake. It lives as long as the connection, so it keeps no more than it needs.
pub(crate) struct Session {
    role: Role,
    /// What is to be sent in the Initial space: a client's hello, or the transport parameters for a server's.
    own: Vec<u8>,
    /// What the other side's hello said.
    arrived: Option<Box<Arrived>>,
    awaiting: Awaiting,
    next: Next,
    /// Of the last keys that quinn was given for 1-RTT packets.
    generation: Generation,
}

struct Arrived {
    /// The format of the other side's hello.
    format: u8,
    parameters: TransportParameters,
    data: HandshakeData,
}

impl Session {
    pub(crate) fn client(config: Arc<Client>, hello: Vec<u8>) -> Self {
        Self::new(Role::Client(config), hello)
    }

    pub(crate) fn server(config: Arc<Server>, parameters: Vec<u8>) -> Self {
        Self::new(Role::Server(config), parameters)
    }

    /// Bytes of the other side that are kept until more come.
    pub(crate) fn buffered(&self) -> usize {
        match &self.awaiting {
            Awaiting::Hello(reassembly) => reassembly.len(),
            Awaiting::Finish | Awaiting::Nothing => 0,
        }
    }

    fn new(role: Role, own: Vec<u8>) -> Self {
        Self {
            role,
            own,
            arrived: None,
            awaiting: Awaiting::Hello(Reassembly::default()),
            next: Next::Hello,
            generation: 0,
        }
    }

    fn hello_arrived(&self, hello: &Whole) -> Result<Arrived, TransportError> {
        let format = hello.header.format;
        let (data, parameters) = match &self.role {
            Role::Server(config) => {
                let (hello, parameters) = decode::client(hello.fields(), config.speaks).map_err(violation)?;
                let alpn = config.policy.choose(&hello.alpn)?;
                let data = HandshakeData {
                    server_name: hello.server_name,
                    alpn,
                    offered_alpn: hello.alpn,
                    destination: hello.destination,
                    peer: hello.peer,
                    limits: PeerLimits::read(&parameters),
                };
                (data, parameters)
            }
            Role::Client(config) => {
                if format > config.speaks {
                    return Err(violation(HelloError::Answer(format)));
                }
                let (alpn, parameters) = decode::server(hello.fields()).map_err(violation)?;
                if alpn.as_ref().is_some_and(|chosen| !config.asked.offered_alpn.contains(chosen)) {
                    return Err(no_application_protocol());
                }
                (HandshakeData { alpn, limits: PeerLimits::read(&parameters), ..config.asked.clone() }, parameters)
            }
        };
        let parameters = TransportParameters::read(self.side(), &mut &parameters[..])?;
        Ok(Arrived { format, parameters, data })
    }

    fn side(&self) -> Side {
        match self.role {
            Role::Client(_) => Side::Client,
            Role::Server(_) => Side::Server,
        }
    }

    fn speaks(&self) -> u8 {
        match &self.role {
            Role::Client(config) => config.speaks,
            Role::Server(config) => config.speaks,
        }
    }

    /// Our hello: a client's at once, a server's when there is something to answer.
    fn take_own_hello(&mut self) -> Option<Vec<u8>> {
        if self.side().is_client() {
            return Some(std::mem::take(&mut self.own));
        }
        let arrived = self.arrived.as_ref()?;
        let parameters = std::mem::take(&mut self.own);
        Some(encode::server(arrived.format.min(self.speaks()), &parameters, arrived.data.alpn.as_deref()))
    }
}

impl crypto::Session for Session {
    fn initial_keys(&self, _dst_cid: &ConnectionId, _side: Side) -> Keys {
        keys::keys()
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        self.arrived.as_ref().map(|arrived| Box::new(arrived.data.clone()) as Box<dyn Any>)
    }

    /// Nobody is authenticated over loopback.
    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn early_crypto(&self) -> Option<(Box<dyn crypto::HeaderKey>, Box<dyn PacketKey>)> {
        None
    }

    fn early_data_accepted(&self) -> Option<bool> {
        None
    }

    fn is_handshaking(&self) -> bool {
        !matches!((&self.awaiting, &self.next), (Awaiting::Nothing, Next::Nothing))
    }

    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        if let Role::Server(config) = &self.role {
            config.policy.refusal()?;
        }
        let speaks = self.speaks();
        match &mut self.awaiting {
            // CRYPTO frames have no flow control, so what nobody waits for must end the connection.
            _ if buf.is_empty() => Ok(false),
            // Before there are Handshake keys it comes in the Initial space, where only the hello may be.
            Awaiting::Finish if buf == [FINISH] && matches!(self.next, Next::FinishAndDataKeys | Next::Nothing) => {
                self.awaiting = Awaiting::Nothing;
                Ok(false)
            }
            Awaiting::Finish | Awaiting::Nothing => Err(violation(HelloError::Trailing)),
            Awaiting::Hello(reassembly) => {
                let Some(hello) = reassembly.push(buf, speaks).map_err(violation)? else { return Ok(false) };
                self.arrived = Some(Box::new(self.hello_arrived(&hello)?));
                self.awaiting = Awaiting::Finish;
                Ok(true)
            }
        }
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        Ok(self.arrived.as_ref().map(|arrived| arrived.parameters))
    }

    /// quinn calls this until it gives nothing more. Each pair of keys moves it to the next packet space: two, no more.
    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        match self.next {
            Next::Hello => {
                buf.extend_from_slice(&self.take_own_hello()?);
                if self.side().is_client() {
                    self.next = Next::HandshakeKeys;
                    return None;
                }
                self.next = Next::FinishAndDataKeys;
                Some(keys::keys())
            }
            Next::HandshakeKeys if self.arrived.is_some() => {
                self.next = Next::FinishAndDataKeys;
                Some(keys::keys())
            }
            // A server sends without waiting, so that the client has something in the Handshake space to answer.
            Next::FinishAndDataKeys if self.side().is_server() || matches!(self.awaiting, Awaiting::Nothing) => {
                buf.push(FINISH);
                self.next = Next::Nothing;
                Some(keys::keys())
            }
            Next::HandshakeKeys | Next::FinishAndDataKeys | Next::Nothing => None,
        }
    }

    /// Always `Some`: quinn unwraps it, under the endpoint's lock.
    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        self.generation = self.generation.wrapping_add(1);
        Some(keys::packet_keys(self.generation))
    }

    /// There is no Retry over loopback, so whatever looks like one is ignored.
    fn is_valid_retry(&self, _orig_dst_cid: &ConnectionId, _header: &[u8], _payload: &[u8]) -> bool {
        false
    }

    /// There is no secret to derive anything from.
    fn export_keying_material(
        &self,
        _output: &mut [u8],
        _label: &[u8],
        _context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        Err(ExportKeyingMaterialError)
    }
}
