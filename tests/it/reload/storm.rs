//! Events without end cost little: 10,000 swaps and touches in 10 s, every tenth of them malformed.

use std::{
    fs::{self, File},
    io::Write,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher, event::AccessKind};

use super::rig::pair;
use crate::support::{
    pki::Leaf,
    standalone::Standalone,
    wait::{PATIENCE, until},
};

/// In all.
const EVENTS: u32 = 10_000;

/// The time that they take, unless the machine is slower.
const STORM: Duration = Duration::from_secs(10);

/// At most: a debounce of 100 ms that is put off by at most 1 s, and retries that wait for a pause.
const READINGS_A_SECOND: u64 = 12;

/// At most: for each reading one line of each of the two materials, and one about events.
const LINES_A_READING: u64 = 3;

/// What a process may have grown by.
const GROWTH: u64 = 8 << 20;

/// Idle work of a process: a look at the clock twice a second, and a second's tick. Ten times what was measured.
const IDLE_SHARE: f64 = 0.05;

/// Counts how often the bundle is opened: it is read with everything else, and is never swapped.
fn witness(standalone: &Standalone) -> (RecommendedWatcher, Arc<AtomicU64>) {
    let opened = Arc::new(AtomicU64::new(0));
    let count = opened.clone();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        if let Ok(notify::Event { kind: EventKind::Access(AccessKind::Open(_)), paths, .. }) = event
            && paths.iter().any(|path| path.ends_with("ca.crt"))
        {
            count.fetch_add(1, Ordering::Relaxed);
        }
    })
    .unwrap();
    let target = fs::canonicalize(standalone.trust.path("..data")).unwrap();
    watcher.watch(&target, RecursiveMode::NonRecursive).unwrap();
    (watcher, opened)
}

/// What passes in `time`: readings and work.
async fn quiet(standalone: &Standalone, opened: &AtomicU64, time: Duration) -> (u64, f64) {
    let (began, readings, cpu) = (Instant::now(), opened.load(Ordering::Relaxed), standalone.running.cpu());
    tokio::time::sleep(time).await;
    let share = (standalone.running.cpu() - cpu).as_secs_f64() / began.elapsed().as_secs_f64();
    (opened.load(Ordering::Relaxed) - readings, share)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c12_a_storm_of_swaps_and_touches_has_a_bounded_cost() {
    let (mut standalone, _) = Standalone::start("reload: { poll: 14s }\n");
    let (_watcher, opened) = witness(&standalone);
    // Everything that is ever needed has been there once.
    for _ in 0..3 {
        let next = standalone.ca.leaf(&["iris.test"]);
        standalone.renew(&next);
        standalone.until_served(&next).await;
        let stranger = standalone.ca.leaf(&["iris.test"]);
        standalone.edge.publish(&pair(&next.chain_pem, &stranger.key_pem()));
        until("a refusal", || standalone.material("identity")["candidate_rejected"] == true).await;
    }
    let leaves: Vec<Leaf> = (0..50).map(|_| standalone.ca.leaf(&["iris.test"])).collect();
    let (memory, readings) = (standalone.running.resident(), opened.load(Ordering::Relaxed));
    let (lines, _) = standalone.running.count("");
    let (cpu, began) = (standalone.running.cpu(), Instant::now());
    let mut touched = File::create(standalone.edge.path("unrelated")).unwrap();
    let (mut swaps, mut malformed) = (0, 0);
    for number in 0..EVENTS {
        let leaf = &leaves[number as usize % leaves.len()];
        match number % 10 {
            // No two alike, so that each is refused for the first time.
            0 => {
                standalone.edge.publish(&pair(&leaf.chain_pem[..leaf.chain_pem.len() / 2], &format!("{number}")));
                malformed += 1;
            }
            1..5 => {
                standalone.renew(leaf);
                swaps += 1;
            }
            _ => touched.write_all(b".").unwrap(),
        }
        let due = STORM.mul_f64(f64::from(number + 1) / f64::from(EVENTS));
        let early = due.saturating_sub(began.elapsed());
        // Finer than a timer is.
        if early > Duration::from_millis(5) {
            tokio::time::sleep(early).await;
        }
    }
    let last = standalone.ca.leaf(&["iris.test"]);
    standalone.renew(&last);
    let took = began.elapsed();
    standalone.until_served(&last).await;
    let settled = began.elapsed() - took;
    let storm_cpu = standalone.running.cpu() - cpu;
    let readings = opened.load(Ordering::Relaxed) - readings;
    until("all to be well", || standalone.material("identity")["candidate_rejected"] == false).await;
    let lines = standalone.running.count("").0 - lines;
    let grown = standalone.running.resident().saturating_sub(memory);
    // No work is left: until the next poll nothing is read, and next to nothing computed.
    let calm = Instant::now();
    let (after, share) = loop {
        let (after, share) = quiet(&standalone, &opened, Duration::from_secs(2)).await;
        let is_calm = after == 0 && share < IDLE_SHARE;
        if is_calm || calm.elapsed() > PATIENCE {
            break (after, share);
        }
    };
    println!(
        "c12: {swaps} swaps, {malformed} malformed ones and {} touches in {took:.1?}: {readings} readings, {lines} lines, \
         {:.1} MiB grown, {storm_cpu:.1?} of CPU; the last in use {settled:.2?} after; then {after} readings and {:.1} % \
         of a CPU",
        EVENTS - swaps - malformed,
        grown as f64 / (1 << 20) as f64,
        share * 100.0,
    );
    let seconds = took.as_secs() + settled.as_secs() + 2;
    assert!(readings >= 1, "the storm was noticed");
    assert!(readings <= READINGS_A_SECOND * seconds, "{readings} readings in {seconds} s");
    assert!(lines as u64 <= LINES_A_READING * readings, "{lines} lines for {readings} readings");
    assert!(grown < GROWTH, "{grown} bytes");
    assert!(after == 0 && share < IDLE_SHARE, "{after} readings and {share} of a CPU when it was over");
}
