//! Files of PEM from the bytes of a fuzzer: as they are, or made of DER, so that changes fall on what the base64 holds.
//!
//! Bytes that begin with 0xDE are DER: a length of two octets, big-endian, that many octets, and so on. `fuzz/seed` writes
//! both kinds.

/// The text that some bytes stand for. `labels`: of the blocks that DER makes, the last one for all further.
pub fn text(bytes: &[u8], labels: &[&str]) -> Vec<u8> {
    let Some(mut rest) = bytes.strip_prefix(&[0xde]) else { return bytes.to_vec() };
    let mut text = Vec::new();
    let mut labels = labels.iter();
    let mut label = labels.next();
    while let (Some(name), Some((length, behind))) = (label, rest.split_at_checked(2)) {
        let length = usize::from(u16::from_be_bytes([length[0], length[1]])).min(behind.len());
        let (content, behind) = behind.split_at(length);
        text.extend(block(name, content).bytes());
        label = labels.next().or(label);
        rest = behind;
    }
    text
}

/// A PEM block.
pub fn block(label: &str, content: &[u8]) -> String {
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", base64(content))
}

/// RFC 4648 section 4, written apart from the reader's.
pub fn base64(content: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in content.chunks(3) {
        let bits = group.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        for position in 0..4 {
            let digit = char::from(ALPHABET[(bits >> (18 - 6 * position)) as usize & 63]);
            text.push(if position > group.len() { '=' } else { digit });
        }
    }
    text
}
