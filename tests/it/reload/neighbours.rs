//! What is refused or held is refused or held alone: it keeps its own last good one, delays nobody, and no listener is ever
//! without an identity.

use std::{
    collections::HashSet,
    fs,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use rustls::pki_types::CertificateDer;
use tempfile::TempDir;

use super::rig::{Ingress, MODES, Mode, pair};
use crate::support::{
    app::Iris,
    component::Component,
    kubelet::Volume,
    peer::{self, PeerSpec},
    pki::{Ca, Leaf, LeafSpec},
    wait::{until, within},
};

/// Two listeners, each with an identity of its own, and everything in one volume.
struct Two {
    ca: Ca,
    volume: Volume,
    iris: Iris,
    _files: TempDir,
}

impl Two {
    fn start(mode: Mode, leaves: [&Leaf; 2], ca: Ca) -> Self {
        let (files, component) = (TempDir::new().unwrap(), Component::plain());
        let volume = Volume::mount(files.path().join("all"));
        publish(&volume, leaves.map(Content::of));
        let path = |name| volume.path(name).display().to_string();
        let iris = Iris::start_watching(
            &format!(
                "identities:\n  one: {{ certificate: {}, private_key: {} }}\n  two: {{ certificate: {}, private_key: {} }}\n\
                 listeners:\n\
                 \x20 - {{ name: a, listen: 'quic://127.0.0.1:0', tls: {{ identities: [ one ] }}, routes: [ {{ upstream: component }} ] }}\n\
                 \x20 - {{ name: b, listen: 'quic://127.0.0.1:0', tls: {{ identities: [ two ] }}, routes: [ {{ upstream: component }} ] }}\n\
                 upstreams:\n  - {{ name: component, dial: 'quic+plaintext://{}' }}\n{}",
                path("one.crt"),
                path("one.key"),
                path("two.crt"),
                path("two.key"),
                component.address,
                mode.settings(),
            ),
            mode.watching(),
        );
        Self { ca, volume, iris, _files: files }
    }

    async fn served(&self, listener: &str) -> CertificateDer<'static> {
        let config = peer::client_config(&self.ca, None, &PeerSpec::default());
        peer::shown_by(
            &within("a handshake", peer::connect(self.iris.address(listener), "iris.test", config)).await.unwrap(),
        )
    }
}

struct Content {
    chain: String,
    key: String,
}

impl Content {
    fn of(leaf: &Leaf) -> Self {
        Self { chain: leaf.chain_pem.clone(), key: leaf.key_pem() }
    }
}

fn publish(volume: &Volume, [one, two]: [Content; 2]) {
    volume.publish(&[("one.crt", &one.chain), ("one.key", &one.key), ("two.crt", &two.chain), ("two.key", &two.key)]);
}

#[tokio::test]
async fn c09_c19_garbage_for_one_listener_is_no_matter_of_the_other() {
    for mode in MODES {
        let ca = Ca::new("servers");
        let [first, mut second] = [(); 2].map(|()| ca.leaf(&["iris.test"]));
        let two = Two::start(mode, [&first, &second], ca);
        let leaf = || two.ca.leaf(&["iris.test"]);
        let early = two.ca.issue(LeafSpec::named(&["iris.test"]).valid(3_000, 6_000));
        let other_key = Content { key: leaf().key_pem(), ..Content::of(&leaf()) };
        let bad = [
            Content { chain: "garbage".to_owned(), key: "garbage".to_owned() },
            other_key,
            Content { chain: String::new(), key: String::new() },
            Content::of(&early),
        ];
        for (round, bad) in (1..).zip(bad) {
            second = leaf();
            publish(&two.volume, [bad, Content::of(&second)]);
            within("the good one", async { while two.served("b").await != second.chain[0] {} }).await;
            assert_eq!(two.served("a").await, first.chain[0], "{mode:?}, round {round}: its own last good one stays");
            until("the count", || two.iris.reloads("b", "server_identity", "success") == round).await;
        }
        until("three refusals", || two.iris.reloads("a", "server_identity", "rejected") == 3).await;
        until("one that waits", || two.iris.state("a", "server_identity") == "held").await;
        assert_eq!(two.iris.reloads("b", "server_identity", "rejected"), 0, "{mode:?}");
        assert_eq!(two.iris.state("b", "server_identity"), "active", "{mode:?}");
        // And the other way round, the first is well again.
        let next = leaf();
        publish(&two.volume, [Content::of(&next), Content { chain: "-".to_owned(), key: "-".to_owned() }]);
        within("the first", async { while two.served("a").await != next.chain[0] {} }).await;
        assert_eq!(two.served("b").await, second.chain[0], "{mode:?}");
        assert_eq!(two.iris.readiness(), (true, vec![]));
    }
}

/// Good and bad generations in turn, of identity and bundle, while handshakes come without a pause.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c19_at_no_moment_is_a_listener_without_an_identity() {
    for mode in MODES {
        let (rig, first) = Ingress::guarded(mode);
        let worker = rig.workers.leaf(&["a.workers.test"]);
        let good = Mutex::new(HashSet::from([first.chain[0].clone()]));
        let (over, handshakes) = (AtomicBool::new(false), AtomicU64::new(0));
        let hammer = async || {
            while !over.load(Ordering::Relaxed) {
                let connection = rig.connect_with(&[&rig.ca], Some(&worker)).await;
                let connection = connection.unwrap_or_else(|error| panic!("{mode:?}: without an identity: {error}"));
                assert!(
                    good.lock().unwrap().contains(&peer::shown_by(&connection)),
                    "{mode:?}: what is refused is shown"
                );
                assert_eq!(rig.iris.readiness(), (true, vec![]), "{mode:?}");
                // Whoever leaves while the component is dialled counts as a failure.
                within("an echo", peer::request(&connection)).await.unwrap();
                connection.close(0_u32.into(), b"");
                handshakes.fetch_add(1, Ordering::Relaxed);
            }
        };
        let generations = async {
            let row = |kind, name| rig.iris.material(kind, name);
            let edge = || row("identity", "edge");
            let early = rig.ca.issue(LeafSpec::named(&["iris.test"]).valid(3_000, 6_000));
            let ended = rig.ca.issue(LeafSpec::named(&["iris.test"]).expired());
            for sequence in 2..=4 {
                let (torn, other) = (rig.ca.leaf(&["iris.test"]), rig.ca.leaf(&["iris.test"]));
                for bad in [
                    &pair(&torn.chain_pem, &other.key_pem())[..],
                    &pair("", ""),
                    &pair(&torn.chain_pem[..300], &torn.key_pem()),
                    &pair(&ended.chain_pem, &ended.key_pem()),
                    &[("tls.crt", &torn.chain_pem)],
                    &[],
                ] {
                    let before = rig.iris.reloads("in", "server_identity", "rejected");
                    rig.edge.publish(bad);
                    rig.trust.publish(&[("ca.crt", if sequence % 2 == 0 { "" } else { "garbage" })]);
                    // Some contents come again: they are counted once.
                    let counted = || rig.iris.reloads("in", "server_identity", "rejected") > before;
                    until("it to be refused", || counted() || sequence > 2 && edge()["candidate_rejected"] == true)
                        .await;
                }
                rig.renew(&early);
                until("it to be held", || rig.iris.state("in", "server_identity") == "held").await;
                let next = rig.ca.leaf(&["iris.test"]);
                good.lock().unwrap().insert(next.chain[0].clone());
                rig.renew(&next);
                let grown = format!("{}{}", rig.workers.pem(), Ca::new("more").pem());
                rig.trust.publish(&[("ca.crt", &grown)]);
                until("both to be good", || {
                    edge()["sequence"] == sequence && row("trust", "workers")["sequence"] == sequence
                })
                .await;
            }
            // The mount itself goes and comes.
            fs::remove_dir_all(rig.edge.path("")).unwrap();
            until("the loss", || edge()["candidate_rejected"] == true).await;
            let seen = handshakes.load(Ordering::Relaxed);
            until("more handshakes", || handshakes.load(Ordering::Relaxed) >= seen + 5).await;
            over.store(true, Ordering::Relaxed);
        };
        tokio::join!(generations, hammer(), hammer());
        println!("{mode:?}: {handshakes:?} handshakes under good and bad generations, each with a good leaf");
        assert_eq!(rig.iris.all_failures("in"), [""; 0], "{mode:?}");
    }
}
