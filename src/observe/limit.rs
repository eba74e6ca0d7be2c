//! Bounds on lines that peers cause: so many a second for each reason, then one line that says how many were left out.
//!
//! Counters are never limited; what is left out of the log is still in `/metrics`.

use std::{
    sync::Mutex,
    time::{Duration, Instant},
};

use super::{
    labels::{CloseReason, HandshakeFailure, Label},
    lock,
};

/// The time over which lines are counted.
const WINDOW: Duration = Duration::from_secs(1);

/// Lines a second for each reason of a failed handshake.
const FAILURES: u32 = 10;

/// Lines a second for each reason of an ended connection.
const ENDS: u32 = 50;

/// What became of one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Write it. `left_out` lines of the same reason were not written before it.
    Write {
        /// How many, since the last line that was written.
        left_out: u64,
    },
    /// Leave it out; it is counted.
    LeaveOut,
}

/// A limiter with one window for each value of a closed set, so its memory is fixed.
#[derive(Debug)]
pub struct Limiter<L> {
    per_window: u32,
    windows: Vec<Mutex<Window>>,
    reasons: std::marker::PhantomData<L>,
}

#[derive(Debug, Default)]
struct Window {
    since: Option<Instant>,
    written: u32,
    left_out: u64,
}

impl<L: Label> Limiter<L> {
    /// At most `per_window` lines a second for each reason.
    pub fn new(per_window: u32) -> Self {
        Self {
            per_window,
            windows: L::ALL.iter().map(|_| Mutex::default()).collect(),
            reasons: std::marker::PhantomData,
        }
    }

    /// Whether a line of this reason is written now.
    pub fn line(&self, reason: L, now: Instant) -> Verdict {
        let mut window = lock(&self.windows[reason.index()]);
        if window.is_over(now) {
            window.since = Some(now);
            window.written = 0;
        }
        if window.written < self.per_window {
            window.written += 1;
            Verdict::Write { left_out: std::mem::take(&mut window.left_out) }
        } else {
            window.left_out += 1;
            Verdict::LeaveOut
        }
    }

    /// Reasons whose window is over and that left lines out, with how many. Each is told once. `now: None` takes all,
    /// for the end of the process.
    pub fn left_out(&self, now: Option<Instant>) -> Vec<(L, u64)> {
        let told = |reason: &L| {
            let mut window = lock(&self.windows[reason.index()]);
            let over = now.is_none_or(|now| window.is_over(now));
            (over && window.left_out > 0).then(|| (*reason, std::mem::take(&mut window.left_out)))
        };
        L::ALL.iter().filter_map(told).collect()
    }
}

impl Window {
    fn is_over(&self, now: Instant) -> bool {
        self.since.is_none_or(|since| now.saturating_duration_since(since) >= WINDOW)
    }
}

/// The limiters of all lines that peers cause.
#[derive(Debug)]
pub struct PeerLines {
    failures: Limiter<HandshakeFailure>,
    ends: Limiter<CloseReason>,
}

impl Default for PeerLines {
    fn default() -> Self {
        Self { failures: Limiter::new(FAILURES), ends: Limiter::new(ENDS) }
    }
}

impl PeerLines {
    /// Whether the line of a failed handshake is written; says first what was left out.
    pub(super) fn failure(&self, reason: HandshakeFailure) -> bool {
        admitted("failed handshakes", reason, self.failures.line(reason, Instant::now()))
    }

    /// Whether the line of an ended connection is written; says first what was left out.
    pub(super) fn end(&self, reason: CloseReason) -> bool {
        admitted("ended connections", reason, self.ends.line(reason, Instant::now()))
    }

    /// Says what was left out and not yet told; with `all` also of windows that still run.
    pub(super) fn tell(&self, all: bool) {
        let now = (!all).then(Instant::now);
        for (reason, lines) in self.failures.left_out(now) {
            say("failed handshakes", reason, lines);
        }
        for (reason, lines) in self.ends.left_out(now) {
            say("ended connections", reason, lines);
        }
    }
}

fn admitted(what: &'static str, reason: impl Label, verdict: Verdict) -> bool {
    match verdict {
        Verdict::LeaveOut => false,
        Verdict::Write { left_out } => {
            if left_out > 0 {
                say(what, reason, left_out);
            }
            true
        }
    }
}

fn say(what: &'static str, reason: impl Label, lines: u64) {
    tracing::warn!(reason = reason.as_str(), lines, "left out of the log: more {what} of this reason");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_a_second_for_each_reason_and_the_rest_is_counted() {
        let limiter = Limiter::<HandshakeFailure>::new(10);
        let start = Instant::now();
        let written =
            (0..1_000).filter(|_| limiter.line(HandshakeFailure::Expired, start) != Verdict::LeaveOut).count();
        assert_eq!(written, 10);
        assert_eq!(limiter.line(HandshakeFailure::NoAlpn, start), Verdict::Write { left_out: 0 }, "reasons are apart");
        assert_eq!(limiter.line(HandshakeFailure::Expired, start + WINDOW), Verdict::Write { left_out: 990 });
        assert_eq!(
            limiter.line(HandshakeFailure::Expired, start + WINDOW),
            Verdict::Write { left_out: 0 },
            "told once"
        );
    }

    #[test]
    fn what_was_left_out_is_told_when_no_further_line_comes() {
        let limiter = Limiter::<CloseReason>::new(1);
        let start = Instant::now();
        for _ in 0..5 {
            limiter.line(CloseReason::Idle, start);
        }
        assert!(limiter.left_out(Some(start)).is_empty(), "the window still runs");
        assert_eq!(limiter.left_out(Some(start + WINDOW)), [(CloseReason::Idle, 4)]);
        assert!(limiter.left_out(Some(start + WINDOW)).is_empty());
        limiter.line(CloseReason::Idle, start + WINDOW);
        limiter.line(CloseReason::Idle, start + WINDOW);
        assert_eq!(limiter.left_out(None), [(CloseReason::Idle, 1)], "all, at the end of the process");
    }

    #[test]
    fn a_clock_that_stands_still_or_goes_back_opens_no_new_window() {
        let limiter = Limiter::<CloseReason>::new(1);
        let start = Instant::now() + Duration::from_secs(5);
        limiter.line(CloseReason::Idle, start);
        assert_eq!(limiter.line(CloseReason::Idle, start - Duration::from_secs(4)), Verdict::LeaveOut);
    }
}
