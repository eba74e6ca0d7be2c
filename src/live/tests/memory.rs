use std::time::{Duration, SystemTime};

use rustls::pki_types::UnixTime;

use super::rig::{Rig, TRUST, dialled};
use crate::{
    live::judge::{Memory, Question, Verdict},
    material::testing::{Ca, leaf_params, validity},
    observe::{Side, labels::HandshakeFailure},
    plan::StillTrusted,
};

fn seconds_from_now(seconds: i64) -> UnixTime {
    let now = UnixTime::now().as_secs();
    UnixTime::since_unix_epoch(Duration::from_secs(now.saturating_add_signed(seconds)))
}

#[test]
fn one_answer_serves_all_connections_of_a_chain_within_its_validity() {
    let (old, new) = (Ca::new("old"), Ca::new("new"));
    let mut rig = Rig::new(&[&old, &new], StillTrusted::Keep, None);
    let before = rig.configs();
    let (gone, kept) = (old.leaf(&["peer.test"]), new.leaf(&["peer.test"]));
    let connections = [&gone, &kept, &gone, &kept, &kept]
        .map(|leaf| dialled(&before, leaf, seconds_from_now(-10)))
        .into_iter()
        // Another time, the same answer.
        .chain([dialled(&before, &gone, seconds_from_now(-20))]);
    let after = rig.trusting(&[&new]);
    let mut memory = Memory::new(SystemTime::now());
    let mut verdicts = Vec::new();
    for connection in connections {
        assert!(Question::of(&connection, Side::Dialled, &before).is_none(), "nothing has shrunk");
        assert!(Question::of(&connection, Side::Accepted, &after).is_none(), "nobody was judged");
        let question = Question::of(&connection, Side::Dialled, &after).unwrap();
        assert_eq!(question.trust, TRUST);
        verdicts.push(memory.answer(&question));
        assert_eq!(*verdicts.last().unwrap(), question.answer(SystemTime::now()), "remembered and worked out agree");
    }
    let no = Verdict::Untrusted(HandshakeFailure::UnknownIssuer);
    assert_eq!(verdicts, [no, Verdict::Trusted, no, Verdict::Trusted, Verdict::Trusted, no]);
    assert_eq!(memory.worked_out(), 2);
}

#[test]
fn outside_of_its_validity_each_time_has_an_answer_of_its_own() {
    let (old, new) = (Ca::new("old"), Ca::new("new"));
    let mut rig = Rig::new(&[&old, &new], StillTrusted::Keep, None);
    let before = rig.configs();
    let mut params = leaf_params(&["peer.test"]);
    (params.not_before, params.not_after) = validity(-2, -1);
    let leaf = new.issue(params);
    let day = 86_400;
    let connections =
        [-day * 3 / 2, -day * 3 / 2 + 60, -day * 3, -60].map(|at| dialled(&before, &leaf, seconds_from_now(at)));
    let after = rig.trusting(&[&new]);
    let mut memory = Memory::new(SystemTime::now());
    let verdicts = connections.map(|one| memory.answer(&Question::of(&one, Side::Dialled, &after).unwrap()));
    // It was good then, and is over by now; at the other times it cannot have been judged good, and is not.
    let not_then = [HandshakeFailure::NotYetValid, HandshakeFailure::Expired].map(Verdict::Untrusted);
    assert_eq!(verdicts, [Verdict::Over, Verdict::Over, not_then[0], not_then[1]]);
    assert_eq!(memory.worked_out(), 3);
}
