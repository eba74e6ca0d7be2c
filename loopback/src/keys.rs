//! What stands where keys would: no encryption, no header protection, and a tag that binds packet number and key generation.

use bytes::BytesMut;
use quinn_proto::crypto::{CryptoError, HeaderKey, KeyPair, Keys, PacketKey};

/// Bytes behind each packet's payload.
pub(crate) const TAG_LEN: usize = 4;

/// Counts the key updates of a connection, modulo 256. Initial and Handshake packets have generation 0.
pub(crate) type Generation = u8;

/// The tag of a packet: the low half of its full packet number, in network order, with the key generation mixed into the last
/// byte.
///
/// A header carries one to four bytes of the packet number and the receiver guesses the rest from what came before (RFC
/// 9000 section 17.1). An AEAD would reject a wrong guess. With nothing in its place a packet that comes late is taken for
/// another one, and the connection dies of an acknowledgement for a packet that was never sent. Against a number that is
/// cut to three bytes or fewer these four bytes decide; a number of four bytes leaves nothing to guess within 2^31 packets.
///
/// In the same way a header carries one bit of the key generation, and a late packet of the generation before the last would
/// be taken for one of the next: an illegal key update. A wrong guess of the number changes no bit of the last byte, and a wrong
/// guess of the generation does, so the two cannot make up for one another.
pub(crate) fn tag(packet: u64, generation: Generation) -> [u8; TAG_LEN] {
    let low_half = (packet & u64::from(u32::MAX)) as u32;
    (low_half ^ u32::from(generation)).to_be_bytes()
}

/// Adds and checks the tag, and nothing else.
struct Tagged(Generation);

impl PacketKey for Tagged {
    fn encrypt(&self, packet: u64, buf: &mut [u8], _header_len: usize) {
        let payload = buf.len().saturating_sub(TAG_LEN);
        buf[payload..].copy_from_slice(&tag(packet, self.0));
    }

    fn decrypt(&self, packet: u64, _header: &[u8], payload: &mut BytesMut) -> Result<(), CryptoError> {
        let end = payload.len().checked_sub(TAG_LEN).ok_or(CryptoError)?;
        if payload[end..] != tag(packet, self.0) {
            return Err(CryptoError);
        }
        payload.truncate(end);
        Ok(())
    }

    fn tag_len(&self) -> usize {
        TAG_LEN
    }

    /// Nothing is confidential, so nothing wears out.
    fn confidentiality_limit(&self) -> u64 {
        u64::MAX
    }

    /// Wrong tags are late packets, not forgeries: they are dropped, however many.
    fn integrity_limit(&self) -> u64 {
        u64::MAX
    }
}

/// Headers are sent as they are.
struct Bare;

impl HeaderKey for Bare {
    fn decrypt(&self, _pn_offset: usize, _packet: &mut [u8]) {}

    fn encrypt(&self, _pn_offset: usize, _packet: &mut [u8]) {}

    fn sample_size(&self) -> usize {
        0
    }
}

/// The keys of any packet space when it begins.
pub(crate) fn keys() -> Keys {
    keys_with_header(Box::new(Bare))
}

/// The same keys, where `remote` looks at each header that arrives.
pub(crate) fn keys_with_header(remote: Box<dyn HeaderKey>) -> Keys {
    Keys { header: KeyPair { local: Box::new(Bare), remote }, packet: packet_keys(0) }
}

/// The keys of a generation. quinn changes to the next one after some packets and must always be given another pair.
pub(crate) fn packet_keys(generation: Generation) -> KeyPair<Box<dyn PacketKey>> {
    KeyPair { local: Box::new(Tagged(generation)), remote: Box::new(Tagged(generation)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed(packet: u64, payload: &[u8]) -> BytesMut {
        let mut buf = payload.to_vec();
        buf.resize(payload.len() + TAG_LEN, 0);
        Tagged(0).encrypt(packet, &mut buf, 0);
        BytesMut::from(&buf[..])
    }

    #[test]
    fn the_number_that_was_sent_is_accepted_and_the_tag_removed() {
        for number in [0, 1, 255, 256, 1 << 31, (1 << 32) - 1, 1 << 32, (1 << 62) - 1] {
            let mut packet = sealed(number, b"frames");
            Tagged(0).decrypt(number, &[], &mut packet).expect("own tag");
            assert_eq!(&packet[..], b"frames");
        }
    }

    #[test]
    fn a_number_expanded_wrongly_is_rejected() {
        // What a receiver would guess for a packet that comes one window late, for each length a header may carry below 4.
        for window in [1u64 << 8, 1 << 16, 1 << 24] {
            let mut packet = sealed(77, b"frames");
            assert!(Tagged(0).decrypt(77 + window, &[], &mut packet).is_err());
        }
    }

    #[test]
    fn another_generation_is_rejected_whatever_the_number_is_taken_for() {
        let packet = sealed(77, b"frames");
        for generation in 1..=255 {
            for window in [0u64, 1 << 8, 1 << 16, 1 << 24] {
                assert!(Tagged(generation).decrypt(77 + window, &[], &mut packet.clone()).is_err());
            }
        }
    }

    #[test]
    fn a_payload_shorter_than_the_tag_is_rejected() {
        for len in 0..TAG_LEN {
            assert!(Tagged(0).decrypt(0, &[], &mut BytesMut::zeroed(len)).is_err());
        }
    }
}
