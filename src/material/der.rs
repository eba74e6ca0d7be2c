//! Just enough DER (X.690) to take the envelope of signed structures apart without losing a byte.

/// One tag-length-value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tlv<'a> {
    /// The identifier octet.
    pub(crate) tag: u8,
    /// The contents octets.
    pub(crate) contents: &'a [u8],
    /// Everything, header included.
    pub(crate) whole: &'a [u8],
}

/// `SEQUENCE`
pub(crate) const SEQUENCE: u8 = 0x30;
const BIT_STRING: u8 = 0x03;

/// The first element of `input` and what follows it. Definite lengths of up to four octets, minimally encoded.
pub(crate) fn read(input: &[u8]) -> Option<(Tlv<'_>, &[u8])> {
    let (&tag, rest) = input.split_first()?;
    // High tag numbers appear nowhere in what is read here.
    if tag & 0x1f == 0x1f {
        return None;
    }
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = if first < 0x80 {
        (usize::from(first), rest)
    } else {
        let octets = usize::from(first & 0x7f);
        if !(1..=4).contains(&octets) {
            return None;
        }
        let (length, rest) = rest.split_at_checked(octets)?;
        let value = length.iter().fold(0usize, |value, byte| value << 8 | usize::from(*byte));
        if length[0] == 0 || value < 0x80 {
            return None;
        }
        (value, rest)
    };
    let (contents, rest) = rest.split_at_checked(length)?;
    let whole = &input[..input.len() - rest.len()];
    Some((Tlv { tag, contents, whole }, rest))
}

/// The first element of `input`, which must bear `tag`.
pub(crate) fn expect(tag: u8, input: &[u8]) -> Option<(Tlv<'_>, &[u8])> {
    read(input).filter(|(tlv, _)| tlv.tag == tag)
}

/// Whether `input` is exactly one `SEQUENCE`.
pub(crate) fn is_one_sequence(input: &[u8]) -> bool {
    expect(SEQUENCE, input).is_some_and(|(_, rest)| rest.is_empty())
}

/// What certificates (RFC 5280 section 4.1) and revocation lists (section 5.1) have in common.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Signed<'a> {
    /// The signed bytes.
    pub(crate) body: &'a [u8],
    /// Contents of the outer `AlgorithmIdentifier`.
    pub(crate) algorithm: &'a [u8],
    /// The signature's octets.
    pub(crate) signature: &'a [u8],
}

impl<'a> Signed<'a> {
    /// Takes a signed structure apart.
    pub(crate) fn parse(der: &'a [u8]) -> Option<Self> {
        let (outer, rest) = expect(SEQUENCE, der)?;
        let (body, inner) = expect(SEQUENCE, outer.contents)?;
        let (algorithm, inner) = expect(SEQUENCE, inner)?;
        let (signature, inner) = expect(BIT_STRING, inner)?;
        (rest.is_empty() && inner.is_empty()).then_some(())?;
        Some(Self { body: body.whole, algorithm: algorithm.contents, signature: octets(signature.contents)? })
    }
}

/// A `SubjectPublicKeyInfo` (RFC 5280 section 4.1.2.7).
#[derive(Debug, Clone, Copy)]
pub(crate) struct PublicKey<'a> {
    /// Contents of its `AlgorithmIdentifier`.
    pub(crate) algorithm: &'a [u8],
    /// The key's octets.
    pub(crate) key: &'a [u8],
}

impl<'a> PublicKey<'a> {
    /// Takes the contents of a `SubjectPublicKeyInfo` apart.
    pub(crate) fn parse(contents: &'a [u8]) -> Option<Self> {
        let (algorithm, rest) = expect(SEQUENCE, contents)?;
        let (key, rest) = expect(BIT_STRING, rest)?;
        rest.is_empty().then_some(Self { algorithm: algorithm.contents, key: octets(key.contents)? })
    }
}

/// The octets of a `BIT STRING` without unused bits.
fn octets(contents: &[u8]) -> Option<&[u8]> {
    contents.split_first().filter(|(unused, _)| **unused == 0).map(|(_, octets)| octets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_minimal_and_inside_the_input() {
        assert_eq!(
            read(&[0x04, 2, 7, 8, 9]).map(|(tlv, rest)| (tlv.contents, rest)),
            Some((&[7u8, 8][..], &[9u8][..]))
        );
        for bad in
            [&[][..], &[0x30], &[0x30, 2, 1], &[0x30, 0x80], &[0x30, 0x81, 0x7f], &[0x30, 0x82, 0, 0x80], &[0x1f, 1]]
        {
            assert_eq!(read(bad), None, "{bad:?}");
        }
        assert!(read(&[0x30, 0x84, 0xff, 0xff, 0xff, 0xff, 1]).is_none());
        assert!(read(&[0x30, 0x85, 1, 0, 0, 0, 0]).is_none());
    }

    #[test]
    fn long_form_lengths_are_read() {
        let mut input = vec![0x30, 0x81, 0x80];
        input.extend([5; 0x80]);
        assert!(is_one_sequence(&input));
        input.push(0);
        assert!(!is_one_sequence(&input));
    }
}
