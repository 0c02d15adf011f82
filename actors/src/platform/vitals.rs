//! Checks whether the threads of a server respond.

use platform_model::error::{Error, Result};
use tokio::sync::oneshot;

use super::Platform;
use crate::session::dispatcher::AnswerPing;

impl Platform {
    /// Resolves when every thread of connections and every thread of actors has processed a message. It never resolves
    /// while one of them hangs.
    ///
    /// # Errors
    /// `Unavailable` when a thread of actors has ended.
    pub async fn wait_for_threads(&self) -> Result<()> {
        let ended = || Error::unavailable("a thread of actors has ended");
        let mut answers = Vec::new();
        for thread in &self.threads {
            let (sender, answer) = oneshot::channel();
            if !thread.arbiter.spawn(async move { sender.send(()).unwrap_or_default() }) {
                return Err(ended());
            }
            answers.push(answer);
        }
        let dispatchers = self.session_threads.lock().clone();
        for dispatcher in dispatchers {
            // A dispatcher that panicked is replaced when its thread starts the next session.
            dispatcher.send(AnswerPing).await.ok();
        }
        for answer in answers {
            answer.await.map_err(|_| ended())?;
        }
        Ok(())
    }
}
