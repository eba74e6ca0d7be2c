//! Sessions against one another and against what they must not accept; formats N and N-1 through real endpoints.

use std::net::SocketAddr;
use std::time::Duration;

use quinn_proto::TransportErrorCode;
use quinn_proto::crypto::{ClientConfig as _, ServerConfig as _};

use super::*;
use crate::hello::{ClientHello, HELLO_FORMAT, MAX_HELLO};
use crate::policy::Policy;
use crate::{DatagramSize, VERSION, endpoint, transport_config};

fn parameters() -> TransportParameters {
    TransportParameters::read(Side::Client, &mut &[0x08, 1, 10][..]).expect("well-formed")
}

fn hello() -> ClientHello {
    ClientHello {
        server_name: Some("stargate".into()),
        alpn: vec![b"h3".to_vec()],
        peer: Some(PeerInfo { tls_version: Some(0x0304), ..PeerInfo::default() }),
        ..ClientHello::default()
    }
}

fn client_config(speaks: u8) -> Arc<Client> {
    Arc::new(Client::speaking(speaks, hello(), DatagramSize::Unchanged).expect("can be sent"))
}

fn server_config(speaks: u8) -> Arc<Server> {
    let policy = Policy::Choose { alpn: vec![b"h3".to_vec()], optional: false };
    Arc::new(Server { speaks, ..Server::new(policy) })
}

type Boxed = Box<dyn crypto::Session>;

fn pair() -> (Boxed, Boxed) {
    let client = client_config(HELLO_FORMAT).start_session(VERSION, "", &parameters()).expect("our version");
    (client, server_config(HELLO_FORMAT).start_session(VERSION, &parameters()))
}

/// What a session writes until it wants to read, by packet space.
fn flights(session: &mut Boxed) -> Vec<Vec<u8>> {
    let mut flights = vec![Vec::new()];
    loop {
        let mut out = Vec::new();
        let keys = session.write_handshake(&mut out);
        let idle = out.is_empty() && keys.is_none();
        flights.last_mut().expect("never empty").extend(out);
        if keys.is_some() {
            flights.push(Vec::new());
        }
        if idle {
            return flights;
        }
    }
}

#[test]
fn the_handshake_goes_through_both_spaces_on_both_sides() {
    let (mut client, mut server) = pair();
    let first = flights(&mut client);
    assert_eq!(first.len(), 1, "a client waits for the answer before it changes space");
    assert!(server.read_handshake(&first[0]).expect("our own"), "handshake data is there");
    let answer = flights(&mut server);
    assert_eq!((answer.len(), &answer[1][..]), (3, &[FINISH][..]));
    assert!(server.is_handshaking());

    assert!(client.read_handshake(&answer[0]).expect("our own"));
    assert_eq!(flights(&mut client), [vec![], vec![]], "Handshake keys, and nothing to say before the server's finish");
    assert!(!client.read_handshake(&answer[1]).expect("our own"));
    assert!(client.is_handshaking());
    let last = flights(&mut client);
    assert_eq!(last, [vec![FINISH], vec![]]);
    assert!(!client.is_handshaking());
    server.read_handshake(&last[0]).expect("our own");
    assert!(!server.is_handshaking());
    for session in [&mut client, &mut server] {
        assert_eq!(flights(session), [Vec::<u8>::new()], "no third pair of keys");
        assert!(session.next_1rtt_keys().is_some());
        assert!(!session.is_valid_retry(&ConnectionId::new(&[0; 8]), &[], &[0; 32]));
        let error = session.read_handshake(&[FINISH]).expect_err("nothing is awaited");
        assert_eq!(error.code, TransportErrorCode::PROTOCOL_VIOLATION);
    }
}

#[test]
fn a_finish_before_its_time_is_refused() {
    // In the Initial space, right behind the hello: no Handshake keys were handed out yet.
    let (mut client, mut server) = pair();
    let first = flights(&mut client);
    server.read_handshake(&first[0]).expect("our own");
    assert!(server.read_handshake(&[FINISH]).is_err());
    let (_, mut server) = pair();
    assert!(server.read_handshake(&[&first[0][..], &[FINISH]].concat()).is_err());
    // And another byte in its place.
    let (_, mut server) = pair();
    server.read_handshake(&first[0]).expect("our own");
    flights(&mut server);
    assert!(server.read_handshake(&[FINISH + 1]).is_err());
}

#[test]
fn a_client_refuses_an_answer_that_it_did_not_ask_for() {
    let answer = |format: u8, alpn: Option<&[u8]>| encode::server(format, &[0x08, 1, 10], alpn);
    let read = |bytes: &[u8]| {
        let (mut client, _) = pair();
        flights(&mut client);
        client.read_handshake(bytes)
    };
    read(&answer(HELLO_FORMAT, Some(b"h3"))).expect("what was asked for");
    read(&answer(1, None)).expect("an older format, no protocol");
    assert!(read(&answer(HELLO_FORMAT + 1, None)).expect_err("not offered").reason.contains("format 3"));
    assert_eq!(read(&answer(2, Some(b"h2"))).expect_err("not offered").code, TransportErrorCode::crypto(120));
    assert!(read(&answer(2, None)[..12]).is_ok_and(|complete| !complete), "cut: it waits for the rest");
    let malformed = encode::server(2, &[0x08, 9, 1], None);
    assert_eq!(read(&malformed).expect_err("cut").code, TransportErrorCode::TRANSPORT_PARAMETER_ERROR);
}

#[test]
fn an_endless_hello_ends_the_connection() {
    let (_, mut server) = pair();
    let header = [b"ILBH\x02\x01", &u16::try_from(MAX_HELLO - 8).expect("12 KiB").to_be_bytes()[..]].concat();
    server.read_handshake(&header).expect("as long as may be");
    let mut taken = header.len();
    while server.read_handshake(&[0; 100]).is_ok() {
        taken += 100;
        assert!(taken <= MAX_HELLO);
    }
}

#[test]
fn a_foreign_version_gets_no_keys_and_no_session() {
    for version in [1, 0x6b33_43cf, VERSION ^ 1] {
        assert!(server_config(HELLO_FORMAT).initial_keys(version, &ConnectionId::new(&[0; 8])).is_err());
        let refused = client_config(HELLO_FORMAT).start_session(version, "", &parameters()).err();
        assert_eq!(refused, Some(quinn_proto::ConnectError::UnsupportedVersion));
    }
}

/// Connects a client of one format with a server of another, over sockets, and says what each side learnt.
async fn connect(client_speaks: u8, server_speaks: u8) -> (HandshakeData, HandshakeData) {
    let anywhere = SocketAddr::from(([127, 0, 0, 1], 0));
    let transport = Arc::new(transport_config());
    let server = endpoint::server_with(server_config(server_speaks), Arc::clone(&transport));
    let (server, _) = endpoint::endpoint_with(anywhere, Some(server), false, 0).expect("binds");
    let (client, _) = endpoint::endpoint_with(anywhere, None, false, 0).expect("binds");
    let client_config = endpoint::client_with(client_config(client_speaks), transport);
    let connecting = client.connect_with(client_config, server.local_addr().expect("bound"), "").expect("our version");
    let both = async { tokio::join!(connecting, async { server.accept().await.expect("open").await }) };
    let (outgoing, incoming) = tokio::time::timeout(Duration::from_secs(20), both).await.expect("in milliseconds");
    let data = |connection: &quinn::Connection| {
        *connection.handshake_data().expect("connected").downcast::<HandshakeData>().expect("loopback")
    };
    let (outgoing, incoming) = (outgoing.expect("connects"), incoming.expect("accepts"));
    let (mut send, _recv) = outgoing.open_bi().await.expect("a stream");
    send.write_all(b"x").await.expect("written");
    incoming.accept_bi().await.expect("arrives");
    (data(&outgoing), data(&incoming))
}

#[tokio::test]
async fn neighbouring_formats_connect_in_both_directions() {
    for (client, server) in [(2, 2), (2, 1), (1, 2), (1, 1)] {
        let (client_sees, server_sees) = connect(client, server).await;
        assert_eq!(client_sees.alpn.as_deref(), Some(&b"h3"[..]), "client {client}, server {server}");
        assert_eq!(server_sees.server_name.as_deref(), Some("stargate"));
        assert_eq!(server_sees.peer.is_some(), client == 2 && server == 2);
    }
}
