//! Replacements that are refused, each with its reason, or held until their start: what is in use stays.

use std::{fs, time::Instant};

use super::rig::{Ingress, MODES, Mode, pair};
use crate::support::{
    peer,
    pki::LeafSpec,
    wait::{until, within},
};

/// What is on disk, and the class with which it is refused.
type Case = (&'static str, Vec<(&'static str, String)>, &'static str);

#[tokio::test]
async fn c09_c19_each_bad_replacement_is_refused_with_its_reason_and_the_last_good_one_stays() {
    let (rig, good) = Ingress::start(Mode::Events);
    let live = rig.connect().await;
    let leaf = || rig.ca.leaf(&["iris.test"]);
    let both = |chain: String, key: String| vec![("tls.crt", chain), ("tls.key", key)];
    let partial = leaf();
    let half = |pem: &str| pem[..pem.len() / 2].to_owned();
    let expired = rig.ca.issue(LeafSpec::named(&["iris.test"]).expired());
    let cases: Vec<Case> = vec![
        ("missing", vec![("tls.crt", leaf().chain_pem)], "missing-file"),
        ("partial", both(half(&partial.chain_pem), partial.key_pem()), "truncated"),
        ("partial key", both(partial.chain_pem.clone(), half(&partial.key_pem())), "truncated"),
        ("mismatched", both(leaf().chain_pem, leaf().key_pem()), "key-mismatch"),
        ("empty", both(String::new(), leaf().key_pem()), "empty"),
        ("over 1 MiB", both(leaf().chain_pem + &"#".repeat(1 << 20), leaf().key_pem()), "file-too-large"),
        ("no PEM", both("this is no certificate\n".to_owned(), leaf().key_pem()), "no-certificate"),
        ("malformed", both(pem_of("CERTIFICATE", "MAAwAA=="), leaf().key_pem()), "bad-der"),
        ("expired", both(expired.chain_pem.clone(), expired.key_pem()), "expired"),
    ];
    for (number, (case, files, reason)) in (1..).zip(&cases) {
        let files: Vec<(&str, &str)> = files.iter().map(|(name, content)| (*name, content.as_str())).collect();
        rig.edge.publish(&files);
        until(case, || rig.iris.reloads("in", "server_identity", "rejected") == number).await;
        // Told before the count moves, so that an alarm finds its reason.
        let row = rig.iris.material("identity", "edge");
        assert_eq!(row["last_refusal"]["reason"], *reason, "{case}: {row}");
        assert_eq!((&row["candidate_rejected"], &row["sequence"]), (&true.into(), &1.into()), "{case}: {row}");
        assert!(row["last_refusal"]["age_seconds"].as_u64().unwrap() < 30, "{case}: {row}");
        assert_eq!(rig.served().await, good.chain[0], "{case}");
        assert_eq!(rig.iris.readiness(), (true, vec![]), "{case}");
        assert_eq!(rig.iris.state("in", "server_identity"), "active", "{case}");
        let rejected = "iris_tls_candidate_rejected{component=\"in\",material=\"server_identity\"}";
        assert_eq!(rig.iris.metric(rejected), 1.0, "{case}");
    }
    // The content in use comes back: nothing is refused any more, and nothing was reloaded.
    rig.renew(&good);
    until("the refusal to be over", || rig.iris.material("identity", "edge")["candidate_rejected"] == false).await;
    assert_eq!(rig.iris.reloads("in", "server_identity", "success"), 0);
    // The last refusal is remembered, and a good one takes effect.
    let next = leaf();
    rig.renew(&next);
    rig.until_served(&next).await;
    until("it to be told", || rig.iris.material("identity", "edge")["sequence"] == 2).await;
    assert_eq!(rig.iris.material("identity", "edge")["last_refusal"]["reason"], "expired");
    within("an echo", peer::request(&live)).await.unwrap();
}

fn pem_of(label: &str, base64: &str) -> String {
    format!("-----BEGIN {label}-----\n{base64}\n-----END {label}-----\n")
}

#[tokio::test]
async fn c09_a_torn_pair_is_refused_once_and_the_whole_one_is_in_use_soon_after() {
    let (rig, _) = Ingress::start(Mode::Events);
    // A writer that knows nothing of directory links: one file after the other, in place.
    for name in ["tls.crt", "tls.key"] {
        fs::remove_file(rig.edge.path(name)).unwrap();
    }
    let (good, next) = (rig.ca.leaf(&["iris.test"]), rig.ca.leaf(&["iris.test"]));
    fs::write(rig.edge.path("tls.crt"), &good.chain_pem).unwrap();
    fs::write(rig.edge.path("tls.key"), good.key_pem()).unwrap();
    // Once they are in use nothing that was met on the way can still be counted.
    until("plain files", || rig.iris.material("identity", "edge")["sequence"] == 2).await;
    let before = rig.iris.reloads("in", "server_identity", "rejected");
    fs::write(rig.edge.path("tls.crt"), &next.chain_pem).unwrap();
    until("the torn pair to be met", || rig.iris.reloads("in", "server_identity", "rejected") == before + 1).await;
    assert_eq!(rig.iris.material("identity", "edge")["last_refusal"]["reason"], "key-mismatch");
    assert_eq!(rig.served().await, good.chain[0]);
    let whole = Instant::now();
    fs::write(rig.edge.path("tls.key"), next.key_pem()).unwrap();
    rig.until_served(&next).await;
    println!("c09: a torn pair made whole is in use after {:?}", whole.elapsed());
    assert_eq!(rig.iris.reloads("in", "server_identity", "rejected"), before + 1, "counted once for this content");
}

#[tokio::test]
async fn c09_an_early_one_is_held_and_activates_itself_and_delays_no_neighbour() {
    for mode in MODES {
        let (rig, good) = Ingress::guarded(mode);
        let other = crate::support::pki::Ca::new("other");
        let worker = other.leaf(&["a.workers.test"]);
        // Long enough for a busy machine to find it early.
        let early = rig.ca.issue(LeafSpec::named(&["iris.test"]).valid(9, 3600));
        rig.renew(&early);
        until("it to be held", || rig.iris.state("in", "server_identity") == "held").await;
        assert_eq!(rig.iris.reloads("in", "server_identity", "rejected"), 0);
        assert_eq!(rig.iris.readiness(), (true, vec![]));
        // The neighbour.
        rig.trust.publish(&[("ca.crt", &other.pem())]);
        let shown = within("the bundle", async {
            loop {
                if let Ok(connection) = rig.connect_with(&[&rig.ca], Some(&worker)).await {
                    break peer::shown_by(&connection);
                }
            }
        })
        .await;
        let held = rig.iris.state("in", "server_identity") == "held";
        assert!(!held || shown == good.chain[0], "{mode:?}: before its start the old one is shown");
        // No file changes any more.
        within("the early one", async {
            while peer::shown_by(&rig.connect_with(&[&rig.ca], Some(&worker)).await.unwrap()) != early.chain[0] {}
        })
        .await;
        until("the count", || rig.iris.reloads("in", "server_identity", "success") == 1).await;
        until("the state", || rig.iris.state("in", "server_identity") == "active").await;
    }
}

#[tokio::test]
async fn c19_a_refused_bundle_beside_a_good_identity_stands_for_itself() {
    let (rig, _) = Ingress::guarded(Mode::Events);
    let worker = rig.workers.leaf(&["a.workers.test"]);
    rig.trust.publish(&[("ca.crt", "")]);
    let next = rig.ca.leaf(&["iris.test"]);
    rig.edge.publish(&pair(&next.chain_pem, &next.key_pem()));
    within("the renewal", async {
        while peer::shown_by(&rig.connect_with(&[&rig.ca], Some(&worker)).await.unwrap()) != next.chain[0] {}
    })
    .await;
    until("the refusal", || rig.iris.reloads("in", "trust", "rejected") == 1).await;
    until("the count", || rig.iris.reloads("in", "server_identity", "success") == 1).await;
    assert_eq!(rig.iris.readiness(), (true, vec![]));
}
