//! Questions to all living servers. Each of them receives a request through the database; those that do not respond
//! within a second are named.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use platform_model::error::Result;
use platform_model::realtime::session_move::ServerMessage;
use platform_store::realtime::servers::list_living;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use super::Platform;

/// The time that servers, and their threads, may take to respond.
pub(super) const LONGEST: Duration = Duration::from_secs(1);

/// The open requests to other servers, with responses of one kind.
#[derive(Debug)]
pub(super) struct Questions<T> {
    waiting: Mutex<HashMap<u64, mpsc::UnboundedSender<(i64, T)>>>,
    next: AtomicU64,
}

/// The responses to a question.
pub(super) struct Responses<T> {
    /// The response of this server, and then those of the others.
    pub(super) responses: Vec<T>,
    /// The names of the servers that did not respond.
    pub(super) missing: Vec<String>,
}

impl<T> Default for Questions<T> {
    fn default() -> Self {
        Self { waiting: Mutex::default(), next: AtomicU64::new(0) }
    }
}

impl<T> Questions<T> {
    /// Passes a response on to its request.
    pub(super) fn receive(&self, request: u64, from: i64, response: T) {
        if let Some(waiting) = self.waiting.lock().get(&request) {
            waiting.send((from, response)).ok();
        }
    }
}

impl Platform {
    /// Asks all servers. `message` returns the message to the others, given the number of the request and this server;
    /// `here` is the response of this server.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub(super) async fn ask_servers<T>(
        &self,
        questions: &Questions<T>,
        message: impl Fn(u64, i64) -> ServerMessage,
        here: impl Future<Output = T>,
    ) -> Result<Responses<T>> {
        let own = self.database.session_moves().server();
        let mut others: HashMap<i64, String> = list_living(&self.database).await?.into_iter().collect();
        others.remove(&own);
        let (sender, mut received) = mpsc::unbounded_channel();
        let request = questions.next.fetch_add(1, Ordering::Relaxed);
        questions.waiting.lock().insert(request, sender);
        for server in others.keys() {
            self.database.session_moves().tell(*server, message(request, own));
        }
        let mut responses = vec![here.await];
        let until = Instant::now() + LONGEST;
        while !others.is_empty()
            && let Ok(Some((from, response))) = timeout_at(until, received.recv()).await
        {
            others.remove(&from);
            responses.push(response);
        }
        questions.waiting.lock().remove(&request);
        let mut missing: Vec<String> = others.into_values().collect();
        missing.sort();
        Ok(Responses { responses, missing })
    }
}
