//! The time limits within which a peer must accept written bytes and send a request body.

use std::io;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use platform_model::limits::Limits;

use super::clock::{Clock, Deadline};
use super::stream::Stream;

/// Detects a peer that does not accept the bytes written to it.
#[derive(Debug)]
pub(crate) struct WriteTimeout {
    clock: Rc<Clock>,
    /// A peer that accepts nothing for this time counts as gone.
    longest: Duration,
    /// The timer of a write that found no space in the send buffer.
    stuck: Option<Deadline>,
}

impl WriteTimeout {
    pub(crate) fn new(clock: Rc<Clock>, longest: Duration) -> Self {
        Self { clock, longest, stuck: None }
    }

    pub(super) fn clock(&self) -> &Rc<Clock> {
        &self.clock
    }

    /// Returns the result of a write, or a timeout error when the peer has accepted nothing for too long.
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
        let deadline = self.stuck.get_or_insert_with(|| Deadline::take(&self.clock, self.longest));
        deadline.poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

/// Limits how slowly a body may arrive. The client may pause, and each byte that arrives restores part of the time that
/// pauses used up. A body that arrives steadily may take hours; one that arrives byte by byte is aborted.
#[derive(Debug)]
pub(crate) struct Pace {
    bytes_per_second: u32,
    longest_pause: Duration,
    left: Duration,
    /// The time since which the server has been waiting for bytes, if it is waiting.
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

    /// Starts to wait for the next byte, and returns the longest wait.
    pub(crate) fn wait(&mut self) -> Duration {
        self.since = Some(Instant::now());
        self.left
    }

    /// Records that this number of bytes arrived, whether or not the server was waiting for them.
    pub(crate) fn arrived(&mut self, bytes: usize) {
        let waited = self.since.take().map_or(Duration::ZERO, |since| since.elapsed());
        self.arrived_after(waited, bytes);
    }

    fn arrived_after(&mut self, waited: Duration, bytes: usize) {
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
            pace.arrived_after(Duration::from_secs(1), 1000);
            assert!(pace.wait() > Duration::from_secs(29));
        }
    }

    #[test]
    fn body_that_comes_by_drops_runs_out_of_time() {
        let mut pace = pace();
        for _ in 0..10 {
            pace.arrived_after(Duration::from_secs(3), 1);
        }
        assert!(pace.wait() < Duration::from_secs(1), "{pace:?}");
    }

    #[test]
    fn bytes_that_came_fast_buy_no_longer_pause() {
        let mut pace = pace();
        pace.arrived_after(Duration::ZERO, 10_000_000);
        assert_eq!(pace.wait(), Duration::from_secs(30));
    }
}
