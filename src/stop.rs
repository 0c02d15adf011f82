//! The stop of the server, for whoever has something under way that would outlast it.
//!
//! A stop has two moments. When it begins, idle connections close, held polls are answered and sockets are told to go; requests
//! that are worked on are finished. When the grace is over, nobody waits any longer for what a client may never send: the rest
//! of a body, the end of a WebSocket.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::Notify;

/// From the beginning of a stop to the end of the grace. With the second at which the HTTP server looks whether its last
/// connection is gone, this makes a stop of one or two seconds.
pub(crate) const GRACE: Duration = Duration::from_millis(900);

/// Whether the server stops. Shared by all threads.
#[derive(Debug, Default)]
pub struct Stop {
    begun: Moment,
    grace_over: Moment,
}

impl Stop {
    /// Says that the server stops.
    pub(crate) fn begin(&self) {
        self.begun.come();
    }

    /// Says that nobody waits for clients any longer.
    pub(crate) fn end_grace(&self) {
        self.grace_over.come();
    }

    /// Whether the server stops.
    pub fn has_begun(&self) -> bool {
        self.begun.has_come()
    }

    /// Resolves when the server stops, at once when it does already.
    pub async fn begun(&self) {
        self.begun.wait().await;
    }

    /// Whether clients are waited for no longer.
    pub fn grace_is_over(&self) -> bool {
        self.grace_over.has_come()
    }

    /// Resolves when clients are waited for no longer, at once when that is so already.
    pub async fn grace_over(&self) {
        self.grace_over.wait().await;
    }
}

/// Something that happens once.
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
        // Made before the look, so that it is woken also when the moment comes between the two.
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
    async fn stop_is_seen_by_who_waited_for_it_and_by_who_comes_later() {
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
