//! The registry of fields, their limits, and the coding that all of them share.
//!
//! A field is a type, a length and a value; type and length are two bytes each, in network order. The highest bit of the
//! type says that a reader who does not know the field must refuse the whole.

use super::HelloError;

/// First four bytes of every hello.
pub(crate) const MAGIC: [u8; 4] = *b"ILBH";
/// Magic, newest format, lowest format, length of the fields.
pub(crate) const HEADER_LEN: usize = 8;
/// Set in the type of a field that must not be ignored.
pub(crate) const CRITICAL: u16 = 0x8000;

/// Transport parameters of the sender, encoded as in RFC 9000 section 18. Both sides, required.
pub(crate) const TRANSPORT_PARAMETERS: u16 = CRITICAL | 1;
/// The name that would be SNI. Client.
pub(crate) const SERVER_NAME: u16 = CRITICAL | 2;
/// Client: the protocols on offer. Server: the one that was chosen.
pub(crate) const ALPN: u16 = CRITICAL | 3;
/// `host:port` to dial. Client.
pub(crate) const DESTINATION: u16 = CRITICAL | 4;
/// What the secured side knows; fields of its own inside. Client, since format 2.
pub(crate) const PEER: u16 = 5;

/// Fields inside [`PEER`].
pub(crate) mod peer {
    use super::CRITICAL;

    pub(crate) const ADDRESS: u16 = 1;
    pub(crate) const SERVER_NAME: u16 = 2;
    pub(crate) const ALPN: u16 = 3;
    pub(crate) const TLS_VERSION: u16 = 4;
    pub(crate) const CERTIFICATE_SHA256: u16 = 5;
    pub(crate) const DNS_NAMES: u16 = 6;
    pub(crate) const URIS: u16 = 7;
    /// Critical: who cannot see that names are missing must not judge by the names that are there.
    pub(crate) const NAMES_TRUNCATED: u16 = CRITICAL | 8;
    pub(crate) const DATAGRAM_SIZE: u16 = 9;
}

/// Longest server name, in bytes.
pub(crate) const MAX_NAME: usize = 255;
/// Longest `host:port`, in bytes.
pub(crate) const MAX_DESTINATION: usize = 300;
/// Longest protocol name, in bytes.
pub(crate) const MAX_PROTOCOL: usize = 255;
/// Most protocols on offer.
pub(crate) const MAX_PROTOCOLS: usize = 64;
/// Bytes of all protocols on offer, each with its length byte.
pub(crate) const MAX_PROTOCOL_LIST: usize = 1024;
/// Longest name of a certificate, in bytes.
pub(crate) const MAX_CERTIFICATE_NAME: usize = 2048;
/// Most names of one kind of a certificate.
pub(crate) const MAX_CERTIFICATE_NAMES: usize = 128;

/// Whether `text` may stand in a hello: it can appear in a log line without breaking it.
pub(crate) fn is_text(text: &str, max: usize) -> bool {
    !text.is_empty() && text.len() <= max && !text.chars().any(char::is_control)
}

/// Appends one field.
pub(crate) fn put(out: &mut Vec<u8>, field: u16, value: &[u8]) {
    let length = u16::try_from(value.len()).expect("every value is bounded far below 64 KiB before it comes here");
    out.extend_from_slice(&field.to_be_bytes());
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(value);
}

/// Reads from the front of a slice, and says so when that ends too early.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.0.split_at_checked(count)?;
        self.0 = tail;
        Some(head)
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    /// A variable-length integer (RFC 9000 section 16).
    pub(crate) fn varint(&mut self) -> Option<u64> {
        let first = self.u8()?;
        let rest = self.take((1 << (first >> 6)) - 1)?;
        Some(rest.iter().fold(u64::from(first & 0x3f), |value, byte| value << 8 | u64::from(*byte)))
    }

    /// The next field: its type and its value; `None` where there are no more.
    pub(crate) fn field(&mut self) -> Result<Option<(u16, &'a [u8])>, HelloError> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let field = self.u16().ok_or(HelloError::Cut)?;
        let length = self.u16().ok_or(HelloError::Cut)?;
        let value = self.take(usize::from(length)).ok_or(HelloError::Cut)?;
        Ok(Some((field, value)))
    }
}

/// Which of the known fields were there, to refuse a second one.
#[derive(Debug, Default)]
pub(crate) struct Seen(u16);

impl Seen {
    /// Records a known field. All known types are below 16 without their critical bit.
    pub(crate) fn once(&mut self, field: u16) -> Result<(), HelloError> {
        let bit = 1u16.checked_shl(u32::from(field & !CRITICAL)).unwrap_or(0);
        if self.0 & bit != 0 {
            return Err(HelloError::Duplicate(field));
        }
        self.0 |= bit;
        Ok(())
    }
}
