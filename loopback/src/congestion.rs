//! The congestion controller of loopback connections: a window with a lid, lowered by losses and by delay.
//!
//! Loopback has no bottleneck but the receiver: its processor time, and its socket buffer, which all connections of that socket
//! share. A buffer of 208 KiB, the kernel's default, loses what comes when it is full, whole bursts at a time. A large one
//! loses nothing and lets everybody wait instead. Hence four rules.
//!
//! - A lid: no connection fills a buffer alone.
//! - Losses halve the window, down to a single datagram, since many connections must settle at few datagrams each.
//! - After a loss the window grows with time, and slowly. The usual datagram a round trip would itself cause the losses: about
//!   1.5 / w^2 of the packets at a window of w datagrams, and w is small here. A round trip takes 0.1 to 1 ms, so the window is
//!   wide again within seconds all the same.
//! - A round trip that takes long although nothing was lost is a queue: the window shrinks by an eighth, down to a few datagrams.
//!   Requests of a neighbour do not wait behind bulk then. Of each window only the quickest packet counts, so a receiver
//!   that was off its processor for a while, and catches up, makes no difference.
//!
//! Measured with 256 streams of bulk on 16 connections, on two cores that had other work to do. At the kernel's default buffers
//! a window fixed at 64 KiB loses 4 to 25 %, one that grows by a datagram a round trip 3 to 12 %, this one 0.2 to 0.5 %. At
//! buffers of 2 MiB nothing is lost; a neighbour's small requests take 1.1 ms in place of 3.1 ms (medians) for a quarter of the
//! throughput. For one connection alone a lid of 128 KiB is up to twice as fast as one of 64 KiB (8 against 3.8 Gbit/s): with less,
//! sender and receiver take turns.

use std::any::Any;
use std::sync::Arc;
use std::time::{Duration, Instant};

use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerFactory};

/// The widest window, in bytes.
const LID: u64 = 128 * 1024;
/// The window of a new connection, in bytes.
const START: u64 = 64 * 1024;
/// Time in which the window would grow by its own size, once there was a loss.
const GROWTH: Duration = Duration::from_secs(2);
/// Time in which the window grows from one datagram to two. With one, each waits for an acknowledgement that comes late.
const SHORT_GROWTH: Duration = Duration::from_millis(50);

/// Time above which the quickest round trip of a window shows a queue. One connection alone takes 0.1 to 0.3 ms.
const QUEUE: Duration = Duration::from_micros(400);
/// Datagrams that a queue leaves to a window.
const DESPITE_QUEUE: u64 = 4;

/// Makes the controller of each connection.
#[derive(Debug)]
pub(crate) struct LoopbackCongestion;

impl ControllerFactory for LoopbackCongestion {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        Box::new(Window::new(now, current_mtu))
    }
}

#[derive(Debug, Clone)]
struct Window {
    bytes: u64,
    /// Bytes of one datagram.
    datagram: u64,
    /// Acknowledged of the present window.
    acknowledged: u64,
    /// When the last loss was noticed. What was sent before says nothing about the window after.
    lowered: Instant,
    had_losses: bool,
    /// When the window grew last, or could have.
    grown: Instant,
    /// The quickest round trip of the present window.
    quickest: Duration,
}

impl Window {
    fn new(now: Instant, mtu: u16) -> Self {
        let mut window = Self {
            bytes: START,
            datagram: u64::from(mtu),
            acknowledged: 0,
            lowered: now,
            had_losses: false,
            grown: now,
            quickest: Duration::MAX,
        };
        window.bytes = window.bytes.max(window.floor());
        window
    }

    /// One datagram. quinn sends one only where it leaves at least a byte of the window free.
    fn floor(&self) -> u64 {
        self.datagram + 1
    }

    /// A packet that was waited for has arrived. With each window of them the window grows, or shrinks.
    fn delivered(&mut self, now: Instant, sent: Instant, bytes: u64) {
        if sent <= self.lowered {
            return;
        }
        self.acknowledged += bytes;
        self.quickest = self.quickest.min(now.saturating_duration_since(sent));
        if self.acknowledged < self.bytes {
            return;
        }
        self.acknowledged = 0;
        let queue = std::mem::replace(&mut self.quickest, Duration::MAX) > QUEUE;
        if queue && self.bytes >= DESPITE_QUEUE * self.datagram {
            self.grown = now;
            self.bytes = (self.bytes - self.bytes / 8).max(DESPITE_QUEUE * self.datagram);
            return;
        }
        let step = self.step(now);
        if step > 0 {
            self.grown = now;
            self.bytes = (self.bytes + step).min(LID.max(self.floor()));
        }
    }

    /// By how much to grow: a datagram as long as nothing was lost, else for the time that has passed.
    fn step(&self, now: Instant) -> u64 {
        if !self.had_losses {
            return self.datagram;
        }
        let past = u64::try_from(now.saturating_duration_since(self.grown).as_micros()).unwrap_or(u64::MAX);
        let (bytes, time) =
            if self.bytes <= 2 * self.datagram { (self.datagram, SHORT_GROWTH) } else { (self.bytes, GROWTH) };
        // Lossless: both are constants of milliseconds and seconds.
        let time = time.as_micros() as u64;
        (bytes.saturating_mul(past) / time).min(self.datagram)
    }
}

impl Controller for Window {
    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, app_limited: bool, _rtt: &RttEstimator) {
        if !app_limited {
            self.delivered(now, sent, bytes);
        }
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, _persistent: bool, _lost_bytes: u64) {
        if sent <= self.lowered {
            return;
        }
        (self.lowered, self.grown) = (now, now);
        self.had_losses = true;
        self.acknowledged = 0;
        self.bytes = (self.bytes / 2).max(self.floor());
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.datagram = u64::from(new_mtu);
        self.bytes = self.bytes.max(self.floor());
    }

    fn window(&self) -> u64 {
        self.bytes
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        START.max(self.floor())
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::DATAGRAM_SIZE;

    /// Acknowledges whole windows, or loses a packet, at a clock of one millisecond a step. Round trips take 100 µs.
    struct Path {
        window: Window,
        now: Instant,
    }

    impl Path {
        fn new(mtu: u16) -> Self {
            let now = Instant::now();
            Self { window: Window::new(now, mtu), now }
        }

        fn round(&mut self) {
            self.round_of(Duration::from_micros(100));
        }

        fn round_of(&mut self, round_trip: Duration) {
            self.now += Duration::from_millis(1);
            let sent = self.now - round_trip;
            self.window.delivered(self.now, sent, self.window.window());
        }

        fn loss(&mut self) {
            let sent = self.now + Duration::from_micros(500);
            self.now += Duration::from_millis(1);
            self.window.on_congestion_event(self.now, sent, false, 1);
        }
    }

    #[test]
    fn it_opens_to_the_lid_and_no_further() {
        let mut path = Path::new(DATAGRAM_SIZE);
        assert_eq!(path.window.window(), START);
        for _ in 0..100 {
            path.round();
        }
        assert_eq!(path.window.window(), LID);
    }

    #[test]
    fn losses_close_it_to_one_datagram_and_time_opens_it() {
        let mut path = Path::new(DATAGRAM_SIZE);
        for _ in 0..20 {
            path.loss();
        }
        let datagram = u64::from(DATAGRAM_SIZE);
        assert_eq!(path.window.window(), datagram + 1);
        let mut rounds = |until: u64| {
            let mut rounds = 0;
            while path.window.window() < until {
                path.round();
                rounds += 1;
            }
            rounds
        };
        // At a millisecond a round.
        assert!((45..=55).contains(&rounds(2 * datagram)));
        assert!((1_200..=1_600).contains(&rounds(4 * datagram)), "doubles in 1.4 s");
        assert!((3_000..=3_500).contains(&rounds(LID)));
    }

    #[test]
    fn a_queue_closes_it_to_a_few_datagrams_and_no_further() {
        let mut path = Path::new(DATAGRAM_SIZE);
        for _ in 0..50 {
            path.round_of(Duration::from_micros(900));
        }
        assert_eq!(path.window.window(), 4 * u64::from(DATAGRAM_SIZE));
        // Where there was no loss it opens as soon as the queue is gone.
        for _ in 0..20 {
            path.round();
        }
        assert_eq!(path.window.window(), LID);
        // One quick packet in a window tells that there is no queue.
        let (late, half) = (path.now, LID / 2 + 1);
        path.now += Duration::from_millis(50);
        path.window.delivered(path.now, late, half);
        path.window.delivered(path.now, path.now - Duration::from_micros(100), half);
        assert_eq!(path.window.window(), LID);
    }

    #[test]
    fn short_round_trips_count_as_well() {
        let mut window = Window::new(Instant::now(), DATAGRAM_SIZE);
        let mut now = window.lowered + Duration::from_micros(2);
        window.on_congestion_event(now, window.lowered + Duration::from_micros(1), false, 1);
        let before = window.window();
        for _ in 0..100_000 {
            let sent = now + Duration::from_micros(1);
            now += Duration::from_micros(10);
            window.delivered(now, sent, window.window());
        }
        let growth = window.window() * 100 / before;
        assert!((155..=165).contains(&growth), "a second: {growth} %");
    }

    #[test]
    fn losses_of_one_burst_count_once() {
        let mut path = Path::new(DATAGRAM_SIZE);
        path.loss();
        let old = path.now - Duration::from_millis(1);
        path.window.on_congestion_event(path.now, old, true, 1);
        assert_eq!(path.window.window(), START / 2);
    }

    #[test]
    fn a_large_datagram_always_fits() {
        let mut path = Path::new(60_000);
        for _ in 0..5 {
            path.loss();
            path.round();
            path.round_of(Duration::from_millis(5));
            assert!(path.window.window() > 60_000);
        }
        path.window.on_mtu_update(65_000);
        assert!(path.window.window() > 65_000);
    }
}
