//! Events without end cost little.

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use notify::{EventKind, RecursiveMode, Watcher, event::AccessKind};

use super::rig::{Ingress, Mode};

/// Readings by a debounce of 100 ms that is put off by at most 1 s, and retries that wait for a pause.
const READINGS_A_SECOND: u64 = 12;

#[tokio::test]
async fn c12_a_storm_of_touches_costs_a_bounded_number_of_reads() {
    let (rig, _) = Ingress::start(Mode::Events);
    // Somebody else counts how often the key is opened.
    let opened = Arc::new(AtomicU64::new(0));
    let count = opened.clone();
    let mut witness = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        if let Ok(notify::Event { kind: EventKind::Access(AccessKind::Open(_)), paths, .. }) = event
            && paths.iter().any(|path| path.ends_with("tls.key"))
        {
            count.fetch_add(1, Ordering::Relaxed);
        }
    })
    .unwrap();
    let target = fs::canonicalize(rig.edge.path("..data")).unwrap();
    witness.watch(&target, RecursiveMode::NonRecursive).unwrap();
    let (started, mut touches) = (Instant::now(), 0_u64);
    while started.elapsed() < Duration::from_secs(3) {
        for _ in 0..20 {
            fs::write(rig.edge.path("unrelated"), touches.to_string()).unwrap();
            touches += 1;
        }
        tokio::task::yield_now().await;
    }
    let seconds = started.elapsed().as_secs() + 1;
    let opens = opened.load(Ordering::Relaxed);
    println!("c12: {touches} touches in {:?}: the key was read {opens} times", started.elapsed());
    assert!(opens >= 1, "the storm was noticed");
    assert!(opens <= READINGS_A_SECOND * seconds, "{opens} reads in {seconds} s");
    assert_eq!(rig.iris.reloads("in", "server_identity", "success"), 0);
    // When it is over the last content is in use.
    let next = rig.ca.leaf(&["iris.test"]);
    rig.renew(&next);
    rig.until_served(&next).await;
}
