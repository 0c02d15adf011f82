//! The clock of modules: milliseconds since 1970 that never go back.

use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;
use platform_model::timestamp::micros;
use time::OffsetDateTime;

/// A clock that several modules share; cheap to clone.
///
/// When the system clock is set back, this clock runs at half speed until the system clock has caught up: timers fire
/// late then, and none is lost.
#[derive(Debug, Clone)]
pub(crate) struct Clock(Arc<TimeSource>);

#[derive(Debug)]
enum TimeSource {
    System(Mutex<Reading>),
    /// A clock that a test sets.
    #[cfg(test)]
    Driven(std::sync::atomic::AtomicI64),
}

/// The last value that the clock returned.
#[derive(Debug, Clone, Copy)]
struct Reading {
    taken: Instant,
    microseconds: i64,
}

impl Clock {
    /// Returns the system clock.
    pub(crate) fn system() -> Self {
        Self(Arc::new(TimeSource::System(Mutex::new(Reading {
            taken: Instant::now(),
            microseconds: wall(),
        }))))
    }

    /// Returns a clock that shows the time that a test sets.
    #[cfg(test)]
    pub(crate) fn driven(now: i64) -> Self {
        Self(Arc::new(TimeSource::Driven(now.into())))
    }

    /// Sets the time of a test clock.
    #[cfg(test)]
    pub(crate) fn set(&self, now: i64) {
        if let TimeSource::Driven(driven) = &*self.0 {
            driven.store(now, std::sync::atomic::Ordering::Relaxed);
        }
    }

    /// Returns the milliseconds since 1970.
    pub(crate) fn now(&self) -> i64 {
        match &*self.0 {
            TimeSource::System(reading) => {
                let mut last = reading.lock();
                *last = last.next(Instant::now(), wall());
                last.microseconds / 1000
            }
            #[cfg(test)]
            TimeSource::Driven(now) => now.load(std::sync::atomic::Ordering::Relaxed),
        }
    }
}

impl Reading {
    /// Returns the next reading, when the system clock shows `wall`.
    fn next(self, taken: Instant, wall: i64) -> Self {
        let passed = taken.saturating_duration_since(self.taken).as_micros() / 2;
        let at_least = self.microseconds.saturating_add(i64::try_from(passed).unwrap_or(0));
        Self { taken: taken.max(self.taken), microseconds: wall.max(at_least) }
    }
}

fn wall() -> i64 {
    micros(OffsetDateTime::now_utc())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn clock_that_is_set_back_runs_slowly_until_the_time_catches_up() {
        let start = Instant::now();
        let read = Reading { taken: start, microseconds: 10_000_000 };

        let forth = read.next(start + Duration::from_secs(1), 11_000_000);
        assert_eq!(forth.microseconds, 11_000_000);

        let back = forth.next(start + Duration::from_secs(3), 3_000_000);
        assert_eq!(back.microseconds, 12_000_000);

        let caught_up = back.next(start + Duration::from_secs(4), 12_700_000);
        assert_eq!(caught_up.microseconds, 12_700_000);
    }
}
