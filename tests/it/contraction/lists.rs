//! Revocation lists of several issuers, and how each may follow on the last.

use iris::transport::Code;

use super::rig::{Door, next_ends, replace, watch, worker};
use crate::support::{
    pki::{Ca, Leaf},
    wait::until,
};

const DAY: i64 = 86_400;

/// A door that trusts `cas`, with a file of lists beside the bundle.
struct Guarded {
    door: Door,
    lists: tempfile::NamedTempFile,
}

impl Guarded {
    /// `more` is said about the bundle.
    async fn open(cas: &[&Ca], lists: &str, more: &str) -> Self {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), lists).unwrap();
        let spread = "on_contraction: { still_trusted: recycle, spread: 1s }";
        let said = format!(", revocation_lists: [ {} ], {spread}{more}", file.path().display());
        let door = Door::open(cas, &said);
        until("the start", || door.iris.readiness().0).await;
        Self { door, lists: file }
    }

    /// Puts lists in place that are taken into use.
    async fn publish(&self, lists: &str) {
        self.door.iris.reload("in", "revocation", || replace(self.lists.path(), lists)).await;
    }

    /// Puts lists in place that are refused, for this reason.
    async fn refuses(&self, lists: &str, reason: &str) {
        replace(self.lists.path(), lists);
        self.door.iris.reread();
        let refusal = || self.door.iris.material("revocation", "workers")["last_refusal"]["reason"].clone();
        until(reason, || refusal() == reason).await;
        let alarm = "iris_tls_candidate_rejected{component=\"in\",material=\"revocation\"}";
        until("the alarm", || self.door.iris.metric(alarm) as u64 == 1).await;
        assert!(self.door.iris.readiness().0, "what is in use stays");
    }

    async fn admits(&self, leaf: &Leaf) -> bool {
        self.door.knock(self.door.config(leaf)).await.is_ok()
    }
}

#[tokio::test]
async fn c09_an_older_list_lets_nobody_back_in() {
    let ca = Ca::new("workers");
    let (bad, good) = (worker(&ca), worker(&ca));
    let guarded = Guarded::open(&[&ca], &ca.list(8, DAY, &[&bad]), "").await;
    guarded.refuses(&ca.list(7, DAY, &[]), "crl-rollback").await;
    assert!(!guarded.admits(&bad).await && guarded.admits(&good).await);
    // A newer one may: the hold is over.
    guarded.publish(&ca.list(9, DAY, &[])).await;
    assert!(guarded.admits(&bad).await);
}

#[tokio::test]
async fn c09_a_list_that_vanishes_lets_nobody_back_in() {
    let (a, b) = (Ca::new("a"), Ca::new("b"));
    let bad = worker(&b);
    let guarded = Guarded::open(&[&a, &b], &(a.list(1, DAY, &[]) + &b.list(1, DAY, &[&bad])), "").await;
    guarded.refuses(&a.list(2, DAY, &[]), "crl-withdrawn").await;
    assert!(!guarded.admits(&bad).await && guarded.admits(&worker(&b)).await && guarded.admits(&worker(&a)).await);
}

#[tokio::test]
async fn c08_a_ca_that_is_gone_does_not_hold_up_an_emergency_revocation() {
    let (kept, gone) = (Ca::new("kept"), Ca::new("gone"));
    let (bad, good) = (worker(&kept), worker(&kept));
    let of_gone = gone.list(1, DAY, &[]);
    let guarded = Guarded::open(&[&kept, &gone], &(of_gone.clone() + &kept.list(1, DAY, &[])), "").await;
    guarded.door.trust(&[&kept]).await;
    let mut ends = watch(guarded.door.fill(&[&bad, &good], 2).await);
    guarded.publish(&(of_gone + &kept.list(2, DAY, &[&bad]))).await;
    for end in next_ends("everybody's end", &mut ends, 4).await {
        let expected = if end.group == 0 { Code::TrustRemoved } else { Code::RecycledForTrust };
        assert!(end.is(expected), "{end:?}");
    }
    until("counts", || guarded.door.iris.closes("in", "revoked") == 2).await;
    assert!(!guarded.admits(&bad).await && guarded.admits(&good).await);
    let row = guarded.door.iris.material("revocation", "workers");
    assert!(row["warnings"].as_array().unwrap().iter().any(|warning| warning == "crl-left-out"), "{row}");
}

#[tokio::test]
async fn c20_lists_that_are_over_refuse_their_issuers_peers_by_the_clock_where_the_file_says_so() {
    let (brief, lasting) = (Ca::new("brief"), Ca::new("lasting"));
    let (under_brief, under_lasting) = (worker(&brief), worker(&lasting));
    let guarded = Guarded::open(
        &[&brief, &lasting],
        &(brief.list(1, DAY, &[]) + &lasting.list(1, DAY, &[])),
        ", revocation: { expired: refuse }",
    )
    .await;
    let mut ends = watch(guarded.door.fill(&[&under_brief, &under_lasting], 2).await);
    guarded.publish(&(brief.list(2, 3, &[]) + &lasting.list(1, DAY, &[]))).await;
    for end in next_ends("everybody's end", &mut ends, 4).await {
        let expected = if end.group == 0 { Code::TrustRemoved } else { Code::RecycledForTrust };
        assert!(end.is(expected), "{end:?}");
    }
    let iris = &guarded.door.iris;
    until("counts", || iris.closes("in", "trust_removed") == 2).await;
    assert!(!guarded.admits(&under_brief).await && guarded.admits(&under_lasting).await);
    until("the reason", || iris.failures("in", "unknown_issuer") == 1).await;
    until("the alarm", || iris.state("in", "revocation") == "expired").await;
    assert!(iris.readiness().0, "others pass still");
    // When nobody can, the role is not ready.
    guarded.door.trust(&[&brief]).await;
    until("not ready", || !iris.readiness().0).await;
    assert!(iris.readiness().1[0].contains("revocation"), "{:?}", iris.readiness());
    guarded.publish(&brief.list(3, DAY, &[])).await;
    assert!(guarded.admits(&under_brief).await, "a newer list heals it");
    until("ready", || iris.readiness().0 && iris.state("in", "revocation") == "active").await;
}

#[tokio::test]
async fn c20_a_bundle_of_nobody_but_those_whose_lists_are_over_is_not_ready() {
    let (over, unlisted) = (Ca::new("over"), Ca::new("unlisted"));
    let guarded = Guarded::open(&[&over, &unlisted], &over.list(1, -1, &[]), ", revocation: { expired: refuse }").await;
    let iris = &guarded.door.iris;
    assert!(guarded.admits(&worker(&unlisted)).await && !guarded.admits(&worker(&over)).await);
    assert!(iris.readiness().0, "{:?}", iris.readiness());
    // The lists are the same before and after.
    guarded.door.trust(&[&over]).await;
    until("not ready", || !iris.readiness().0).await;
    guarded.door.trust(&[&over, &unlisted]).await;
    until("ready", || iris.readiness().0).await;
}

#[tokio::test]
async fn lists_that_are_over_still_refuse_whom_they_name_and_nobody_else() {
    let ca = Ca::new("workers");
    let (bad, good) = (worker(&ca), worker(&ca));
    let guarded = Guarded::open(&[&ca], &ca.list(1, -1, &[&bad]), "").await;
    assert!(!guarded.admits(&bad).await && guarded.admits(&good).await);
    until("the reason", || guarded.door.iris.failures("in", "revoked") == 1).await;
    assert_eq!(guarded.door.iris.state("in", "revocation"), "expired");
    assert!(guarded.door.iris.readiness().0);
}

#[tokio::test]
async fn whose_issuer_has_no_list_is_refused_where_the_file_says_so() {
    let (listed, unlisted) = (Ca::new("listed"), Ca::new("unlisted"));
    let cas = [&listed, &unlisted];
    let guarded = Guarded::open(&cas, &listed.list(1, DAY, &[]), ", revocation: { unknown: refuse }").await;
    assert!(guarded.admits(&worker(&listed)).await && !guarded.admits(&worker(&unlisted)).await);
    until("the reason", || guarded.door.iris.failures("in", "unknown_issuer") == 1).await;
    guarded.publish(&(unlisted.list(1, DAY, &[]) + &listed.list(1, DAY, &[]))).await;
    assert!(guarded.admits(&worker(&unlisted)).await);
}
