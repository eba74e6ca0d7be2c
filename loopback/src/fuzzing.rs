//! The door for the fuzzer: everything that reads bytes of the other side before a connection stands.

use std::sync::Arc;

use quinn_proto::crypto::Session as _;

use crate::hello::reassembly::Reassembly;
use crate::hello::{ClientHello, HELLO_FORMAT, MAX_HELLO, decode, encode};
use crate::parameters::DatagramSize;
use crate::peek::peek;
use crate::policy::Policy;
use crate::provider::{Client, Server};
use crate::session::Session;

/// Feeds bytes to both kinds of session, in pieces, and to the reader of first datagrams. Panics when an invariant breaks.
#[doc(hidden)]
pub fn fuzz_hello(data: &[u8]) {
    let Some((&control, data)) = data.split_first() else { return };
    let (piece, format) = (usize::from(control >> 1) + 1, 1 + (control & 1));
    let policy = Policy::Choose { alpn: vec![b"h3".to_vec()], optional: true };
    let server = Server { policy, datagrams: DatagramSize::Unchanged, speaks: format };
    feed(Session::server(Arc::new(server), Vec::new()), data, piece);
    let hello = ClientHello { alpn: vec![b"h3".to_vec()], ..ClientHello::default() };
    let client = Client::speaking(format, hello, DatagramSize::Unchanged).expect("a hello that can be sent");
    feed(Session::client(Arc::new(client), b"hello".to_vec()), data, piece);
    let _ = peek(data, usize::from(control));
    round_trip(data);
}

/// Errors are final, as quinn takes them; a hello is complete at most once.
fn feed(mut session: Session, data: &[u8], piece: usize) {
    let mut completed = 0;
    for bytes in data.chunks(piece) {
        let Ok(complete) = session.read_handshake(bytes) else { return };
        completed += usize::from(complete);
        assert!(completed <= 1, "handshake data is announced once");
        while session.write_handshake(&mut Vec::new()).is_some() {}
        assert!(session.buffered() <= MAX_HELLO, "no growth");
    }
}

/// What was understood can be said again, and is then understood as the same.
fn round_trip(data: &[u8]) {
    let Ok(Some(whole)) = Reassembly::default().push(data, HELLO_FORMAT) else { return };
    let Ok((hello, parameters)) = decode::client(whole.fields(), HELLO_FORMAT) else { return };
    let fields = encode::client_fields(&hello, HELLO_FORMAT).expect("what was read is within the limits of writing");
    let Ok(again) = encode::client(HELLO_FORMAT, &parameters, &fields) else { return };
    let whole = Reassembly::default().push(&again, HELLO_FORMAT).expect("our own").expect("whole");
    let (same, _) = decode::client(whole.fields(), HELLO_FORMAT).expect("our own");
    let certificate = |hello: &ClientHello| hello.peer.as_ref().and_then(|peer| peer.certificate.clone());
    if certificate(&same).is_none_or(|certificate| !certificate.names_truncated) {
        assert_eq!(same, hello);
    }
}
