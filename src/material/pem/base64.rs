//! Base64 (RFC 4648 section 4), without leniency: padded, and with zero bits where bits are left over.

/// Whether `byte` may stand in the text of a block.
pub(super) fn is_member(byte: u8) -> bool {
    byte == b'=' || byte.is_ascii_whitespace() || value(byte).is_some()
}

/// The bytes of a text that holds no white space.
pub(super) fn decode(text: &[u8]) -> Option<Vec<u8>> {
    if text.is_empty() || !text.len().is_multiple_of(4) {
        return None;
    }
    let padding = text.iter().rev().take_while(|byte| **byte == b'=').count();
    if padding > 2 {
        return None;
    }
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (whole, last) = text.split_at(text.len() - 4);
    for group in whole.chunks_exact(4) {
        out.extend_from_slice(&bits(group)?.to_be_bytes()[1..]);
    }
    let bits = bits(&last[..4 - padding])? << (6 * padding);
    let bytes = bits.to_be_bytes();
    out.extend_from_slice(&bytes[1..4 - padding]);
    // Bits behind the last whole byte must be zero, or two texts would mean the same bytes.
    bytes[4 - padding..].iter().all(|byte| *byte == 0).then_some(out)
}

fn bits(group: &[u8]) -> Option<u32> {
    group.iter().try_fold(0, |bits, byte| Some(bits << 6 | u32::from(value(*byte)?)))
}

fn value(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn vectors_of_rfc_4648() {
        for (text, bytes) in [("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYmFy", "foobar")] {
            assert_eq!(decode(text.as_bytes()).as_deref(), Some(bytes.as_bytes()));
        }
        for bad in ["", "Zg", "Zg=", "Zh==", "Zm9=", "====", "Z===", "Zg==Zg==", "Zm=v", "Zm9\n"] {
            assert_eq!(decode(bad.as_bytes()), None, "{bad:?}");
        }
    }
}
