//! The times at which the operations of a bulk operation are due (K-01, K-11).

use std::time::{Duration, Instant};

use platform_model::data::bulk_operation::CreationRamp;

/// The longest delay that is caught up: operations that became due during it are created together. After a longer
/// delay the remaining ones are postponed, so that the ramp is not compressed.
const CATCH_UP_LIMIT: Duration = Duration::from_secs(1);

/// The schedule of a bulk operation. The average distance between two devices is kept, however late a single one is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ramp {
    /// The seconds between two operations.
    distance: f64,
    /// When the next operation is due.
    next: Instant,
}

impl Ramp {
    /// Creates a ramp whose first operation is due at `first`.
    pub(super) fn new(distance: CreationRamp, first: Instant) -> Self {
        Self { distance: distance.seconds(), next: first }
    }

    /// Moves the next operation to `first`.
    pub(super) fn postpone(&mut self, first: Instant) {
        self.next = first;
    }

    /// Returns how many operations are due, at most `most`.
    pub(super) fn due(&mut self, now: Instant, most: usize) -> usize {
        if now < self.next {
            return 0;
        }
        if self.distance == 0.0 {
            return most;
        }
        if now - self.next > CATCH_UP_LIMIT {
            self.postpone(now);
        }
        // A number that does not fit is limited to the largest one.
        let further = ((now - self.next).as_secs_f64() / self.distance) as usize;
        further.saturating_add(1).min(most)
    }

    /// Returns the ramp after `count` operations.
    pub(super) fn after(self, count: usize) -> Self {
        let distance = Duration::from_secs_f64(self.distance * count as f64);
        Self { next: self.next + distance, ..self }
    }

    /// Returns how long until the next operation is due.
    pub(super) fn wait(&self, now: Instant) -> Duration {
        self.next.saturating_duration_since(now)
    }

    /// Returns the seconds until the next operation is due, negative if it is overdue.
    pub(super) fn until_next(&self, now: Instant) -> f64 {
        match self.next.checked_duration_since(now) {
            Some(ahead) => ahead.as_secs_f64(),
            None => -(now - self.next).as_secs_f64(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: usize = 200;

    fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    /// Serves the operations due at these moments, in milliseconds after the first, and returns how many were due
    /// each time.
    fn served(distance: f64, moments: &[u64]) -> Vec<usize> {
        let first = Instant::now();
        let mut ramp = Ramp::new(CreationRamp(distance), first);
        let serve = |moment: &u64| {
            let count = ramp.due(first + millis(*moment), MOST);
            ramp = ramp.after(count);
            count
        };
        moments.iter().map(serve).collect()
    }

    #[test]
    fn operations_are_due_at_the_distance_of_the_ramp() {
        assert_eq!(served(0.1, &[0, 50, 99, 100, 150, 200]), [1, 0, 0, 1, 0, 1]);
    }

    #[test]
    fn small_delays_do_not_accumulate() {
        assert_eq!(served(0.01, &[4, 14, 38, 41, 1000]), [1, 1, 2, 1, 96]);
    }

    #[test]
    fn longer_delay_postpones_the_rest() {
        assert_eq!(served(0.1, &[0, 5000, 5050, 5100, 5199, 5200]), [1, 1, 0, 1, 0, 1]);
    }

    #[test]
    fn ramp_of_zero_creates_full_batches_even_when_late() {
        assert_eq!(served(0.0, &[0, 0, 9000]), [MOST, MOST, MOST]);
    }

    #[test]
    fn smallest_and_longest_ramps_are_counted_without_a_panic() {
        assert_eq!(served(f64::MIN_POSITIVE, &[0, 1, 2]), [1, MOST, MOST]);
        assert_eq!(served(1e9, &[0, 1, 900_000]), [1, 0, 0]);
    }

    #[test]
    fn five_thousand_operations_take_the_planned_time() {
        let first = Instant::now();
        let (mut ramp, mut count, mut now) = (Ramp::new(CreationRamp(0.01), first), 0, first);
        while count < 5000 {
            // Each tick comes late and each step takes long.
            now += ramp.wait(now) + millis(2);
            let due = ramp.due(now, MOST);
            ramp = ramp.after(due);
            (count, now) = (count + due, now + millis(15));
        }
        let (took, ideal) = ((now - first).as_secs_f64(), 49.99);
        assert!((took - ideal).abs() < ideal * 0.001, "{took}");
    }
}
