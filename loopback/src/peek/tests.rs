//! First datagrams: whole, in pieces, and anything else.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::hello::encode;

fn hello() -> ClientHello {
    ClientHello { server_name: Some("stargate".into()), alpn: vec![b"h3".to_vec()], ..ClientHello::default() }
}

/// The bytes of a hello, with a limit of 10 bidirectional streams.
fn bytes() -> Vec<u8> {
    let fields = encode::client_fields(&hello(), HELLO_FORMAT).expect("can be sent");
    encode::client(HELLO_FORMAT, &[0x08, 1, 10], &fields).expect("fits")
}

fn frame(offset: u8, data: &[u8]) -> Vec<u8> {
    [&[0x06, offset & 0x3f, 0x40][..], &[u8::try_from(data.len()).expect("short")], data].concat()
}

/// A packet: a header that stands for itself, a packet number of two bytes, frames, the tag.
fn packet(number: u16, frames: &[u8]) -> (Vec<u8>, usize) {
    let header = [0xc1, b'h', b'e', b'a', b'd'];
    let tag = keys::tag(number.into(), 0);
    ([&header[..], &number.to_be_bytes(), frames, &tag].concat(), header.len())
}

fn peeked(frames: &[u8]) -> Peeked {
    let (packet, pn_offset) = packet(3, frames);
    peek(&packet, pn_offset)
}

#[test]
fn a_hello_in_one_packet_is_read() {
    let bytes = bytes();
    let (first, second) = bytes.split_at(20);
    let expected = Ok((hello(), PeerLimits { bidi_streams: 10, ..PeerLimits::default() }));
    let ping_and_padding = [0x01, 0x00, 0x00];
    for frames in [
        frame(0, &bytes),
        [&ping_and_padding[..], &frame(0, &bytes), &[0; 900]].concat(),
        [frame(0, first), frame(20, second)].concat(),
        [frame(20, second), frame(0, first)].concat(),
        // Overlapping, and once more.
        [frame(0, &bytes[..30]), frame(20, second), frame(0, first)].concat(),
    ] {
        assert_eq!(peeked(&frames), expected);
    }
}

#[test]
fn anything_else_is_an_error() {
    let bytes = bytes();
    assert_eq!(peeked(&[]), Err(HelloError::Incomplete));
    assert_eq!(peeked(&[0x01]), Err(HelloError::Incomplete));
    assert_eq!(peeked(&frame(0, &bytes[..20])), Err(HelloError::Incomplete));
    assert_eq!(peeked(&frame(20, &bytes[20..])), Err(HelloError::Incomplete));
    assert_eq!(peeked(&frame(1, &bytes)), Err(HelloError::Incomplete));
    assert_eq!(peeked(&frame(0, &[&bytes[..], &[0]].concat())), Err(HelloError::Trailing));
    assert_eq!(peeked(&frame(0, &bytes)[..20]), Err(HelloError::Cut));
    // A frame that has no place in a first packet, and more frames than anybody needs.
    assert_eq!(peeked(&[0x02, 0, 0, 0, 0]), Err(HelloError::Trailing));
    assert_eq!(peeked(&frame(0, b"I").repeat(MAX_FRAMES + 1)), Err(HelloError::Trailing));
    // The tag of another packet.
    let (mut wrong, pn_offset) = packet(3, &frame(0, &bytes));
    wrong[pn_offset + 1] = 4;
    assert_eq!(peek(&wrong, pn_offset), Err(HelloError::Cut));
}

#[test]
fn what_waits_is_bounded_in_number_and_age() {
    let (waiting, start) = (Waiting::default(), Instant::now());
    let id = |n: usize| ConnectionId::new(&n.to_be_bytes());
    for n in 0..=MAX_WAITING {
        waiting.put(id(n), start, Err(HelloError::Incomplete));
    }
    assert_eq!(waiting.lock().len(), MAX_WAITING);
    assert_eq!(waiting.take(&id(0)), None, "the oldest made room");
    assert!(waiting.take(&id(MAX_WAITING)).is_some());
    assert!(waiting.take(&id(MAX_WAITING)).is_none(), "taken once");
    waiting.put(id(9999), start + MAX_AGE, Ok((hello(), PeerLimits::default())));
    assert_eq!(waiting.lock().len(), 1, "the old ones are gone");
    assert_eq!(waiting.take(&id(9999)), Some(Ok((hello(), PeerLimits::default()))));
}

proptest! {
    #[test]
    fn any_packet_is_an_error_at_worst(bytes in vec(any::<u8>(), 0..200), pn_offset in 0usize..300) {
        let _ = peek(&bytes, pn_offset);
    }

    #[test]
    fn any_frames_are_an_error_at_worst(frames in vec(prop_oneof![Just(6u8), 0u8..8, any::<u8>()], 0..200)) {
        let _ = peeked(&frames);
    }
}
