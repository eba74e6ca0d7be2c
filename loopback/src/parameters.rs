//! Transport parameters (RFC 9000 section 18): reading the limits that quinn keeps to itself, and changing one.

use quinn_proto::transport_parameters::TransportParameters;

use crate::hello::field::Reader;

const INITIAL_MAX_STREAMS_BIDI: u64 = 0x08;
const INITIAL_MAX_STREAMS_UNI: u64 = 0x09;
const MAX_DATAGRAM_FRAME_SIZE: u64 = 0x20;

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

/// Our own parameters, encoded, with the datagram size that we want to announce.
pub(crate) fn encode(own: &TransportParameters, datagrams: DatagramSize) -> Vec<u8> {
    let mut encoded = Vec::new();
    own.write(&mut encoded);
    let announced = match (datagrams, PeerLimits::read(&encoded).max_datagram_frame_size) {
        (DatagramSize::Unchanged, _) => return encoded,
        (DatagramSize::None, _) | (DatagramSize::Limit(_), None) => None,
        (DatagramSize::Limit(payload), Some(own)) => Some(own.min(payload as u64 + DATAGRAM_FRAME_OVERHEAD)),
    };
    let mut changed = without(&encoded, MAX_DATAGRAM_FRAME_SIZE);
    if let Some(size) = announced {
        put_varint(&mut changed, MAX_DATAGRAM_FRAME_SIZE);
        put_varint(&mut changed, 8);
        // The long form holds every size; a value need not be in the shortest one (RFC 9000 section 16).
        changed.extend_from_slice(&(size | 0b11 << 62).to_be_bytes());
    }
    changed
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

/// Appends an integer below 64 as a variable-length integer. The identifiers and lengths of this file are.
fn put_varint(out: &mut Vec<u8>, small: u64) {
    debug_assert!(small < 64);
    out.push((small & 0x3f) as u8);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use quinn_proto::Side;

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
            let limits = PeerLimits::of(&parsed(&encode(&own, size)));
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
        assert_eq!(PeerLimits::of(&parsed(&encode(&own, DatagramSize::Limit(1200)))).max_datagram_frame_size, None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            PeerLimits::read(&bytes);
            prop_assert!(without(&bytes, MAX_DATAGRAM_FRAME_SIZE).len() <= bytes.len());
        }
    }
}
