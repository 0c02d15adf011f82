//! The time limits within which a peer must accept written bytes and send a request body.

use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use platform_model::limits::Limits;

use super::clock::{Clock, Deadline};
use super::discard::Discard;
use super::stream::Stream;
use crate::stop::Stop;

/// The longest pauses of a client whose bytes are discarded (C-07b), if those of a body may be longer.
const PAUSE_OF_DISCARDED: Duration = Duration::from_secs(10);
/// The time after which a response that nobody reads no longer delays a stop.
const UNREAD_AT_STOP: Duration = Duration::from_secs(3);

/// The terms that hold for all connections of a worker.
#[derive(Debug)]
pub struct Terms {
    /// The deadlines of the worker.
    pub clock: Rc<Clock>,
    /// The stop of the server.
    pub stop: Arc<Stop>,
    /// A peer that accepts nothing for this time counts as gone.
    pub unread_answer: Duration,
    /// The pace at which bytes must arrive that are discarded.
    pub discards: Pace,
    /// Returns whether a target can be upgraded to a WebSocket (C-21).
    pub takes_upgrades: fn(&str) -> bool,
}

impl Terms {
    /// Returns new bounds of what is discarded.
    pub(super) fn discard(&self) -> Box<Discard> {
        Box::new(Discard::new(&self.clock, self.discards.clone()))
    }
}

/// Detects a peer that does not accept the bytes written to it.
#[derive(Debug, Default)]
pub(crate) struct WriteTimeout {
    /// The timer of a write that found no space in the send buffer.
    stuck: Option<Deadline>,
    /// Whether the timer is that of a stop.
    is_of_stop: bool,
}

impl WriteTimeout {
    /// Returns the result of a write, or a timeout error when the peer has accepted nothing for too long.
    pub(super) fn unless_over<T>(
        &mut self,
        cx: &Context<'_>,
        stream: &mut Stream,
        terms: &Terms,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() || stream.took_some() {
            *self = Self::default();
        }
        if written.is_ready() {
            return written;
        }
        let deadline = self.stuck.get_or_insert_with(|| Deadline::take(&terms.clock, terms.unread_answer));
        if terms.stop.has_begun() && !std::mem::replace(&mut self.is_of_stop, true) {
            deadline.set(at_stop(terms.unread_answer));
        }
        deadline.poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

/// Returns the time for which a stop waits for a peer that accepts nothing. `unread_answer` is the time outside of a
/// stop.
pub fn at_stop(unread_answer: Duration) -> Duration {
    unread_answer.min(UNREAD_AT_STOP)
}

/// Limits how slowly a body may arrive. The client may pause, and each byte that arrives restores part of the time that
/// pauses used up. A body that arrives steadily may take hours; one that arrives byte by byte is aborted.
#[derive(Debug, Clone)]
pub struct Pace {
    bytes_per_second: u32,
    longest_pause: Duration,
    left: Duration,
    /// The time since which the server has been waiting for bytes, if it is waiting.
    since: Option<Instant>,
}

impl Pace {
    /// Creates the limit of the bytes of a body.
    pub fn new(limits: &Limits) -> Self {
        Self::with_pauses(limits, limits.body_pause)
    }

    /// Creates the limit of bytes that are discarded (C-07b).
    pub fn of_discarded(limits: &Limits) -> Self {
        Self::with_pauses(limits, limits.body_pause.min(PAUSE_OF_DISCARDED))
    }

    fn with_pauses(limits: &Limits, longest_pause: Duration) -> Self {
        Self {
            bytes_per_second: limits.body_bytes_per_second,
            longest_pause,
            left: longest_pause,
            since: None,
        }
    }

    /// Starts to wait for the next byte, and returns the longest wait.
    pub fn wait(&mut self) -> Duration {
        self.since = Some(Instant::now());
        self.left
    }

    /// Records that this number of bytes arrived, whether or not the server was waiting for them.
    pub fn arrived(&mut self, bytes: usize) {
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
