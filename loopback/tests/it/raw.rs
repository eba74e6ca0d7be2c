//! A client made of bytes, for what no well-behaved one sends.

use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use iris_loopback::VERSION;

/// Our connection ID.
const ID: [u8; 8] = *b"rawbytes";
/// Initial, Handshake: the type bits of a long header.
const INITIAL: u8 = 0x00;
const HANDSHAKE: u8 = 0x20;

/// One connection, one packet at a time. Packet numbers are four bytes long.
pub(crate) struct Raw {
    socket: UdpSocket,
    to: SocketAddr,
    /// Where the other side wants its packets; until it has said so, what we made up.
    destination: Vec<u8>,
}

impl Raw {
    pub(crate) fn new(to: SocketAddr) -> Self {
        Self::from(UdpSocket::bind("127.0.0.1:0").expect("binds"), to)
    }

    pub(crate) fn from(socket: UdpSocket, to: SocketAddr) -> Self {
        socket.set_read_timeout(Some(Duration::from_secs(5))).expect("can be set");
        let port = socket.local_addr().expect("bound").port().to_be_bytes();
        Self { socket, to, destination: [&b"chosen"[..], &port].concat() }
    }

    /// An Initial packet, padded to the 1,200 bytes that QUIC wants (RFC 9000 section 14.1).
    pub(crate) fn initial(&self, number: u32, frames: &[u8]) {
        let padding = 1200usize.saturating_sub(frames.len());
        self.long(INITIAL, number, &[frames, &vec![0; padding]].concat());
    }

    pub(crate) fn handshake(&self, number: u32, frames: &[u8]) {
        self.long(HANDSHAKE, number, frames);
    }

    fn long(&self, kind: u8, number: u32, frames: &[u8]) {
        let length = u16::try_from(frames.len() + 8).expect("short") | 0x4000;
        let token: &[u8] = if kind == INITIAL { &[0] } else { &[] };
        let id_len = |id: &[u8]| u8::try_from(id.len()).expect("at most 20");
        let packet = [
            &[0xc3 | kind][..],
            &VERSION.to_be_bytes(),
            &[id_len(&self.destination)],
            &self.destination,
            &[id_len(&ID)],
            &ID,
            token,
            &length.to_be_bytes(),
        ]
        .concat();
        self.send(packet, number, frames);
    }

    /// A packet of an established connection.
    pub(crate) fn short(&self, number: u32, frames: &[u8]) {
        self.send([&[0x43][..], &self.destination].concat(), number, frames);
    }

    fn send(&self, mut packet: Vec<u8>, number: u32, frames: &[u8]) {
        packet.extend_from_slice(&number.to_be_bytes());
        packet.extend_from_slice(frames);
        // The tag: the low half of the packet number.
        packet.extend_from_slice(&number.to_be_bytes());
        self.socket.send_to(&packet, self.to).expect("sent");
    }

    /// Waits for an answer with a long header and takes the other side's connection ID from it. Gives the whole datagram.
    pub(crate) fn answer(&mut self) -> Vec<u8> {
        let deadline = Instant::now() + Duration::from_secs(10);
        while Instant::now() < deadline {
            let datagram = self.receive();
            if datagram[0] & 0x80 != 0 {
                let source = 6 + usize::from(datagram[5]);
                let length = usize::from(datagram[source]);
                self.destination = datagram[source + 1..][..length].to_vec();
                return datagram;
            }
        }
        panic!("no answer with a long header");
    }

    fn receive(&self) -> Vec<u8> {
        let mut datagram = vec![0; 65_536];
        let length = self.socket.recv(&mut datagram).expect("an answer");
        datagram.truncate(length);
        datagram
    }

    /// Waits for a CONNECTION_CLOSE in any packet, and gives its transport error code and what follows it.
    pub(crate) fn closed(&self) -> (u8, String) {
        let deadline = Instant::now() + Duration::from_secs(10);
        while Instant::now() < deadline {
            let datagram = self.receive();
            // Frame 0x1c, the code, the type of the frame at fault, the length of the reason; all of one byte here, but for
            // the reason's length above 63.
            if let Some(at) = datagram
                .windows(8)
                .position(|bytes| bytes[0] == 0x1c && bytes[1] < 0x20 && bytes[4..].starts_with(b"hell"))
            {
                let reason = String::from_utf8_lossy(&datagram[at + 4..]).into_owned();
                return (datagram[at + 1], reason);
            }
        }
        panic!("not closed");
    }

    /// Whether nothing at all comes for a while.
    pub(crate) fn silence(&self) -> bool {
        self.socket.set_read_timeout(Some(Duration::from_millis(300))).expect("can be set");
        self.socket.recv(&mut [0; 2000]).is_err()
    }
}

/// A CRYPTO frame (RFC 9000 section 19.6).
pub(crate) fn crypto(offset: usize, data: &[u8]) -> Vec<u8> {
    let offset = u32::try_from(offset).expect("short") | 0x8000_0000;
    let length = u16::try_from(data.len()).expect("short") | 0x4000;
    [&[0x06][..], &offset.to_be_bytes(), &length.to_be_bytes(), data].concat()
}

/// A client hello with the parameters that quinn insists on, and these fields more.
pub(crate) fn hello(more: &[(u16, Vec<u8>)]) -> Vec<u8> {
    let id_len = u8::try_from(ID.len()).expect("short");
    // initial_source_connection_id, and a window for data and streams.
    let mut parameters = [&[0x0f, id_len][..], &ID].concat();
    for id in [0x04, 0x05, 0x06, 0x07, 0x08, 0x09] {
        parameters.extend_from_slice(&[id, 2, 0x50, 0x00]);
    }
    let mut body = Vec::new();
    for (field, value) in [&[(0x8001, parameters)][..], more].concat() {
        body.extend_from_slice(&field.to_be_bytes());
        body.extend_from_slice(&u16::try_from(value.len()).expect("short").to_be_bytes());
        body.extend_from_slice(&value);
    }
    let length = u16::try_from(body.len()).expect("short");
    [&b"ILBH\x02\x01"[..], &length.to_be_bytes(), &body].concat()
}

/// The one byte that ends the handshake.
pub(crate) const FINISH: &[u8] = &[0x01];
