//! Hellos on the wire: what is written is read, across formats, and nothing else is.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::field::{self, CRITICAL, MAGIC, put};
use super::reassembly::{Reassembly, Whole};
use super::*;

/// Stands for transport parameters, which the hello carries without a look at them.
const PARAMETERS: &[u8] = &[0x08, 1, 10];

fn written(hello: &ClientHello, format: u8) -> Vec<u8> {
    let fields = encode::client_fields(hello, format).expect("within the limits");
    encode::client(format, PARAMETERS, &fields).expect("fits one datagram")
}

fn whole(bytes: &[u8], speaks: u8) -> Result<Whole, HelloError> {
    Reassembly::default().push(bytes, speaks)?.ok_or(HelloError::Incomplete)
}

fn read(bytes: &[u8], speaks: u8) -> Result<ClientHello, HelloError> {
    let (hello, parameters) = decode::client(whole(bytes, speaks)?.fields(), speaks)?;
    assert_eq!(parameters, PARAMETERS);
    Ok(hello)
}

/// A hello of these raw fields.
fn raw(fields: &[(u16, &[u8])]) -> Vec<u8> {
    let mut body = Vec::new();
    for (field, value) in fields {
        put(&mut body, *field, value);
    }
    raw_body(HELLO_FORMAT, 1, &body)
}

fn raw_body(format: u8, lowest: u8, body: &[u8]) -> Vec<u8> {
    let length = u16::try_from(body.len()).expect("short").to_be_bytes();
    [&MAGIC[..], &[format, lowest], &length, body].concat()
}

fn full() -> ClientHello {
    ClientHello {
        server_name: Some("stargate-0.stargate.example.com".into()),
        alpn: vec![b"h3".to_vec(), b"x".to_vec()],
        destination: Some("[2001:db8::7]:50072".into()),
        peer: Some(PeerInfo {
            address: Some(([192, 0, 2, 7], 4433).into()),
            server_name: Some("edge.example.com".into()),
            alpn: Some(b"h3".to_vec()),
            tls_version: Some(0x0304),
            certificate: Some(PeerCertificate {
                sha256: [9; 32],
                dns_names: vec!["a.example".into(), "b.example".into()],
                uris: vec!["spiffe://prod/a".into()],
                names_truncated: false,
            }),
            datagram_size: Some(1162),
        }),
    }
}

#[test]
fn the_wire_format_is_the_one_of_the_specification() {
    let hello = ClientHello {
        server_name: Some("a".into()),
        alpn: vec![b"h3".to_vec()],
        destination: Some("b:1".into()),
        peer: Some(PeerInfo { tls_version: Some(0x0304), ..PeerInfo::default() }),
    };
    let parameters = [0x80, 0x01, 0, 3, 0x08, 1, 10];
    let alpn = [0x80, 0x03, 0, 3, 2, b'h', b'3'];
    let client = [
        &b"ILBH\x02\x01\x00\x24"[..],
        &parameters,
        &[0x80, 0x02, 0, 1, b'a'],
        &alpn,
        &[0x80, 0x04, 0, 3, b'b', b':', b'1'],
        &[0x00, 0x05, 0, 6, 0x00, 0x04, 0, 2, 0x03, 0x04],
    ];
    assert_eq!(written(&hello, 2), client.concat());
    let server = [&b"ILBH\x02\x01\x00\x0e"[..], &parameters, &alpn];
    assert_eq!(encode::server(2, PARAMETERS, Some(b"h3")), server.concat());
}

#[test]
fn a_full_hello_is_read_back() {
    assert_eq!(read(&written(&full(), HELLO_FORMAT), HELLO_FORMAT), Ok(full()));
    let empty_peer = ClientHello { peer: Some(PeerInfo::default()), ..ClientHello::default() };
    assert_eq!(read(&written(&empty_peer, HELLO_FORMAT), HELLO_FORMAT), Ok(empty_peer));
}

#[test]
fn formats_understand_one_another() {
    let without_peer = ClientHello { peer: None, ..full() };
    // An older reader passes over what it does not know; an older writer does not say it.
    assert_eq!(read(&written(&full(), 2), 1), Ok(without_peer.clone()));
    assert_eq!(read(&written(&full(), 1), 2), Ok(without_peer.clone()));
    assert_eq!(read(&written(&full(), 1), 1), Ok(without_peer));
    // Both ways the reader learns which format to answer in.
    assert_eq!(whole(&written(&full(), 1), 2).expect("whole").header.format, 1);
    assert_eq!(whole(&written(&full(), 2), 1).expect("whole").header.format, 2);
}

#[test]
fn a_future_format_says_whether_it_can_be_read() {
    let body = [&[0x80, 0x01, 0, 3][..], PARAMETERS, &[0x00, 0x77, 0, 1, 5]].concat();
    assert_eq!(read(&raw_body(9, 2, &body), 2), Ok(ClientHello::default()));
    assert_eq!(read(&raw_body(9, 3, &body), 2), Err(HelloError::Format { lowest: 3 }));
}

#[test]
fn malformed_hellos_are_refused_for_what_is_wrong() {
    use field::{ALPN, DESTINATION, PEER, SERVER_NAME, TRANSPORT_PARAMETERS as TP};
    let peer = |fields: &[(u16, &[u8])]| {
        let inner = raw(fields)[8..].to_vec();
        raw(&[(TP, PARAMETERS), (PEER, &inner)])
    };
    let names = [0, 1, b'a'];
    let long = vec![b'a'; 256];
    for (bytes, error) in [
        (b"ILBX".to_vec(), HelloError::Magic),
        (b"\x16".to_vec(), HelloError::Magic),
        (raw(&[]), HelloError::Missing(TP)),
        (raw(&[(TP, PARAMETERS), (TP, PARAMETERS)]), HelloError::Duplicate(TP)),
        (raw(&[(TP, PARAMETERS), (CRITICAL | 0x77, b"")]), HelloError::UnknownCritical(CRITICAL | 0x77)),
        // Known fields have one type each; with the other value of the critical bit it is another field.
        (raw(&[(TP, PARAMETERS), (CRITICAL | PEER, b"")]), HelloError::UnknownCritical(CRITICAL | PEER)),
        (raw(&[(TP, PARAMETERS), (SERVER_NAME, b"")]), HelloError::Invalid(SERVER_NAME)),
        (raw(&[(TP, PARAMETERS), (SERVER_NAME, &long)]), HelloError::Invalid(SERVER_NAME)),
        (raw(&[(TP, PARAMETERS), (SERVER_NAME, b"\xff")]), HelloError::Invalid(SERVER_NAME)),
        (raw(&[(TP, PARAMETERS), (DESTINATION, b"a:1\n")]), HelloError::Invalid(DESTINATION)),
        (raw(&[(TP, PARAMETERS), (ALPN, b"")]), HelloError::Invalid(ALPN)),
        (raw(&[(TP, PARAMETERS), (ALPN, b"\x00")]), HelloError::Invalid(ALPN)),
        (raw(&[(TP, PARAMETERS), (ALPN, b"\x03h3")]), HelloError::Invalid(ALPN)),
        (raw(&[(TP, PARAMETERS), (ALPN, &b"\x01a".repeat(65))]), HelloError::Invalid(ALPN)),
        (raw_body(2, 1, &[0x80]), HelloError::Cut),
        (raw_body(2, 1, &[0x80, 0x01, 0, 9, 1]), HelloError::Cut),
        (peer(&[(field::peer::ADDRESS, &[0; 5])]), HelloError::Invalid(field::peer::ADDRESS)),
        (peer(&[(field::peer::TLS_VERSION, &[3])]), HelloError::Invalid(field::peer::TLS_VERSION)),
        (peer(&[(field::peer::ALPN, b"")]), HelloError::Invalid(field::peer::ALPN)),
        (peer(&[(field::peer::DNS_NAMES, &names)]), HelloError::Missing(field::peer::CERTIFICATE_SHA256)),
        (peer(&[(field::peer::URIS, &[0, 9, b'a'])]), HelloError::Invalid(field::peer::URIS)),
        (peer(&[(CRITICAL | 0x70, b"")]), HelloError::UnknownCritical(CRITICAL | 0x70)),
    ] {
        assert_eq!(read(&bytes, HELLO_FORMAT).expect_err("malformed"), error, "{bytes:02x?}");
        assert!(error.to_string().starts_with("hello: "), "{error}");
    }
}

#[test]
fn a_server_says_nothing_that_is_the_clients_to_say() {
    for (fields, error) in [
        (
            raw(&[(field::TRANSPORT_PARAMETERS, PARAMETERS), (field::ALPN, b"\x01a\x01b")]),
            HelloError::Invalid(field::ALPN),
        ),
        (raw(&[(field::SERVER_NAME, b"a")]), HelloError::Misplaced(field::SERVER_NAME)),
        (raw(&[(field::PEER, b"")]), HelloError::Misplaced(field::PEER)),
        (raw(&[(field::ALPN, b"\x01a")]), HelloError::Missing(field::TRANSPORT_PARAMETERS)),
    ] {
        assert_eq!(decode::server(&fields[8..]).expect_err("malformed"), error);
    }
    let chosen = decode::server(&encode::server(1, PARAMETERS, Some(b"h3"))[8..]).expect("our own");
    assert_eq!(chosen, (Some(b"h3".to_vec()), PARAMETERS.to_vec()));
}

#[test]
fn reassembly_keeps_no_byte_too_many() {
    let bytes = written(&full(), HELLO_FORMAT);
    let mut pieces = Reassembly::default();
    for (index, byte) in bytes.iter().enumerate() {
        let complete = pieces.push(std::slice::from_ref(byte), HELLO_FORMAT).expect("no error in it");
        assert_eq!(complete.is_some(), index + 1 == bytes.len());
    }
    let trailing = [&bytes[..], &[0]].concat();
    assert_eq!(Reassembly::default().push(&trailing, HELLO_FORMAT).expect_err("trailing"), HelloError::Trailing);

    // The longest that may be, and one more.
    let longest = u16::try_from(MAX_HELLO - 8).expect("12 KiB");
    let header = |length: u16| [&MAGIC[..], &[2, 1], &length.to_be_bytes()].concat();
    let mut open = Reassembly::default();
    assert!(open.push(&header(longest), HELLO_FORMAT).expect("as long as may be").is_none());
    assert!(open.push(&vec![0; MAX_HELLO - 9], HELLO_FORMAT).expect("still open").is_none());
    assert_eq!(open.len(), MAX_HELLO - 1);
    assert_eq!(open.push(&[0; 2], HELLO_FORMAT).expect_err("too many"), HelloError::Trailing);
    let error = Reassembly::default().push(&header(longest + 1), HELLO_FORMAT).expect_err("too long");
    assert_eq!(error, HelloError::TooLong);
}

#[test]
fn names_that_do_not_fit_are_left_out_and_that_is_said() {
    let with = |dns_names: Vec<String>| ClientHello {
        peer: Some(PeerInfo {
            certificate: Some(PeerCertificate { dns_names, ..PeerCertificate::default() }),
            ..PeerInfo::default()
        }),
        ..full()
    };
    let names = |hello: ClientHello| hello.peer.expect("said").certificate.expect("said");
    let many = |count: usize| (0..count).map(|n| format!("n{n}.example")).collect::<Vec<_>>();
    for (given, kept, truncated) in [
        (many(128), 128, false),
        (many(129), 128, true),
        (vec!["a".into(), "x".repeat(2049), "b".into()], 2, true),
        (vec!["a".into(), "b\u{7}".into(), String::new()], 1, true),
        (vec!["y".repeat(2000); 5], 1, true),
    ] {
        let bytes = written(&with(given), HELLO_FORMAT);
        assert!(bytes.len() <= encode::MAX_CLIENT_HELLO);
        let certificate = names(read(&bytes, HELLO_FORMAT).expect("our own"));
        assert_eq!((certificate.dns_names.len(), certificate.names_truncated), (kept, truncated));
    }
}

#[test]
fn the_longest_hello_fits_one_datagram() {
    let name = |n: usize| "n".repeat(n);
    let hello = ClientHello {
        server_name: Some(name(255)),
        alpn: vec![vec![b'a'; 255]; 4],
        destination: Some(name(300)),
        peer: Some(PeerInfo {
            address: Some("[::1]:1".parse().expect("an address")),
            server_name: Some(name(255)),
            alpn: Some(vec![b'a'; 255]),
            tls_version: Some(0x0304),
            certificate: Some(PeerCertificate {
                dns_names: vec![name(253); 100],
                uris: vec![name(2000); 2],
                ..PeerCertificate::default()
            }),
            datagram_size: Some(65_535),
        }),
    };
    let fields = encode::client_fields(&hello, HELLO_FORMAT).expect("within the limits");
    // quinn writes some 150 to 250 bytes of parameters.
    let bytes = encode::client(HELLO_FORMAT, &[0; 500], &fields).expect("fits");
    assert!(bytes.len() < usize::from(crate::DATAGRAM_SIZE) - 200, "{}", bytes.len());
    assert_eq!(encode::client(HELLO_FORMAT, &[0; 3000], &fields), Err(EncodeError::TooLong));
}

#[test]
fn what_cannot_be_sent_is_refused_by_name() {
    let refused = |hello: ClientHello| encode::client_fields(&hello, HELLO_FORMAT).expect_err("refused").to_string();
    let some = |text: &str| Some(text.to_owned());
    for (hello, part) in [
        (ClientHello { server_name: some(""), ..full() }, "server name"),
        (ClientHello { server_name: some("a\nb"), ..full() }, "server name"),
        (ClientHello { destination: some(&"d".repeat(301)), ..full() }, "destination"),
        (ClientHello { alpn: vec![Vec::new()], ..full() }, "application protocols"),
        (ClientHello { alpn: vec![vec![0; 256]], ..full() }, "application protocols"),
        (ClientHello { alpn: vec![vec![0; 1]; 65], ..full() }, "application protocols"),
        (ClientHello { alpn: vec![vec![0; 255]; 5], ..full() }, "application protocols"),
    ] {
        assert!(refused(hello).contains(part));
    }
}

fn any_text(max: usize) -> impl Strategy<Value = String> {
    proptest::string::string_regex(&format!("[a-zA-Z0-9.:/*é_-]{{1,{}}}", max / 2)).expect("a regex")
}

prop_compose! {
    fn any_certificate()(
        sha256 in any::<[u8; 32]>(),
        dns_names in vec(any_text(60), 0..20),
        uris in vec(any_text(60), 0..20),
        names_truncated in any::<bool>(),
    ) -> PeerCertificate {
        PeerCertificate { sha256, dns_names, uris, names_truncated }
    }
}

prop_compose! {
    fn any_peer()(
        address in option::of(any::<SocketAddr>()),
        server_name in option::of(any_text(255)),
        alpn in option::of(vec(any::<u8>(), 1..256)),
        tls_version in any::<Option<u16>>(),
        certificate in option::of(any_certificate()),
        datagram_size in any::<Option<u32>>(),
    ) -> PeerInfo {
        // The flow label and scope of an IPv6 address mean nothing to another process.
        let address = address.map(|address| SocketAddr::new(address.ip(), address.port()));
        PeerInfo { address, server_name, alpn, tls_version, certificate, datagram_size }
    }
}

prop_compose! {
    fn any_hello()(
        server_name in option::of(any_text(255)),
        alpn in vec(vec(any::<u8>(), 1..30), 0..20),
        destination in option::of(any_text(300)),
        peer in option::of(any_peer()),
    ) -> ClientHello {
        ClientHello { server_name, alpn, destination, peer }
    }
}

proptest! {
    #[test]
    fn every_hello_is_read_back_in_any_pieces(hello in any_hello(), piece in 1usize..700) {
        let bytes = written(&hello, HELLO_FORMAT);
        let (mut pieces, mut complete) = (Reassembly::default(), None);
        for piece in bytes.chunks(piece) {
            prop_assert!(complete.is_none());
            complete = pieces.push(piece, HELLO_FORMAT).expect("our own");
        }
        let complete = complete.expect("whole");
        let (read, _) = decode::client(complete.fields(), HELLO_FORMAT).expect("our own");
        prop_assert_eq!(read, hello);
    }

    #[test]
    fn any_bytes_are_an_error_at_worst(bytes in vec(any::<u8>(), 0..600)) {
        crate::fuzz_hello(&bytes);
    }

    #[test]
    fn any_fields_are_an_error_at_worst(
        fields in vec((prop_oneof![0u16..12, 0x8000u16..0x800c, any::<u16>()], vec(any::<u8>(), 0..40)), 0..12),
        control in any::<u8>(),
    ) {
        let fields: Vec<_> = fields.iter().map(|(field, value)| (*field, &value[..])).collect();
        crate::fuzz_hello(&[&[control][..], &raw(&fields)].concat());
    }

    #[test]
    fn a_damaged_hello_is_an_error_at_worst(
        hello in any_hello(),
        damage in vec((any::<proptest::sample::Index>(), any::<u8>()), 1..6),
        control in any::<u8>(),
    ) {
        let mut bytes = written(&hello, HELLO_FORMAT);
        for (at, value) in damage {
            *at.get_mut(&mut bytes) = value;
        }
        crate::fuzz_hello(&[&[control][..], &bytes].concat());
    }
}
