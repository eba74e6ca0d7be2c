//! Renewals: the next connection sees the new leaf, soon, and those that live notice nothing.

use std::time::{Duration, Instant};

use super::rig::{Ingress, MODES, Mode};
use crate::support::{
    peer,
    wait::{until, within},
};

/// Ten times the aim of one second.
const IN_USE: Duration = Duration::from_secs(10);

#[tokio::test]
async fn c01_the_next_connection_sees_the_renewed_leaf_and_the_process_is_the_same() {
    for mode in MODES {
        let (rig, first) = Ingress::start(mode);
        assert_eq!(rig.served().await, first.chain[0]);
        let next = rig.ca.leaf(&["iris.test"]);
        rig.renew(&next);
        rig.until_served(&next).await;
        assert_eq!(rig.served().await, next.chain[0], "{mode:?}: once new, always new");
        peer::request(&rig.connect().await).await.unwrap();
        // Told after the publication that was waited for.
        let up = f64::from(u8::from(mode == Mode::Events));
        until("the watcher", || rig.iris.metric("iris_watcher_up") == up).await;
    }
}

/// The reverse shape: the component opens streams towards the peer that dialled.
#[tokio::test]
async fn c02_a_reverse_listener_shows_the_renewed_leaf_and_old_tunnels_carry_on() {
    for mode in MODES {
        let (rig, _) = Ingress::start(mode);
        let old = rig.connect().await;
        tokio::spawn(peer::echo(old.clone()));
        let next = rig.ca.leaf(&["iris.test"]);
        rig.renew(&next);
        rig.until_served(&next).await;
        let new = rig.connect().await;
        assert_eq!(peer::shown_by(&new), next.chain[0], "{mode:?}");
        for tunnel in [old, new] {
            within("an echo", peer::request(&tunnel)).await.unwrap();
        }
    }
}

#[tokio::test]
async fn c06_from_the_rename_to_in_use_takes_less_than_ten_seconds() {
    for mode in MODES {
        let (rig, _) = Ingress::start(mode);
        let mut took: Vec<Duration> = Vec::new();
        for _ in 0..10 {
            let next = rig.ca.leaf(&["iris.test"]);
            let renamed = rig.renew(&next);
            rig.until_served(&next).await;
            took.push(renamed.elapsed());
        }
        took.sort();
        println!("c06 {mode:?}: from the rename to the new leaf, median {:?}, worst {:?}", took[5], took[9]);
        assert!(took[9] < IN_USE, "{took:?}");
    }
}

#[tokio::test]
async fn c16_a_renewal_and_a_grown_bundle_close_nothing() {
    let (rig, _) = Ingress::guarded(Mode::Events);
    let worker = rig.workers.leaf(&["a.workers.test"]);
    let old = rig.connect_with(&[&rig.ca], Some(&worker)).await.unwrap();
    let (mut send, mut recv) = old.open_bi().await.unwrap();
    send.write_all(b"before, ").await.unwrap();
    let (next, grown) = (rig.ca.leaf(&["iris.test"]), crate::support::pki::Ca::new("grown"));
    rig.renew(&next);
    rig.trust.publish(&[("ca.crt", &(grown.pem() + &rig.workers.pem()))]);
    let newcomer = grown.leaf(&["b.workers.test"]);
    let started = Instant::now();
    within("the grown bundle", async { while rig.connect_with(&[&rig.ca], Some(&newcomer)).await.is_err() {} }).await;
    println!("c16: a new CA is believed after {:?}", started.elapsed());
    within("the renewal", async {
        while peer::shown_by(&rig.connect_with(&[&rig.ca], Some(&worker)).await.unwrap()) != next.chain[0] {}
    })
    .await;
    send.write_all(b"after").await.unwrap();
    send.finish().unwrap();
    assert_eq!(within("the echo", recv.read_to_end(100)).await.unwrap(), b"before, after");
    assert!(old.close_reason().is_none());
    for reason in ["trust_removed", "trust_recycled", "identity_retired"] {
        let closes = format!("iris_connection_closes_total{{component=\"in\",reason=\"{reason}\"}}");
        assert_eq!(rig.iris.metric(&closes), 0.0, "{reason}");
    }
}
