//! Reading a hello before its connection is accepted.
//!
//! When quinn meets an Initial of an unknown connection it asks the server configuration for keys and removes the header
//! protection with them, once, before it hands the attempt to the program (RFC 9001 section 5.4; quinn-proto
//! `Endpoint::handle`). There is no header protection over loopback, so that step has nothing to do, sees the whole plaintext
//! packet, and is where we read the hello. The result waits, keyed by the destination connection ID that the client chose,
//! until the attempt is taken.
//!
//! Nothing is read for packets of connections that exist, nor for packets that quinn rejects earlier, so what waits here is
//! what waits in quinn; bounds in number and age hold all the same.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use quinn_proto::ConnectionId;
use quinn_proto::crypto::{self, HeaderKey, Keys, UnsupportedVersion};
use quinn_proto::transport_parameters::TransportParameters;

use crate::endpoint::MAX_WAITING;
use crate::hello::field::Reader;
use crate::hello::reassembly::Reassembly;
use crate::hello::{ClientHello, HELLO_FORMAT, HelloError, decode};
use crate::keys::{self, TAG_LEN};
use crate::parameters::PeerLimits;
use crate::policy::{Policy, transport_error};
use crate::provider::Server;
use crate::version;

/// How long a hello waits to be taken. Clients give up sooner.
const MAX_AGE: Duration = Duration::from_secs(60);

/// Frames in a first datagram at most. quinn sends one, and padding.
const MAX_FRAMES: usize = 64;

/// A hello that was read from a first datagram, or why there is none.
pub(crate) type Peeked = Result<(ClientHello, PeerLimits), HelloError>;

/// Hellos of attempts that nobody has taken yet, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Waiting(Mutex<VecDeque<(ConnectionId, Instant, Peeked)>>);

impl Waiting {
    /// Attempts are taken in the order in which they came, so the one that is asked for is nearly always the first.
    pub(crate) fn take(&self, id: &ConnectionId) -> Option<Peeked> {
        let mut waiting = self.lock();
        let position = waiting.iter().position(|(waiting, ..)| waiting == id)?;
        waiting.remove(position).map(|(_, _, peeked)| peeked)
    }

    fn put(&self, id: ConnectionId, now: Instant, peeked: Peeked) {
        let mut waiting = self.lock();
        while let Some((_, since, _)) = waiting.front() {
            if waiting.len() < MAX_WAITING && now.saturating_duration_since(*since) < MAX_AGE {
                break;
            }
            waiting.pop_front();
        }
        waiting.push_back((id, now, peeked));
    }

    /// Nothing panics while it holds the lock; should that change, a poisoned queue is still a queue.
    fn lock(&self) -> MutexGuard<'_, VecDeque<(ConnectionId, Instant, Peeked)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The server configuration of a [`Listener`](crate::Listener)'s endpoint: it reads hellos and accepts nobody.
pub(crate) struct Peek(pub(crate) Arc<Waiting>);

impl crypto::ServerConfig for Peek {
    fn initial_keys(&self, version: u32, dst_cid: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        version::check(version)?;
        Ok(keys::keys_with_header(Box::new(PeekKey { id: *dst_cid, waiting: Arc::clone(&self.0) })))
    }

    fn retry_tag(&self, _version: u32, _orig_dst_cid: &ConnectionId, _packet: &[u8]) -> [u8; 16] {
        [0; 16]
    }

    /// For an attempt that somebody took from the endpoint behind the listener's back.
    fn start_session(self: Arc<Self>, version: u32, params: &TransportParameters) -> Box<dyn crypto::Session> {
        let refused = transport_error(0x2, "not accepted by the listener");
        Arc::new(Server::new(Policy::Refuse(refused))).start_session(version, params)
    }
}

/// Header protection that reads the packet.
struct PeekKey {
    id: ConnectionId,
    waiting: Arc<Waiting>,
}

impl HeaderKey for PeekKey {
    fn decrypt(&self, pn_offset: usize, packet: &mut [u8]) {
        self.waiting.put(self.id, Instant::now(), peek(packet, pn_offset));
    }

    fn encrypt(&self, _pn_offset: usize, _packet: &mut [u8]) {}

    fn sample_size(&self) -> usize {
        0
    }
}

/// Reads the hello from an Initial packet whose packet number is at `pn_offset`.
pub(crate) fn peek(packet: &[u8], pn_offset: usize) -> Peeked {
    let payload = payload(packet, pn_offset).ok_or(HelloError::Cut)?;
    let stream = crypto_stream(payload)?;
    let whole = Reassembly::default().push(&stream, HELLO_FORMAT)?.ok_or(HelloError::Incomplete)?;
    let (hello, parameters) = decode::client(whole.fields(), HELLO_FORMAT)?;
    Ok((hello, PeerLimits::read(&parameters)))
}

/// What is between packet number and tag, if the tag is right. A first packet's number is sent whole.
fn payload(packet: &[u8], pn_offset: usize) -> Option<&[u8]> {
    let number_len = usize::from(packet.first()? & 0b11) + 1;
    let (number, rest) = packet.get(pn_offset..)?.split_at_checked(number_len)?;
    let (payload, tag) = rest.split_at_checked(rest.len().checked_sub(TAG_LEN)?)?;
    let number = number.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
    (tag == keys::tag(number, 0)).then_some(payload)
}

/// The bytes that the CRYPTO frames of a packet bring, from the first byte of the stream on, as far as there is no gap.
fn crypto_stream(payload: &[u8]) -> Result<Vec<u8>, HelloError> {
    const PADDING: u8 = 0x00;
    const PING: u8 = 0x01;
    const CRYPTO: u8 = 0x06;
    let mut reader = Reader(payload);
    let mut frames = Vec::new();
    while let Some(kind) = reader.u8() {
        match kind {
            PADDING | PING => continue,
            CRYPTO if frames.len() < MAX_FRAMES => frames.push(crypto_frame(&mut reader).ok_or(HelloError::Cut)?),
            _ => return Err(HelloError::Trailing),
        }
    }
    frames.sort_unstable_by_key(|(offset, _)| *offset);
    let mut stream: Vec<u8> = Vec::with_capacity(payload.len());
    for (offset, data) in frames {
        let known = usize::try_from(offset).ok().and_then(|offset| stream.len().checked_sub(offset));
        let Some(known) = known else { break };
        stream.extend_from_slice(data.get(known..).unwrap_or_default());
    }
    Ok(stream)
}

/// Offset and data of a CRYPTO frame (RFC 9000 section 19.6), behind its type.
fn crypto_frame<'a>(reader: &mut Reader<'a>) -> Option<(u64, &'a [u8])> {
    let offset = reader.varint()?;
    let length = usize::try_from(reader.varint()?).ok()?;
    Some((offset, reader.take(length)?))
}

#[cfg(test)]
mod tests;
