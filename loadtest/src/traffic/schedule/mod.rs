//! Posting on a fixed schedule, regardless of the responses.

pub(crate) mod curve;
pub(crate) mod quantity;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use crate::ledger::run::Run;
use crate::traffic::schedule::curve::Curve;

/// The shortest pause between two checks of the clock; posts that fall due meanwhile are handed out together.
const CHECK_INTERVAL: Duration = Duration::from_micros(200);
/// The longest pause, after which an interruption is noticed.
const LONGEST_SLEEP: Duration = Duration::from_millis(100);
/// The number of halvings in the search for the time of an event, which reach less than a microsecond in a day.
const HALVINGS: u32 = 40;

/// A fixed schedule: event `i` is due when the curve has counted `i` events, regardless of the events before it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Schedule {
    /// The start, in microseconds of the run.
    pub(crate) start: u64,
    /// The events per second.
    pub(crate) curve: Curve,
    /// The seconds of the schedule.
    pub(crate) seconds: f64,
}

impl Schedule {
    /// Returns a schedule with the same rate all the time.
    pub(crate) fn constant(start: u64, per_second: u32, seconds: u64) -> Self {
        Self { start, curve: Curve::Constant(per_second.into()), seconds: seconds as f64 }
    }

    /// Returns the number of events.
    pub(crate) fn count(&self) -> u64 {
        (self.curve.count(self.seconds, self.seconds) + 1e-6).floor() as u64
    }

    /// Returns when event `index` is due, in microseconds of the run.
    pub(crate) fn due(&self, index: u64) -> u64 {
        if let Curve::Constant(rate) = self.curve {
            return self.start + (index as f64 * 1e6 / rate) as u64;
        }
        let (mut early, mut late) = (0.0, self.seconds);
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(early, late);
            if self.curve.count(middle, self.seconds) < index as f64 {
                early = middle;
            } else {
                late = middle;
            }
        }
        self.start + (late * 1e6) as u64
    }

    /// Returns when it is over, in microseconds of the run.
    pub(crate) fn end(&self) -> u64 {
        self.start + (self.seconds * 1e6) as u64
    }

    /// Hands each due time to its poster, in turn, when it has come. It ends early when no poster listens.
    pub(crate) fn pace(&self, run: &Run, posters: &[mpsc::UnboundedSender<u64>]) {
        let mut turns = posters.iter().cycle();
        pace(run, std::slice::from_ref(self), |_, due| {
            // A poster that gave up no longer listens; the others continue.
            let is_heard = turns.next().is_some_and(|poster| poster.send(due).is_ok());
            is_heard || posters.iter().any(|poster| !poster.is_closed())
        });
    }
}

/// Calls `take` with the number of the schedule and the due time of each event of several schedules, in the order of
/// time and when it is due, until `take` returns false or the run is over. It blocks and needs its own thread, because
/// the timers of the runtime are coarser (1 ms) than the latencies to be measured.
pub(crate) fn pace(run: &Run, schedules: &[Schedule], mut take: impl FnMut(usize, u64) -> bool) {
    let counts: Vec<u64> = schedules.iter().map(Schedule::count).collect();
    let next = |number: usize, index: u64| {
        (index < counts[number]).then(|| Reverse((schedules[number].due(index), number, index)))
    };
    let mut events: BinaryHeap<_> = (0..schedules.len()).filter_map(|number| next(number, 0)).collect();
    while let Some(Reverse((due, number, index))) = events.pop() {
        loop {
            let left = run.instant(due).saturating_duration_since(Instant::now());
            if run.is_over() {
                return;
            }
            if left.is_zero() {
                break;
            }
            std::thread::sleep(left.clamp(CHECK_INTERVAL, LONGEST_SLEEP));
        }
        if !take(number, due) {
            return;
        }
        events.extend(next(number, index + 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn posts_are_due_evenly_and_never_early() {
        let schedule = Schedule::constant(500, 7, 3);
        assert_eq!((schedule.due(0), schedule.due(7), schedule.due(14)), (500, 1_000_500, 2_000_500));
        assert_eq!((schedule.count(), schedule.end()), (21, 3_000_500));
        let run = Run::new(1);
        let schedule = Schedule { seconds: 0.02, ..Schedule::constant(run.now(), 1000, 1) };
        let (sender, mut dues) = mpsc::unbounded_channel();
        schedule.pace(&run, &[sender]);
        let paced: Vec<u64> = std::iter::from_fn(|| dues.try_recv().ok()).collect();
        assert_eq!(paced, (0..20).map(|index| schedule.due(index)).collect::<Vec<_>>());
        assert!(run.now() >= schedule.due(19));
    }

    #[test]
    fn events_of_a_curve_are_due_when_it_has_counted_them() {
        let schedule = Schedule { start: 0, curve: Curve::Ramp(0.0, 100.0), seconds: 10.0 };
        assert_eq!(schedule.count(), 500);
        assert_eq!([0, 125, 500].map(|index| schedule.due(index) / 1000), [0, 5000, 10_000]);
    }

    #[test]
    fn several_schedules_are_merged_by_time() {
        let run = Run::new(1);
        let schedule = |curve| Schedule { start: run.now(), curve, seconds: 0.1 };
        let mut taken = Vec::new();
        pace(&run, &[Curve::Constant(20.0), Curve::Ramp(0.0, 60.0)].map(schedule), |number, due| {
            taken.push((due, number));
            taken.len() < 5
        });
        assert!(taken.is_sorted(), "{taken:?}");
        assert_eq!(taken.iter().filter(|(_, number)| *number == 0).count(), 2);
    }

    #[test]
    fn schedule_ends_early_without_a_receiver() {
        let run = Run::new(1);
        let (sender, dues) = mpsc::unbounded_channel();
        drop(dues);
        Schedule::constant(run.now(), 1, 1000).pace(&run, &[sender]);
        assert!(run.now() < 1_000_000);
    }
}
