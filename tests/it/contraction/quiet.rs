//! What is no contraction closes nothing.

use iris::transport::Code;

use super::rig::{Door, next_ends, pem, watch, worker};
use crate::support::{pki::Ca, wait::until};

#[tokio::test]
async fn c16_a_renewal_or_a_bundle_that_says_the_same_closes_nothing() {
    let (a, b, more) = (Ca::new("a"), Ca::new("b"), Ca::new("more"));
    let door = Door::open(&[&a, &b], ", on_contraction: { still_trusted: recycle, spread: 0s }");
    let stays = door.fill(&[&worker(&a), &worker(&b)], 3).await;
    let texts = [
        pem(&[&b, &a]),
        pem(&[&a, &b, &b, &a]),
        format!("# a comment\n{}\n\n# another\n{}", a.pem(), b.pem()),
        pem(&[&a.reissued(), &b]),
        pem(&[&a, &b, &more]),
    ];
    for text in texts {
        door.write_bundle(&text);
        // By renewals of the leaf, which close nothing either.
        door.read().await;
    }
    // Sweeps happen in the order of publications: when this one's visitor is gone, those before are over.
    let last = door.enter(&worker(&more)).await;
    door.settled(7).await;
    let mut ends = watch(vec![(0, last)]);
    assert!(stays.iter().all(|(_, connection)| connection.close_reason().is_none()));
    assert_eq!(door.iris.closes("in", "trust_recycled") + door.iris.closes("in", "trust_removed"), 0);
    door.trust(&[&a, &b]).await;
    assert!(next_ends("the one whose CA is gone", &mut ends, 1).await[0].is(Code::TrustRemoved));
    until("the count", || door.iris.closes("in", "trust_removed") == 1).await;
    // Nothing but that one removal: its own contraction recycles the others, which shows that they were swept.
    let mut ends = watch(stays);
    assert!(next_ends("the others", &mut ends, 6).await.iter().all(|end| end.is(Code::RecycledForTrust)));
    until("the counts", || {
        (door.iris.closes("in", "trust_recycled"), door.iris.closes("in", "trust_removed")) == (6, 1)
    })
    .await;
}
