//! The times in which this process did not run, because its machine or container was stopped. Everything
//! that it remembers from before may be outdated, and everything that it waited for may have arrived unread.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::time::{MissedTickBehavior, interval};

/// A process that did nothing for longer than this was paused.
const PAUSE: Duration = Duration::from_secs(2);
/// The interval in which an idle process notes that it runs.
const TICK: Duration = Duration::from_millis(250);
/// Times that differ by less than this are not noted each.
const STEP: Duration = Duration::from_millis(20);
/// The bits of a time in milliseconds; the number of pauses is above them.
const TIME_BITS: u32 = 44;

/// Notices that this process was paused.
#[derive(Debug)]
pub struct Pauses {
    began: Instant,
    /// The time at which the process was last seen running, in milliseconds since it began, and the number of pauses.
    /// Both are in one number, so that nobody sees the time after a pause without the pause.
    seen: AtomicU64,
    /// The end of the last pause, in milliseconds since the process began; 0 if there was none.
    ended: AtomicU64,
}

impl Default for Pauses {
    fn default() -> Self {
        Self { began: Instant::now(), seen: AtomicU64::new(0), ended: AtomicU64::new(0) }
    }
}

impl Pauses {
    /// Notes that the process runs, and returns the number of pauses so far. It is called before something that was
    /// remembered is used.
    pub fn note(&self) -> u64 {
        self.note_at(self.now())
    }

    fn note_at(&self, now: u64) -> u64 {
        let mut seen = self.seen.load(Ordering::Acquire);
        loop {
            let (count, time) = (seen >> TIME_BITS, seen & ((1 << TIME_BITS) - 1));
            let passed = Duration::from_millis(now.saturating_sub(time));
            if passed < STEP {
                return count;
            }
            let is_pause = passed > PAUSE;
            let next = (count + u64::from(is_pause)) << TIME_BITS | now;
            match self.seen.compare_exchange_weak(seen, next, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => {
                    if is_pause {
                        self.ended.fetch_max(now, Ordering::AcqRel);
                        tracing::warn!(seconds = passed.as_secs_f32(), "this server did not run for a while");
                    }
                    return next >> TIME_BITS;
                }
                Err(other) => seen = other,
            }
        }
    }

    /// Returns the time since the end of the last pause, if there was one.
    pub fn since_last(&self) -> Option<Duration> {
        self.note();
        let ended = self.ended.load(Ordering::Acquire);
        (ended > 0).then(|| Duration::from_millis(self.now().saturating_sub(ended)))
    }

    fn now(&self) -> u64 {
        self.began.elapsed().as_millis() as u64
    }

    /// Notes that the process runs, as long as the future is polled.
    pub(crate) async fn tick(&self) {
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.note();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_gaps_of_more_than_two_seconds_are_pauses() {
        let pauses = Pauses::default();
        let counts = [100, 2000, 4000, 6001, 6002, 8000, 20_000].map(|now| pauses.note_at(now));
        assert_eq!(counts, [0, 0, 0, 1, 1, 1, 2]);
        assert_eq!(pauses.ended.load(Ordering::Relaxed), 20_000);
    }

    #[test]
    fn process_that_runs_has_no_pause() {
        assert_eq!(Pauses::default().since_last(), None);
    }
}
