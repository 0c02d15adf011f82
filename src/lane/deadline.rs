//! Until when a connection waits.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::time::{Duration, Instant, Sleep};

/// A time that is moved with each thing a connection does. The timer below is moved when it fires too early, and not before:
/// most of the times that are set never come.
pub(super) struct Deadline<'s> {
    timer: Pin<&'s mut Sleep>,
    due: Instant,
}

impl<'s> Deadline<'s> {
    /// Due when the timer is.
    pub(super) fn new(timer: Pin<&'s mut Sleep>) -> Self {
        Self { due: timer.deadline(), timer }
    }

    /// Due after a while.
    pub(super) fn set(&mut self, wait: Duration) {
        self.due = Instant::now() + wait;
        if self.due < self.timer.deadline() {
            self.timer.as_mut().reset(self.due);
        }
    }

    /// Ready when it is due.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            ready!(self.timer.as_mut().poll(cx));
            if self.due <= Instant::now() {
                return Poll::Ready(());
            }
            self.timer.as_mut().reset(self.due);
        }
    }
}
