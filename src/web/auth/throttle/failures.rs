//! Counters of recent failures, and the delay they cause.

use std::hash::Hash;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use platform_model::limits::Limits;
use quick_cache::sync::Cache;

/// The wrong passwords by account or by source. Each is forgiven after some time.
pub(super) struct Failures<K> {
    pub(super) counts: Cache<K, (u32, Instant)>,
    /// Serializes counting, so that concurrent failures are all counted.
    counting: Mutex<()>,
    free: u32,
    first: Duration,
    longest: Duration,
    forgiven: Duration,
}

impl<K: Eq + Hash + Copy> Failures<K> {
    pub(super) fn new(free: u32, limits: &Limits, most: usize) -> Self {
        Self {
            counts: Cache::new(most),
            counting: Mutex::new(()),
            free,
            first: limits.guess_delay,
            longest: limits.longest_guess_delay,
            forgiven: limits.guess_forgiven,
        }
    }

    /// Returns the delay of the next verification.
    pub(super) fn delay(&self, key: &K) -> Duration {
        self.delay_at(key, Instant::now())
    }

    pub(super) fn delay_at(&self, key: &K, now: Instant) -> Duration {
        match self.failures(key, now).checked_sub(self.free) {
            Some(beyond) => (self.first * 2_u32.saturating_pow(beyond.min(20))).min(self.longest),
            None => Duration::ZERO,
        }
    }

    fn failures(&self, key: &K, now: Instant) -> u32 {
        let Some((count, last)) = self.counts.get(key) else { return 0 };
        let forgiven = now.saturating_duration_since(last).as_millis() / self.forgiven.as_millis().max(1);
        count.saturating_sub(u32::try_from(forgiven).unwrap_or(u32::MAX))
    }

    /// Counts a failure, up to the number that causes the longest delay, so that a flood is not punished for
    /// hours.
    pub(super) fn count(&self, key: K, now: Instant) {
        let _counting = self.counting.lock();
        let longest = self.longest.as_millis() / self.first.as_millis().max(1);
        let most = self.free + longest.max(1).ilog2() + 2;
        self.counts.insert(key, ((self.failures(&key, now) + 1).min(most), now));
    }

    pub(super) fn forget(&self, key: &K) {
        self.counts.remove(key);
    }
}
