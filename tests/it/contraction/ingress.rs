//! A CA is taken out of the bundle by which clients are judged.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use iris::transport::Code;

use super::rig::{AT_ONCE, Door, assert_spread, last_after, next_ends, watch, worker};
use crate::support::{
    peer::{self, PeerSpec},
    pki::Ca,
    wait::{until, within},
};

const SPREAD: Duration = Duration::from_secs(3);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c08_a_ca_taken_out_closes_what_stood_on_it_and_recycles_the_rest() {
    let (old, new, stranger) = (Ca::new("old"), Ca::new("new"), Ca::new("new"));
    let mut door = Door::open(&[&old, &new], ", on_contraction: { still_trusted: recycle, spread: 3s }");
    let (leaf_old, leaf_new) = (worker(&old), worker(&new));
    let through = hammer(&door, vec![worker(&stranger), new.leaf(&["pylon.other.test"])]);
    let mut ends = watch(door.fill(&[&leaf_old, &leaf_new], 150).await);
    let swapped = door.trust(&[&new]).await;
    let (mut removed, mut recycled) = (Vec::new(), Vec::new());
    let mut peak = 0;
    // Whoever is recycled comes back at once.
    let mut back = Vec::new();
    for _ in 0..300 {
        let end = next_ends("everybody to be closed or recycled", &mut ends, 1).await.remove(0);
        peak = peak.max(door.iris.recycle_pending("in"));
        match end.group {
            0 => removed.push(end),
            _ => {
                back.push(door.knock(door.config(&leaf_new)).await.expect("a redial is accepted at once"));
                recycled.push(end);
            }
        }
    }
    assert!(removed.iter().all(|end| end.is(Code::TrustRemoved)), "{removed:?}");
    let took = last_after(swapped, &removed.iter().collect::<Vec<_>>());
    println!("150 of 300 closed within {took:?} of the swap; at most {peak} waited to be recycled");
    assert!(took < AT_ONCE, "{took:?}");
    assert!(peak > 0);
    until("nobody to be waited for", || door.iris.recycle_pending("in") == 0).await;
    assert_spread(swapped, SPREAD, &recycled.iter().collect::<Vec<_>>());
    assert_eq!((removed.len(), recycled.len()), (150, 150));
    // The component was told the same.
    let far = next_ends("the component to be told", &mut door.far_ends, 300).await;
    assert_eq!(far.iter().filter(|end| end.is(Code::TrustRemoved)).count(), 150);
    assert_eq!(far.iter().filter(|end| end.is(Code::RecycledForTrust)).count(), 150);
    until("counts", || {
        door.iris.closes("in", "trust_removed") == 150 && door.iris.closes("in", "trust_recycled") == 150
    })
    .await;
    // The removed ones do not come back, and who came back stays.
    door.knock(door.config(&leaf_old)).await.expect_err("its CA is gone");
    assert!(back.iter().all(|connection| connection.close_reason().is_none()));
    door.settled(150).await;
    let (got_in, tried) = through.stop();
    println!("{tried} attempts by a wrong root and a wrong name meanwhile");
    assert!(got_in == 0 && tried > 0, "{got_in} of {tried} got in");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c08_no_ticket_or_early_data_outlives_trust() {
    let (old, new) = (Ca::new("old"), Ca::new("new"));
    let door = Door::open(&[&old, &new], "");
    // One configuration, so that whatever was stored for resumption is there for the second dial.
    let mut tls = peer::client_tls(&[door.servers()], Some(&worker(&old)), &PeerSpec::default());
    tls.enable_early_data = true;
    let config = peer::client_of(tls, &PeerSpec::default());
    let first = door.knock(config.clone()).await.unwrap();
    let mut ends = watch(vec![(0, first)]);
    door.trust(&[&new]).await;
    assert!(next_ends("the close", &mut ends, 1).await[0].is(Code::TrustRemoved));
    let connecting = peer::client_endpoint().connect_with(config, door.address(), "iris.test").unwrap();
    // Early data would need a ticket.
    let Err(connecting) = connecting.into_0rtt() else { panic!("no ticket was ever sent") };
    let refused = within("a verdict", async { peer::admitted(connecting.await?).await }).await;
    refused.expect_err("judged in full");
    until("the reason", || door.iris.failures("in", "unknown_issuer") == 1).await;
}

#[tokio::test]
async fn c08_keep_leaves_whom_it_still_trusts() {
    let (old, new) = (Ca::new("old"), Ca::new("new"));
    let door = Door::open(&[&old, &new], ", on_contraction: { still_trusted: keep }");
    let mut visitors = door.fill(&[&worker(&old), &worker(&new)], 3).await;
    let kept = visitors.split_off(3);
    let mut ends = watch(visitors);
    door.trust(&[&new]).await;
    assert!(next_ends("the removed", &mut ends, 3).await.iter().all(|end| end.is(Code::TrustRemoved)));
    // The sweep ends with a line after whoever is kept: what it has not done by then it does not do.
    door.settled(3).await;
    assert_eq!(door.iris.recycle_pending("in"), 0);
    assert!(kept.iter().all(|(_, connection)| connection.close_reason().is_none()));
}

#[tokio::test]
async fn a_drain_is_not_disturbed_by_a_contraction() {
    let (old, new) = (Ca::new("old"), Ca::new("new"));
    let door = Door::open(&[&old, &new], "");
    let mut ends = watch(door.fill(&[&worker(&old)], 2).await);
    door.iris.begin_drain(Duration::from_secs(2));
    until("draining", || !door.iris.observer().readiness(std::time::SystemTime::now()).is_ready()).await;
    // Read by nobody any more.
    door.write_bundle(&super::rig::pem(&[&new]));
    door.iris.reread();
    let ends = next_ends("the drain", &mut ends, 2).await;
    assert!(ends.iter().all(|end| end.is(Code::Drain)), "{ends:?}");
}

/// Clients that must never get in, and never stop trying.
struct Hammer {
    stop: Arc<AtomicBool>,
    got_in: Arc<AtomicU64>,
    tried: Arc<AtomicU64>,
}

fn hammer(door: &Door, leaves: Vec<crate::support::pki::Leaf>) -> Hammer {
    let hammer = Hammer { stop: Arc::default(), got_in: Arc::default(), tried: Arc::default() };
    for leaf in leaves {
        let (config, address) = (door.config(&leaf), door.address());
        let (stop, got_in, tried) = (hammer.stop.clone(), hammer.got_in.clone(), hammer.tried.clone());
        tokio::spawn(async move {
            while !stop.load(Relaxed) {
                let attempt =
                    async { peer::admitted(peer::connect(address, "iris.test", config.clone()).await?).await };
                got_in.fetch_add(u64::from(attempt.await.is_ok()), Relaxed);
                tried.fetch_add(1, Relaxed);
            }
        });
    }
    hammer
}

impl Hammer {
    fn stop(self) -> (u64, u64) {
        self.stop.store(true, Relaxed);
        (self.got_in.load(Relaxed), self.tried.load(Relaxed))
    }
}
