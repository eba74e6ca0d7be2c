//! Handshakes and contractions at once.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
};

use iris::transport::Code;

use super::rig::{Door, last_after, next_ends, watch, worker};
use crate::support::{pki::Ca, wait::until};

const DIALERS: usize = 8;
const DIALS: usize = 125;
const CONTRACTIONS: usize = 100;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c08_a_thousand_handshakes_race_a_hundred_contractions_and_none_survives() {
    let (kept, toggled) = (Ca::new("kept"), Ca::new("toggled"));
    let door = Arc::new(Door::open(&[&kept, &toggled], ", on_contraction: { still_trusted: recycle, spread: 14s }"));
    let leaf = worker(&toggled);
    let (over, failed) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let contractions = Arc::new(AtomicUsize::new(0));
    let mut dialers = Vec::new();
    for _ in 0..DIALERS {
        let (door, config) = (door.clone(), door.config(&leaf));
        let (failed, contractions) = (failed.clone(), contractions.clone());
        dialers.push(tokio::spawn(async move {
            let mut in_by_chance = Vec::new();
            let mut dials = 0;
            // Both go on until there were enough of both.
            while dials < DIALS || contractions.load(Relaxed) < CONTRACTIONS {
                dials += 1;
                match door.knock(config.clone()).await {
                    Ok(connection) => in_by_chance.push(connection),
                    Err(_) => drop(failed.fetch_add(1, Relaxed)),
                }
            }
            in_by_chance
        }));
    }
    let publisher = {
        let (door, over, contractions) = (door.clone(), over.clone(), contractions.clone());
        tokio::spawn(async move {
            loop {
                let last = door.trust(&[&kept]).await;
                contractions.fetch_add(1, Relaxed);
                if over.load(Relaxed) {
                    return last;
                }
                door.trust(&[&kept, &toggled]).await;
            }
        })
    };
    let mut got_in = Vec::new();
    for dialer in dialers {
        got_in.extend(dialer.await.unwrap());
    }
    over.store(true, Relaxed);
    let last = publisher.await.unwrap();
    let count = got_in.len();
    let open = got_in.iter().filter(|connection| connection.close_reason().is_none()).count();
    let mut ends = watch(got_in.into_iter().map(|connection| (0, connection)).collect());
    let ends = next_ends("everybody's end", &mut ends, count).await;
    let took = last_after(last, &ends.iter().collect::<Vec<_>>());
    let of = |code| ends.iter().filter(|end| end.is(code)).count();
    println!(
        "{} contractions; of {} handshakes {count} got in by chance, {open} were open after the last: {} removed, {} \
         recycled; the last went {took:?} after the last contraction",
        contractions.load(Relaxed),
        count + failed.load(Relaxed),
        of(Code::TrustRemoved),
        of(Code::RecycledForTrust),
    );
    let other = ends.iter().find(|end| !end.is(Code::TrustRemoved) && !end.is(Code::RecycledForTrust));
    println!("and one that ended otherwise: {other:?}");
    // A window of 14 s ends nobody in time to hide a survivor.
    assert!(took < super::rig::AT_ONCE);
    assert!(count > 0 && failed.load(Relaxed) > 0, "no race: {count} got in");
    until("the registry to be empty", || {
        door.iris.metric("iris_connections_active{component=\"in\",transport=\"quic\"}") == 0.0
    })
    .await;
}
