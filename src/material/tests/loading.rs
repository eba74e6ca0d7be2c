use std::{fs, time::SystemTime};

use crate::{
    material::{
        MaterialId, Reason, load,
        load::load_one,
        testing::{Bench, Ca},
    },
    plan::{DnsPattern, IdentitySource, TrustId},
};

#[test]
fn each_material_stands_for_itself() {
    let ca = Ca::new("root");
    let mut bench = Bench::new();
    let good = bench.identity("good", &ca.leaf(&["a.example"]));
    let torn = bench.identity("torn", &ca.leaf(&["b.example"]));
    bench.write("torn.key", ca.leaf(&["b.example"]).key);
    let trust = bench.trust("workers", &ca.pem());
    let missing = bench.trust_of("missing", &bench.path("nowhere"));
    let generations = load(&bench.plan, SystemTime::now());
    assert_eq!(generations.identity(good).expect("loaded").sequence, 1);
    assert_eq!(generations.identity(good).expect("loaded").value.facts.names.dns, ["a.example"]);
    assert!(generations.trust(trust).is_some() && generations.identity(torn).is_none());
    let rejection = generations.rejection(MaterialId::Identity(torn)).expect("refused");
    assert_eq!((rejection.class, rejection.material.as_str()), (Reason::KeyMismatch, "torn"));
    assert_eq!(rejection.file, bench.path("torn.key"));
    let rejection = generations.rejection(MaterialId::Trust(missing)).expect("refused");
    assert!(rejection.to_string().starts_with("missing: missing-file ("), "{rejection}");
    assert_eq!(generations.rejections().count(), 2);
}

#[test]
fn one_file_may_hold_chain_and_key() {
    let (ca, mut bench) = (Ca::new("root"), Bench::new());
    let leaf = ca.leaf(&["a.example"]);
    let bundle = bench.write("all.pem", leaf.key.clone() + &leaf.chain);
    let id = bench.identity_of("all", IdentitySource::Bundle(bundle));
    assert!(load(&bench.plan, SystemTime::now()).identity(id).is_some());
}

#[test]
fn a_refusal_keeps_the_last_good_one_and_a_good_one_counts_on() {
    let (ca, mut bench) = (Ca::new("root"), Bench::new());
    let id = bench.identity("edge", &ca.leaf(&["a.example"]));
    let material = MaterialId::Identity(id);
    let mut generations = load(&bench.plan, SystemTime::now());
    fs::write(bench.path("edge.key"), "").expect("write");
    let mut reload = || {
        let outcome = load_one(&bench.plan, &generations, material, SystemTime::now());
        generations.record(material, outcome, SystemTime::now());
        (
            generations.identity(id).expect("kept").sequence,
            generations.rejection(material).map(|rejection| rejection.class),
        )
    };
    assert_eq!(reload(), (1, Some(Reason::Empty)));
    let next = ca.leaf(&["a.example"]);
    fs::write(bench.path("edge.crt"), &next.chain).expect("write");
    fs::write(bench.path("edge.key"), &next.key).expect("write");
    assert_eq!(reload(), (2, None));
}

#[test]
fn expectations_come_from_the_plan() {
    let (ca, mut bench) = (Ca::new("root"), Bench::new());
    let id = bench.identity("edge", &ca.leaf(&["a.example"]));
    let class = |bench: &Bench| {
        let generations = load(&bench.plan, SystemTime::now());
        generations.rejection(MaterialId::Identity(id)).map(|rejection| rejection.class)
    };
    bench.plan.identities[0].expect.names = vec![DnsPattern::parse("b.example").expect("a pattern")];
    assert_eq!(class(&bench), Some(Reason::NameNotCovered));
    bench.plan.identities[0].expect.names.clear();
    let other = bench.trust("other", &Ca::new("other").pem());
    bench.plan.identities[0].expect.chains_to = Some(other);
    assert_eq!(class(&bench), Some(Reason::WrongIssuer));
    bench.write("other.ca", "");
    assert_eq!(class(&bench), Some(Reason::TrustUnavailable));
}

#[test]
fn without_its_revocation_list_a_bundle_is_believed_nothing() {
    let (ca, mut bench) = (Ca::new("root"), Bench::new());
    let trust = bench.trust("workers", &ca.pem());
    bench.plan.trust[0].revocation_lists = vec![bench.write("a.crl", ca.revoke(&[1], -1, 7)), bench.path("b.crl")];
    let generations = load(&bench.plan, SystemTime::now());
    assert!(generations.trust(trust).is_some() && generations.authority(&bench.plan, trust).is_none());
    let rejection = generations.rejection(MaterialId::Revocation(TrustId(0))).expect("refused");
    assert_eq!((rejection.class, &rejection.file), (Reason::MissingFile, &bench.path("b.crl")));
    bench.write("b.crl", ca.revoke(&[2], -1, 7));
    let generations = load(&bench.plan, SystemTime::now());
    let authority = generations.authority(&bench.plan, trust).expect("complete");
    assert_eq!(authority.revocation().expect("lists").value.lists.len(), 2);
}
