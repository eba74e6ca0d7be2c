//! Never loaded, loaded, refused, held, near its end, over: told apart by metrics and readiness.

use std::time::{Duration, SystemTime};

use tempfile::TempDir;

use super::rig::{Ingress, MODES, Mode};
use crate::support::{
    app::Iris,
    component::Component,
    kubelet::Volume,
    pki::{Ca, LeafSpec},
    wait::until,
};

#[tokio::test]
async fn c13_the_states_are_told_apart_and_every_series_is_there_from_the_start() {
    let rig = Ingress::empty(Mode::Events);
    let series = |iris: &Iris| {
        let text = iris.observer().expose(SystemTime::now());
        let names = text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.rsplit_once(' '));
        names.map(|(name, _)| name.to_owned()).collect::<Vec<_>>()
    };
    let at_start = series(&rig.iris);
    let state = || rig.iris.state("in", "server_identity");
    let leaf = |start, end| rig.ca.issue(LeafSpec::named(&["iris.test"]).valid(start, end));
    assert_eq!(state(), "initial_failed");
    rig.renew(&leaf(3_000, 6_000));
    until("held, nothing in use", || state() == "held").await;
    assert!(!rig.iris.readiness().0);
    rig.renew(&leaf(-100, 1_000));
    until("active", || state() == "active").await;
    assert!(rig.iris.readiness().0);
    rig.renew(&leaf(-1_000, 100));
    until("expiring", || state() == "expiring").await;
    assert!(rig.iris.readiness().0);
    rig.renew(&leaf(3_000, 6_000));
    until("held, beside what is in use", || state() == "held").await;
    assert!(rig.iris.readiness().0);
    rig.edge.publish(&[]);
    let refused = || rig.iris.metric("iris_tls_candidate_rejected{component=\"in\",material=\"server_identity\"}");
    until("refused", || refused() == 1.0).await;
    assert_eq!(state(), "expiring", "what is refused does not hide what is in use");
    rig.renew(&leaf(-100, 1_000));
    until("active again", || state() == "active").await;
    assert_eq!(refused(), 0.0);
    assert_eq!(series(&rig.iris), at_start, "no series came or went");
}

#[tokio::test]
async fn c20_an_identity_that_ends_is_not_ready_by_the_clock_alone_and_a_good_one_heals_it() {
    for mode in MODES {
        let (rig, _) = Ingress::start(mode);
        // Long enough for a busy machine to find it in time.
        let (issued, lasts) = (SystemTime::now(), 7);
        let short = rig.ca.issue(LeafSpec::named(&["iris.test"]).valid(-100, lasts));
        rig.renew(&short);
        until("it to be in use", || rig.iris.reloads("in", "server_identity", "success") == 1).await;
        let before_its_end = issued + Duration::from_secs(lasts.unsigned_abs() - 1);
        assert!(rig.iris.observer().readiness(before_its_end).is_ready());
        until("it to be over", || !rig.iris.readiness().0).await;
        assert_eq!(rig.iris.readiness().1, ["in: server_identity: expired"], "{mode:?}");
        assert_eq!(rig.iris.state("in", "server_identity"), "expired");
        let next = rig.ca.leaf(&["iris.test"]);
        rig.renew(&next);
        until("it to be ready again", || rig.iris.readiness().0).await;
        assert_eq!(rig.served().await, next.chain[0], "{mode:?}");
    }
}

#[tokio::test]
async fn c22_a_file_that_feeds_three_roles_counts_once_in_each() {
    let (files, ca, component) = (TempDir::new().unwrap(), Ca::new("ca"), Component::plain());
    let (volume, leaf) = (Volume::mount(files.path().join("all")), ca.leaf(&["iris.test"]));
    let publish = |bundle: &str| {
        volume.publish(&[("tls.crt", &leaf.chain_pem), ("tls.key", &leaf.key_pem()), ("ca.crt", bundle)]);
    };
    publish(&ca.pem());
    let path = |name| volume.path(name).display().to_string();
    let iris = Iris::start(&format!(
        "identities:\n  edge: {{ certificate: {}, private_key: {} }}\n\
         trust:\n  all: {{ bundle: {} }}\n\
         listeners:\n\
         \x20 - {{ name: in, listen: 'quic://127.0.0.1:0', tls: {{ identities: [ edge ], client_auth: {{ trust: all, mode: required }} }}, routes: [ {{ upstream: component }} ] }}\n\
         \x20 - {{ name: out, listen: 'quic+plaintext://127.0.0.1:0', routes: [ {{ sni: one.test, upstream: one }}, {{ upstream: two }} ] }}\n\
         upstreams:\n\
         \x20 - {{ name: component, dial: 'quic+plaintext://{}' }}\n\
         \x20 - {{ name: one, dial: 'quic://127.0.0.1:1', tls: {{ trust: all, server_name: requested }} }}\n\
         \x20 - {{ name: two, dial: 'quic://127.0.0.1:1', tls: {{ trust: all, server_name: requested }} }}\n",
        path("tls.crt"),
        path("tls.key"),
        path("ca.crt"),
        component.address
    ));
    let counts = |result| ["in", "one", "two"].map(|component| iris.reloads(component, "trust", result));
    publish("nothing");
    until("the refusal", || counts("rejected") == [1; 3]).await;
    // The same content in another generation of the directory, and asked for once more: known.
    publish("nothing");
    iris.reread();
    publish(&(ca.pem() + &Ca::new("another").pem()));
    until("the reload", || counts("success") == [1; 3]).await;
    assert_eq!(counts("rejected"), [1; 3]);
    assert_eq!(iris.reloads("in", "server_identity", "success"), 0, "its files are as they were");
}
