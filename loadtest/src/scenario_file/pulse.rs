//! Measures whether the generator itself runs: a task wakes every few milliseconds and notes when it wakes too late. A
//! generator that stands still delays its posts and its readings, which looks like a slow server.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde::Serialize;
use tokio::task::JoinHandle;
use tokio::time::sleep;

/// The time between two wakings.
const INTERVAL: Duration = Duration::from_millis(10);
/// The shortest delay that is noted.
const NOTED: Duration = Duration::from_millis(50);

/// A delay of the generator.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct GeneratorDelay {
    /// The seconds from the start of the run to the time at which the task was due to wake.
    pub(super) at: f64,
    /// The milliseconds by which it woke too late.
    pub(super) ms: f64,
}

/// The running measurement.
#[derive(Debug)]
pub(super) struct Pulse {
    noted: Arc<Mutex<Vec<GeneratorDelay>>>,
    task: JoinHandle<()>,
}

impl Pulse {
    /// Starts the measurement; times count from `started`.
    pub(super) fn start(started: Instant) -> Self {
        let noted = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&noted);
        let task = tokio::spawn(async move {
            loop {
                let due = Instant::now() + INTERVAL;
                sleep(INTERVAL).await;
                let late = due.elapsed();
                if late >= NOTED {
                    let at = due.saturating_duration_since(started).as_secs_f64();
                    let delay = GeneratorDelay { at, ms: late.as_secs_f64() * 1000.0 };
                    into.lock().push(delay);
                }
            }
        });
        Self { noted, task }
    }

    /// Returns the delays so far.
    pub(super) fn so_far(&self) -> Vec<GeneratorDelay> {
        self.noted.lock().clone()
    }

    /// Stops the measurement and returns the delays.
    pub(super) fn stop(self) -> Vec<GeneratorDelay> {
        self.task.abort();
        std::mem::take(&mut *self.noted.lock())
    }
}

/// Returns the longest delay that overlaps the seconds from `from` to `to`.
pub(super) fn longest(delays: &[GeneratorDelay], from: f64, to: f64) -> Option<GeneratorDelay> {
    let within = delays.iter().filter(|delay| delay.at <= to && delay.at + delay.ms / 1000.0 >= from);
    within.copied().max_by(|one, other| one.ms.total_cmp(&other.ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longest_delay_of_a_phase_is_found() {
        let delay = |at, ms| GeneratorDelay { at, ms };
        let all = [delay(1.0, 60.0), delay(4.5, 3000.0), delay(9.0, 80.0)];
        assert_eq!(longest(&all, 0.0, 4.0), Some(all[0]));
        // A delay that began in the phase before counts for both.
        assert_eq!(longest(&all, 5.0, 10.0), Some(all[1]));
        assert_eq!(longest(&all, 8.0, 10.0), Some(all[2]));
        assert_eq!(longest(&all, 2.0, 4.0), None);
    }

    #[tokio::test]
    async fn blocked_generator_is_noted() {
        let pulse = Pulse::start(Instant::now());
        sleep(INTERVAL).await;
        // The only thread of this runtime does nothing else meanwhile.
        std::thread::sleep(3 * NOTED);
        sleep(INTERVAL).await;
        let delays = pulse.stop();
        assert!(delays.iter().any(|delay| delay.ms >= NOTED.as_secs_f64() * 1000.0), "{delays:?}");
    }
}
