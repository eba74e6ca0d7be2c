//! The congestion controller of loopback connections: a window with a lid, that a loss lowers and time raises slowly.
//!
//! Loopback has no bottleneck but the receiver's socket buffer, 208 KiB of the kernel's memory by default and shared by all
//! connections of that socket. A burst that meets it full is lost whole. So the window never grows to where one connection
//! fills the buffer, and many connections must settle at few datagrams each. With windows so small the usual growth of one
//! datagram a round trip is what causes the losses (at a window of w datagrams about 1.5 / w^2 of them are lost), while a
//! small part of it still fills the lid within a second, since a round trip takes 0.1 to 1 ms.
//!
//! Measured with 256 busy streams on 16 connections at the kernel's default buffers, on two cores with other work to do: a
//! window fixed at 64 KiB loses 4 to 25 %, one that grows by a datagram a round trip 3 to 12 %, this one 0.2 to 0.6 %. For one
//! connection alone a lid of 128 KiB is up to twice as fast as one of 64 KiB (8 against 3.8 Gbit/s): with less, sender and
//! receiver take turns.

use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerFactory};

/// The widest window, in bytes.
const LID: u64 = 128 * 1024;
/// The window of a new connection, in bytes.
const START: u64 = 64 * 1024;
/// Round trips, counted in windows acknowledged, for one datagram more, once there was a loss.
const ROUNDS_PER_DATAGRAM: u64 = 256;

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
}

impl Window {
    fn new(now: Instant, mtu: u16) -> Self {
        let mut window =
            Self { bytes: START, datagram: u64::from(mtu), acknowledged: 0, lowered: now, had_losses: false };
        window.bytes = window.bytes.max(window.floor());
        window
    }

    /// Two datagrams. quinn sends one only where it leaves at least a byte of the window free.
    fn floor(&self) -> u64 {
        2 * self.datagram + 1
    }

    /// A packet that was waited for has arrived.
    fn delivered(&mut self, sent: Instant, bytes: u64) {
        if sent <= self.lowered {
            return;
        }
        self.acknowledged += bytes;
        if self.acknowledged < self.bytes {
            return;
        }
        self.acknowledged = 0;
        let step = if self.had_losses { self.datagram / ROUNDS_PER_DATAGRAM } else { self.datagram };
        self.bytes = (self.bytes + step).min(LID.max(self.floor()));
    }
}

impl Controller for Window {
    fn on_ack(&mut self, _now: Instant, sent: Instant, bytes: u64, app_limited: bool, _rtt: &RttEstimator) {
        if !app_limited {
            self.delivered(sent, bytes);
        }
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, _persistent: bool, _lost_bytes: u64) {
        if sent <= self.lowered {
            return;
        }
        self.lowered = now;
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

    /// Acknowledges whole windows, or loses a packet, at a clock of one millisecond a step.
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
            let sent = self.now + Duration::from_micros(500);
            self.now += Duration::from_millis(1);
            self.window.delivered(sent, self.window.window());
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
    fn losses_close_it_to_two_datagrams_and_it_opens_slowly() {
        let mut path = Path::new(DATAGRAM_SIZE);
        for _ in 0..20 {
            path.loss();
        }
        let floor = 2 * u64::from(DATAGRAM_SIZE) + 1;
        assert_eq!(path.window.window(), floor);
        for _ in 0..ROUNDS_PER_DATAGRAM {
            path.round();
        }
        let grown = path.window.window() - floor;
        assert!((6000..=u64::from(DATAGRAM_SIZE)).contains(&grown), "{grown}");
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
            assert!(path.window.window() > 2 * 60_000);
        }
        path.window.on_mtu_update(65_000);
        assert!(path.window.window() > 2 * 65_000);
    }
}
