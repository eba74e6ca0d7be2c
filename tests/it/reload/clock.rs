//! Ends and beginnings come true by the wall clock, without a file event: also when the process was suspended meanwhile, and
//! when the clock is set forwards and back.
//!
//! The clock is set by libfaketime, for the process under test alone. The test itself, and so the peers that judge what they
//! are shown, have the real time.

use std::{
    cell::RefCell,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant, SystemTime},
};

use quinn::{Connection, ConnectionError};

use crate::support::{
    component::Component,
    kubelet::Volume,
    peer,
    pki::{Ca, Leaf, LeafSpec},
    process::iris,
    standalone::{Spec, Standalone, publish},
    wait::{until, within},
};

const DAY: i64 = 86_400;

/// A wall clock that the test sets, as an offset to the real one.
struct Clock {
    file: PathBuf,
}

impl Clock {
    fn at(root: &Path) -> Self {
        Self { file: root.join("clock") }
    }

    /// So many days from now, from now on.
    fn set(&self, days: i32) {
        let next = self.file.with_extension("next");
        fs::write(&next, format!("{days:+}d\n")).unwrap();
        fs::rename(next, &self.file).unwrap();
    }

    /// Has a command live by it.
    fn rule(&self, command: &mut Command) {
        self.set(0);
        command.env("LD_PRELOAD", library()).env("FAKETIME_TIMESTAMP_FILE", &self.file).env("FAKETIME_NO_CACHE", "1");
        // Timers go on as they are.
        command.env("FAKETIME_DONT_FAKE_MONOTONIC", "1").env("DONT_FAKE_MONOTONIC", "1");
    }
}

/// The library for programs with threads.
fn library() -> PathBuf {
    let below = |folder: &str| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let folders = below("/usr/lib").chain(below("/usr/local/lib")).chain(["/usr/lib".into(), "/usr/lib64".into()]);
    let found = folders.map(|folder| folder.join("faketime/libfaketimeMT.so.1")).find(|library| library.exists());
    found.expect(
        "libfaketime is not installed, and nothing else can set the clock for one process: apt-get install libfaketime",
    )
}

/// A process whose clock can be set, with what `before` writes.
fn clocked(spec: Spec<'_>, before: &dyn Fn(&Ca, &Volume, &Volume)) -> (Standalone, Clock) {
    let clock = RefCell::new(None);
    let command = |root: &Path, config: &str| {
        let mut command = iris(&["run", "--config", config]);
        let ruling = Clock::at(root);
        ruling.rule(&mut command);
        clock.replace(Some(ruling));
        command
    };
    let before = |_: &Path, ca: &Ca, edge: &Volume, trust: &Volume| before(ca, edge, trust);
    let standalone = Standalone::of(Spec { before: &before, command: &command, ..spec });
    (standalone, clock.into_inner().expect("made for the command"))
}

/// Valid from and to these days from now.
fn valid(from: i64, to: i64) -> LeafSpec {
    LeafSpec::named(&["iris.test"]).valid(from * DAY, to * DAY)
}

fn ready(standalone: &Standalone) -> (bool, String) {
    (standalone.readiness().0, standalone.state())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c20_an_identity_that_ends_while_the_process_is_suspended_is_over_at_once() {
    let lasts = 8;
    let before = |_: &Path, ca: &Ca, edge: &Volume, trust: &Volume| {
        publish(edge, &ca.issue(LeafSpec::named(&["iris.test"]).valid(-4, lasts)));
        trust.publish(&[("ca.crt", &ca.pem())]);
    };
    let issued = SystemTime::now();
    let standalone = Standalone::of(Spec { before: &before, ..Spec::default() });
    let elapsed = || issued.elapsed().unwrap().as_secs_f64();
    // Read before its last fifth, if the machine is as fast as that.
    let state = standalone.state();
    assert!(elapsed() > 5.0 || state == "active", "{state}");
    standalone.running.signal("-STOP");
    // A thread of its own, since what is stopped answers nobody.
    until("its end", || elapsed() > lasts as f64 + 1.0).await;
    standalone.running.signal("-CONT");
    assert_eq!(ready(&standalone), (false, "expired".to_owned()), "with the first answer");
    assert!(standalone.readiness().1.contains("in: server_identity: expired"), "{}", standalone.readiness().1);
    assert!(standalone.lives(), "a restart would change nothing");
    let next = standalone.ca.leaf(&["iris.test"]);
    standalone.renew(&next);
    until("it to be ready again", || standalone.readiness().0).await;
    assert_eq!(standalone.served().await, next.chain[0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c13_c20_states_and_readiness_follow_a_clock_that_is_set_both_ways() {
    let before = |ca: &Ca, edge: &Volume, trust: &Volume| {
        publish(edge, &ca.issue(valid(-5, 5)));
        trust.publish(&[("ca.crt", &ca.pem())]);
    };
    let (standalone, clock) = clocked(Spec::default(), &before);
    let until_it_is = async |days, ready_and_state: (bool, &str)| {
        clock.set(days);
        let is = || ready(&standalone) == (ready_and_state.0, ready_and_state.1.to_owned());
        until(&format!("{ready_and_state:?} at {days:+} days"), is).await;
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs_f64();
        let ahead = standalone.metric("iris_clock_seconds") - now;
        assert!((ahead - f64::from(days) * DAY as f64).abs() < 60.0, "{days:+} days: {ahead} s ahead");
    };
    for _ in 0..2 {
        until_it_is(0, (true, "active")).await;
        until_it_is(4, (true, "expiring")).await;
        until_it_is(6, (false, "expired")).await;
        until_it_is(4, (true, "expiring")).await;
    }
    // What is found while the clock is wrong is refused for the time, and taken when it is right again.
    clock.set(20);
    let next = standalone.ca.issue(valid(-1, 10));
    standalone.renew(&next);
    let row = || standalone.material("identity");
    until("it to be refused", || row()["last_refusal"]["reason"] == "expired").await;
    assert_eq!(ready(&standalone), (false, "expired".to_owned()));
    until_it_is(0, (true, "active")).await;
    standalone.until_served(&next).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c09_what_is_held_activates_itself_when_the_clock_gets_there() {
    // The process lives three days ago: what it has to wait for is good already for whoever connects.
    let first = RefCell::new(None);
    let before = |ca: &Ca, edge: &Volume, trust: &Volume| {
        let leaf = ca.issue(valid(-9, 9));
        publish(edge, &leaf);
        trust.publish(&[("ca.crt", &ca.pem())]);
        first.replace(Some(leaf));
    };
    let (standalone, clock) = clocked(Spec::default(), &before);
    let first = first.into_inner().expect("written before the start");
    clock.set(-3);
    until("the clock", || standalone.status()["clock"].as_str().is_some_and(|clock| clock < days_ago(2).as_str()))
        .await;
    let early = standalone.ca.issue(valid(-1, 9));
    standalone.renew(&early);
    until("it to be held", || standalone.state() == "held").await;
    assert_eq!(standalone.served().await, first.chain[0]);
    assert!(standalone.readiness().0 && standalone.material("identity")["held_until"].is_string());
    // No file changes any more, and the next poll is far.
    let started = Instant::now();
    clock.set(0);
    standalone.until_served(&early).await;
    let took = started.elapsed();
    println!("c09: what was held is in use {took:.1?} after its start");
    assert!(took < Duration::from_secs(10), "{took:?}");
    until("the state", || standalone.state() == "active").await;
    let refused = "iris_tls_reloads_total{component=\"in\",material=\"server_identity\",result=\"rejected\"}";
    assert_eq!(standalone.metric(refused), 0.0, "to be early is no refusal");
}

/// As it stands in the status.
fn days_ago(days: u64) -> String {
    iris::observe::status::rfc3339(SystemTime::now() - Duration::from_secs(days * DAY.unsigned_abs()))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c08_an_anchor_that_ends_closes_what_stood_on_it() {
    let (ending, lasting) = (Ca::ending("ending", DAY), Ca::new("lasting"));
    let before = |ca: &Ca, edge: &Volume, trust: &Volume| {
        publish(edge, &ca.issue(valid(-9, 9)));
        trust.publish(&[("ca.crt", &format!("{}{}", ending.pem(), lasting.pem()))]);
    };
    let component = Component::plain();
    peer::serve_echo(&component.endpoint);
    let auth = ", client_auth: { trust: workers, mode: required }";
    let (standalone, clock) = clocked(Spec { auth, component: component.address, ..Spec::default() }, &before);
    let knock = async |leaf: &Leaf| -> Result<Connection, ConnectionError> {
        let connection = standalone.connect_with(Some(leaf)).await?;
        within("the verdict", peer::verdict(&connection)).await.map(|()| connection)
    };
    let (under_ending, under_lasting) = (ending.leaf(&["a.test"]), lasting.leaf(&["b.test"]));
    let [on_ending, on_lasting] = [knock(&under_ending).await.unwrap(), knock(&under_lasting).await.unwrap()];
    for connection in [&on_ending, &on_lasting] {
        within("an echo", peer::request(connection)).await.unwrap();
    }
    let anchors = || standalone.material("trust")["certificates_total"].clone();
    assert_eq!(anchors(), 2);
    clock.set(2);
    let closed = within("what stood on it to be closed", on_ending.closed()).await;
    assert!(closed.to_string().contains("no longer trusted"), "{closed}");
    // Recycled in time, like whatever is still trusted after a contraction.
    let recycled = within("the other to be recycled", on_lasting.closed()).await;
    assert!(recycled.to_string().contains("recycled for trust"), "{recycled}");
    until("the count", || {
        standalone.metric("iris_connection_closes_total{component=\"in\",reason=\"trust_removed\"}") == 1.0
    })
    .await;
    until("the row", || anchors() == 1).await;
    knock(&under_ending).await.expect_err("its CA has ended");
    // The leaf has ended too by this clock: one that lasts is let in.
    knock(&lasting.issue(LeafSpec::named(&["b.test"]).valid(-DAY, 9 * DAY))).await.unwrap();
    clock.set(0);
    until("the anchor to be back", || anchors() == 2).await;
    knock(&under_ending).await.expect("the clock was wrong");
}
