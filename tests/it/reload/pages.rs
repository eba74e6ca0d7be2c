//! What the operator's pages have: all that an operator needs, the same series for ever, and nothing secret.

use std::{collections::BTreeSet, path::Path};

use serde_json::Value;

use super::rig::pair;
use crate::support::{
    kubelet::Volume,
    pki::{Ca, Leaf},
    standalone::{Spec, Standalone, publish},
    wait::until,
};

/// Every key of a material in `/status`, from the outside in.
const KEYS: &[&str] = &[
    "candidate_rejected",
    "certificates",
    "certificates/names",
    "certificates/not_after",
    "certificates/not_before",
    "certificates/serial",
    "certificates/sha256",
    "certificates/subject",
    "certificates_total",
    "expires",
    "expires_in_seconds",
    "held_until",
    "kind",
    "last_refusal",
    "last_refusal/age_seconds",
    "last_refusal/at",
    "last_refusal/detail",
    "last_refusal/file",
    "last_refusal/reason",
    "name",
    "read_at",
    "sequence",
    "source",
    "state",
    "used_by",
    "warnings",
];

fn keys(value: &Value, above: &str, all: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                let name = if above.is_empty() { name.clone() } else { format!("{above}/{name}") };
                keys(field, &name, all);
                all.insert(name);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| keys(value, above, all)),
        _ => {}
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c21_the_status_of_a_material_has_these_keys_and_no_others() {
    let (standalone, first) = Standalone::start("reload: { poll: 14s }\n");
    let row = || standalone.material("identity");
    let mut met = BTreeSet::new();
    keys(&row(), "", &mut met);
    keys(&standalone.material("trust"), "", &mut met);
    // Refused.
    let stranger = standalone.ca.leaf(&["iris.test"]);
    standalone.edge.publish(&pair(&first.chain_pem, &stranger.key_pem()));
    until("the refusal", || row()["candidate_rejected"] == true).await;
    let refused = row();
    keys(&refused, "", &mut met);
    assert_eq!(refused["last_refusal"]["reason"], "key-mismatch");
    assert!(refused["last_refusal"]["age_seconds"].as_u64().is_some_and(|age| age < 30), "{refused}");
    // What is in use is told of, whatever is on disk.
    let certificate = &refused["certificates"][0];
    assert_eq!(certificate["subject"], "CN=leaf");
    assert_eq!(certificate["names"], serde_json::json!(["iris.test"]));
    for (field, length) in [("sha256", 64), ("serial", 4)] {
        let text = certificate[field].as_str().unwrap();
        assert!(text.len() >= length && text.bytes().all(|byte| byte.is_ascii_hexdigit()), "{field}: {text}");
    }
    assert_eq!(
        (&refused["sequence"], &refused["source"], &refused["used_by"]),
        (&1.into(), &"directory link".into(), &serde_json::json!(["in"]))
    );
    // Held.
    standalone.renew(&standalone.ca.issue(crate::support::pki::LeafSpec::named(&["iris.test"]).valid(3_000, 6_000)));
    until("it to be held", || row()["state"] == "held").await;
    keys(&row(), "", &mut met);
    let known: BTreeSet<String> = KEYS.iter().map(|key| (*key).to_owned()).collect();
    assert_eq!(met, known, "in one and not in the other: {:?}", met.symmetric_difference(&known).collect::<Vec<_>>());
    // Of the files there is the kind, and which one is at fault: no other path.
    let text = standalone.status().to_string();
    let folder = standalone.files().to_str().unwrap();
    assert_eq!(text.matches(folder).count(), 1, "{text}");
}

const ROTATIONS: u64 = 200;
const ANCHORS: usize = 300;

/// Two hundred identities, each with names of its own, beside a bundle of three hundred CAs of which one is another each time
/// the tenth identity comes: scraped as Prometheus does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c22_two_hundred_rotations_leave_the_number_of_series_as_it_is() {
    let cas: Vec<Ca> = (0..ANCHORS).map(|number| Ca::new(&format!("workers {number}"))).collect();
    let bundle = |without: usize| -> String {
        cas.iter().enumerate().filter(|(number, _)| *number != without).map(|(_, ca)| ca.pem()).collect()
    };
    let before = |_: &Path, ca: &Ca, edge: &Volume, trust: &Volume| {
        publish(edge, &ca.leaf(&["iris.test"]));
        trust.publish(&[("ca.crt", &bundle(ANCHORS))]);
    };
    let auth = ", client_auth: { trust: workers, mode: required }";
    let settings = "reload: { debounce: 0s }\n";
    let standalone = Standalone::of(Spec { settings, auth, before: &before, ..Spec::default() });
    let series = || -> BTreeSet<String> {
        let text = standalone.metrics();
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        lines.filter_map(|line| line.rsplit_once(' ')).map(|(name, _)| name.to_owned()).collect()
    };
    let at_start = series();
    assert!(at_start.len() > 100, "{at_start:?}");
    assert_eq!(standalone.material("trust")["certificates_total"], ANCHORS);
    let reloads = |material: &str| {
        let labels = format!("component=\"in\",material=\"{material}\",result=\"success\"");
        standalone.metric(&format!("iris_tls_reloads_total{{{labels}}}")) as u64
    };
    let mut bundles = 0;
    for rotation in 1..=ROTATIONS {
        let leaf: Leaf = standalone.ca.leaf(&["iris.test", &format!("pod-{rotation}.iris.test")]);
        standalone.renew(&leaf);
        if rotation % 10 == 0 {
            bundles += 1;
            standalone.trust.publish(&[("ca.crt", &bundle(bundles))]);
        }
        let expected = (rotation, bundles as u64);
        until("the reload", || (reloads("server_identity"), reloads("trust")) == expected).await;
    }
    let names = standalone.material("identity")["certificates"][0]["names"].clone();
    assert_eq!(names, serde_json::json!(["iris.test", format!("pod-{ROTATIONS}.iris.test")]));
    let at_end = series();
    println!("c22: {} series before and after {ROTATIONS} identities and {bundles} bundles", at_end.len());
    assert_eq!(at_start, at_end, "{:?}", at_start.symmetric_difference(&at_end).collect::<Vec<_>>());
}
