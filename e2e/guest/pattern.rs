//! Bytes that both ends can make by themselves, and a checksum that both ends have: byte n is n modulo 251, RFC 1950's
//! Adler-32 over all.

const PERIOD: usize = 251;
const LENGTH: usize = PERIOD * 256;

/// The pattern from `offset` on, as long as one write takes.
pub(crate) fn from(offset: u64) -> &'static [u8] {
    static TABLE: [u8; LENGTH] = {
        let mut table = [0; LENGTH];
        let mut at = 0;
        while at < LENGTH {
            table[at] = (at % PERIOD) as u8;
            at += 1;
        }
        table
    };
    &TABLE[(offset % PERIOD as u64) as usize..]
}

/// A running checksum.
pub(crate) struct Adler32 {
    low: u32,
    high: u32,
}

impl Adler32 {
    pub(crate) fn new() -> Self {
        Self { low: 1, high: 0 }
    }

    pub(crate) fn add(&mut self, bytes: &[u8]) {
        // 5,552 bytes are as many as cannot overflow 32 bits between two reductions.
        for piece in bytes.chunks(5552) {
            for byte in piece {
                self.low += u32::from(*byte);
                self.high += self.low;
            }
            self.low %= 65521;
            self.high %= 65521;
        }
    }

    pub(crate) fn value(&self) -> u32 {
        self.high << 16 | self.low
    }
}
