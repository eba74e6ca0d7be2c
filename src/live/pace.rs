//! When each of many is closed. Pure.

use std::{
    hash::{BuildHasher, RandomState},
    time::Duration,
};

/// What is kept free at the beginning of a window, for the ends that cannot wait: a tenth of it, and not more than this.
const LEAD: Duration = Duration::from_secs(1);

/// What is kept free at its end, so that whoever is closed last is closed inside it: likewise.
const RESERVE: Duration = Duration::from_millis(500);

/// Moments for `count` ends within `window`, in their order: one in each of as many equal parts, anywhere in its part.
/// So they are evenly spread, and no two processes that saw the same change at once keep the same step.
pub(super) fn moments(count: usize, window: Duration, random: &mut Random) -> Vec<Duration> {
    let (lead, usable) = usable(window);
    let parts = count.max(1) as f64;
    (0..count).map(|part| lead + usable.mul_f64((part as f64 + random.fraction()) / parts)).collect()
}

/// The last moment of `window` at which an end still comes inside it.
pub(super) fn last(window: Duration) -> Duration {
    let (lead, usable) = usable(window);
    lead + usable
}

/// When the usable part of a window begins, and how long it is.
fn usable(window: Duration) -> (Duration, Duration) {
    let (lead, reserve) = ((window / 10).min(LEAD), (window / 10).min(RESERVE));
    (lead, window - lead - reserve)
}

/// Puts a list into any order, so that the connections of one peer are not closed in a row.
pub(super) fn shuffle<T>(list: &mut [T], random: &mut Random) {
    for last in (1..list.len()).rev() {
        list.swap(last, random.below(last + 1));
    }
}

/// Numbers that need not be secret, only different in each process.
#[derive(Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new() -> Self {
        // The standard library's seed for hash maps: random for each process and different each time.
        Self(RandomState::new().hash_one(0))
    }

    /// xorshift64*
    fn next(&mut self) -> u64 {
        self.0 |= u64::from(self.0 == 0);
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// From 0, and less than 1.
    fn fraction(&mut self) -> f64 {
        // As many bits as a mantissa has.
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn below(&mut self, bound: usize) -> usize {
        ((self.fraction() * bound as f64) as usize).min(bound.saturating_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn each_part_of_the_window_has_one_end(seed: u64, count in 0_usize..2_000, window in 0_u64..30_000) {
            let window = Duration::from_millis(window);
            let moments = moments(count, window, &mut Random(seed));
            prop_assert_eq!(moments.len(), count);
            prop_assert!(moments.is_sorted());
            let (lead, usable) = usable(window);
            prop_assert!(lead + usable <= window && usable * 5 >= window * 3);
            let part = usable.as_secs_f64() / count.max(1) as f64;
            for (position, moment) in moments.iter().enumerate() {
                prop_assert!(*moment >= lead && *moment <= window);
                let (from, to) = (part * position as f64, part * (position + 1) as f64);
                let at = (*moment - lead).as_secs_f64();
                // Within a nanosecond or two of rounding.
                prop_assert!(at >= from - 1e-8 && at <= to + 1e-8, "{at} is outside of {from} to {to}");
            }
        }

        #[test]
        fn shuffling_loses_nobody(seed: u64, count in 0_usize..500) {
            let mut list: Vec<usize> = (0..count).collect();
            shuffle(&mut list, &mut Random(seed));
            list.sort_unstable();
            prop_assert_eq!(list, (0..count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn no_two_processes_keep_step() {
        let draw = || moments(8, Duration::from_secs(8), &mut Random::new());
        assert_ne!(draw(), draw());
        let mut list: Vec<usize> = (0..100).collect();
        shuffle(&mut list, &mut Random::new());
        assert!(!list.is_sorted());
    }
}
