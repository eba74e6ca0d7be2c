//! What passes, and what is not followed.

use super::{
    super::{Phase, streams::BOUND},
    rig::Rig,
    wire::{PREFACE, data, frame, go_away, headers, ping, read, settings},
};

#[test]
fn a_frame_header_is_held_back_and_nothing_else() {
    let mut rig = Rig::greeted();
    let bytes = data(1, false).bytes();
    rig.server_bytes(&bytes[..8]);
    assert!(rig.to_client.is_empty());
    rig.server_bytes(&bytes[8..50]);
    assert_eq!(rig.to_client, bytes[..50]);
    rig.server_bytes(&bytes[50..]);
    let ping = ping(false, b"12345678").bytes();
    rig.server_bytes(&ping[..16]);
    assert_eq!(rig.to_client, bytes);
    rig.server_ended();
    assert_eq!(rig.to_client, [&bytes, &ping[..16]].concat());
}

#[test]
fn what_comes_together_is_forwarded_together() {
    let mut watcher = super::super::Watcher::new();
    let frames = [PREFACE, &settings().bytes(), &headers(1, false).bytes(), &data(1, true).bytes()].concat();
    let mut pieces = Vec::new();
    watcher.client_sent(&frames, &mut |piece| pieces.push(piece.to_vec()));
    assert_eq!(pieces, [frames]);
}

#[test]
fn what_is_no_http2_passes_untouched() {
    let broken = [
        ([b"GET / HTTP/1.1\r\n\r\n".to_vec(), PREFACE.to_vec()].concat(), "no preface"),
        ([&PREFACE[..20], b"\r\n--"].concat(), "a preface that goes wrong late"),
        ([PREFACE, &ping(false, b"12345678").bytes()].concat(), "no settings first"),
        ([PREFACE, &frame(4, 1, 0, b"").bytes()].concat(), "an acknowledgement of settings first"),
        ([PREFACE, &frame(4, 0, 1, b"").bytes()].concat(), "settings of a stream"),
        ([PREFACE, &settings().bytes(), &frame(9, 4, 1, b"x").bytes()].concat(), "a continuation of nothing"),
        (
            [PREFACE, &settings().bytes(), &frame(1, 0, 1, b"x").bytes(), &data(1, false).bytes()].concat(),
            "a header block with something in between",
        ),
        (
            [PREFACE, &settings().bytes(), &frame(1, 0, 1, b"x").bytes(), &frame(9, 4, 3, b"y").bytes()].concat(),
            "a header block that goes on elsewhere",
        ),
    ];
    for (bytes, what) in broken {
        for pieces in [1, 5, 1000] {
            let mut rig = Rig::new();
            bytes.chunks(pieces).for_each(|piece| rig.client_bytes(piece));
            assert_eq!(rig.phase(), Phase::Opaque, "{what}");
            rig.go_away();
            rig.server(&settings());
            rig.inject();
            rig.client_bytes(b"and on");
            assert_eq!(rig.to_server, [&bytes[..], b"and on"].concat(), "{what}");
            assert_eq!(read(&rig.to_client), [settings()], "{what}");
        }
    }
}

#[test]
fn what_was_held_when_the_other_direction_broke_comes_first() {
    let mut rig = Rig::greeted();
    let bytes = data(1, false).bytes();
    rig.server_bytes(&bytes[..4]);
    rig.client(&frame(9, 4, 1, b"x"));
    assert_eq!(rig.phase(), Phase::Opaque);
    rig.server_bytes(&bytes[4..]);
    assert_eq!(rig.to_client, bytes);
}

#[test]
fn a_frame_that_only_the_far_end_can_judge_passes() {
    let mut rig = Rig::greeted();
    let odd = [
        frame(6, 1, 0, b"short"),
        frame(7, 0, 0, b""),
        frame(5, 4, 1, b"\0"),
        frame(0xbe, 0xff, 7, b"unknown"),
        headers(0, true),
        headers(2, true),
        data(9, true),
        frame(1, 0xc, 1, b""),
    ];
    odd.iter().for_each(|frame| rig.server(frame));
    odd.iter().for_each(|frame| rig.client(frame));
    assert_eq!(rig.told(), odd);
    assert_eq!(read(&rig.to_server), odd);
    assert_eq!(rig.phase(), Phase::Open);
}

#[test]
fn more_streams_than_are_followed_pass_all_the_same() {
    let mut rig = Rig::greeted();
    let mut stream = 1;
    for _ in 0..BOUND {
        rig.client(&headers(stream, false));
        stream += 2;
    }
    assert_eq!(rig.phase(), Phase::Open);
    rig.client(&headers(stream, false));
    assert_eq!(rig.phase(), Phase::Opaque);
    assert_eq!(rig.to_server.len(), (BOUND + 1) * headers(1, false).bytes().len());
    rig.go_away();
    rig.inject();
    assert!(rig.to_client.is_empty());
}

#[test]
fn an_idle_connection_costs_little() {
    assert!(Rig::new().size() <= 256, "{} octets", Rig::new().size());
}

#[test]
fn the_clients_goaway_and_everybodys_pings_pass() {
    let mut rig = Rig::greeted();
    let data = rig.announced();
    // A PING of the client that happens to have our data, the server's answer to it, and an answer to the server's own.
    let frames = [go_away(0), ping(false, &data), ping(true, b"another1")];
    frames.iter().for_each(|frame| rig.client(frame));
    assert_eq!(read(&rig.to_server), frames);
    rig.server(&ping(true, &data));
    assert_eq!(rig.told(), [ping(true, &data)]);
    assert_eq!(rig.phase(), Phase::Announced);
    // Ours once; the same again is somebody else's.
    rig.client(&ping(true, &data));
    rig.client(&ping(true, &data));
    assert_eq!(read(&rig.to_server)[3..], [ping(true, &data)]);
}
