//! Transport parameters (RFC 9000 section 18): reading the limits that quinn keeps to itself, and changing two.

use quinn_proto::Side;
use quinn_proto::transport_parameters::TransportParameters;

use crate::hello::field::Reader;

const INITIAL_MAX_STREAMS_BIDI: u64 = 0x08;
const INITIAL_MAX_STREAMS_UNI: u64 = 0x09;
const MAX_DATAGRAM_FRAME_SIZE: u64 = 0x20;

/// Of draft-ietf-quic-ack-frequency, as quinn implements it.
const MIN_ACK_DELAY: u64 = 0xff04_de1b;

/// The shortest acknowledgement delay that a server offers, in microseconds. A client's is quinn's, 1,000.
///
/// The two sides of a loopback connection measure the same round trip times, so their probe timeouts are the same as well.
/// When acknowledgements are lost in both directions, both probes leave at the same moment and meet on the way; each brings
/// the acknowledgement that the other side has waited for since its last packet, and each side takes the length of that
/// timeout for a round trip time. So both timeouts grow in step, a little more than twofold each time, and single streams were
/// seen to wait for 3 s. A millisecond of difference, about a round trip under load, breaks the symmetry: the client's
/// timeout is longer by it, and the server's probe is answered before the client's leaves. (quinn's smallest is 1 ms.)
const SERVER_MIN_ACK_DELAY: u64 = 2_000;

/// What quinn takes off the frame size when it computes the payload of a datagram: a type byte and the longest length.
const DATAGRAM_FRAME_OVERHEAD: u64 = 9;

/// What the far end allows from the start, read from its transport parameters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PeerLimits {
    /// Bidirectional streams that it lets us open at first (`initial_max_streams_bidi`, 0x08).
    pub bidi_streams: u64,
    /// Unidirectional streams that it lets us open at first (`initial_max_streams_uni`, 0x09).
    pub uni_streams: u64,
    /// The largest DATAGRAM frame that it takes, in bytes with the frame's header (`max_datagram_frame_size`, 0x20, RFC
    /// 9221). `None` when it takes none.
    pub max_datagram_frame_size: Option<u64>,
}

impl PeerLimits {
    /// Reads the limits from parameters that quinn has parsed, those of a TLS peer for instance.
    #[must_use]
    pub fn of(parameters: &TransportParameters) -> Self {
        let mut encoded = Vec::new();
        parameters.write(&mut encoded);
        Self::read(&encoded)
    }

    /// Reads the limits from encoded parameters. What is malformed reads as if it were not there; quinn judges the whole.
    pub(crate) fn read(encoded: &[u8]) -> Self {
        let mut limits = Self::default();
        let mut reader = Reader(encoded);
        while let Some((id, value)) = next(&mut reader) {
            let value = Reader(value).varint();
            match id {
                INITIAL_MAX_STREAMS_BIDI => limits.bidi_streams = value.unwrap_or(0),
                INITIAL_MAX_STREAMS_UNI => limits.uni_streams = value.unwrap_or(0),
                // RFC 9221 section 3: zero means that datagrams are not supported.
                MAX_DATAGRAM_FRAME_SIZE => limits.max_datagram_frame_size = value.filter(|size| *size > 0),
                _ => {}
            }
        }
        limits
    }
}

/// The size of datagrams (RFC 9221) that we say we take.
///
/// A component asks `max_datagram_size()` of its loopback connection. Over loopback that would be about 6,450 bytes while
/// the TLS hop behind it carries about 1,200, so Iris announces the far side's size in place of its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DatagramSize {
    /// What our own transport takes.
    #[default]
    Unchanged,
    /// No datagrams at all.
    None,
    /// Payloads of at most this many bytes, or fewer if our own transport takes fewer.
    Limit(usize),
}

/// From what quinn's `Connection::max_datagram_size` says about the far side.
impl From<Option<usize>> for DatagramSize {
    fn from(max_datagram_size: Option<usize>) -> Self {
        max_datagram_size.map_or(Self::None, Self::Limit)
    }
}

/// Our own parameters, encoded, with the datagram size that we want to announce and, for a server, its acknowledgement
/// delay.
pub(crate) fn encode(own: &TransportParameters, side: Side, datagrams: DatagramSize) -> Vec<u8> {
    let mut encoded = Vec::new();
    own.write(&mut encoded);
    let own_frame_size = PeerLimits::read(&encoded).max_datagram_frame_size;
    match datagrams {
        DatagramSize::Unchanged => {}
        DatagramSize::None => encoded = without(&encoded, MAX_DATAGRAM_FRAME_SIZE),
        DatagramSize::Limit(payload) => {
            encoded = without(&encoded, MAX_DATAGRAM_FRAME_SIZE);
            if let Some(own) = own_frame_size {
                put(&mut encoded, MAX_DATAGRAM_FRAME_SIZE, own.min(payload as u64 + DATAGRAM_FRAME_OVERHEAD));
            }
        }
    }
    if side.is_server() {
        encoded = without(&encoded, MIN_ACK_DELAY);
        put(&mut encoded, MIN_ACK_DELAY, SERVER_MIN_ACK_DELAY);
    }
    encoded
}

/// A copy of encoded parameters without one of them.
fn without(encoded: &[u8], unwanted: u64) -> Vec<u8> {
    let mut kept = Vec::with_capacity(encoded.len());
    let mut reader = Reader(encoded);
    loop {
        let before = reader.0;
        let Some((id, _)) = next(&mut reader) else { return kept };
        if id != unwanted {
            kept.extend_from_slice(&before[..before.len() - reader.0.len()]);
        }
    }
}

/// The next parameter: its identifier and its value.
fn next<'a>(reader: &mut Reader<'a>) -> Option<(u64, &'a [u8])> {
    let id = reader.varint()?;
    let length = usize::try_from(reader.varint()?).ok()?;
    Some((id, reader.take(length)?))
}

/// Appends a parameter whose value is an integer.
fn put(out: &mut Vec<u8>, id: u64, value: u64) {
    const LENGTH: u8 = 8;
    put_varint(out, id);
    out.push(LENGTH);
    put_varint(out, value);
}

/// Appends a variable-length integer in its long form, eight bytes. It holds every value, and a value need not be in the
/// shortest form (RFC 9000 section 16).
fn put_varint(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&(value | 0b11 << 62).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Parameters as a TLS peer may send them: two-byte values, an unknown identifier, datagrams of 1,200 bytes.
    const ENCODED: [u8; 17] = [0x08, 0x02, 0x40, 100, 0x09, 0x01, 3, 0x40, 0x7f, 0x02, 9, 9, 0x20, 0x02, 0x44, 0xb0, 0];

    fn parsed(encoded: &[u8]) -> TransportParameters {
        TransportParameters::read(Side::Client, &mut &encoded[..]).expect("well-formed")
    }

    #[test]
    fn limits_are_read() {
        let limits = PeerLimits::of(&parsed(&ENCODED[..16]));
        assert_eq!(limits, PeerLimits { bidi_streams: 100, uni_streams: 3, max_datagram_frame_size: Some(1200) });
        assert_eq!(PeerLimits::read(&ENCODED), limits, "a cut parameter at the end is not there");
        assert_eq!(PeerLimits::read(&[0x20, 1, 0]).max_datagram_frame_size, None);
    }

    #[test]
    fn the_datagram_size_is_mirrored_and_never_raised() {
        let own = parsed(&ENCODED[..16]);
        let announced = |size| {
            let limits = PeerLimits::of(&parsed(&encode(&own, Side::Client, size)));
            assert_eq!((limits.bidi_streams, limits.uni_streams), (100, 3));
            limits.max_datagram_frame_size
        };
        assert_eq!(announced(DatagramSize::Unchanged), Some(1200));
        assert_eq!(announced(DatagramSize::None), None);
        assert_eq!(announced(DatagramSize::Limit(100)), Some(109));
        assert_eq!(announced(DatagramSize::Limit(0)), Some(9));
        assert_eq!(announced(DatagramSize::Limit(usize::MAX / 2)), Some(1200));
    }

    #[test]
    fn a_transport_without_datagrams_announces_none() {
        let own = parsed(&ENCODED[..12]);
        assert_eq!(
            PeerLimits::of(&parsed(&encode(&own, Side::Server, DatagramSize::Limit(1200)))).max_datagram_frame_size,
            None
        );
    }

    #[test]
    fn a_server_takes_its_time_with_acknowledgements() {
        let own = parsed(&ENCODED[..16]);
        let value = |side: Side| {
            let encoded = encode(&own, side, DatagramSize::Unchanged);
            let mut reader = Reader(&encoded);
            std::iter::from_fn(|| next(&mut reader))
                .find(|(id, _)| *id == MIN_ACK_DELAY)
                .map(|(_, value)| value.to_vec())
        };
        assert_eq!(value(Side::Client), None);
        assert_eq!(value(Side::Server), Some((2_000u64 | 0b11 << 62).to_be_bytes().to_vec()));
        parsed(&encode(&own, Side::Server, DatagramSize::Limit(9)));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            PeerLimits::read(&bytes);
            prop_assert!(without(&bytes, MAX_DATAGRAM_FRAME_SIZE).len() <= bytes.len());
        }
    }
}
