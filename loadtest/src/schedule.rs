//! Posting on a fixed schedule, regardless of the responses.

use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use crate::run::Run;

/// The shortest pause between two checks of the clock; posts that fall due meanwhile are handed out together.
const CHECK_INTERVAL: Duration = Duration::from_micros(200);

/// A fixed schedule: post `i` is due at `start + i / rate`, regardless of the posts before it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Schedule {
    /// The start, in microseconds of the run.
    pub(crate) start: u64,
    /// The number of posts per second.
    pub(crate) per_second: u32,
    /// The number of posts.
    pub(crate) count: u64,
}

impl Schedule {
    /// Returns when post `index` is due, in microseconds of the run.
    pub(crate) fn due(&self, index: u64) -> u64 {
        self.start + index * 1_000_000 / u64::from(self.per_second)
    }

    /// Returns when the last post is over, in microseconds of the run.
    pub(crate) fn end(&self) -> u64 {
        self.due(self.count)
    }

    /// Hands each due time to its poster, in turn, when it has come. It blocks and needs its own thread,
    /// because the timers of the runtime are coarser (1 ms) than the latencies to be measured. It ends early
    /// when no poster listens.
    pub(crate) fn pace(&self, run: &Run, posters: &[mpsc::UnboundedSender<u64>]) {
        for (index, poster) in (0..self.count).zip(posters.iter().cycle()) {
            let due = self.due(index);
            let left = run.instant(due).saturating_duration_since(Instant::now());
            if !left.is_zero() {
                std::thread::sleep(left.max(CHECK_INTERVAL));
            }
            // A poster that gave up no longer listens; the others continue.
            if poster.send(due).is_err() && posters.iter().all(mpsc::UnboundedSender::is_closed) {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn posts_are_due_evenly_and_never_early() {
        let schedule = Schedule { start: 500, per_second: 7, count: 15 };
        assert_eq!((schedule.due(0), schedule.due(7), schedule.due(14)), (500, 1_000_500, 2_000_500));
        let run = Run::new(1);
        let schedule = Schedule { start: run.now(), per_second: 1000, count: 20 };
        let (sender, mut dues) = mpsc::unbounded_channel();
        schedule.pace(&run, &[sender]);
        let paced: Vec<u64> = std::iter::from_fn(|| dues.try_recv().ok()).collect();
        assert_eq!(paced, (0..20).map(|index| schedule.due(index)).collect::<Vec<_>>());
        assert!(run.now() >= schedule.due(19));
    }

    #[test]
    fn schedule_ends_early_when_nobody_listens() {
        let run = Run::new(1);
        let (sender, dues) = mpsc::unbounded_channel();
        drop(dues);
        Schedule { start: run.now(), per_second: 1, count: 1000 }.pace(&run, &[sender]);
        assert!(run.now() < 1_000_000);
    }
}
