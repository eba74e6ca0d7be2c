use std::{
    fs,
    time::{Duration, SystemTime},
};

use super::{
    narrator::{Figure, Narrator},
    pki::{Authority, LeafSpec},
    volume::Volume,
};
use crate::{material, plan};

const CONFIG: &str = r#"
identities: { edge: { certificate: DIR/tls.crt, private_key: DIR/tls.key, expect: { names: [ edge.example ], chains_to: own } } }
trust: { own: { bundle: DIR/ca.crt } }
listeners:
  - { name: in, listen: "quic://127.0.0.1:0", tls: { identities: [ edge ] }, routes: [ { upstream: out } ] }
upstreams: [ { name: out, dial: "quic+plaintext://127.0.0.1:1" } ]
"#;

#[test]
fn what_the_pki_issues_is_accepted_from_a_volume_generation_after_generation() {
    let directory = tempfile::tempdir().unwrap();
    let mut volume = Volume::create(directory.path().join("edge")).unwrap();
    let authority = Authority::new("demo").unwrap();
    let config = CONFIG.replace("DIR", volume.path("").to_str().unwrap().trim_end_matches('/'));
    let plan = plan::from_yaml(&config).unwrap_or_else(|problems| panic!("{problems}"));
    let mut serials = std::collections::BTreeSet::new();
    for _ in 0..3 {
        let leaf = authority.issue(LeafSpec::named("edge", &["edge.example"], Duration::from_secs(600))).unwrap();
        let ca = authority.certificate();
        let files = [("tls.crt", leaf.certificate.as_str()), ("tls.key", &leaf.private_key), ("ca.crt", &ca)];
        volume.publish(&files).unwrap();
        let generations = material::load(&plan, SystemTime::now());
        assert!(generations.rejections().next().is_none(), "{:?}", generations.rejections().next());
        let identity = &generations.identity(plan::IdentityId(0)).unwrap().value;
        assert_eq!(identity.warnings, [material::Warning::IncompleteChain], "linked, as kubelet does it");
        serials.insert(identity.facts.serial.clone());
        assert!(!format!("{leaf:?}").contains("BEGIN"));
    }
    assert_eq!(serials.len(), 3);
    let left: Vec<_> = fs::read_dir(volume.path("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 5, "three links, ..data and one generation: {left:?}");
}

#[test]
fn a_name_that_is_gone_loses_its_link() {
    let directory = tempfile::tempdir().unwrap();
    let mut volume = Volume::create(directory.path()).unwrap();
    volume.publish(&[("a", "1"), ("b", "2")]).unwrap();
    volume.publish(&[("b", "3"), ("c", "4")]).unwrap();
    assert!(fs::symlink_metadata(volume.path("a")).is_err());
    assert_eq!(fs::read_to_string(volume.path("b")).unwrap(), "3");
    assert_eq!(fs::read_to_string(volume.path("c")).unwrap(), "4");
}

fn told(json: bool, outcome: Result<Vec<Figure>, String>) -> (String, bool) {
    let mut out = Vec::new();
    let mut narrator = Narrator::new(&mut out, json);
    narrator.chapter("A renewal").unwrap();
    narrator.tell("the leaf is replaced").unwrap();
    narrator.expect("new connections see it", outcome).unwrap();
    let ok = narrator.finish().unwrap();
    (String::from_utf8(out).unwrap(), ok)
}

#[test]
fn a_story_for_people() {
    let figures = vec![Figure::count("connections", 12), Figure::time("median", Duration::from_micros(1_250))];
    let (text, ok) = told(false, Ok(figures));
    assert!(ok);
    assert!(
        text.contains(
            "\nA renewal\n  the leaf is replaced\n  ok      new connections see it (connections 12, median 1.2 ms)\n"
        ),
        "{text}"
    );
    assert!(text.contains("1 of 1 expectations held"), "{text}");
    let (text, ok) = told(false, Err("they see the old one".to_owned()));
    assert!(!ok && text.contains("  FAILED  new connections see it: they see the old one\n"), "{text}");
}

#[test]
fn a_story_for_machines() {
    let (text, ok) = told(true, Ok(vec![Figure::count("connections", 12)]));
    let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(ok);
    assert_eq!(lines.len(), 4);
    assert_eq!(lines[2]["held"], true);
    assert_eq!(lines[2]["figures"][0]["value"], 12.0);
    assert_eq!(lines[3]["ok"], true);
}

#[test]
fn a_story_without_expectations_proves_nothing() {
    assert!(!Narrator::new(Vec::new(), true).finish().unwrap());
}
