//! Chains are verified, as of their handshake: names, anchors and ends alone say nothing.

use std::time::{Duration, SystemTime};

use iris::transport::Code;

use super::rig::{Door, next_ends, replace, watch, worker};
use crate::support::{
    pki::{Ca, Leaf, LeafSpec},
    wait::until,
};

const SOON: &str = ", on_contraction: { still_trusted: recycle, spread: 1s }";

/// Two visitors, one under `kept` and one that `leaf` is for; the bundle becomes `after`; how the latter ended.
async fn after(before: &[&Ca], leaf: &Leaf, after: &[&Ca]) -> Code {
    let door = Door::open(before, SOON);
    let mut ends = watch(door.fill(&[leaf], 1).await);
    door.trust(after).await;
    let end = next_ends("its end", &mut ends, 1).await.remove(0);
    let codes = [Code::TrustRemoved, Code::RecycledForTrust];
    codes.into_iter().find(|code| end.is(*code)).unwrap_or_else(|| panic!("{end:?}"))
}

#[tokio::test]
async fn c08_a_cross_signed_peer_stays_trusted_while_any_path_holds() {
    let (a, b, c) = (Ca::new("a"), Ca::new("b"), Ca::new("c"));
    let mut leaf = worker(&b);
    leaf.chain.push(a.cross_sign(&b));
    // It was verified by b, or by a through the cross certificate: either will do.
    assert_eq!(after(&[&a, &b], &leaf, &[&a]).await, Code::RecycledForTrust);
    assert_eq!(after(&[&a, &b], &leaf, &[&b]).await, Code::RecycledForTrust);
    assert_eq!(after(&[&a, &b, &c], &leaf, &[&c]).await, Code::TrustRemoved);
}

#[tokio::test]
async fn c08_a_root_made_anew_under_the_same_name_is_another() {
    let (before, anew) = (Ca::new("root"), Ca::new("root"));
    assert_eq!(after(&[&before], &worker(&before), &[&anew]).await, Code::TrustRemoved);
}

#[tokio::test]
async fn c16_a_root_issued_again_with_its_key_is_the_same_also_beside_a_removal() {
    let (root, other) = (Ca::new("root"), Ca::new("other"));
    let leaf = worker(&root);
    // Issued after the handshake: at the time of the handshake the anchor of now had not begun.
    let door = Door::open(&[&root, &other], SOON);
    let mut ends = watch(door.fill(&[&leaf], 1).await);
    let connected = SystemTime::now();
    until("two seconds", || connected.elapsed().unwrap() > Duration::from_secs(2)).await;
    door.trust(&[&root.reissued()]).await;
    assert!(next_ends("its end", &mut ends, 1).await[0].is(Code::RecycledForTrust));
}

#[tokio::test]
async fn c08_a_leaf_that_has_ended_hides_nothing_about_its_ca() {
    let (kept, removed) = (Ca::new("kept"), Ca::new("removed"));
    let door = Door::open(&[&kept, &removed], SOON);
    let short = |ca: &Ca| ca.issue(LeafSpec::named(&["pylon.workers.test"]).valid(-60, 8));
    let (under_kept, under_removed) = (short(&kept), short(&removed));
    let issued = SystemTime::now();
    let mut ends = watch(door.fill(&[&under_kept, &under_removed], 3).await);
    until("the leaves to end", || issued.elapsed().unwrap() > Duration::from_secs(10)).await;
    door.knock(door.config(&under_kept)).await.expect_err("it has ended");
    door.trust(&[&kept]).await;
    for end in next_ends("everybody's end", &mut ends, 6).await {
        let expected = if end.group == 0 { Code::RecycledForTrust } else { Code::TrustRemoved };
        assert!(end.is(expected), "{end:?}");
    }
}

#[tokio::test]
async fn c08_a_serial_on_the_list_ends_its_connections_as_revoked_and_recycles_the_rest() {
    let ca = Ca::new("workers");
    let (bad, good) = (worker(&ca), worker(&ca));
    let files = tempfile::TempDir::new().unwrap();
    let list = files.path().join("workers.crl");
    std::fs::write(&list, ca.revoke(&[])).unwrap();
    let lists = format!(", revocation_lists: [ {} ]{SOON}", list.display());
    let door = Door::open(&[&ca], &lists);
    let mut ends = watch(door.fill(&[&bad, &good], 5).await);
    let revoke = || replace(&list, &ca.revoke(&[&bad]));
    door.iris.reload("in", "revocation", revoke).await;
    for end in next_ends("everybody's end", &mut ends, 10).await {
        let expected = if end.group == 0 { Code::TrustRemoved } else { Code::RecycledForTrust };
        assert!(end.is(expected), "{end:?}");
    }
    let counted = || (door.iris.closes("in", "revoked"), door.iris.closes("in", "trust_recycled"));
    until("counts", || counted() == (5, 5)).await;
    door.enter(&good).await;
    door.knock(door.config(&bad)).await.expect_err("revoked");
}
