//! Collecting a hello from the CRYPTO frames that bring it.

use super::HelloError;
use super::decode::{Header, header};
use super::field::HEADER_LEN;

/// The bytes of a hello so far. Never more of them than the hello says it has, and never more than
/// [`MAX_HELLO`](super::MAX_HELLO).
#[derive(Debug, Default)]
pub(crate) struct Reassembly {
    bytes: Vec<u8>,
    header: Option<Header>,
}

/// A hello that is whole: its header, and the bytes of its fields.
#[derive(Debug)]
pub(crate) struct Whole {
    pub(crate) header: Header,
    bytes: Vec<u8>,
}

impl Whole {
    pub(crate) fn fields(&self) -> &[u8] {
        &self.bytes[HEADER_LEN..]
    }
}

impl Reassembly {
    /// Bytes that are kept.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Takes the next bytes. `Some` when they complete the hello; then the reassembly is empty again and not to be used.
    ///
    /// `speaks` is the newest format of the reader.
    pub(crate) fn push(&mut self, mut bytes: &[u8], speaks: u8) -> Result<Option<Whole>, HelloError> {
        if self.header.is_none() {
            let (head, rest) = bytes.split_at(bytes.len().min(HEADER_LEN - self.bytes.len()));
            self.bytes.extend_from_slice(head);
            bytes = rest;
            self.header = header(&self.bytes, speaks)?;
        }
        let Some(header) = self.header else { return Ok(None) };
        if bytes.len() > header.total - self.bytes.len() {
            return Err(HelloError::Trailing);
        }
        self.bytes.extend_from_slice(bytes);
        if self.bytes.len() < header.total {
            return Ok(None);
        }
        Ok(Some(Whole { header, bytes: std::mem::take(&mut self.bytes) }))
    }
}
