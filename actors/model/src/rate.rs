//! Rate limits with a burst, by the generic cell rate algorithm (GCRA). The only state is the time at which everything
//! that was admitted is paid for. A bucket that fills all the time is the same seen from the other side.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The epoch of the times of all rates.
static BEGINNING: LazyLock<Instant> = LazyLock::new(Instant::now);

/// A time in nanoseconds since an epoch of this process.
pub type Nanos = u64;

/// Returns the current time.
pub fn now() -> Nanos {
    nanos(BEGINNING.elapsed())
}

fn nanos(time: Duration) -> Nanos {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// How fast items are admitted: at a steady rate, and a burst of them at once after a pause.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// The nanoseconds that one item costs.
    each: u64,
    /// The nanoseconds' worth of items that may come at once.
    burst: u64,
}

impl Pace {
    /// Returns a pace of items per second, with a burst of at least one.
    pub fn per_second(items: f64, burst: f64) -> Self {
        let each = (1e9 / items.max(1e-6)).max(1.0);
        Self { each: each as u64, burst: (burst.max(1.0) * each) as u64 }
    }

    /// Returns a pace of items per minute, of which a minute's worth may come at once.
    pub fn per_minute(items: u32) -> Self {
        let minute = Duration::from_secs(60);
        Self { each: nanos(minute / items.max(1)), burst: nanos(minute) }
    }

    /// Admits items. Given the time at which everything before is paid for, it returns the time at which these are paid
    /// for, too. More items at once than the burst are admitted when nothing is left to pay.
    ///
    /// # Errors
    /// The time until the items would be admitted.
    pub fn admit(self, paid_at: Nanos, now: Nanos, items: u64) -> Result<Nanos, Duration> {
        let worth = self.worth(items);
        let paid_at = paid_at.max(now).saturating_add(worth);
        match (paid_at - now).saturating_sub(self.burst.max(worth)) {
            0 => Ok(paid_at),
            wait => Err(Duration::from_nanos(wait)),
        }
    }

    fn worth(self, items: u64) -> u64 {
        self.each.saturating_mul(items)
    }
}

/// A rate limit in a few atomic numbers, which may change while it is used. While it is unlimited, a check costs one
/// read of memory.
#[derive(Debug, Default)]
pub struct Rate {
    /// [`Pace::each`]; 0 is unlimited.
    each: AtomicU64,
    /// [`Pace::burst`].
    burst: AtomicU64,
    /// The time at which all admitted items are paid for.
    paid_at: AtomicU64,
    /// The number of items that were admitted while there was a limit.
    admitted: AtomicU64,
}

impl Rate {
    /// Returns a rate with a limit.
    pub fn limited(pace: Pace) -> Self {
        let rate = Self::default();
        rate.set(Some(pace));
        rate
    }

    /// Sets the limit; `None` is unlimited.
    pub fn set(&self, pace: Option<Pace>) {
        let Pace { each, burst } = pace.unwrap_or(Pace { each: 0, burst: 0 });
        self.burst.store(burst, Ordering::Relaxed);
        self.each.store(each, Ordering::Relaxed);
    }

    fn pace(&self) -> Option<Pace> {
        match self.each.load(Ordering::Relaxed) {
            0 => None,
            each => Some(Pace { each, burst: self.burst.load(Ordering::Relaxed) }),
        }
    }

    /// Returns whether there is a limit.
    pub fn is_limited(&self) -> bool {
        self.pace().is_some()
    }

    /// Admits items now.
    ///
    /// # Errors
    /// The time until the items would be admitted; nothing is counted.
    #[inline]
    pub fn admit(&self, items: u64) -> Result<(), Duration> {
        match self.pace() {
            None => Ok(()),
            Some(pace) => self.admit_at(now(), pace, items),
        }
    }

    /// Counts items that were used already. Later items wait until these are paid for.
    pub fn charge(&self, items: u64) {
        if let Some(pace) = self.pace() {
            let now = now();
            self.admitted.fetch_add(items, Ordering::Relaxed);
            let paid = |at: Nanos| Some(at.max(now).saturating_add(pace.worth(items)));
            self.paid_at
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, paid)
                .expect("the function always returns a value");
        }
    }

    /// Returns the time until one item would be admitted; `None` if it would be admitted now.
    pub fn wait(&self) -> Option<Duration> {
        self.pace()?.admit(self.paid_at.load(Ordering::Relaxed), now(), 1).err()
    }

    /// Returns the number of items that were admitted while there was a limit.
    pub fn admitted(&self) -> u64 {
        self.admitted.load(Ordering::Relaxed)
    }

    fn admit_at(&self, now: Nanos, pace: Pace, items: u64) -> Result<(), Duration> {
        let mut wait = Duration::ZERO;
        let paid = |at| pace.admit(at, now, items).map_err(|until| wait = until).ok();
        match self.paid_at.fetch_update(Ordering::Relaxed, Ordering::Relaxed, paid) {
            Ok(_) => {
                self.admitted.fetch_add(items, Ordering::Relaxed);
                Ok(())
            }
            Err(_) => Err(wait),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn admitted(rate: &Rate, now: u64) -> usize {
        let pace = rate.pace().expect("a limit");
        (0..10_000).filter(|_| rate.admit_at(now, pace, 1).is_ok()).count()
    }

    #[test]
    fn burst_is_admitted_at_once_and_then_the_rate() {
        let rate = Rate::limited(Pace::per_second(100.0, 200.0));
        assert_eq!(admitted(&rate, 5 * SECOND), 200);
        assert_eq!(admitted(&rate, 6 * SECOND), 100);
        assert_eq!(admitted(&rate, 6 * SECOND + SECOND / 2), 50);
        assert_eq!(admitted(&rate, 60 * SECOND), 200, "a pause fills no more than the burst");
        assert_eq!(rate.admitted(), 550);
    }

    #[test]
    fn rejection_contains_the_time_until_admission() {
        let rate = Rate::limited(Pace::per_second(2.0, 1.0));
        let (each, pace) = (SECOND / 2, rate.pace().expect("a limit"));
        assert!(rate.admit_at(SECOND, pace, 1).is_ok());
        assert_eq!(rate.admit_at(SECOND, pace, 1), Err(Duration::from_millis(500)));
        assert_eq!(rate.admit_at(SECOND + each / 2, pace, 1), Err(Duration::from_millis(250)));
        assert!(rate.admit_at(SECOND + each, pace, 1).is_ok());
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
        let rate = Rate::limited(Pace::per_second(1000.0, 100.0));
        assert_eq!(rate.wait(), None);
        rate.charge(1100);
        let wait = rate.wait().expect("a second's worth is not paid for yet");
        assert!(wait > Duration::from_millis(900) && wait < Duration::from_millis(1100), "{wait:?}");
    }

    #[test]
    fn several_items_at_once_are_admitted_once_even_beyond_the_burst() {
        let rate = Rate::limited(Pace::per_second(1.0, 1.0));
        assert!(rate.admit(5).is_ok(), "a request of five rows is served, and paid for afterwards");
        assert!(rate.admit(1).is_err());
    }

    #[test]
    fn time_that_goes_back_admits_nothing() {
        let rate = Rate::limited(Pace::per_second(10.0, 3.0));

        assert_eq!(admitted(&rate, 5 * SECOND), 3);
        assert_eq!(admitted(&rate, 5 * SECOND + SECOND / 5), 2);
        assert_eq!(admitted(&rate, 5 * SECOND + SECOND / 10), 0);
        assert_eq!(admitted(&rate, 65 * SECOND), 3);
    }
}
