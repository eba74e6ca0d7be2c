//! Renewals under load, with peers that must never get in.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::{sync::Semaphore, task::JoinSet};

use super::rig::{Egress, Ingress, MODES, Mode, echoing_peer};
use crate::support::{
    peer::{self, PeerSpec},
    pki::Ca,
    wait::{until, within},
};

/// New connections a second.
const RATE: u32 = 200;

/// At a time, so that a slow machine slows the test and does not fail it.
const IN_FLIGHT: usize = 32;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn renewals_at_two_hundred_new_connections_a_second_fail_no_handshake() {
    let (rig, first) = Ingress::start(Mode::Events);
    let old = rig.connect().await;
    let endpoint = peer::client_endpoint();
    let config = peer::client_config(&rig.ca, None, &PeerSpec::default());
    let (address, room) = (rig.iris.address("in"), Arc::new(Semaphore::new(IN_FLIGHT)));
    let over = Arc::new(AtomicBool::new(false));
    let arrivals = tokio::spawn({
        let over = over.clone();
        async move {
            let (mut pace, mut all) = (tokio::time::interval(Duration::from_secs(1) / RATE), JoinSet::new());
            while !over.load(Ordering::Relaxed) {
                pace.tick().await;
                let room = room.clone().acquire_owned().await.unwrap();
                let connecting = endpoint.connect_with(config.clone(), address, "iris.test").unwrap();
                all.spawn(async move {
                    let connection = connecting.await.map_err(|error| error.to_string())?;
                    let shown = peer::shown_by(&connection);
                    peer::request(&connection).await.map_err(|error| error.to_string())?;
                    connection.close(0_u32.into(), b"");
                    drop(room);
                    Ok::<_, String>(shown)
                });
            }
            all.join_all().await
        }
    });
    let (started, mut leaves) = (Instant::now(), vec![first]);
    for _ in 0..5 {
        let next = rig.ca.leaf(&["iris.test"]);
        rig.renew(&next);
        rig.until_served(&next).await;
        peer::request(&old).await.unwrap();
        leaves.push(next);
    }
    over.store(true, Ordering::Relaxed);
    let outcomes = within("the last handshakes", arrivals).await.unwrap();
    let seconds = started.elapsed().as_secs_f64();
    let (shown, failed): (Vec<_>, Vec<_>) = outcomes.into_iter().partition(Result::is_ok);
    let told = [rig.iris.all_failures("in"), rig.iris.all_failures("component")];
    assert!(failed.is_empty(), "{} handshakes failed: {:?}, {told:?}", failed.len(), failed[0]);
    let shown: Vec<_> = shown.into_iter().flatten().collect();
    println!("{} connections in {seconds:.1} s under 5 renewals, none failed", shown.len());
    assert!(shown.iter().all(|one| leaves.iter().any(|leaf| leaf.chain[0] == *one)));
    assert_eq!(rig.iris.all_failures("in"), [""; 0]);
    assert!(old.close_reason().is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c10_wrong_roots_and_wrong_names_never_get_in_during_rotations() {
    for mode in MODES {
        let (rig, _) = Ingress::guarded(mode);
        let stranger = Ca::new("workers");
        let worker = rig.workers.leaf(&["a.workers.test"]);
        let wrong_root = stranger.leaf(&["a.workers.test"]);
        let wrong_name = rig.workers.leaf(&["a.elsewhere.test"]);
        let (old, other) = (Ca::new("peers"), Ca::new("peers"));
        let egress = Egress::start(mode, &old.pem());
        let good_peer = echoing_peer(&old.leaf(&["peer.test"]));
        let foreign_peer = echoing_peer(&other.leaf(&["peer.test"]));
        let misnamed_peer = echoing_peer(&old.leaf(&["other.test"]));
        let (over, attempts) = (AtomicBool::new(false), AtomicU64::new(0));
        let refuse_in = async |leaf: &crate::support::pki::Leaf| {
            while !over.load(Ordering::Relaxed) {
                rig.connect_with(&[&rig.ca], Some(leaf)).await.expect_err("a wrong one got in");
                attempts.fetch_add(1, Ordering::Relaxed);
            }
        };
        let refuse_out = async |server: &quinn::Endpoint| {
            while !over.load(Ordering::Relaxed) {
                egress.dial(server).await.expect_err("a wrong one was dialled");
                attempts.fetch_add(1, Ordering::Relaxed);
            }
        };
        let rotations = async {
            for round in 2..=4 {
                rig.renew(&rig.ca.leaf(&["iris.test"]));
                rig.trust.publish(&[("ca.crt", &(rig.workers.pem() + &Ca::new("workers").pem()))]);
                egress.trust.publish(&[("ca.crt", &(Ca::new("peers").pem() + &old.pem()))]);
                until("the new generations", || {
                    rig.iris.material("identity", "edge")["sequence"] == round
                        && rig.iris.material("trust", "workers")["sequence"] == round
                        && egress.iris.material("trust", "peers")["sequence"] == round
                })
                .await;
                // The right ones do get in.
                rig.connect_with(&[&rig.ca], Some(&worker)).await.unwrap();
                egress.dial(&good_peer).await.unwrap();
                let seen = attempts.load(Ordering::Relaxed);
                until("more attempts", || attempts.load(Ordering::Relaxed) >= seen + 8).await;
            }
            over.store(true, Ordering::Relaxed);
        };
        tokio::join!(
            rotations,
            refuse_in(&wrong_root),
            refuse_in(&wrong_name),
            refuse_out(&foreign_peer),
            refuse_out(&misnamed_peer)
        );
        println!("c10 {mode:?}: {attempts:?} attempts of wrong ones, none got in");
        for (iris, component, reason) in [
            (&rig.iris, "in", "unknown_issuer"),
            (&rig.iris, "in", "name_not_allowed"),
            (&egress.iris, "any", "unknown_issuer"),
            (&egress.iris, "any", "name_mismatch"),
        ] {
            // The last of them may have heard before it was counted.
            until("a count of each kind", || iris.failures(component, reason) > 0).await;
        }
    }
}
