//! What the client is told, and when all is done.

use super::{
    super::Phase,
    rig::Rig,
    wire::{Frame, data, frame, go_away, headers, ping, read, reset, settings},
};

/// A server's promise on stream 1 of stream `promised`.
fn promise(promised: u32, padded: bool) -> Frame {
    let padding: &[u8] = if padded { b"\x02" } else { b"" };
    let payload = [padding, &promised.to_be_bytes(), b"\x82", &padding.repeat(2)].concat();
    frame(5, 4 | if padded { 8 } else { 0 }, 1, &payload)
}

#[test]
fn a_drain_says_goaway_twice_with_a_round_trip_between() {
    let mut rig = Rig::greeted();
    rig.client(&headers(1, true));
    rig.client(&headers(5, false));
    rig.go_away();
    assert_eq!(rig.phase(), Phase::Open);
    rig.inject();
    let told = rig.told();
    assert_eq!(told[0], go_away(0x7fff_ffff));
    assert_eq!(told[1], ping(false, &told[1].payload));
    assert_eq!((told.len(), rig.phase()), (2, Phase::Announced));
    // Opened before the client has read it.
    rig.client(&headers(7, true));
    rig.inject();
    assert!(rig.told().is_empty());
    rig.client(&ping(true, &told[1].payload));
    rig.inject();
    assert_eq!(rig.told(), [go_away(7)]);
    assert_eq!(rig.phase(), Phase::Final);
    for stream in [1, 7, 5] {
        assert_eq!(rig.phase(), Phase::Final);
        rig.server(&headers(stream, true));
    }
    rig.client(&data(5, true));
    assert_eq!(rig.phase(), Phase::Done);
    rig.go_away();
    rig.round_trip_over();
    rig.inject();
    assert_eq!(rig.told().len(), 3, "nothing but the answers of the server");
    let kinds: Vec<u8> = read(&rig.to_server).iter().map(|frame| frame.kind).collect();
    assert_eq!(kinds, [1, 1, 1, 0], "the answer to the PING is for Iris");
}

#[test]
fn an_idle_connection_is_done_after_a_round_trip() {
    let mut rig = Rig::greeted();
    let data = rig.announced();
    rig.client(&ping(true, &data));
    rig.inject();
    assert_eq!(rig.told(), [go_away(0)]);
    assert_eq!(rig.phase(), Phase::Done);
    assert!(rig.to_server.is_empty());
}

#[test]
fn a_client_that_does_not_answer_is_told_the_last_stream_all_the_same() {
    let mut rig = Rig::greeted();
    rig.client(&headers(3, true));
    let data = rig.announced();
    rig.round_trip_over();
    rig.inject();
    assert_eq!(rig.told(), [go_away(3)]);
    // The late answer is for Iris still.
    rig.client(&ping(true, &data));
    assert_eq!(read(&rig.to_server), [headers(3, true)]);
}

#[test]
fn a_client_that_ends_opens_no_more() {
    let mut rig = Rig::greeted();
    rig.client(&headers(3, true));
    rig.announced();
    rig.client_ended();
    rig.inject();
    assert_eq!(rig.told(), [go_away(3)]);
    assert_eq!(rig.phase(), Phase::Final);
    rig.server(&data(3, true));
    assert_eq!(rig.phase(), Phase::Done);
}

#[test]
fn nothing_stands_before_the_servers_settings() {
    let mut rig = Rig::new();
    rig.go_away();
    rig.inject();
    let bytes = settings().bytes();
    rig.server_bytes(&bytes[..12]);
    rig.inject();
    assert_eq!(rig.to_client, bytes[..12]);
    rig.server_bytes(&bytes[12..]);
    let told = rig.told();
    assert_eq!(told.iter().map(|frame| frame.kind).collect::<Vec<_>>(), [4, 7, 6]);
}

#[test]
fn nothing_stands_inside_a_frame_or_a_header_block() {
    let mut rig = Rig::greeted();
    let (begins, goes_on, ends) = (frame(1, 1, 1, b"\x82"), frame(9, 0, 1, b"\x84"), frame(9, 4, 1, b"\x86"));
    rig.client(&headers(1, true));
    let bytes = [begins.bytes(), goes_on.bytes(), ends.bytes()].concat();
    rig.server_bytes(&bytes[..10]);
    rig.go_away();
    for byte in &bytes[10..] {
        rig.inject();
        rig.server_bytes(&[*byte]);
    }
    let told = rig.told();
    assert_eq!(told[..3], [begins, goes_on, ends]);
    assert_eq!(told[3], go_away(0x7fff_ffff));
}

#[test]
fn a_stream_is_open_until_the_last_octet_has_passed() {
    let mut rig = Rig::greeted();
    rig.client(&headers(1, true));
    rig.announced();
    rig.round_trip_over();
    rig.inject();
    let bytes = data(1, true).bytes();
    rig.server_bytes(&bytes[..bytes.len() - 1]);
    assert_eq!(rig.phase(), Phase::Final);
    rig.server_bytes(&bytes[bytes.len() - 1..]);
    assert_eq!(rig.phase(), Phase::Done);
}

#[test]
fn a_header_block_that_ends_a_stream_ends_it_with_its_last_piece() {
    let mut rig = Rig::greeted();
    rig.client(&headers(1, true));
    rig.announced();
    rig.round_trip_over();
    rig.inject();
    rig.server(&frame(1, 1, 1, b"\x82"));
    assert_eq!(rig.phase(), Phase::Final);
    rig.server(&frame(9, 4, 1, b"\x82"));
    assert_eq!(rig.phase(), Phase::Done);
}

#[test]
fn so_does_one_of_the_client() {
    let mut rig = Rig::greeted();
    rig.client(&frame(1, 1, 1, b"\x82"));
    rig.server(&headers(1, true));
    rig.announced();
    rig.round_trip_over();
    rig.inject();
    assert_eq!(rig.phase(), Phase::Final);
    rig.client(&frame(9, 4, 1, b"\x82"));
    assert_eq!(rig.phase(), Phase::Done);
}

#[test]
fn informational_answers_and_trailers_are_parts_of_a_call() {
    let mut rig = Rig::greeted();
    rig.client(&headers(1, false));
    rig.client(&data(1, false));
    rig.client(&headers(1, true));
    rig.announced();
    rig.round_trip_over();
    rig.inject();
    for part in [headers(1, false), headers(1, false), data(1, false)] {
        rig.server(&part);
        assert_eq!(rig.phase(), Phase::Final);
    }
    rig.server(&headers(1, true));
    assert_eq!(rig.phase(), Phase::Done);
}

#[test]
fn a_reset_of_either_side_ends_a_call() {
    for by_client in [true, false] {
        let mut rig = Rig::greeted();
        rig.client(&headers(1, false));
        rig.announced();
        rig.round_trip_over();
        rig.inject();
        assert_eq!(rig.phase(), Phase::Final);
        if by_client {
            rig.client(&reset(1));
        } else {
            rig.server(&reset(1));
        }
        assert_eq!(rig.phase(), Phase::Done);
    }
}

#[test]
fn a_promise_is_waited_for() {
    for (padded, end) in [(false, headers(2, true)), (true, headers(2, true)), (false, reset(2))] {
        let mut rig = Rig::greeted();
        rig.client(&headers(1, true));
        rig.server(&promise(2, padded));
        rig.server(&headers(1, true));
        rig.announced();
        rig.round_trip_over();
        rig.inject();
        assert_eq!(rig.phase(), Phase::Final);
        rig.server(&end);
        assert_eq!(rig.phase(), Phase::Done);
    }
}

#[test]
fn the_last_identifier_never_rises() {
    // The server was first.
    let mut rig = Rig::greeted();
    [1, 3, 5].iter().for_each(|stream| rig.client(&headers(*stream, true)));
    rig.server(&go_away(3));
    rig.go_away();
    rig.inject();
    rig.round_trip_over();
    rig.inject();
    let told: Vec<Frame> = rig.told().into_iter().filter(|frame| frame.kind == 7).collect();
    assert_eq!(told, [go_away(3), go_away(3), go_away(3)]);
    // Stream 5 was given back by the server: it is not waited for.
    [1, 3].iter().for_each(|stream| rig.server(&headers(*stream, true)));
    assert_eq!(rig.phase(), Phase::Done);
}

#[test]
fn a_server_that_drains_later_does_not_raise_it_either() {
    let mut rig = Rig::greeted();
    rig.client(&headers(9, true));
    let data = rig.announced();
    rig.server(&go_away(0x7fff_ffff));
    rig.client(&ping(true, &data));
    rig.inject();
    assert_eq!(rig.told(), [go_away(0x7fff_ffff), go_away(9)]);
    // Error and words stay the server's.
    let says = |last: u32| frame(7, 0, 0, &[&last.to_be_bytes(), &2_u32.to_be_bytes()[..], b"bye"].concat());
    for piece in says(0x7fff_ffff).bytes() {
        rig.server_bytes(&[piece]);
    }
    rig.server(&says(9));
    rig.server(&says(7));
    assert_eq!(rig.told(), [says(9), says(9), says(7)]);
}

#[test]
fn who_opens_streams_all_the_same_is_served_and_not_waited_for() {
    let mut rig = Rig::greeted();
    rig.client(&headers(1, true));
    rig.announced();
    rig.round_trip_over();
    rig.inject();
    rig.client(&headers(3, false));
    rig.server(&headers(1, true));
    assert_eq!(rig.phase(), Phase::Done);
    assert_eq!(read(&rig.to_server), [headers(1, true), headers(3, false)]);
}
