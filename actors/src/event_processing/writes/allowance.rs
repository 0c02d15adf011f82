//! Limits how much modules write: the rate of writes per tenant, and the backlog of each module.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use parking_lot::Mutex;

/// The rate limit for all modules of a tenant: a token bucket with a burst size and a refill rate per second.
/// It stops two modules that multiply each other's rows by means of timers, where the depth does not grow.
#[derive(Debug)]
pub(crate) struct Allowance {
    per_second: f64,
    at_once: f64,
    left: Mutex<(f64, Instant)>,
}

impl Allowance {
    pub(crate) fn new(per_second: u32, at_once: u32, now: Instant) -> Self {
        let (per_second, at_once) = (f64::from(per_second), f64::from(at_once));
        Self { per_second, at_once, left: Mutex::new((at_once, now)) }
    }

    /// Takes a token; returns whether one was left.
    pub(super) fn take(&self, now: Instant) -> bool {
        let (left, since) = &mut *self.left.lock();
        let passed = now.saturating_duration_since(*since).as_secs_f64();
        *left = (*left + passed * self.per_second).min(self.at_once);
        *since = now.max(*since);
        let is_left = *left >= 1.0;
        if is_left {
            *left -= 1.0;
        }
        is_left
    }
}

/// The maximum number of rows and of bytes that one module may have waiting.
#[derive(Debug, Clone, Copy)]
pub(super) struct BacklogLimit {
    pub(super) rows: usize,
    pub(super) bytes: usize,
}

/// The rows of one module that are requested but not yet written.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    rows: AtomicUsize,
    bytes: AtomicUsize,
}

/// The space that one row occupies in the backlog until it is written.
#[derive(Debug)]
pub(super) struct BacklogSpace {
    backlog: Arc<Backlog>,
    bytes: usize,
}

impl Backlog {
    /// Reserves space for a row of this size in bytes; returns `None` if the backlog would exceed its limit of
    /// rows or bytes.
    pub(super) fn place(self: &Arc<Self>, bytes: usize, most: BacklogLimit) -> Option<BacklogSpace> {
        let rows = self.rows.fetch_add(1, Ordering::Relaxed) + 1;
        let waiting = self.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        // The space is reserved first and released again if it exceeds the limit.
        let place = BacklogSpace { backlog: self.clone(), bytes };
        (rows <= most.rows && waiting <= most.bytes).then_some(place)
    }
}

impl Drop for BacklogSpace {
    fn drop(&mut self) {
        self.backlog.rows.fetch_sub(1, Ordering::Relaxed);
        self.backlog.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn allowance_is_used_up_and_grows_again_up_to_what_may_be_taken_at_once() {
        let start = Instant::now();
        let allowance = Allowance::new(10, 3, start);
        let taken =
            |at: Duration| std::iter::repeat_with(|| allowance.take(start + at)).take_while(|it| *it).count();

        assert_eq!(taken(Duration::ZERO), 3);
        assert_eq!(taken(Duration::from_millis(200)), 2);
        assert_eq!(taken(Duration::from_millis(100)), 0, "time that goes back gives nothing");
        assert_eq!(taken(Duration::from_secs(60)), 3);
    }

    #[test]
    fn backlog_is_bounded_by_rows_and_by_bytes_and_done_rows_make_room() {
        let backlog = Arc::<Backlog>::default();
        let most = BacklogLimit { rows: 2, bytes: 100 };
        let first = backlog.place(60, most).expect("room");
        assert!(backlog.place(60, most).is_none(), "too many bytes");
        let second = backlog.place(40, most).expect("room again");
        assert!(backlog.place(0, most).is_none(), "too many rows");
        drop((first, second));
        assert!(backlog.place(100, most).is_some());
    }
}
