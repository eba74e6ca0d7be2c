//! What a peer allows from the start, read from its transport parameters (RFC 9000 section 18.2), which quinn keeps to
//! itself.

use quinn_proto::transport_parameters::TransportParameters;

/// What the far end allows from the start.
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
    /// Reads the limits from parameters that quinn has parsed.
    #[must_use]
    pub fn of(parameters: &TransportParameters) -> Self {
        let mut encoded = Vec::new();
        parameters.write(&mut encoded);
        let mut limits = Self::default();
        let mut rest = encoded.as_slice();
        while let Some((id, value)) = next(&mut rest) {
            let value = varint(&mut &*value);
            match id {
                0x08 => limits.bidi_streams = value.unwrap_or(0),
                0x09 => limits.uni_streams = value.unwrap_or(0),
                0x20 => limits.max_datagram_frame_size = value.filter(|size| *size > 0),
                _ => {}
            }
        }
        limits
    }
}

fn next<'a>(rest: &mut &'a [u8]) -> Option<(u64, &'a [u8])> {
    let id = varint(rest)?;
    let length = usize::try_from(varint(rest)?).ok()?;
    let (value, behind) = rest.split_at_checked(length)?;
    *rest = behind;
    Some((id, value))
}

/// A variable-length integer (RFC 9000 section 16).
fn varint(rest: &mut &[u8]) -> Option<u64> {
    let length = 1 << (rest.first()? >> 6);
    let (octets, behind) = rest.split_at_checked(length)?;
    *rest = behind;
    let first = u64::from(octets[0] & 0x3f);
    Some(octets[1..].iter().fold(first, |value, octet| value << 8 | u64::from(*octet)))
}
