//! Any frames in any pieces with a drain at any moment: what goes in comes out, in order, and what is added stands where
//! it may.

use proptest::{collection::vec, prelude::*};

use super::{
    super::{Phase, Watcher},
    wire::{Frame, PREFACE, frame, read, settings, write},
};

/// What happens to a watcher.
#[derive(Debug, Clone)]
enum Act {
    /// Octets of a side: at most so many.
    Client(usize),
    Server(usize),
    GoAway,
    RoundTripOver,
    Inject,
}

fn act() -> impl Strategy<Value = Act> {
    let size = prop_oneof![3 => 1_usize..20, 1 => 20_usize..400];
    prop_oneof![
        6 => size.clone().prop_map(Act::Client),
        6 => size.prop_map(Act::Server),
        1 => Just(Act::GoAway),
        1 => Just(Act::RoundTripOver),
        2 => Just(Act::Inject),
    ]
}

/// One frame, or a header block of several.
fn unit() -> impl Strategy<Value = Vec<Frame>> {
    let payload = || vec(any::<u8>(), 0..40);
    let stream = 0_u32..12;
    let single = (prop_oneof![Just(0), Just(2), Just(3), Just(4), Just(6), Just(7), Just(8), 10_u8..], any::<u8>())
        .prop_flat_map(move |(kind, flags)| {
            let payload = if kind == 6 { vec(any::<u8>(), 8).boxed() } else { payload().boxed() };
            (0_u32..12, payload).prop_map(move |(stream, payload)| vec![frame(kind, flags, stream, &payload)])
        });
    let block = (prop_oneof![Just(1_u8), Just(5_u8)], any::<u8>(), stream, vec(payload(), 1..4)).prop_map(
        |(kind, flags, stream, pieces)| {
            let last = pieces.len() - 1;
            let piece = |(at, payload): (usize, Vec<u8>)| {
                let (kind, flags) = if at == 0 { (kind, flags & !4) } else { (9, 0) };
                frame(kind, flags | if at == last { 4 } else { 0 }, stream, &payload)
            };
            pieces.into_iter().enumerate().map(piece).collect()
        },
    );
    prop_oneof![3 => single, 1 => block]
}

fn frames() -> impl Strategy<Value = Vec<Frame>> {
    vec(unit(), 0..12).prop_map(|units| [vec![settings()], units.concat()].concat())
}

/// What came out.
#[derive(Default)]
struct Passed {
    to_server: Vec<u8>,
    to_client: Vec<u8>,
    phase: Option<Phase>,
}

/// Lets all of `client` and `server` pass, in the pieces of `acts` as long as these last. `answers` is whether the client
/// answers PINGs: then the answer follows all that it sends.
fn run(client: &[u8], server: &[u8], acts: &[Act], answers: bool) -> Passed {
    let mut watcher = Watcher::new();
    let mut passed = Passed::default();
    let (mut client, mut server) = (client, server);
    let rest = [Act::Client(usize::MAX), Act::Server(usize::MAX), Act::Inject];
    for act in acts.iter().chain(&rest) {
        match act {
            Act::Client(most) => {
                let (piece, behind) = client.split_at(client.len().min(*most));
                client = behind;
                watcher.client_sent(piece, &mut |bytes| passed.to_server.extend_from_slice(bytes));
            }
            Act::Server(most) => {
                let (piece, behind) = server.split_at(server.len().min(*most));
                server = behind;
                watcher.server_sent(piece, &mut |bytes| passed.to_client.extend_from_slice(bytes));
            }
            Act::GoAway => watcher.go_away(),
            Act::RoundTripOver => watcher.round_trip_over(),
            Act::Inject => watcher.injected(&mut |bytes| passed.to_client.extend_from_slice(bytes)),
        }
    }
    passed.phase = Some(watcher.phase());
    if answers {
        for ping in read(&passed.to_client).into_iter().filter(|frame| (frame.kind, frame.flags & 1) == (6, 0)) {
            let answer = frame(6, 1, 0, &ping.payload).bytes();
            watcher.client_sent(&answer, &mut |bytes| passed.to_server.extend_from_slice(bytes));
        }
    }
    watcher.client_ended(&mut |bytes| passed.to_server.extend_from_slice(bytes));
    watcher.server_ended(&mut |bytes| passed.to_client.extend_from_slice(bytes));
    passed
}

/// The frames in `out` that `sent` does not have, each with how many of `sent` were before it. The identifier in a GOAWAY
/// may have been lowered.
fn added(sent: &[Frame], out: &[Frame]) -> Result<Vec<(usize, Frame)>, TestCaseError> {
    let mut added = Vec::new();
    let mut at = 0;
    for frame in out {
        let same = sent.get(at).is_some_and(|sent| {
            let lowered = sent.kind == 7 && frame.payload.len() >= 4 && sent.payload.len() == frame.payload.len();
            let lowered = lowered && sent.payload[4..] == frame.payload[4..];
            (sent.kind, sent.flags, sent.stream) == (frame.kind, frame.flags, frame.stream)
                && (sent.payload == frame.payload || lowered)
        });
        if same {
            at += 1;
        } else {
            prop_assert!(frame.may_be_ours(), "{:?} came from nowhere", frame);
            added.push((at, frame.clone()));
        }
    }
    prop_assert_eq!(at, sent.len(), "lost");
    Ok(added)
}

proptest! {
    #[test]
    fn frames_pass_whole_and_ours_stand_between(
        (client, server) in (frames(), frames()),
        acts in vec(act(), 0..60),
        answers in any::<bool>(),
    ) {
        let client_bytes = [PREFACE, &write(&client)].concat();
        let passed = run(&client_bytes, &write(&server), &acts, answers);
        prop_assert!(passed.to_server.starts_with(&client_bytes));
        let ours = added(&server, &read(&passed.to_client))?;
        for (before, _) in &ours {
            prop_assert!(*before > 0, "before the server's settings");
            let within = server.get(*before).is_some_and(|next| next.kind == 9);
            prop_assert!(!within, "within a header block");
        }
        let kinds: Vec<u8> = ours.iter().map(|(_, frame)| frame.kind).collect();
        prop_assert!([&[][..], &[7, 6], &[7, 6, 7]].contains(&&kinds[..]), "{:?}", kinds);
        let asked = acts.iter().any(|act| matches!(act, Act::GoAway));
        prop_assert_eq!(asked, !kinds.is_empty());
        // Of the answers to PINGs, the one to ours did not pass.
        let pings = read(&passed.to_client).iter().filter(|frame| (frame.kind, frame.flags & 1) == (6, 0)).count();
        let answered = (passed.to_server.len() - client_bytes.len()) / 17;
        prop_assert_eq!(answered, if answers { pings - usize::from(asked) } else { 0 });
    }

    #[test]
    fn identifiers_of_goaway_never_rise_through_us(
        streams in vec(0_u32..9, 0..4),
        lasts in vec(prop_oneof![Just(0x7fff_ffff_u32), 0_u32..20], 0..4),
        acts in vec(act(), 0..60),
    ) {
        // A server that does not raise its own.
        let mut lasts = lasts;
        lasts.sort_unstable_by(|a, b| b.cmp(a));
        let client: Vec<Frame> = [vec![settings()], streams.iter().map(|s| frame(1, 5, s * 2 + 1, b"h")).collect()].concat();
        let says = |last: &u32| frame(7, 0, 0, &[&last.to_be_bytes()[..], &[0; 4], b"words"].concat());
        let server: Vec<Frame> = [vec![settings()], lasts.iter().map(says).collect()].concat();
        let passed = run(&[PREFACE, &write(&client)].concat(), &write(&server), &acts, true);
        let told = read(&passed.to_client);
        let told: Vec<u32> = told
            .iter()
            .filter(|frame| frame.kind == 7)
            .map(|frame| u32::from_be_bytes(frame.payload[..4].try_into().unwrap()))
            .collect();
        prop_assert!(told.is_sorted_by(|a, b| a >= b), "{:?}", told);
    }

    #[test]
    fn any_bytes_pass(
        client in vec(any::<u8>(), 0..300),
        server in vec(any::<u8>(), 0..300),
        preface in any::<bool>(),
        acts in vec(act(), 0..60),
    ) {
        let hello = if preface { [PREFACE, &settings().bytes()].concat() } else { Vec::new() };
        let client = [&hello[..], &client].concat();
        let server = if preface { [settings().bytes(), server].concat() } else { server };
        let quiet: Vec<Act> = acts.iter().filter(|act| !matches!(act, Act::GoAway)).cloned().collect();
        let passed = run(&client, &server, &quiet, false);
        prop_assert_eq!(&passed.to_server, &client);
        prop_assert_eq!(&passed.to_client, &server);
        let passed = run(&client, &server, &acts, false);
        prop_assert_eq!(&passed.to_server, &client);
        prop_assert!([0, 34, 51].contains(&(passed.to_client.len() - server.len())));
    }

    #[test]
    fn pieces_make_no_difference((client, server) in (frames(), frames()), acts in vec(act(), 0..60)) {
        // Without a drain, the state after all of it is the same, whatever the pieces.
        let client = [PREFACE, &write(&client)].concat();
        let quiet: Vec<Act> = acts.into_iter().filter(|act| !matches!(act, Act::GoAway)).collect();
        let (pieces, whole) = (run(&client, &write(&server), &quiet, false), run(&client, &write(&server), &[], false));
        prop_assert_eq!(pieces.phase, whole.phase);
        prop_assert_eq!(pieces.phase, Some(Phase::Open));
    }

    #[test]
    fn the_fuzz_target_finds_nothing(data in vec(any::<u8>(), 0..600)) {
        super::super::fuzz_h2(&data);
    }
}
