//! What stands where keys would: no encryption, no header protection, and a tag that binds the packet number.

use bytes::BytesMut;
use quinn_proto::crypto::{CryptoError, HeaderKey, KeyPair, Keys, PacketKey};

/// Bytes behind each packet's payload: the low half of its full packet number, in network order.
///
/// A header carries one to four bytes of the packet number and the receiver guesses the rest from what came before (RFC
/// 9000 section 17.1). An AEAD would reject a wrong guess. With nothing in its place a packet that comes late is taken for
/// another one, and the connection dies of an acknowledgement for a packet that was never sent. Against a number that is
/// cut to three bytes or fewer these four bytes decide; a number of four bytes leaves nothing to guess within 2^31 packets.
pub(crate) const TAG_LEN: usize = 4;

/// The tag of a packet. Truncation is the point: the low 32 bits.
pub(crate) fn tag(packet: u64) -> [u8; TAG_LEN] {
    ((packet & u64::from(u32::MAX)) as u32).to_be_bytes()
}

/// Adds and checks the tag, and nothing else.
struct Tagged;

impl PacketKey for Tagged {
    fn encrypt(&self, packet: u64, buf: &mut [u8], _header_len: usize) {
        let payload = buf.len().saturating_sub(TAG_LEN);
        buf[payload..].copy_from_slice(&tag(packet));
    }

    fn decrypt(&self, packet: u64, _header: &[u8], payload: &mut BytesMut) -> Result<(), CryptoError> {
        let end = payload.len().checked_sub(TAG_LEN).ok_or(CryptoError)?;
        if payload[end..] != tag(packet) {
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

/// The keys of any packet space. They are the same in all of them and cost no allocation.
pub(crate) fn keys() -> Keys {
    keys_with_header(Box::new(Bare))
}

/// The same keys, where `remote` looks at each header that arrives.
pub(crate) fn keys_with_header(remote: Box<dyn HeaderKey>) -> Keys {
    Keys { header: KeyPair { local: Box::new(Bare), remote }, packet: packet_keys() }
}

/// The keys of the next key phase. quinn changes phases after some packets and must always be given the next pair.
pub(crate) fn packet_keys() -> KeyPair<Box<dyn PacketKey>> {
    KeyPair { local: Box::new(Tagged), remote: Box::new(Tagged) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed(packet: u64, payload: &[u8]) -> BytesMut {
        let mut buf = payload.to_vec();
        buf.resize(payload.len() + TAG_LEN, 0);
        Tagged.encrypt(packet, &mut buf, 0);
        BytesMut::from(&buf[..])
    }

    #[test]
    fn the_number_that_was_sent_is_accepted_and_the_tag_removed() {
        for number in [0, 1, 255, 256, 1 << 31, (1 << 32) - 1, 1 << 32, (1 << 62) - 1] {
            let mut packet = sealed(number, b"frames");
            Tagged.decrypt(number, &[], &mut packet).expect("own tag");
            assert_eq!(&packet[..], b"frames");
        }
    }

    #[test]
    fn a_number_expanded_wrongly_is_rejected() {
        // What a receiver would guess for a packet that comes one window late, for each length a header may carry below 4.
        for window in [1u64 << 8, 1 << 16, 1 << 24] {
            let mut packet = sealed(77, b"frames");
            assert!(Tagged.decrypt(77 + window, &[], &mut packet).is_err());
        }
    }

    #[test]
    fn a_payload_shorter_than_the_tag_is_rejected() {
        for len in 0..TAG_LEN {
            assert!(Tagged.decrypt(0, &[], &mut BytesMut::zeroed(len)).is_err());
        }
    }
}
