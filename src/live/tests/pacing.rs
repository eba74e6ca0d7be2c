use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::rig::{Rig, connection};
use crate::{
    live::{
        Connection, Order,
        pacer::{Batch, Pacer, window},
        sweep::pending,
    },
    material::testing::Ca,
    observe::{Side, labels::CloseReason},
    plan::StillTrusted,
};

const SECOND: Duration = Duration::from_secs(1);

struct Paced {
    rig: Rig,
    pacer: Pacer,
    start: Instant,
}

impl Paced {
    fn new() -> Self {
        let rig = Rig::new(&[&Ca::new("ca")], StillTrusted::Keep, None);
        Self { rig, pacer: Pacer::default(), start: Instant::now() }
    }

    fn at(&self, seconds: u32) -> Instant {
        self.start + SECOND * seconds
    }

    /// Sets the ends of these for between `from` and `to`.
    fn set(&self, connections: &[Arc<Connection>], from: u32, to: u32, order: &Order) -> usize {
        let end = |one: &Arc<Connection>| (one.clone(), order.clone(), pending(&self.rig.observer, one, Side::Dialled));
        let ends = connections.iter().map(end).collect();
        self.pacer.set(Batch { ends, from: self.at(from), to: self.at(to) })
    }

    fn over(&self, connections: &[Arc<Connection>]) -> usize {
        connections.iter().filter(|one| one.decided().is_some()).count()
    }
}

fn many(count: usize) -> Vec<Arc<Connection>> {
    (0..count).map(|_| Arc::new(connection())).collect()
}

#[test]
fn a_batch_ends_one_after_the_other_inside_its_window() {
    let (paced, connections) = (Paced::new(), many(100));
    assert_eq!(paced.set(&connections, 0, 10, &Order::recycle(Side::Dialled)), 100);
    assert_eq!(paced.rig.recycle_pending(), "100");
    let mut before = 0;
    for second in 0..=10 {
        paced.pacer.carry_out(paced.at(second));
        let over = paced.over(&connections);
        // 8.5 s of the 10 are used.
        assert!(over - before <= 13, "{over} after {second} s, {before} a second earlier");
        before = over;
    }
    assert_eq!((before, paced.rig.recycle_pending().as_str()), (100, "0"));
}

#[test]
fn what_is_set_is_never_put_off_and_hurried_only_to_keep_a_window() {
    let (paced, connections) = (Paced::new(), many(50));
    assert_eq!(paced.set(&connections, 0, 10, &Order::recycle(Side::Dialled)), 50);
    // A later window, and an equal one: what was promised is inside of them.
    assert_eq!(paced.set(&connections, 5, 15, &Order::recycle(Side::Accepted)), 0);
    assert_eq!(paced.set(&connections, 1, 10, &Order::recycle(Side::Accepted)), 0);
    assert_eq!(paced.rig.recycle_pending(), "50");
    // A window that is over sooner takes those that would miss it.
    let hurried = paced.set(&connections, 2, 4, &Order::recycle(Side::Accepted));
    assert!(hurried > 0 && hurried < 50, "{hurried}");
    paced.pacer.carry_out(paced.at(4));
    assert_eq!((paced.over(&connections), paced.rig.recycle_pending().as_str()), (50, "0"));
}

#[test]
fn an_order_at_once_overtakes_and_a_connection_that_has_gone_is_not_waited_for() {
    let (paced, mut connections) = (Paced::new(), many(3));
    paced.set(&connections, 0, 10, &Order::recycle(Side::Dialled));
    connections[0].order(Order::drain());
    drop(connections.pop());
    assert_eq!(paced.rig.recycle_pending(), "1");
    paced.pacer.carry_out(paced.at(10));
    let reasons: Vec<_> = connections.iter().map(|one| one.decided().unwrap().reason).collect();
    assert_eq!(reasons, [CloseReason::Drain, CloseReason::TrustRecycled]);
    assert_eq!(paced.pacer.carry_out(paced.at(10)), None);
}

#[test]
fn a_stopped_pacer_forgets_everything_and_takes_nothing() {
    let (paced, connections) = (Paced::new(), many(3));
    paced.set(&connections, 0, 10, &Order::recycle(Side::Dialled));
    paced.pacer.stop();
    assert_eq!(paced.rig.recycle_pending(), "0");
    assert_eq!(paced.set(&connections, 0, 10, &Order::recycle(Side::Dialled)), 0);
    paced.pacer.carry_out(paced.at(20));
    assert_eq!((paced.over(&connections), paced.rig.recycle_pending().as_str()), (0, "0"));
}

#[test]
fn a_window_begins_when_something_was_published_and_never_ends_later() {
    let published = Instant::now();
    let window = |spread: u32, after: u32| {
        let (from, to) = window(published, SECOND * spread, published + SECOND * after);
        (from - published, to - published)
    };
    assert_eq!(window(10, 0), (Duration::ZERO, SECOND * 10));
    assert_eq!(window(10, 3), (SECOND * 3, SECOND * 10));
    assert_eq!(window(10, 12), (SECOND * 10, SECOND * 10));
    assert_eq!(window(0, 5), (Duration::ZERO, Duration::ZERO));
}
