//! When the operations of a bulk operation are due (K-01, K-11).

use std::time::{Duration, Instant};

use crate::model::bulk_operation::CreationRamp;

/// So late an operation may be and still leave the others where they are: those that became due meanwhile are created with it.
/// After a longer gap all that is left is put off, so that the ramp is not compressed.
const CAUGHT_UP: Duration = Duration::from_secs(1);

/// The turns of devices: one after the other at a distance that is kept on the average, however late a single one is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ramp {
    /// Seconds between two.
    distance: f64,
    /// When the next is due.
    next: Instant,
}

impl Ramp {
    /// `first` is when the first is due.
    pub(super) fn new(distance: CreationRamp, first: Instant) -> Self {
        Self { distance: distance.seconds(), next: first }
    }

    /// The same turns with the next one at `first`.
    pub(super) fn put_off(&mut self, first: Instant) {
        self.next = first;
    }

    /// How many are due, at most `most`.
    pub(super) fn due(&mut self, now: Instant, most: usize) -> usize {
        if now < self.next {
            return 0;
        }
        if self.distance == 0.0 {
            return most;
        }
        if now - self.next > CAUGHT_UP {
            self.put_off(now);
        }
        // What is more than a machine can count is cut to what it can.
        let further = ((now - self.next).as_secs_f64() / self.distance) as usize;
        further.saturating_add(1).min(most)
    }

    /// The same turns after so many of them.
    pub(super) fn after(self, count: usize) -> Self {
        let distance = Duration::from_secs_f64(self.distance * count as f64);
        Self { next: self.next + distance, ..self }
    }

    /// How long until the next is due.
    pub(super) fn wait(&self, now: Instant) -> Duration {
        self.next.saturating_duration_since(now)
    }

    /// Seconds until the next is due; negative when that is past.
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

    /// Serves what is due at these moments, in milliseconds after the first turn; gives how many each time.
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
    fn one_after_the_other_and_none_before_its_turn() {
        assert_eq!(served(0.1, &[0, 50, 99, 100, 150, 200]), [1, 0, 0, 1, 0, 1]);
    }

    #[test]
    fn small_lateness_is_caught_up_and_does_not_add_up() {
        assert_eq!(served(0.01, &[4, 14, 38, 41, 1000]), [1, 1, 2, 1, 96]);
    }

    #[test]
    fn longer_gap_puts_the_rest_off() {
        assert_eq!(served(0.1, &[0, 5000, 5050, 5100, 5199, 5200]), [1, 1, 0, 1, 0, 1]);
    }

    #[test]
    fn ramp_of_zero_serves_as_many_as_fit_however_late() {
        assert_eq!(served(0.0, &[0, 0, 9000]), [MOST, MOST, MOST]);
    }

    #[test]
    fn smallest_and_longest_ramps_are_counted_without_a_panic() {
        assert_eq!(served(f64::MIN_POSITIVE, &[0, 1, 2]), [1, MOST, MOST]);
        assert_eq!(served(1e9, &[0, 1, 900_000]), [1, 0, 0]);
    }

    #[test]
    fn five_thousand_turns_take_as_long_as_they_should() {
        let first = Instant::now();
        let (mut ramp, mut count, mut now) = (Ramp::new(CreationRamp(0.01), first), 0, first);
        while count < 5000 {
            // A tick that comes late and a step that takes long, each time.
            now += ramp.wait(now) + millis(2);
            let due = ramp.due(now, MOST);
            ramp = ramp.after(due);
            (count, now) = (count + due, now + millis(15));
        }
        let (took, ideal) = ((now - first).as_secs_f64(), 49.99);
        assert!((took - ideal).abs() < ideal * 0.001, "{took}");
    }
}
