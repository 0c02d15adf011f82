//! How long a connection waits for its peer: to take what is written, and to send a body.

use std::io;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use platform_actors::limits::Limits;

use super::Stream;
use super::clock::{Clock, Place};

/// Looks whether a peer takes what is written to it.
#[derive(Debug)]
pub(super) struct Taking {
    clock: Rc<Clock>,
    /// A peer that takes nothing for this long is gone.
    longest: Duration,
    /// Since there was no room.
    stuck: Option<Place>,
}

impl Taking {
    pub(super) fn new(clock: Rc<Clock>, longest: Duration) -> Self {
        Self { clock, longest, stuck: None }
    }

    pub(super) fn clock(&self) -> &Rc<Clock> {
        &self.clock
    }

    /// What became of writing; that the time is over when nothing of it was taken for too long.
    pub(super) fn unless_over<T>(
        &mut self,
        cx: &Context<'_>,
        stream: &mut Stream,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() || stream.took_some() {
            self.stuck = None;
        }
        if written.is_ready() {
            return written;
        }
        let place = self.stuck.get_or_insert_with(|| Place::take(&self.clock, self.longest));
        place.poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

/// How slowly a body may come: it may pause, and each byte gives back some of the time that pauses took. So what comes steadily may
/// take hours, and what comes by drops ends.
#[derive(Debug)]
pub(crate) struct Pace {
    bytes_per_second: u32,
    longest_pause: Duration,
    left: Duration,
    /// Since when bytes are waited for, if they are.
    since: Option<Instant>,
}

impl Pace {
    pub(crate) fn new(limits: &Limits) -> Self {
        let longest_pause = limits.body_pause;
        Self {
            bytes_per_second: limits.body_bytes_per_second,
            longest_pause,
            left: longest_pause,
            since: None,
        }
    }

    /// The next byte is waited for from this moment on; gives for how long.
    pub(crate) fn wait(&mut self) -> Duration {
        self.since = Some(Instant::now());
        self.left
    }

    /// So many bytes came, whether they were waited for or not.
    pub(crate) fn came(&mut self, bytes: usize) {
        let waited = self.since.take().map_or(Duration::ZERO, |since| since.elapsed());
        self.came_after(waited, bytes);
    }

    fn came_after(&mut self, waited: Duration, bytes: usize) {
        let seconds = bytes as f64 / f64::from(self.bytes_per_second);
        let earned = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        self.left = self.left.saturating_sub(waited).saturating_add(earned).min(self.longest_pause);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace() -> Pace {
        Pace::new(&Limits {
            body_bytes_per_second: 250,
            body_pause: Duration::from_secs(30),
            ..Limits::default()
        })
    }

    #[test]
    fn body_that_comes_slowly_and_steadily_has_all_the_time_of_the_world() {
        let mut pace = pace();
        for _ in 0..100_000 {
            pace.came_after(Duration::from_secs(1), 1000);
            assert!(pace.wait() > Duration::from_secs(29));
        }
    }

    #[test]
    fn body_that_comes_by_drops_runs_out_of_time() {
        let mut pace = pace();
        for _ in 0..10 {
            pace.came_after(Duration::from_secs(3), 1);
        }
        assert!(pace.wait() < Duration::from_secs(1), "{pace:?}");
    }

    #[test]
    fn bytes_that_came_fast_buy_no_longer_pause() {
        let mut pace = pace();
        pace.came_after(Duration::ZERO, 10_000_000);
        assert_eq!(pace.wait(), Duration::from_secs(30));
    }
}
