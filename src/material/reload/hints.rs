//! What wakes the reloader: flags, not a queue. A million events are one hint.

use std::{
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

/// Shared by those who hint and the one who reloads.
#[derive(Debug, Default)]
pub struct Hints {
    state: Mutex<State>,
    wake: Condvar,
}

/// What was hinted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct State {
    /// Nothing is to change any more.
    pub(super) stopped: bool,
    /// Somebody asked for everything to be read now.
    pub(super) reread: bool,
    /// File events were lost.
    pub(super) lost: bool,
    /// File events.
    pub(super) burst: Option<Burst>,
    /// Something is new since the last wait.
    woken: bool,
}

/// Events in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Burst {
    pub(super) first: Instant,
    pub(super) last: Instant,
}

impl Hints {
    /// Something may have changed.
    pub fn event(&self) {
        let now = Instant::now();
        let mut state = self.lock();
        match &mut state.burst {
            // Whoever waits looks again by itself when it believes the burst to be over.
            Some(burst) => burst.last = now,
            None => {
                state.burst = Some(Burst { first: now, last: now });
                self.wake(state);
            }
        }
    }

    /// Something may have changed, and events that would have told were lost.
    pub fn lost(&self) {
        self.lock().lost = true;
        self.event();
    }

    /// Everything is to be read now, and what was refused is to be judged again.
    pub fn reread(&self) {
        let mut state = self.lock();
        state.reread = true;
        self.wake(state);
    }

    /// Nothing is to change any more: when this returns, nothing will be published.
    pub fn stop(&self) {
        let mut state = self.lock();
        state.stopped = true;
        self.wake(state);
    }

    pub(super) fn state(&self) -> State {
        *self.lock()
    }

    /// Takes the hints. Whatever comes from here on is a new one.
    pub(super) fn take(&self) -> State {
        let mut state = self.lock();
        let stopped = state.stopped;
        std::mem::replace(&mut *state, State { stopped, ..State::default() })
    }

    /// Acts unless stopped, and no stop is over before it is done.
    pub(super) fn unless_stopped<T>(&self, act: impl FnOnce() -> T) -> Option<T> {
        let state = self.lock();
        (!state.stopped).then(act)
    }

    /// Waits for something new, but not beyond `until`.
    pub(super) fn wait(&self, until: Instant) {
        let patience = until.saturating_duration_since(Instant::now());
        let waited = self.wake.wait_timeout_while(self.lock(), patience, |state| !state.woken);
        waited.unwrap_or_else(PoisonError::into_inner).0.woken = false;
    }

    fn wake(&self, mut state: MutexGuard<'_, State>) {
        state.woken = true;
        self.wake.notify_one();
    }

    // Flags: no panic can leave them half written.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
impl Hints {
    pub(crate) fn is_hinted(&self) -> bool {
        self.state().burst.is_some()
    }

    pub(crate) fn forget(&self) {
        self.take();
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, thread, time::Duration};

    use super::*;

    #[test]
    fn a_million_events_are_one_burst() {
        let hints = Hints::default();
        for _ in 0..1_000_000 {
            hints.event();
        }
        let burst = hints.take().burst.expect("hinted");
        assert!(burst.first <= burst.last);
        assert_eq!(hints.state(), State::default());
    }

    #[test]
    fn a_hint_wakes_whoever_waits_and_one_before_the_wait_too() {
        let hints = Arc::new(Hints::default());
        let far = Instant::now() + Duration::from_secs(3600);
        hints.reread();
        hints.wait(far);
        let waiting = thread::spawn({
            let hints = hints.clone();
            move || hints.wait(far)
        });
        hints.event();
        waiting.join().expect("it woke");
    }

    #[test]
    fn nothing_is_done_after_a_stop_and_a_stop_is_not_taken_back() {
        let hints = Hints::default();
        assert_eq!(hints.unless_stopped(|| 1), Some(1));
        hints.stop();
        hints.reread();
        assert!(hints.take().stopped && hints.state().stopped);
        assert_eq!(hints.unless_stopped(|| 1), None);
    }
}
