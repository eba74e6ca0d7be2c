//! Revocation lists reload after reload, through the engine.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use crate::{
    material::{
        MaterialId, Reason, Warning,
        reload::{Change, Engine},
        testing::{Bench, Ca},
    },
    plan::{ExpiredLists, TrustId},
};

const TRUST: MaterialId = MaterialId::Trust(TrustId(0));
const LISTS: MaterialId = MaterialId::Revocation(TrustId(0));
const DAY: Duration = Duration::from_secs(86_400);

/// A bundle of these, and a file of lists beside it.
fn bench(cas: &[&Ca], lists: &str) -> Bench {
    let mut bench = Bench::new();
    bench.trust("workers", &pem(cas));
    bench.plan.trust[0].revocation_lists = vec![bench.write("lists.crl", lists)];
    bench
}

/// The time of a test: what is issued in its course has begun by then.
fn now() -> SystemTime {
    SystemTime::now() + Duration::from_secs(3600)
}

fn engine(bench: &Bench) -> Engine<()> {
    Engine::new(Arc::new(bench.plan.clone()), Box::new(|_| Ok(())))
}

fn pem(cas: &[&Ca]) -> String {
    cas.iter().map(|ca| ca.pem()).collect()
}

/// Generation, contractions, lists and the reason of a refusal.
fn standing(engine: &Engine<()>) -> (u64, u64, usize, Option<Reason>) {
    let lists = engine.generations().revocation(TrustId(0)).expect("in use");
    let rejection = engine.generations().rejection(LISTS).map(|rejection| rejection.class);
    (lists.sequence, lists.contractions, lists.value.lists.len(), rejection)
}

#[test]
fn c09_what_would_undo_a_revocation_is_refused_until_it_does_not() {
    let (a, b, now) = (Ca::new("a"), Ca::new("b"), now());
    let (of_a, of_b) = (a.revoke(&[1], -1, 7), b.revoke(&[], -1, 7));
    let bench = bench(&[&a, &b], &(of_a.clone() + &of_b));
    let mut engine = engine(&bench);
    let mut write = |lists: String| {
        bench.write("lists.crl", lists);
        engine.pass(now, false);
        standing(&engine)
    };
    assert_eq!(write(of_b.clone() + &of_a), (1, 0, 2, None));
    assert_eq!(write(a.revoke(&[], -2, 7) + &of_b), (1, 0, 2, Some(Reason::CrlRollback)));
    assert_eq!(write(of_a.clone()), (1, 0, 2, Some(Reason::CrlWithdrawn)));
    assert_eq!(write(a.revoke(&[], 0, 7) + &of_b), (2, 0, 2, None));
    // Once b is no anchor its list may go, whichever of the two files is seen first.
    assert_eq!(write(a.revoke(&[], 0, 7)), (2, 0, 2, Some(Reason::CrlWithdrawn)));
    bench.write("workers.ca", a.pem());
    engine.pass(now, false);
    assert_eq!(standing(&engine), (3, 0, 1, None));
}

#[test]
fn lists_follow_their_anchors_without_a_change_of_their_file() {
    let (a, b, now) = (Ca::new("a"), Ca::new("b"), now());
    let bench = bench(&[&a], &(a.revoke(&[1], -1, 7) + &b.revoke(&[2], -1, 7)));
    let mut engine = engine(&bench);
    engine.pass(now, false);
    assert_eq!(standing(&engine), (1, 0, 1, None));
    let mut trust = |cas: &[&Ca]| {
        bench.write("workers.ca", pem(cas));
        let changes = engine.pass(now, false).changes;
        assert_eq!(engine.pass(now, false).changes, [], "settled");
        (changes, standing(&engine))
    };
    // In the pass that trusts b its list begins to count. That is a contraction, of the lists.
    let both = vec![(TRUST, Change::Adopted), (LISTS, Change::Adopted)];
    assert_eq!(trust(&[&a, &b]), (both.clone(), (2, 1, 2, None)));
    assert_eq!(trust(&[&a]), (both.clone(), (3, 1, 1, None)));
    assert_eq!(trust(&[&b, &a]), (both, (4, 2, 2, None)));
    // A CA without lists changes nothing about them.
    assert_eq!(trust(&[&b, &a, &Ca::new("c")]), (vec![(TRUST, Change::Adopted)], (4, 2, 2, None)));
}

#[test]
fn c20_lists_end_by_the_clock_alone_where_that_refuses_and_come_back_with_it() {
    let (a, b, now) = (Ca::new("a"), Ca::new("b"), now());
    let mut bench = bench(&[&a, &b], &(a.revoke(&[1], -1, 1) + &b.revoke(&[], -1, 9)));
    let mut tolerant = engine(&bench);
    tolerant.pass(now, false);
    assert!(!tolerant.is_due(now + 2 * DAY));
    bench.plan.trust[0].revocation.expired = ExpiredLists::Refuse;
    let mut engine = engine(&bench);
    engine.pass(now, false);
    assert!(!engine.is_due(now) && engine.is_due(now + 2 * DAY));
    // What is on disk is refused at that moment, and it makes no difference.
    bench.write("lists.crl", "");
    engine.pass(now, false);
    assert_eq!(standing(&engine), (1, 0, 2, Some(Reason::Empty)));
    let changes = engine.pass(now + 2 * DAY, false).changes;
    assert_eq!(changes, [(LISTS, Change::Adopted), (LISTS, Change::Refused { first: false })]);
    assert_eq!(standing(&engine), (2, 1, 2, Some(Reason::Empty)));
    assert_eq!(engine.generations().revocation(TrustId(0)).unwrap().value.warnings, [Warning::CrlExpired]);
    assert!(!engine.is_due(now + 3 * DAY) && engine.is_due(now + 10 * DAY), "the other one");
    // A clock that is set back.
    assert!(engine.is_due(now));
    engine.pass(now, false);
    assert_eq!(standing(&engine), (3, 1, 2, Some(Reason::Empty)));
    assert!(engine.is_due(now + 2 * DAY));
    bench.write("lists.crl", a.revoke(&[1], 0, 9) + &b.revoke(&[], -1, 9));
    engine.pass(now, false);
    assert_eq!(standing(&engine), (4, 1, 2, None));
    assert!(!engine.is_due(now + 2 * DAY), "renewed");
}
