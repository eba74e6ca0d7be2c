//! Events that are not to be had, or were lost: the poll carries on, and `iris_watcher_up` says so.

use std::{fs, path::Path, process::Command};

use crate::support::{
    kubelet::Volume,
    pki::Ca,
    process::iris,
    standalone::{self, Spec, Standalone},
    wait::until,
};

/// One with a leaf, run by a command of its own.
fn start(settings: &str, command: &dyn Fn(&Path, &str) -> Command) -> Standalone {
    let before = |_: &Path, ca: &Ca, edge: &Volume, trust: &Volume| {
        standalone::publish(edge, &ca.leaf(&["iris.test"]));
        trust.publish(&[("ca.crt", &ca.pem())]);
    };
    Standalone::of(Spec { settings, before: &before, command, ..Spec::default() })
}

/// For real: in a user namespace that may have no inotify instance.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c11_c12_with_inotify_used_up_the_poll_carries_on_and_the_watcher_is_down() {
    let command = |_: &Path, config: &str| {
        let mut command = Command::new("unshare");
        let script = "echo 0 > /proc/sys/user/max_inotify_instances && exec \"$1\" run --config \"$2\"";
        command.args(["--user", "--map-root-user", "sh", "-c", script, "sh", env!("CARGO_BIN_EXE_iris"), config]);
        command
    };
    let mut standalone = start("reload: { poll: 300ms }\n", &command);
    let without = "file events are not to be had: changes are found by the poll";
    until("it to be told", || standalone.running.count(without).1 == 1).await;
    for _ in 0..5 {
        let next = standalone.ca.leaf(&["iris.test"]);
        standalone.renew(&next);
        standalone.until_served(&next).await;
        assert_eq!(standalone.metric("iris_watcher_up"), 0.0);
    }
    assert_eq!(standalone.running.count(without).1, 1, "told once, however often it is tried again");
    // There are some again: it is tried with each reading.
    let id = standalone.running.id().to_string();
    let raise = "echo 16 > /proc/sys/user/max_inotify_instances";
    let raised =
        Command::new("nsenter").args(["--user", "--preserve-credentials", "--target", &id, "sh", "-c", raise]).status();
    assert!(raised.unwrap().success());
    until("the watcher to be up", || standalone.metric("iris_watcher_up") == 1.0).await;
    until("it to be told", || standalone.running.count("watching for file events").1 == 1).await;
}

/// For real: more events than the kernel keeps, while nobody takes them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c11_c12_an_overflow_of_events_is_told_and_made_good() {
    let mut standalone = start("reload: { poll: 4s }\n", &|_, config| iris(&["run", "--config", config]));
    until("the watcher to be up", || standalone.metric("iris_watcher_up") == 1.0).await;
    let kept: usize = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap().trim().parse().unwrap();
    standalone.running.signal("-STOP");
    // Equal events in a row are one: so each is of another file than the one before.
    let files = ["a", "b"].map(|name| standalone.edge.path(name));
    for round in 0..=kept {
        fs::write(&files[round % 2], b"").unwrap();
    }
    let next = standalone.ca.leaf(&["iris.test"]);
    standalone.renew(&next);
    standalone.running.signal("-CONT");
    let lost = "file events were lost: changes are found by the poll";
    until("it to be told", || standalone.running.count(lost).1 == 1).await;
    until("the watcher to be down", || standalone.metric("iris_watcher_up") == 0.0).await;
    standalone.until_served(&next).await;
    until("the watcher to be up again", || standalone.metric("iris_watcher_up") == 1.0).await;
    assert_eq!(standalone.running.count(lost).1, 1);
    // By events again.
    let next = standalone.ca.leaf(&["iris.test"]);
    standalone.renew(&next);
    standalone.until_served(&next).await;
}
