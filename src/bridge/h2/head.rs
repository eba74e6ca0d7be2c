//! What of a frame is read: its header, and the first bytes of the few payloads that matter (RFC 9113 sections 4.1, 6).

/// Octets of a frame header (RFC 9113 section 4.1).
const HEADER: usize = 9;
/// A frame header and the opaque data of a PING: the most that is ever held back.
pub(super) const MOST: usize = HEADER + 8;
/// The reserved bit in front of a stream identifier, which means nothing (RFC 9113 section 4.1).
pub(super) const ID: u32 = 0x7fff_ffff;

/// Frame types (RFC 9113 section 6).
pub(super) mod kind {
    pub(in crate::bridge::h2) const DATA: u8 = 0x0;
    pub(in crate::bridge::h2) const HEADERS: u8 = 0x1;
    pub(in crate::bridge::h2) const RST_STREAM: u8 = 0x3;
    pub(in crate::bridge::h2) const SETTINGS: u8 = 0x4;
    pub(in crate::bridge::h2) const PUSH_PROMISE: u8 = 0x5;
    pub(in crate::bridge::h2) const PING: u8 = 0x6;
    pub(in crate::bridge::h2) const GOAWAY: u8 = 0x7;
    pub(in crate::bridge::h2) const CONTINUATION: u8 = 0x9;
}

/// Flags of frames (RFC 9113 section 6).
pub(super) mod flag {
    /// Of SETTINGS and PING.
    pub(in crate::bridge::h2) const ACK: u8 = 0x1;
    /// Of DATA and HEADERS.
    pub(in crate::bridge::h2) const END_STREAM: u8 = 0x1;
    /// Of HEADERS, PUSH_PROMISE and CONTINUATION.
    pub(in crate::bridge::h2) const END_HEADERS: u8 = 0x4;
    /// Of DATA, HEADERS and PUSH_PROMISE.
    pub(in crate::bridge::h2) const PADDED: u8 = 0x8;
}

/// The beginning of a frame, as far as it has come: what has not been forwarded yet, and nothing else.
#[derive(Debug, Clone, Default)]
pub(super) struct Head {
    bytes: [u8; MOST],
    filled: u8,
}

impl Head {
    /// Takes what is still wanted from the front of `bytes`, and returns how many octets that were.
    pub(super) fn fill(&mut self, bytes: &[u8]) -> usize {
        let mut taken = 0;
        // Twice at the most: how much of the payload is wanted stands in the header.
        while !self.is_whole() && taken < bytes.len() {
            let at = self.filled();
            let count = (self.wanted() - at).min(bytes.len() - taken);
            self.bytes[at..at + count].copy_from_slice(&bytes[taken..taken + count]);
            self.filled += u8::try_from(count).expect("at most seventeen");
            taken += count;
        }
        taken
    }

    /// Whether all is there that is to be read of this frame.
    pub(super) fn is_whole(&self) -> bool {
        self.filled() >= HEADER && self.filled() == self.wanted()
    }

    /// Everything taken so far.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.filled()]
    }

    /// Forgets what was taken: the next frame begins.
    pub(super) fn clear(&mut self) {
        self.filled = 0;
    }

    /// Forgets what was taken behind the first `count` octets.
    pub(super) fn truncate(&mut self, count: usize) {
        self.filled = self.filled.min(u8::try_from(count).unwrap_or(u8::MAX));
    }

    /// Octets of the payload that the head does not hold.
    pub(super) fn left(&self) -> u32 {
        self.length() - u32::try_from(self.payload().len()).expect("at most eight")
    }

    pub(super) fn kind(&self) -> u8 {
        self.bytes[3]
    }

    pub(super) fn has(&self, flag: u8) -> bool {
        self.bytes[4] & flag != 0
    }

    pub(super) fn stream(&self) -> u32 {
        self.number(5) & ID
    }

    /// Whether this is a PING with `data`, or the acknowledgement of one.
    pub(super) fn is_ping(&self, acknowledges: bool, data: [u8; 8]) -> bool {
        self.kind() == kind::PING
            && self.length() == 8
            && self.stream() == 0
            && self.has(flag::ACK) == acknowledges
            && self.payload() == data
    }

    /// The last stream identifier of a GOAWAY (RFC 9113 section 6.8).
    pub(super) fn last_stream(&self) -> Option<u32> {
        (self.kind() == kind::GOAWAY && self.payload().len() == 4).then(|| self.number(HEADER) & ID)
    }

    /// Puts another last stream identifier into a GOAWAY.
    pub(super) fn set_last_stream(&mut self, last: u32) {
        self.bytes[HEADER..HEADER + 4].copy_from_slice(&last.to_be_bytes());
    }

    /// The stream that a PUSH_PROMISE reserves (RFC 9113 section 6.6).
    pub(super) fn promised(&self) -> Option<u32> {
        let at = HEADER + usize::from(self.has(flag::PADDED));
        (self.kind() == kind::PUSH_PROMISE && self.filled() == at + 4).then(|| self.number(at) & ID)
    }

    fn filled(&self) -> usize {
        usize::from(self.filled)
    }

    fn wanted(&self) -> usize {
        if self.filled() < HEADER {
            return HEADER;
        }
        let payload = match self.kind() {
            kind::PING => 8,
            kind::GOAWAY => 4,
            kind::PUSH_PROMISE => 4 + u32::from(self.has(flag::PADDED)),
            _ => 0,
        };
        HEADER + payload.min(self.length()) as usize
    }

    fn payload(&self) -> &[u8] {
        &self.bytes[HEADER..self.filled()]
    }

    fn length(&self) -> u32 {
        self.number(0) >> 8
    }

    fn number(&self, at: usize) -> u32 {
        u32::from_be_bytes([self.bytes[at], self.bytes[at + 1], self.bytes[at + 2], self.bytes[at + 3]])
    }
}

/// A GOAWAY without an error (RFC 9113 section 6.8).
pub(super) fn go_away(last: u32) -> [u8; MOST] {
    frame(kind::GOAWAY, u64::from(last) << 32)
}

/// A PING (RFC 9113 section 6.7).
pub(super) fn ping(data: [u8; 8]) -> [u8; MOST] {
    frame(kind::PING, u64::from_be_bytes(data))
}

/// A frame of the connection with eight octets of payload and no flags.
fn frame(kind: u8, payload: u64) -> [u8; MOST] {
    let mut frame = [0; MOST];
    frame[2] = 8;
    frame[3] = kind;
    frame[HEADER..].copy_from_slice(&payload.to_be_bytes());
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(bytes: &[u8]) -> Head {
        let mut head = Head::default();
        // One at a time, which is the hardest.
        let taken: usize = bytes.iter().map(|byte| head.fill(&[*byte])).sum();
        assert_eq!(taken, head.bytes().len());
        head
    }

    #[test]
    fn our_frames_are_those_of_the_specification() {
        assert_eq!(go_away(0x7fff_ffff), *b"\0\0\x08\x07\0\0\0\0\0\x7f\xff\xff\xff\0\0\0\0");
        assert_eq!(ping(*b"abcdefgh"), *b"\0\0\x08\x06\0\0\0\0\0abcdefgh");
    }

    #[test]
    fn a_head_takes_what_it_needs_and_no_more() {
        let data = head(b"\x01\x02\x03\x00\x01\x80\0\0\x05payload");
        assert_eq!((data.bytes().len(), data.left(), data.stream()), (9, 0x1_0203, 5));
        assert!(data.is_whole() && data.has(flag::END_STREAM));
        let ping = head(b"\0\0\x08\x06\x01\0\0\0\0abcdefgh-next");
        assert!(ping.is_ping(true, *b"abcdefgh") && !ping.is_ping(false, *b"abcdefgh"));
        assert_eq!((ping.bytes().len(), ping.left()), (17, 0));
        let go_away = head(b"\0\0\x0a\x07\0\0\0\0\0\x80\0\0\x09\0\0\0\x02no");
        assert_eq!((go_away.last_stream(), go_away.left()), (Some(9), 6));
        let promise = head(b"\0\0\x0a\x05\x08\0\0\0\x01\x03\0\0\0\x02");
        assert_eq!((promise.promised(), promise.left()), (Some(2), 5));
        // Too short for what belongs there: the far end will say so; here it is a frame like any other.
        let short = head(b"\0\0\x02\x07\0\0\0\0\0\0\0");
        assert_eq!((short.is_whole(), short.last_stream(), short.left()), (true, None, 0));
    }
}
