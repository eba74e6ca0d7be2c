use std::{
    fs,
    sync::{Arc, Mutex, mpsc},
    time::{Duration, SystemTime},
};

use super::*;
use crate::{
    material::{
        Generations, MaterialId, Reason, observed,
        testing::{Bench, Ca, ca_params, leaf_params, validity},
    },
    plan::IdentityId,
};

const DAY: Duration = Duration::from_secs(86_400);

/// Derives nothing but the number of the generations in use.
fn engine(bench: &Bench) -> Engine<()> {
    Engine::new(Arc::new(bench.plan.clone()), Box::new(|_| Ok(())))
}

fn class(engine: &Engine<()>, id: MaterialId) -> Option<Reason> {
    engine.generations().rejection(id).map(|rejection| rejection.class)
}

#[test]
fn equal_content_is_no_reload_and_a_refusal_is_first_once_for_each_content() {
    let (ca, mut bench, now) = (Ca::new("root"), Bench::new(), SystemTime::now());
    let good = ca.leaf(&["a.example"]);
    let id = MaterialId::Identity(bench.identity("edge", &good));
    let mut engine = engine(&bench);
    let mut changes = |again| engine.pass(now, again).changes;
    assert_eq!(changes(false), [(id, Change::Adopted)]);
    assert_eq!(changes(false), []);
    bench.write("edge.key", "one");
    assert_eq!(changes(false), [(id, Change::Refused { first: true })]);
    assert_eq!((changes(false), changes(true)), (vec![], vec![]));
    bench.write("edge.key", "two");
    assert_eq!(changes(false), [(id, Change::Refused { first: true })]);
    bench.write("edge.key", "one");
    assert_eq!(changes(false), [(id, Change::Refused { first: false })]);
    bench.write("edge.key", &good.key);
    assert_eq!(changes(false), [(id, Change::Settled)]);
    fs::remove_file(bench.path("edge.key")).unwrap();
    assert_eq!(changes(false), [(id, Change::Refused { first: true })]);
    bench.write("edge.key", &good.key);
    assert_eq!(changes(false), [(id, Change::Settled)]);
    assert_eq!(engine.generations().identity(IdentityId(0)).unwrap().sequence, 1);
}

#[test]
fn c17_what_cannot_be_derived_is_not_taken_into_use_and_delays_no_neighbour() {
    for panics in [false, true] {
        let (ca, mut bench, now) = (Ca::new("root"), Bench::new(), SystemTime::now());
        let odd = bench.identity("odd", &ca.leaf(&["odd.example"]));
        let good = bench.identity("good", &ca.leaf(&["good.example"]));
        let derive = move |generations: &Generations| {
            let names = |id| generations.identity(id).map(|identity| identity.value.facts.names.dns.clone());
            match names(odd) {
                Some(names) if names == ["bad.example"] && panics => panic!("expected by the test"),
                Some(names) if names == ["bad.example"] => Err("no such thing".into()),
                names_of_odd => Ok((names_of_odd, names(good))),
            }
        };
        let mut engine = Engine::new(Arc::new(bench.plan.clone()), Box::new(derive));
        assert!(engine.pass(now, false).derived.is_some());
        for (name, leaf) in [("odd", ca.leaf(&["bad.example"])), ("good", ca.leaf(&["next.example"]))] {
            bench.write(&format!("{name}.crt"), &leaf.chain);
            bench.write(&format!("{name}.key"), &leaf.key);
        }
        let pass = engine.pass(now, false);
        let (odd, good) = (MaterialId::Identity(odd), MaterialId::Identity(good));
        assert_eq!(pass.changes, [(odd, Change::Refused { first: true }), (good, Change::Adopted)]);
        let names = |name: &str| Some(vec![name.to_owned()]);
        assert_eq!(*pass.derived.unwrap(), (names("odd.example"), names("next.example")));
        assert_eq!(engine.generations().rejection(odd).unwrap().class, Reason::Unusable);
    }
}

#[test]
fn c17_derivations_are_made_on_the_thread_of_the_materials() {
    let (ca, mut bench) = (Ca::new("root"), Bench::new());
    bench.plan.reload.poll = Duration::from_secs(10);
    bench.identity("edge", &ca.leaf(&["a.example"]));
    let plan = Arc::new(bench.plan.clone());
    let threads = Arc::new(Mutex::new(Vec::new()));
    let (published, publications) = mpsc::channel();
    let parts = Parts {
        observer: Observer::new(observed::setup(&plan)),
        plan,
        derive: Box::new({
            let threads = threads.clone();
            move |generations| {
                threads.lock().unwrap().push(std::thread::current().name().map(str::to_owned));
                Ok(generations.identity(IdentityId(0)).map(|identity| identity.sequence))
            }
        }),
        after_publish: Box::new(move |derived: &Arc<Option<u64>>| published.send(**derived).unwrap()),
        watching: Watching::Events,
    };
    let (reloader, reader) = Reloader::start(parts).unwrap();
    assert_eq!(*reader.load(), Some(1));
    let next = ca.leaf(&["a.example"]);
    bench.write("edge.crt", &next.chain);
    bench.write("edge.key", &next.key);
    reloader.reread().now();
    assert_eq!(publications.recv_timeout(Duration::from_secs(30)), Ok(Some(2)), "told after the swap");
    assert_eq!(*reader.load(), Some(2));
    assert_eq!(threads.lock().unwrap().last().unwrap().as_deref(), Some("iris-materials"));
    drop(reloader);
    bench.write("edge.key", "nothing");
    assert_eq!(publications.recv(), Err(mpsc::RecvError), "the thread has ended");
}

#[test]
fn an_anchor_that_ends_is_a_contraction_by_the_clock_alone_and_comes_back_with_it() {
    let (mut short, now, mut bench) = (ca_params("short"), SystemTime::now(), Bench::new());
    (short.not_before, short.not_after) = validity(-5, 5);
    let trust = bench.trust("workers", &(Ca::of(short).pem() + &Ca::new("long").pem()));
    let mut engine = engine(&bench);
    engine.pass(now, false);
    let look = |engine: &Engine<()>| {
        let bundle = engine.generations().trust(trust).unwrap();
        (bundle.value.anchors.len(), bundle.contractions)
    };
    assert_eq!(look(&engine), (2, 0));
    // What is on disk does not matter.
    bench.write("workers.ca", "garbage");
    let pass = |engine: &mut Engine<()>, at: SystemTime| {
        let was_due = engine.is_due(at);
        let derived = engine.pass(at, false).derived.is_some();
        assert!(!engine.is_due(at), "it would never rest");
        (was_due, derived)
    };
    assert_eq!((pass(&mut engine, now + 4 * DAY), look(&engine)), ((false, false), (2, 0)));
    assert_eq!((pass(&mut engine, now + 6 * DAY), look(&engine)), ((true, true), (1, 1)));
    assert_eq!((pass(&mut engine, now + 4000 * DAY), look(&engine)), ((true, true), (0, 2)));
    // The clock was wrong.
    assert_eq!((pass(&mut engine, now + DAY), look(&engine)), ((true, true), (2, 2)));
    assert_eq!(class(&engine, MaterialId::Trust(trust)), Some(Reason::NoCertificate));
}

#[test]
fn what_a_bundle_judges_is_judged_again_when_it_changed() {
    let (one, two, now, mut bench) = (Ca::new("one"), Ca::new("two"), SystemTime::now(), Bench::new());
    let trust = bench.trust("workers", &one.pem());
    bench.plan.trust[0].revocation_lists = vec![bench.write("workers.crl", one.revoke(&[1], -1, 7))];
    let id = bench.identity("edge", &one.leaf(&["a.example"]));
    bench.plan.identities[0].expect.chains_to = Some(trust);
    let (lists, identity) = (MaterialId::Revocation(trust), MaterialId::Identity(id));
    let mut engine = engine(&bench);
    assert_eq!(engine.pass(now, false).changes.len(), 3);
    // Everything of the other CA, in one pass.
    let leaf = two.leaf(&["a.example"]);
    let replace = |bundle: String, list: String| {
        bench.write("workers.ca", bundle);
        bench.write("workers.crl", list);
        bench.write("edge.crt", &leaf.chain);
        bench.write("edge.key", &leaf.key);
    };
    replace(one.pem(), two.revoke(&[2], -1, 7));
    engine.pass(now, false);
    assert_eq!(
        (class(&engine, lists), class(&engine, identity)),
        (Some(Reason::CrlUnrelated), Some(Reason::WrongIssuer))
    );
    replace(two.pem(), two.revoke(&[2], -1, 7));
    engine.pass(now, false);
    assert_eq!((class(&engine, lists), class(&engine, identity)), (None, None));
    // The bundle alone goes back: list and identity stay as they are, and are refused as what is on disk.
    bench.write("workers.ca", one.pem());
    engine.pass(now, false);
    assert_eq!(
        (class(&engine, lists), class(&engine, identity)),
        (Some(Reason::CrlUnrelated), Some(Reason::WrongIssuer))
    );
    let in_use = engine.generations();
    assert_eq!(in_use.identity(id).unwrap().value.chain[0], leaf.der);
    let sequences = (in_use.trust(trust).unwrap().sequence, in_use.identity(id).unwrap().sequence);
    assert_eq!(sequences, (3, 2));
    bench.write("workers.ca", two.pem());
    let changes = engine.pass(now, false).changes;
    assert_eq!(
        changes,
        [(MaterialId::Trust(trust), Change::Adopted), (lists, Change::Settled), (identity, Change::Settled)]
    );
}

#[test]
fn what_is_held_starts_by_itself_also_when_it_cannot_be_read_any_more() {
    let (ca, now, mut bench) = (Ca::new("root"), SystemTime::now(), Bench::new());
    let (good, mut early) = (ca.leaf(&["a.example"]), leaf_params(&["b.example"]));
    (early.not_before, early.not_after) = validity(1, 30);
    let early = ca.issue(early);
    let id = bench.identity("edge", &good);
    let material = MaterialId::Identity(id);
    let mut engine = engine(&bench);
    let mut changes = |at: SystemTime| (engine.is_due(at), engine.pass(at, false).changes);
    changes(now);
    bench.write("edge.crt", &early.chain);
    bench.write("edge.key", &early.key);
    assert_eq!(changes(now), (false, vec![(material, Change::Held)]));
    assert_eq!(changes(now), (false, vec![]));
    fs::remove_file(bench.path("edge.key")).unwrap();
    assert_eq!(changes(now), (false, vec![(material, Change::Refused { first: true })]));
    bench.write("edge.key", &early.key);
    assert_eq!(changes(now), (false, vec![(material, Change::Held)]), "as before");
    fs::remove_file(bench.path("edge.key")).unwrap();
    changes(now);
    let (due, at_start) = changes(now + 2 * DAY);
    assert!(due);
    assert_eq!(at_start[0], (material, Change::Adopted));
    assert!(matches!(at_start[1], (_, Change::Refused { .. })), "{at_start:?}");
    assert_eq!(changes(now + 2 * DAY), (false, vec![]));
    assert_eq!(engine.generations().identity(id).unwrap().value.chain[0], early.der);
}

#[test]
fn what_is_held_and_replaced_before_its_start_never_starts() {
    let (ca, now, mut bench) = (Ca::new("root"), SystemTime::now(), Bench::new());
    let mut early = leaf_params(&["b.example"]);
    (early.not_before, early.not_after) = validity(1, 30);
    let id = bench.identity("edge", &ca.issue(early));
    let mut engine = engine(&bench);
    assert_eq!(engine.pass(now, false).changes, [(MaterialId::Identity(id), Change::Held)]);
    let other = ca.leaf(&["c.example"]);
    bench.write("edge.crt", &other.chain);
    bench.write("edge.key", &other.key);
    engine.pass(now, false);
    assert!(!engine.is_due(now + 2 * DAY));
    engine.pass(now + 2 * DAY, false);
    assert_eq!(engine.generations().identity(id).unwrap().value.chain[0], other.der);
}

#[test]
fn what_was_refused_for_the_time_is_judged_again_as_time_goes_by() {
    let (ca, now, mut bench) = (Ca::new("root"), SystemTime::now(), Bench::new());
    let id = bench.identity("edge", &ca.leaf(&["a.example"]));
    let mut engine = engine(&bench);
    // A clock far ahead, set right later.
    engine.pass(now + 200 * DAY, false);
    assert_eq!(class(&engine, MaterialId::Identity(id)), Some(Reason::Expired));
    assert!(engine.is_due(now));
    assert_eq!(engine.pass(now, false).changes, [(MaterialId::Identity(id), Change::Adopted)]);
    assert!(!engine.is_due(now));
}
