//! The time of modules: milliseconds since 1970 that never go back.

use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;
use time::OffsetDateTime;

/// A clock that several modules share; cheap to clone.
///
/// When the clock of the machine is set back, this one goes on at half the pace until the other has caught up: timers come late
/// then, and none is lost.
#[derive(Debug, Clone)]
pub(crate) struct Clock(Arc<Source>);

#[derive(Debug)]
enum Source {
    System(Mutex<Reading>),
    /// Driven by a test.
    #[cfg(test)]
    Driven(std::sync::atomic::AtomicI64),
}

/// What the clock showed last.
#[derive(Debug, Clone, Copy)]
struct Reading {
    taken: Instant,
    microseconds: i64,
}

impl Clock {
    /// The clock of the machine.
    pub(crate) fn system() -> Self {
        Self(Arc::new(Source::System(Mutex::new(Reading { taken: Instant::now(), microseconds: wall() }))))
    }

    /// A clock that shows what a test says.
    #[cfg(test)]
    pub(crate) fn driven(now: i64) -> Self {
        Self(Arc::new(Source::Driven(now.into())))
    }

    /// Sets a driven clock.
    #[cfg(test)]
    pub(crate) fn set(&self, now: i64) {
        if let Source::Driven(driven) = &*self.0 {
            driven.store(now, std::sync::atomic::Ordering::Relaxed);
        }
    }

    /// Milliseconds since 1970.
    pub(crate) fn now(&self) -> i64 {
        match &*self.0 {
            Source::System(reading) => {
                let mut last = reading.lock();
                *last = last.next(Instant::now(), wall());
                last.microseconds / 1000
            }
            #[cfg(test)]
            Source::Driven(now) => now.load(std::sync::atomic::Ordering::Relaxed),
        }
    }
}

impl Reading {
    /// What is shown next, when the machine shows `wall`.
    fn next(self, taken: Instant, wall: i64) -> Self {
        let passed = taken.saturating_duration_since(self.taken).as_micros() / 2;
        let at_least = self.microseconds.saturating_add(i64::try_from(passed).unwrap_or(0));
        Self { taken: taken.max(self.taken), microseconds: wall.max(at_least) }
    }
}

fn wall() -> i64 {
    i64::try_from(OffsetDateTime::now_utc().unix_timestamp_nanos() / 1000).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn clock_that_is_set_back_goes_on_slowly_until_it_is_caught_up_with() {
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
