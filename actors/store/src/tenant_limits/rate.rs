//! A rate limit with a burst in a few atomic numbers (GCRA): it stores the time at which all admitted items are paid
//! for.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The epoch of the times of all rates.
static BEGINNING: LazyLock<Instant> = LazyLock::new(Instant::now);

/// A rate limit. While it is unlimited, a check costs one read of memory.
#[derive(Debug, Default)]
pub struct Rate {
    /// The nanoseconds that one item costs; 0 is unlimited.
    each: AtomicU64,
    /// The nanoseconds' worth of items that may come at once.
    burst: AtomicU64,
    /// The time at which all admitted items are paid for, in nanoseconds since the epoch.
    paid_at: AtomicU64,
    /// The number of items that were admitted while there was a limit.
    admitted: AtomicU64,
}

impl Rate {
    /// Sets the limit: items per second, and items at once after a pause. `None` is unlimited.
    pub(super) fn set(&self, limit: Option<(f64, f64)>) {
        let (each, burst) = limit.map_or((0, 0), |(per_second, burst)| {
            let each = (1e9 / per_second.max(1e-6)).max(1.0);
            (each as u64, (burst.max(1.0) * each) as u64)
        });
        self.burst.store(burst, Ordering::Relaxed);
        self.each.store(each, Ordering::Relaxed);
    }

    /// Returns whether there is a limit.
    pub fn is_limited(&self) -> bool {
        self.each.load(Ordering::Relaxed) != 0
    }

    /// Admits items now.
    ///
    /// # Errors
    /// The time until the items would be admitted; nothing is counted.
    #[inline]
    pub fn admit(&self, items: u64) -> Result<(), Duration> {
        match self.each.load(Ordering::Relaxed) {
            0 => Ok(()),
            each => self.admit_at(nanos(BEGINNING.elapsed()), each.saturating_mul(items), items),
        }
    }

    /// Counts items that were used already. Later items wait until these are paid for.
    pub fn charge(&self, items: u64) {
        let each = self.each.load(Ordering::Relaxed);
        if each != 0 {
            let now = nanos(BEGINNING.elapsed());
            self.admitted.fetch_add(items, Ordering::Relaxed);
            let paid = |at: u64| Some(at.max(now).saturating_add(each.saturating_mul(items)));
            self.paid_at
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, paid)
                .expect("the function always returns a value");
        }
    }

    /// Returns the time until one item would be admitted; `None` if it would be admitted now.
    pub fn wait(&self) -> Option<Duration> {
        let each = self.each.load(Ordering::Relaxed);
        let now = if each == 0 { return None } else { nanos(BEGINNING.elapsed()) };
        let paid_at = self.paid_at.load(Ordering::Relaxed).max(now).saturating_add(each);
        let wait = (paid_at - now).saturating_sub(self.burst.load(Ordering::Relaxed).max(each));
        (wait > 0).then(|| Duration::from_nanos(wait))
    }

    /// Returns the number of items that were admitted while there was a limit.
    pub(super) fn admitted(&self) -> u64 {
        self.admitted.load(Ordering::Relaxed)
    }

    fn admit_at(&self, now: u64, worth: u64, items: u64) -> Result<(), Duration> {
        let burst = self.burst.load(Ordering::Relaxed).max(worth);
        let mut wait = 0;
        let paid = self.paid_at.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |at| {
            let paid = at.max(now).saturating_add(worth);
            wait = (paid - now).saturating_sub(burst);
            (wait == 0).then_some(paid)
        });
        match paid {
            Ok(_) => {
                self.admitted.fetch_add(items, Ordering::Relaxed);
                Ok(())
            }
            Err(_) => Err(Duration::from_nanos(wait)),
        }
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn admitted(rate: &Rate, now: u64) -> usize {
        let each = rate.each.load(Ordering::Relaxed);
        (0..10_000).filter(|_| rate.admit_at(now, each, 1).is_ok()).count()
    }

    #[test]
    fn burst_is_admitted_at_once_and_then_the_rate() {
        let rate = Rate::default();
        rate.set(Some((100.0, 200.0)));
        assert_eq!(admitted(&rate, 5 * SECOND), 200);
        assert_eq!(admitted(&rate, 6 * SECOND), 100);
        assert_eq!(admitted(&rate, 6 * SECOND + SECOND / 2), 50);
        assert_eq!(admitted(&rate, 60 * SECOND), 200, "a pause fills no more than the burst");
        assert_eq!(rate.admitted(), 550);
    }

    #[test]
    fn rejection_contains_the_time_until_admission() {
        let rate = Rate::default();
        rate.set(Some((2.0, 1.0)));
        let each = SECOND / 2;
        assert!(rate.admit_at(SECOND, each, 1).is_ok());
        assert_eq!(rate.admit_at(SECOND, each, 1), Err(Duration::from_millis(500)));
        assert_eq!(rate.admit_at(SECOND + each / 2, each, 1), Err(Duration::from_millis(250)));
        assert!(rate.admit_at(SECOND + each, each, 1).is_ok());
    }

    #[test]
    fn unlimited_rate_admits_everything_and_counts_nothing() {
        let rate = Rate::default();
        assert!((0..1000).all(|_| rate.admit(1_000_000).is_ok()));
        rate.charge(1_000_000);
        assert_eq!((rate.is_limited(), rate.wait(), rate.admitted()), (false, None, 0));
    }

    #[test]
    fn charged_items_delay_later_ones() {
        let rate = Rate::default();
        rate.set(Some((1000.0, 100.0)));
        assert_eq!(rate.wait(), None);
        rate.charge(1100);
        let wait = rate.wait().expect("a second's worth is not paid for yet");
        assert!(wait > Duration::from_millis(900) && wait < Duration::from_millis(1100), "{wait:?}");
    }

    #[test]
    fn several_items_at_once_are_admitted_once_even_beyond_the_burst() {
        let rate = Rate::default();
        rate.set(Some((1.0, 1.0)));
        assert!(rate.admit(5).is_ok(), "a request of five rows is served, and paid for afterwards");
        assert!(rate.admit(1).is_err());
    }
}
