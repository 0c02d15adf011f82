//! The stop of the server: the signal that begins it, and its state, for tasks that would outlast it.
//!
//! A stop has two stages. When it begins, idle connections are closed, held polls receive their responses and
//! WebSockets are asked to close; requests in progress are completed. When the grace period ends, the server no longer
//! waits for anything that a client may never send: the rest of a body, the close of a WebSocket.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;

/// The time from the beginning of a stop to the end of the grace period. The HTTP server checks once per second whether
/// its last connection has ended, so a stop takes one or two seconds.
pub const GRACE: Duration = Duration::from_millis(900);

/// The stop state of the server, shared by all threads.
#[derive(Debug, Default)]
pub struct Stop {
    begun: Moment,
    grace_over: Moment,
}

impl Stop {
    /// Marks the beginning of the stop.
    pub fn begin(&self) {
        self.begun.come();
    }

    /// Marks the end of the grace period for clients.
    pub fn end_grace(&self) {
        self.grace_over.come();
    }

    /// Returns whether the server is stopping.
    pub fn has_begun(&self) -> bool {
        self.begun.has_come()
    }

    /// Resolves when the server stops, immediately if it is already stopping.
    pub async fn begun(&self) {
        self.begun.wait().await;
    }

    /// Returns whether the grace period for clients is over.
    pub fn grace_is_over(&self) -> bool {
        self.grace_over.has_come()
    }

    /// Resolves when the grace period for clients ends, immediately if it is already over.
    pub async fn grace_over(&self) {
        self.grace_over.wait().await;
    }
}

/// Resolves at SIGTERM or Ctrl-C. The signal handlers are installed immediately, so that a script that reads `ready`
/// may stop the server at once.
pub fn stop_signal() -> io::Result<impl Future<Output = ()>> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
        tracing::info!("stopping");
    })
}

/// An event that occurs once.
#[derive(Debug, Default)]
struct Moment {
    has_come: AtomicBool,
    waiting: Notify,
}

impl Moment {
    fn come(&self) {
        self.has_come.store(true, Ordering::Release);
        self.waiting.notify_waiters();
    }

    fn has_come(&self) -> bool {
        self.has_come.load(Ordering::Acquire)
    }

    async fn wait(&self) {
        // The future is created before the check, so that it also wakes when the event occurs between the two.
        let woken = self.waiting.notified();
        if !self.has_come() {
            woken.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn stop_is_seen_by_earlier_and_later_waiters() {
        let stop = Stop::default();
        let waited = async {
            stop.begun().await;
            (stop.has_begun(), stop.grace_is_over())
        };
        let begin = async { stop.begin() };

        let (seen, ()) = tokio::join!(waited, begin);

        assert_eq!(seen, (true, false));
        stop.begun().await;
        stop.end_grace();
        stop.grace_over().await;
    }
}
