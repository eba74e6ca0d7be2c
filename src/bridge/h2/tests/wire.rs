//! Frames for tests, and a reader of them that shares nothing with the watcher.

/// A frame, whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) kind: u8,
    pub(super) flags: u8,
    pub(super) stream: u32,
    pub(super) payload: Vec<u8>,
}

pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

pub(super) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Frame {
    Frame { kind, flags, stream, payload: payload.to_vec() }
}

pub(super) fn settings() -> Frame {
    frame(4, 0, 0, b"\0\x03\0\0\0\x64")
}

/// HEADERS in one piece.
pub(super) fn headers(stream: u32, ends: bool) -> Frame {
    frame(1, 4 | u8::from(ends), stream, b"\x82\x86")
}

pub(super) fn data(stream: u32, ends: bool) -> Frame {
    frame(0, u8::from(ends), stream, &[b'd'; 100])
}

pub(super) fn reset(stream: u32) -> Frame {
    frame(3, 0, stream, &8_u32.to_be_bytes())
}

pub(super) fn go_away(last: u32) -> Frame {
    frame(7, 0, 0, &[last.to_be_bytes(), [0; 4]].concat())
}

pub(super) fn ping(ack: bool, data: &[u8]) -> Frame {
    frame(6, u8::from(ack), 0, data)
}

impl Frame {
    pub(super) fn bytes(&self) -> Vec<u8> {
        let length = u32::try_from(self.payload.len()).unwrap().to_be_bytes();
        let mut bytes = length[1..].to_vec();
        bytes.extend([self.kind, self.flags]);
        bytes.extend(self.stream.to_be_bytes());
        bytes.extend(&self.payload);
        bytes
    }

    /// Whether this may be one of ours: GOAWAY without an error or words, or a PING.
    pub(super) fn may_be_ours(&self) -> bool {
        let connection = (self.stream, self.flags, self.payload.len()) == (0, 0, 8);
        connection && (self.kind == 6 || self.kind == 7 && self.payload[4..] == [0; 4])
    }
}

/// The frames of `bytes`, which must end with one.
pub(super) fn read(mut bytes: &[u8]) -> Vec<Frame> {
    let mut frames = Vec::new();
    while !bytes.is_empty() {
        let length = u32::from_be_bytes([0, bytes[0], bytes[1], bytes[2]]) as usize;
        let stream = u32::from_be_bytes(bytes[5..9].try_into().unwrap());
        frames.push(frame(bytes[3], bytes[4], stream, &bytes[9..9 + length]));
        bytes = &bytes[9 + length..];
    }
    frames
}

pub(super) fn write(frames: &[Frame]) -> Vec<u8> {
    frames.iter().flat_map(Frame::bytes).collect()
}
