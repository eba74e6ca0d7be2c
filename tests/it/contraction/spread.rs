//! Windows that overlap.

use std::time::Duration;

use iris::transport::Code;

use super::rig::{AT_ONCE, Door, assert_spread, last_after, next_ends, watch, worker};
use crate::support::{pki::Ca, wait::until};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c08_a_second_contraction_in_a_window_loses_nobody_and_extends_nothing() {
    let (a, b, c) = (Ca::new("a"), Ca::new("b"), Ca::new("c"));
    let door = Door::open(&[&a, &b, &c], ", on_contraction: { still_trusted: recycle, spread: 6s }");
    let mut ends = watch(door.fill(&[&worker(&a), &worker(&b), &worker(&c)], 20).await);
    let first = door.trust(&[&b, &c]).await;
    let mut all = next_ends("a to be closed", &mut ends, 20).await;
    while all.iter().filter(|end| end.group > 0).count() < 8 {
        all.extend(next_ends("the first to be recycled", &mut ends, 1).await);
    }
    let second = door.trust(&[&c]).await;
    let left = 60 - all.len();
    all.extend(next_ends("the rest", &mut ends, left).await);
    let of = |group: usize| all.iter().filter(move |end| end.group == group);
    assert!(of(0).all(|end| end.is(Code::TrustRemoved)));
    // Whoever is no longer trusted goes at once, whatever it was promised.
    let (recycled, removed): (Vec<_>, Vec<_>) = of(1).partition(|end| end.is(Code::RecycledForTrust));
    println!("of b {} were recycled before its end and {} removed", recycled.len(), removed.len());
    assert!(!removed.is_empty() && removed.iter().all(|end| end.is(Code::TrustRemoved)));
    let took = last_after(second, &removed);
    assert!(took < AT_ONCE, "{took:?}");
    assert!(recycled.iter().all(|end| end.at < second + AT_ONCE));
    // Whoever still is goes when it would have gone.
    assert_spread(first, Duration::from_secs(6), &of(2).collect::<Vec<_>>());
    until("nobody to be waited for", || door.iris.recycle_pending("in") == 0).await;
}
