//! Writers that are not kubelet: they truncate, delete, lock out and run out of room. What is in use stays, and what they
//! finish takes its place.

use std::{
    fs::{self, File, Permissions},
    io::{ErrorKind, Write},
    os::unix::{
        fs::{MetadataExt, OpenOptionsExt, PermissionsExt},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use super::rig::{Ingress, MODES, Mode};
use crate::support::{
    kubelet::Volume,
    pki::{Ca, Leaf},
    standalone::{Spec, Standalone},
    wait::until,
};

fn row(rig: &Ingress) -> serde_json::Value {
    rig.iris.material("identity", "edge")
}

/// Plain files, in use.
async fn plain(mode: Mode) -> (Ingress, Leaf) {
    let rig = Ingress::empty(mode);
    let leaf = rig.ca.leaf(&["iris.test"]);
    write(&rig.edge, &leaf);
    until("it to be ready", || rig.iris.readiness().0).await;
    rig.until_served(&leaf).await;
    // From here on nothing that was met on the way can still be counted.
    until("it to be told", || row(&rig)["sequence"] == 1 && row(&rig)["candidate_rejected"] == false).await;
    (rig, leaf)
}

fn write(edge: &Volume, leaf: &Leaf) {
    fs::write(edge.path("tls.crt"), &leaf.chain_pem).unwrap();
    fs::write(edge.path("tls.key"), leaf.key_pem()).unwrap();
}

#[tokio::test]
async fn c09_c11_files_that_are_deleted_and_made_again_are_taken_up() {
    for mode in MODES {
        let (rig, mut current) = plain(mode).await;
        for _ in 0..3 {
            for name in ["tls.crt", "tls.key"] {
                fs::remove_file(rig.edge.path(name)).unwrap();
            }
            until("the loss to be met", || row(&rig)["candidate_rejected"] == true).await;
            assert_eq!(row(&rig)["last_refusal"]["reason"], "missing-file", "{mode:?}");
            assert_eq!(rig.served().await, current.chain[0], "{mode:?}: the last good one stays");
            current = rig.ca.leaf(&["iris.test"]);
            write(&rig.edge, &current);
            rig.until_served(&current).await;
            until("it to be told", || row(&rig)["candidate_rejected"] == false).await;
        }
    }
}

/// What is compared is content.
#[tokio::test]
async fn c11_a_renewal_of_equal_size_and_time_is_seen() {
    for mode in MODES {
        let (rig, first) = plain(mode).await;
        let sizes = |leaf: &Leaf| (leaf.chain_pem.len(), leaf.key_pem().len());
        let next = std::iter::repeat_with(|| rig.ca.leaf(&["iris.test"])).find(|leaf| sizes(leaf) == sizes(&first));
        let next = next.unwrap();
        let names = ["tls.crt", "tls.key"].map(|name| rig.edge.path(name));
        let look = |path: &PathBuf| fs::metadata(path).map(|file| (file.len(), file.ino(), file.modified().unwrap()));
        let before = names.each_ref().map(|path| look(path).unwrap());
        for ((path, content), (_, _, modified)) in
            names.iter().zip([next.chain_pem.clone(), next.key_pem()]).zip(before)
        {
            fs::write(path, content).unwrap();
            File::options().write(true).open(path).unwrap().set_modified(modified).unwrap();
        }
        assert_eq!(names.each_ref().map(|path| look(path).unwrap()), before, "{mode:?}: nothing but content tells");
        rig.until_served(&next).await;
    }
}

/// An older identity that is still good is as good as any.
#[tokio::test]
async fn c11_older_content_that_is_restored_is_in_use_again() {
    for mode in MODES {
        let (rig, older) = Ingress::start(mode);
        let newer = rig.ca.leaf(&["iris.test"]);
        for (sequence, leaf) in (2..).zip([&newer, &older, &newer, &older]) {
            rig.renew(leaf);
            rig.until_served(leaf).await;
            until("it to be told", || row(&rig)["sequence"] == sequence).await;
        }
        assert_eq!(rig.iris.reloads("in", "server_identity", "rejected"), 0, "{mode:?}");
    }
}

/// The user that images without a root use.
const NOBODY: u32 = 65_532;

/// Files that may not be read for two seconds. Root may read everything, so the process is somebody else's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c09_files_that_are_unreadable_for_a_while_cost_nothing() {
    let before = |root: &Path, ca: &Ca, edge: &Volume, trust: &Volume| {
        fs::set_permissions(root, Permissions::from_mode(0o755)).unwrap();
        write(edge, &ca.leaf(&["iris.test"]));
        trust.publish(&[("ca.crt", &ca.pem())]);
    };
    let command = |root: &Path, config: &str| {
        // Where the binary was built nobody else may look.
        let copy = root.join("iris");
        fs::copy(env!("CARGO_BIN_EXE_iris"), &copy).unwrap();
        let mut command = Command::new(copy);
        command.args(["run", "--config", config]);
        if fs::metadata("/proc/self").unwrap().uid() == 0 {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    };
    let settings = "reload: { poll: 5s }\n";
    let standalone = Standalone::of(Spec { settings, before: &before, command: &command, ..Spec::default() });
    assert!(standalone.readiness().0, "{}", standalone.readiness().1);
    let first = standalone.served().await;
    let next = standalone.ca.leaf(&["iris.test"]);
    let key = standalone.edge.path("tls.key");
    // Made anew without any permission: only whoever made it may still write.
    let locked = Instant::now();
    fs::remove_file(&key).unwrap();
    let mut locked_key = File::options().write(true).create_new(true).mode(0o000).open(&key).unwrap();
    locked_key.write_all(next.key_pem().as_bytes()).unwrap();
    drop(locked_key);
    fs::write(standalone.edge.path("tls.crt"), &next.chain_pem).unwrap();
    let row = || standalone.material("identity");
    until("it to be met", || row()["last_refusal"]["reason"] == "unreadable").await;
    until("two seconds", || locked.elapsed().as_secs() >= 2).await;
    assert_eq!(standalone.served().await, first, "the last good one stays");
    assert!(standalone.readiness().0 && row()["candidate_rejected"] == true, "{}", row());
    // A change of mode is all that happens.
    let unlocked = Instant::now();
    fs::set_permissions(&key, Permissions::from_mode(0o644)).unwrap();
    standalone.until_served(&next).await;
    println!("c09: readable again, in use after {:?}", unlocked.elapsed());
    until("all to be well", || row()["candidate_rejected"] == false).await;
}

/// A disk that is full in the middle of a write: a file system of four pages, in a mount namespace of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c09_a_disk_that_is_full_in_the_middle_of_a_write_changes_nothing() {
    let before = |_: &Path, ca: &Ca, _: &Volume, trust: &Volume| {
        trust.publish(&[("ca.crt", &ca.pem())]);
    };
    let command = |root: &Path, config: &str| {
        let mut command = Command::new("unshare");
        let script = "mount -t tmpfs -o size=16k,mode=755 none \"$1\" && exec \"$2\" run --config \"$3\"";
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script, "sh"]);
        command.arg(root.join("edge")).args([env!("CARGO_BIN_EXE_iris"), config]);
        command
    };
    let standalone = Standalone::of(Spec { before: &before, command: &command, ..Spec::default() });
    // The mount is seen from inside alone.
    let inside = PathBuf::from(format!("/proc/{}/root", standalone.running.id()));
    let path = |name: &str| inside.join(standalone.edge.path(name).strip_prefix("/").unwrap());
    let (first, next) = (standalone.ca.leaf(&["iris.test"]), standalone.ca.leaf(&["iris.test"]));
    let row = || standalone.material("identity");
    fs::write(path("tls.crt"), &first.chain_pem).unwrap();
    fs::write(path("tls.key"), first.key_pem()).unwrap();
    until("it to be ready", || standalone.readiness().0).await;
    assert_eq!(standalone.served().await, first.chain[0]);
    // A comment of a page, so that there is room for the beginning only: the key and something else take three.
    fs::write(path("filler"), vec![b'#'; 8192]).unwrap();
    let wordy = format!("{}{}", "# issued by a machine\n".repeat(230), next.chain_pem);
    let full = fs::write(path("tls.crt"), &wordy).unwrap_err();
    assert_eq!(full.kind(), ErrorKind::StorageFull);
    assert_eq!(fs::metadata(path("tls.crt")).unwrap().len(), 4096, "its beginning was written");
    until("the beginning to be refused", || row()["candidate_rejected"] == true).await;
    assert_eq!(standalone.served().await, first.chain[0], "the last good one stays");
    assert!(standalone.readiness().0, "{}", row());
    fs::remove_file(path("filler")).unwrap();
    fs::write(path("tls.crt"), &wordy).unwrap();
    fs::write(path("tls.key"), next.key_pem()).unwrap();
    standalone.until_served(&next).await;
    until("all to be well", || row()["candidate_rejected"] == false).await;
}
