//! Collects a ClientHello that may come in several CRYPTO frames and datagrams, and reads it as rustls does.

use std::io::Cursor;

use rustls::server::Acceptor;

use crate::tls::alert::Alert;

/// The longest ClientHello that is taken, in bytes with its header: what one TLS record holds (RFC 8446 section 5.1).
pub(super) const HELLO_LIMIT: usize = 16 * 1024;

const HEADER: usize = 4;
const CLIENT_HELLO: u8 = 1;

/// What the choice of a configuration needs to know.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Offer {
    pub(super) server_name: Option<String>,
    pub(super) alpn: Option<Vec<Vec<u8>>>,
}

/// Bytes of the client's first flight, until the ClientHello is whole.
#[derive(Default)]
pub(super) struct HelloBuffer(Vec<u8>);

impl HelloBuffer {
    /// Takes the next bytes, and reads the ClientHello when it is whole.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<Option<Offer>, (Alert, &'static str)> {
        if self.0.len() + bytes.len() > HELLO_LIMIT + HEADER {
            return Err(TOO_LONG);
        }
        self.0.extend_from_slice(bytes);
        let Some((&[kind, high, middle, low], body)) = self.0.split_first_chunk() else { return Ok(None) };
        if kind != CLIENT_HELLO {
            return Err((Alert::UNEXPECTED_MESSAGE, "the first message is no ClientHello"));
        }
        let length = u32::from_be_bytes([0, high, middle, low]) as usize;
        if length + HEADER > HELLO_LIMIT {
            return Err(TOO_LONG);
        }
        if body.len() < length { Ok(None) } else { parse(&self.0[..HEADER + length]).map(Some) }
    }

    /// All bytes taken, for the session that goes on.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

const TOO_LONG: (Alert, &str) = (Alert::ILLEGAL_PARAMETER, "the ClientHello is too long");

/// Dresses the handshake message as one TLS record, so that rustls' own parser reads it.
fn parse(message: &[u8]) -> Result<Offer, (Alert, &'static str)> {
    let unreadable = |alert| (alert, "the ClientHello cannot be read");
    let length = u16::try_from(message.len()).expect("at most 16 KiB").to_be_bytes();
    let mut record = vec![22, 3, 1, length[0], length[1]];
    record.extend_from_slice(message);
    let mut acceptor = Acceptor::default();
    acceptor.read_tls(&mut Cursor::new(record)).map_err(|_| unreadable(Alert::DECODE_ERROR))?;
    let accepted = match acceptor.accept() {
        Ok(Some(accepted)) => accepted,
        Ok(None) => return Err(unreadable(Alert::DECODE_ERROR)),
        Err((_, mut alert)) => {
            let mut record = Vec::new();
            let written = alert.write(&mut record).is_ok();
            // Content type, version, length, level: the description is the seventh byte.
            let description = record.get(6).filter(|_| written && record[0] == 21).copied();
            return Err(unreadable(description.map_or(Alert::DECODE_ERROR, Alert)));
        }
    };
    let hello = accepted.client_hello();
    Ok(Offer {
        server_name: hello.server_name().map(str::to_owned),
        alpn: hello.alpn().map(|protocols| protocols.map(<[u8]>::to_vec).collect()),
    })
}
