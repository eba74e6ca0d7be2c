//! When to read: soon after events, at the latest after some, again after a refusal, and anyway now and then.

use std::time::{Duration, Instant};

use super::hints::Burst;
use crate::plan::ReloadSettings;

/// After a refusal the files are read again after these times, each counted from the last reading. Writers that write
/// one file after the other are through by then; for others there is the poll.
const RETRIES: [Duration; 6] = [
    Duration::from_millis(100),
    Duration::from_millis(200),
    Duration::from_millis(400),
    Duration::from_millis(800),
    Duration::from_millis(1_600),
    Duration::from_millis(3_200),
];

/// At least between two readings that events ask for, also where the configuration wants no debounce: at most 20 a second.
const BREATH: Duration = Duration::from_millis(50);

/// The times of the readings.
#[derive(Debug)]
pub(super) struct Pace {
    settings: ReloadSettings,
    /// `None` before the first.
    last: Option<Instant>,
    /// Which of the retries comes next, while there is something to retry.
    retry: Option<usize>,
}

impl Pace {
    /// The first reading is due at once.
    pub(super) fn new(settings: ReloadSettings) -> Self {
        Self { settings, last: None, retry: None }
    }

    /// When the next reading is due, given the events since the last one. At `now` for the first.
    pub(super) fn due(&self, burst: Option<Burst>, now: Instant) -> Instant {
        let Some(last) = self.last else { return now };
        let poll = last + self.settings.poll;
        match (burst, self.retry.and_then(|retry| RETRIES.get(retry))) {
            (Some(burst), _) => {
                let quiet = burst.last + self.settings.debounce;
                poll.min(quiet).min(burst.first + self.settings.debounce_max).max(last + BREATH)
            }
            (None, Some(pause)) => poll.min(last + *pause),
            (None, None) => poll,
        }
    }

    /// A reading is over. `changed`: it found something new; `refused`: something on disk is refused.
    pub(super) fn read(&mut self, now: Instant, changed: bool, refused: bool) {
        self.last = Some(now);
        self.retry = match self.retry {
            _ if !refused => None,
            Some(retry) if !changed => Some(retry + 1),
            _ => Some(0),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: Duration = Duration::from_millis(1);

    fn pace(start: Instant) -> Pace {
        let mut pace = Pace::new(ReloadSettings::default());
        assert_eq!(pace.due(None, start), start);
        pace.read(start, true, false);
        pace
    }

    #[test]
    fn events_put_the_reading_off_until_they_pause_but_not_for_ever() {
        let start = Instant::now();
        let pace = pace(start);
        let first = start + 10 * MILLISECOND;
        let burst = |last| Some(Burst { first, last: first + last * MILLISECOND });
        assert_eq!(pace.due(burst(0), start), first + 100 * MILLISECOND);
        assert_eq!(pace.due(burst(800), start), first + 900 * MILLISECOND);
        assert_eq!(pace.due(burst(5_000), start), first + 1_000 * MILLISECOND);
    }

    #[test]
    fn events_without_a_debounce_have_a_bounded_number_of_readings() {
        let start = Instant::now();
        let nothing = Duration::ZERO;
        let settings = ReloadSettings { debounce: nothing, debounce_max: nothing, ..ReloadSettings::default() };
        let (mut pace, mut now, mut readings) = (Pace::new(settings), start, 0);
        // Somebody writes every millisecond, for a second.
        while now < start + 1_000 * MILLISECOND {
            let written = Burst { first: now, last: now };
            if pace.due(Some(written), now) <= now {
                pace.read(now, true, false);
                readings += 1;
            }
            now += MILLISECOND;
        }
        assert_eq!(readings, 20);
        // The first after a pause is read at once.
        now += BREATH;
        assert_eq!(pace.due(Some(Burst { first: now, last: now }), now), now);
    }

    #[test]
    fn without_events_the_poll_comes() {
        let start = Instant::now();
        assert_eq!(pace(start).due(None, start), start + Duration::from_secs(10));
    }

    #[test]
    fn refusals_are_retried_a_few_times_and_anew_when_something_changed() {
        let start = Instant::now();
        let mut pace = pace(start);
        let mut waits = Vec::new();
        let mut changed = true;
        for _ in 0..8 {
            pace.read(start, changed, true);
            changed = false;
            waits.push(pace.due(None, start).duration_since(start).as_millis());
        }
        assert_eq!(waits, [100, 200, 400, 800, 1_600, 3_200, 10_000, 10_000]);
        pace.read(start, true, true);
        assert_eq!(pace.due(None, start), start + 100 * MILLISECOND);
        pace.read(start, false, false);
        assert_eq!(pace.due(None, start), start + Duration::from_secs(10));
    }

    #[test]
    fn retries_wait_for_events_to_pause() {
        let start = Instant::now();
        let mut pace = pace(start);
        pace.read(start, true, true);
        let burst = Burst { first: start, last: start + 500 * MILLISECOND };
        assert_eq!(pace.due(Some(burst), start), start + 600 * MILLISECOND);
    }
}
