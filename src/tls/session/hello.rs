//! Collects a ClientHello that may come in several CRYPTO frames and datagrams, and reads it as rustls does.

use std::io::Cursor;

use rustls::server::Acceptor;

use crate::tls::alert::Alert;

/// The longest ClientHello that is taken, in bytes with its header: what one TLS record holds (RFC 8446 section 5.1).
pub(super) const HELLO_LIMIT: usize = 16 * 1024;

const HEADER: usize = 4;
const CLIENT_HELLO: u8 = 1;

/// What the choice of a configuration needs to know.
#[derive(Debug, Clone, PartialEq, Eq)]
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
        if self.0.len() + bytes.len() > HELLO_LIMIT {
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
    let mut record = Cursor::new(record);
    // It takes a few KiB at a time.
    let accepted = loop {
        let taken = acceptor.read_tls(&mut record).map_err(|_| unreadable(Alert::DECODE_ERROR))?;
        match acceptor.accept() {
            Ok(None) if taken == 0 => return Err(unreadable(Alert::DECODE_ERROR)),
            Ok(None) => {}
            Ok(Some(accepted)) => break Ok(accepted),
            Err(refused) => break Err(refused),
        }
    };
    let accepted = match accepted {
        Ok(accepted) => accepted,
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A ClientHello as rustls writes it for QUIC.
    fn hello(alpn: &[&[u8]]) -> Vec<u8> {
        let verifier = std::sync::Arc::new(crate::tls::verify::Unverified);
        let mut config =
            crate::tls::client::config(verifier, None, &crate::plan::TlsPolicy::default()).expect("config");
        config.alpn_protocols = alpn.iter().map(|protocol| protocol.to_vec()).collect();
        let name = "server.example".try_into().expect("a name");
        let version = rustls::quic::Version::V1;
        let mut client = rustls::quic::ClientConnection::new(config.into(), version, name, Vec::new()).expect("client");
        let mut out = Vec::new();
        assert!(client.write_hs(&mut out).is_none());
        out
    }

    #[test]
    fn a_hello_is_read_however_it_is_cut() {
        let message = hello(&[b"h3", b"custom"]);
        let expected = Offer {
            server_name: Some("server.example".to_owned()),
            alpn: Some(vec![b"h3".to_vec(), b"custom".to_vec()]),
        };
        for size in [1, 3, 100, message.len()] {
            let mut buffer = HelloBuffer::default();
            let mut offers = message.chunks(size).filter_map(|chunk| buffer.push(chunk).expect("well-formed"));
            assert_eq!(offers.next(), Some(expected.clone()));
            assert_eq!(offers.next(), None);
            drop(offers);
            assert_eq!(buffer.into_bytes(), message);
        }
        assert_eq!(HelloBuffer::default().push(&hello(&[])).expect("well-formed").expect("whole").alpn, None);
    }

    /// As long as it may be: hundreds of protocols on offer.
    #[test]
    fn a_long_hello_is_read_too() {
        let protocols: Vec<Vec<u8>> =
            (0..450).map(|n| format!("a-protocol-with-a-long-name-{n:04}").into_bytes()).collect();
        let message = hello(&protocols.iter().map(Vec::as_slice).collect::<Vec<_>>());
        assert!((14 * 1024..HELLO_LIMIT).contains(&message.len()), "{}", message.len());
        let offer = HelloBuffer::default().push(&message).expect("well-formed").expect("whole");
        assert_eq!(offer.alpn.map(|offered| offered.len()), Some(450));
    }

    #[test]
    fn what_is_no_hello_is_refused_before_it_grows() {
        let alert = |bytes: &[u8]| HelloBuffer::default().push(bytes).expect_err("refused").0;
        assert_eq!(alert(&[2, 0, 0, 1]), Alert::UNEXPECTED_MESSAGE);
        assert_eq!(alert(&[1, 0, 0x40, 0]), Alert::ILLEGAL_PARAMETER);
        assert_eq!(alert(&[1, 0xff, 0xff, 0xff]), Alert::ILLEGAL_PARAMETER);
        assert_eq!(alert(&[1, 0, 0, 1, 0]), Alert::DECODE_ERROR);
        assert_eq!(alert(&[1; HELLO_LIMIT + 1]), Alert::ILLEGAL_PARAMETER);
        assert_eq!(HelloBuffer::default().push(&[1, 0, 0x3f, 0xfc]), Ok(None), "the longest that is taken");
    }

    proptest! {
        #[test]
        fn any_bytes_give_an_answer(
            flip in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
            cut in any::<prop::sample::Index>(),
        ) {
            let mut message = hello(&[b"h3"]);
            for (at, byte) in flip {
                let at = at.index(message.len());
                message[at] = byte;
            }
            let cut = cut.index(message.len());
            let mut buffer = HelloBuffer::default();
            if buffer.push(&message[..cut]).is_ok() {
                let _ = buffer.push(&message[cut..]);
            }
        }
    }
}
