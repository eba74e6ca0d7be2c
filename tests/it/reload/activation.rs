//! How soon a renewal is in use: from the rename to the first handshake with the new leaf, under load.
//!
//! `IRIS_ROTATIONS=200 cargo test --test it activation -- --nocapture` measures what docs/materials.md says; without it a
//! tenth of that proves the bound.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use rustls::pki_types::CertificateDer;
use tokio::{sync::Semaphore, task::JoinSet};

use super::rig::{Ingress, Mode};
use crate::support::{
    peer::{self, PeerSpec},
    pki::Leaf,
    wait::{until, within},
};

/// Handshakes a second.
const RATE: u32 = 100;

/// At a time, so that a slow machine slows the test and does not fail it.
const IN_FLIGHT: usize = 32;

/// Ten times the aim of a second.
const BOUND: Duration = Duration::from_secs(10);

/// When each leaf was shown first, as the handshake that showed it was over.
type Shown = HashMap<CertificateDer<'static>, Instant>;

async fn rotate(mode: Mode, rotations: usize) {
    let (rig, _) = Ingress::start(mode);
    let leaves: Vec<Leaf> = (0..rotations).map(|_| rig.ca.leaf(&["iris.test"])).collect();
    let over = Arc::new(AtomicBool::new(false));
    let arrivals = tokio::spawn(arrive(&rig, over.clone()));
    let mut renamed = Vec::new();
    for (number, leaf) in leaves.iter().enumerate() {
        renamed.push(rig.renew(leaf));
        let sequence = number + 2;
        until("it to be told", || rig.iris.material("identity", "edge")["sequence"] == sequence).await;
        // So that the next rename stands in no relation to the last reading.
        tokio::time::sleep(Duration::from_millis(37 * (number as u64 % 7))).await;
    }
    rig.until_served(&leaves[rotations - 1]).await;
    over.store(true, Ordering::Relaxed);
    let (shown, handshakes, failed) = within("the last handshakes", arrivals).await.unwrap();
    assert!(failed.is_empty(), "{mode:?}: {} of {handshakes} handshakes failed: {}", failed.len(), failed[0]);
    // A leaf that was replaced before anybody saw it tells nothing.
    let mut took: Vec<Duration> =
        renamed.iter().zip(&leaves).filter_map(|(at, leaf)| Some(*shown.get(&leaf.chain[0])? - *at)).collect();
    took.sort();
    let (median, worst) = (took[took.len() / 2], took[took.len() - 1]);
    println!(
        "c06 {mode:?}: {} of {rotations} rotations seen by {handshakes} handshakes, none failed: median {median:.0?}, worst \
         {worst:.0?}",
        took.len()
    );
    assert!(took.len() * 2 > rotations, "{mode:?}: only {} rotations were seen", took.len());
    assert!(worst < BOUND, "{mode:?}: {took:?}");
    assert_eq!(rig.iris.reloads("in", "server_identity", "rejected"), 0, "{mode:?}");
    assert_eq!(rig.iris.all_failures("in"), [""; 0], "{mode:?}");
}

/// Handshakes, each with a request, until it is over: what was shown when, how many there were, and what failed.
fn arrive(rig: &Ingress, over: Arc<AtomicBool>) -> impl Future<Output = (Shown, usize, Vec<String>)> + use<> {
    let (config, address) = (peer::client_config(&rig.ca, None, &PeerSpec::default()), rig.iris.address("in"));
    async move {
        let (endpoint, room) = (peer::client_endpoint(), Arc::new(Semaphore::new(IN_FLIGHT)));
        let (mut pace, mut all) = (tokio::time::interval(Duration::from_secs(1) / RATE), JoinSet::new());
        let (mut shown, mut count, mut failed) = (Shown::new(), 0, Vec::new());
        let mut note = |outcome: Result<(CertificateDer<'static>, Instant), String>| match outcome {
            Ok((leaf, at)) => {
                let first = shown.entry(leaf).or_insert(at);
                *first = at.min(*first);
            }
            Err(error) => failed.push(error),
        };
        while !over.load(Ordering::Relaxed) {
            pace.tick().await;
            let room = room.clone().acquire_owned().await.unwrap();
            let connecting = endpoint.connect_with(config.clone(), address, "iris.test").unwrap();
            count += 1;
            all.spawn(async move {
                let connection = connecting.await.map_err(|error| error.to_string())?;
                let seen = (peer::shown_by(&connection), Instant::now());
                peer::request(&connection).await.map_err(|error| error.to_string())?;
                connection.close(0_u32.into(), b"");
                drop(room);
                Ok(seen)
            });
            while let Some(done) = all.try_join_next() {
                note(done.unwrap());
            }
        }
        while let Some(done) = all.join_next().await {
            note(done.unwrap());
        }
        (shown, count, failed)
    }
}

fn rotations() -> usize {
    std::env::var("IRIS_ROTATIONS").map_or(20, |number| number.parse().expect("IRIS_ROTATIONS is a number"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c06_renewals_under_a_hundred_handshakes_a_second_by_events() {
    rotate(Mode::Events, rotations()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c06_renewals_under_a_hundred_handshakes_a_second_by_the_poll() {
    rotate(Mode::Poll, rotations()).await;
}
