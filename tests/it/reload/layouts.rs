//! Where files may lie, and what is seen of each when it changes.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use super::rig::{Ingress, MODES, Mode, files_of, pair};
use crate::support::{
    kubelet::Volume,
    peer,
    pki::{Ca, Leaf},
    process,
    standalone::{Spec, Standalone},
    wait::{until, within},
};

fn row(rig: &Ingress) -> serde_json::Value {
    rig.iris.material("identity", "edge")
}

/// Nobody waits in between: the reader may meet any of them, and ends with the last.
#[tokio::test]
async fn c11_three_swaps_in_a_row_end_with_the_last() {
    for mode in MODES {
        let (rig, _) = Ingress::start(mode);
        for _ in 0..3 {
            let leaves: Vec<Leaf> = (0..3).map(|_| rig.ca.leaf(&["iris.test"])).collect();
            for leaf in &leaves {
                rig.renew(leaf);
            }
            rig.until_served(&leaves[2]).await;
        }
        // A read may have met a swap, but never two generations.
        assert!(row(&rig)["last_refusal"]["reason"] != "key-mismatch", "{mode:?}: {}", row(&rig));
    }
}

/// Swaps while it reads, over and over: files of two generations are never put together.
#[tokio::test]
async fn c11_swaps_between_two_reads_mix_no_generations() {
    let (rig, _) = Ingress::start(Mode::Events);
    let leaves: Vec<Leaf> = (0..10).map(|_| rig.ca.leaf(&["iris.test"])).collect();
    for round in 0..300 {
        rig.iris.reread();
        rig.renew(&leaves[round % leaves.len()]);
        let reason = row(&rig)["last_refusal"]["reason"].clone();
        assert!(reason != "key-mismatch", "round {round}: {}", row(&rig));
        tokio::task::yield_now().await;
    }
    let last = rig.ca.leaf(&["iris.test"]);
    rig.renew(&last);
    rig.until_served(&last).await;
}

#[tokio::test]
async fn c11_c18_a_key_that_is_added_to_the_secret_or_taken_out_of_it() {
    for mode in MODES {
        let rig = Ingress::empty(mode);
        let first = rig.ca.leaf(&["iris.test"]);
        // cert-manager's temporary Secret has less than the final one.
        rig.edge.publish(&[("tls.crt", &first.chain_pem)]);
        let refused_for = |file: &str| {
            let row = row(&rig);
            row["candidate_rejected"] == true
                && row["last_refusal"]["reason"] == "missing-file"
                && row["last_refusal"]["file"].as_str().is_some_and(|path| path.ends_with(file))
        };
        until("the key to be missed", || refused_for("tls.key")).await;
        assert!(!rig.iris.readiness().0);
        rig.renew(&first);
        until("it to be ready", || rig.iris.readiness().0).await;
        assert_eq!(rig.served().await, first.chain[0], "{mode:?}");
        // One more key, which nobody asked for, is no reload.
        let (key, next) = (first.key_pem(), rig.ca.leaf(&["iris.test"]));
        let [certificate, key] = pair(&first.chain_pem, &key);
        let with = [certificate, key, ("notes", "a renewal is due")];
        rig.edge.publish(&with);
        rig.edge.publish(&with[..2]);
        rig.renew(&next);
        rig.until_served(&next).await;
        until("the count", || rig.iris.reloads("in", "server_identity", "success") == 2).await;
        // The other file goes.
        rig.edge.publish(&[("tls.key", &next.key_pem())]);
        until("the certificate to be missed", || refused_for("tls.crt")).await;
        assert_eq!(rig.served().await, next.chain[0], "{mode:?}: the last good one stays");
        assert!(rig.iris.readiness().0);
        rig.renew(&next);
        until("all to be well", || row(&rig)["candidate_rejected"] == false).await;
        assert_eq!(rig.iris.reloads("in", "server_identity", "success"), 2, "{mode:?}: the same as before");
    }
}

/// A mount whose files are links into a folder of somebody else, whose `current` is swapped: SPIRE's helper, CSI drivers.
struct Rotated {
    svids: PathBuf,
}

impl Rotated {
    fn lay(root: &Path, leaf: &Leaf) -> (Self, String) {
        let (svids, mount) = (root.join("svids"), root.join("mount"));
        fs::create_dir(&svids).unwrap();
        fs::create_dir(&mount).unwrap();
        let rotated = Self { svids };
        rotated.rotate(0, leaf);
        for name in ["tls.crt", "tls.key"] {
            symlink(Path::new("../svids/current").join(name), mount.join(name)).unwrap();
        }
        (rotated, files_of(&mount.join("tls.crt"), &mount.join("tls.key")))
    }

    fn rotate(&self, number: usize, leaf: &Leaf) {
        let folder = self.svids.join(number.to_string());
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("tls.crt"), &leaf.chain_pem).unwrap();
        fs::write(folder.join("tls.key"), leaf.key_pem()).unwrap();
        symlink(number.to_string(), self.svids.join("next")).unwrap();
        fs::rename(self.svids.join("next"), self.svids.join("current")).unwrap();
        if let Some(before) = number.checked_sub(1) {
            fs::remove_dir_all(self.svids.join(before.to_string())).unwrap();
        }
    }
}

#[tokio::test]
async fn c11_a_link_into_a_directory_that_is_itself_rotated_is_followed() {
    for mode in MODES {
        let mut rotated = None;
        let rig = Ingress::laid(mode, |root, ca| {
            let (laid, identity) = Rotated::lay(root, &ca.leaf(&["iris.test"]));
            rotated = Some(laid);
            identity
        });
        let rotated = rotated.unwrap();
        for number in 1..=3 {
            let next = rig.ca.leaf(&["iris.test"]);
            rotated.rotate(number, &next);
            rig.until_served(&next).await;
        }
        let row = row(&rig);
        assert_eq!(row["source"], "directory link", "{row}");
        assert_eq!(rig.iris.reloads("in", "server_identity", "rejected"), 0, "{mode:?}: {row}");
    }
}

#[tokio::test]
async fn c11_certificate_and_key_in_different_directories_are_paired() {
    for mode in MODES {
        let mut volumes = None;
        let mut first = None;
        let rig = Ingress::laid(mode, |root, ca| {
            let [certificates, keys] = ["certificates", "keys"].map(|name| Volume::mount(root.join(name)));
            let leaf = ca.leaf(&["iris.test"]);
            certificates.publish(&[("tls.crt", &leaf.chain_pem)]);
            keys.publish(&[("tls.key", &leaf.key_pem())]);
            let identity = files_of(&certificates.path("tls.crt"), &keys.path("tls.key"));
            (volumes, first) = (Some((certificates, keys)), Some(leaf));
            identity
        });
        let ((certificates, keys), mut current) = (volumes.unwrap(), first.unwrap());
        for certificate_first in [true, false] {
            let next = rig.ca.leaf(&["iris.test"]);
            let certificate = || certificates.publish(&[("tls.crt", &next.chain_pem)]);
            let key = || keys.publish(&[("tls.key", &next.key_pem())]);
            let before = rig.iris.reloads("in", "server_identity", "rejected");
            if certificate_first {
                certificate()
            } else {
                key()
            };
            until("the pair to be torn", || rig.iris.reloads("in", "server_identity", "rejected") > before).await;
            assert_eq!(row(&rig)["last_refusal"]["reason"], "key-mismatch", "{mode:?}");
            assert_eq!(rig.served().await, current.chain[0], "{mode:?}: the last good one stays");
            if certificate_first {
                key()
            } else {
                certificate()
            };
            rig.until_served(&next).await;
            current = next;
        }
    }
}

/// One file with everything, as pod certificates are projected.
#[tokio::test]
async fn c11_a_credential_bundle_in_one_file_is_an_identity() {
    for mode in MODES {
        let mut volume = None;
        let write = |volume: &Volume, leaf: &Leaf, key_first: bool| {
            let (key, chain) = (leaf.key_pem(), &leaf.chain_pem);
            let content = if key_first { format!("{key}{chain}") } else { format!("{chain}{key}") };
            volume.publish(&[("credential-bundle.pem", &content)]);
        };
        let rig = Ingress::laid(mode, |root, ca| {
            let mounted = Volume::mount(root.join("credentials"));
            write(&mounted, &ca.leaf(&["iris.test"]), true);
            let identity = format!("{{ bundle: {} }}", mounted.path("credential-bundle.pem").display());
            volume = Some(mounted);
            identity
        });
        let volume = volume.unwrap();
        let mut next = rig.ca.leaf(&["iris.test"]);
        for key_first in [true, false, true] {
            next = rig.ca.leaf(&["iris.test"]);
            write(&volume, &next, key_first);
            rig.until_served(&next).await;
        }
        // Half of it, as a writer leaves it that is interrupted.
        let half = next.key_pem() + &next.chain_pem[..next.chain_pem.len() / 2];
        volume.publish(&[("credential-bundle.pem", &half)]);
        until("half of it to be refused", || row(&rig)["candidate_rejected"] == true).await;
        assert_eq!(row(&rig)["last_refusal"]["reason"], "truncated", "{mode:?}");
        assert_eq!(rig.served().await, next.chain[0], "{mode:?}");
    }
}

/// The identity is in a Secret, the bundle in a ConfigMap: each rotates by itself.
#[tokio::test]
async fn c11_a_configmap_with_trust_beside_a_secret_with_the_identity() {
    for mode in MODES {
        let (rig, _) = Ingress::guarded(mode);
        let sequences = || {
            let sequence = |kind, name| rig.iris.material(kind, name)["sequence"].as_u64().unwrap();
            (sequence("identity", "edge"), sequence("trust", "workers"))
        };
        let (mut worker, mut expected) = (rig.workers.leaf(&["a.workers.test"]), (1, 1));
        for round in 0..3 {
            let next = rig.ca.leaf(&["iris.test"]);
            rig.renew(&next);
            expected.0 += 1;
            let shown = async || peer::shown_by(&rig.connect_with(&[&rig.ca], Some(&worker)).await.unwrap());
            within("the leaf", async { while shown().await != next.chain[0] {} }).await;
            until("one of them to be reloaded", || sequences() == expected).await;
            let successor = Ca::new(&format!("workers {round}"));
            worker = successor.leaf(&["a.workers.test"]);
            rig.trust.publish(&[("ca.crt", &successor.pem())]);
            expected.1 += 1;
            let let_in = async || rig.connect_with(&[&rig.ca], Some(&worker)).await;
            within("the bundle", async { while let_in().await.is_err() {} }).await;
            until("the other to be reloaded", || sequences() == expected).await;
        }
    }
}

/// What a subPath mount looks like is said wherever an operator looks: by `iris check`, in the log, in the status.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c11_plain_files_are_warned_of_everywhere() {
    let before = |_: &Path, ca: &Ca, edge: &Volume, trust: &Volume| {
        let leaf = ca.leaf(&["iris.test"]);
        fs::write(edge.path("tls.crt"), &leaf.chain_pem).unwrap();
        fs::write(edge.path("tls.key"), leaf.key_pem()).unwrap();
        trust.publish(&[("ca.crt", &ca.pem())]);
    };
    let mut standalone = Standalone::of(Spec { before: &before, ..Spec::default() });
    let (edge, trust) = (standalone.material("identity"), standalone.material("trust"));
    assert_eq!((&edge["source"], &trust["source"]), (&"plain files".into(), &"directory link".into()));
    assert!(edge["warnings"].as_array().unwrap().contains(&"plain-files".into()), "{edge}");
    assert!(trust["warnings"].as_array().is_none_or(|all| !all.contains(&"plain-files".into())), "{trust}");
    standalone.running.count("");
    let line = standalone.running.log.lines().find(|line| line.contains("\"name\":\"edge\"")).expect("a line");
    assert!(line.contains("material in use") && line.contains("plain-files"), "{line}");
    let checked = process::output(&["check", "--config", standalone.config.to_str().unwrap()]);
    let said = String::from_utf8(checked.stdout).unwrap();
    assert_eq!(checked.status.code(), Some(0), "{said}");
    let warned: Vec<&str> = said.lines().filter(|line| line.contains("plain-files")).collect();
    assert_eq!(warned.len(), 1, "{said}");
}
