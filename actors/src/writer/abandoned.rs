//! Writes that nobody waits for any more. A client that goes away ends its request, not the write that is under way: that is committed,
//! and must be published.

use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::{Written, stopped};
use crate::error::Result;

/// The outcome of a write that is under way.
pub(super) struct Outcome<A, F>
where
    A: FnOnce() -> F,
    F: FnOnce(Written) + Send + 'static,
{
    under_way: Option<(oneshot::Receiver<Result<Written>>, A)>,
}

impl<A, F> Outcome<A, F>
where
    A: FnOnce() -> F,
    F: FnOnce(Written) + Send + 'static,
{
    /// `abandoned` gives what takes a write that is committed when nobody waits for this any more.
    pub(super) fn of(answer: oneshot::Receiver<Result<Written>>, abandoned: A) -> Self {
        Self { under_way: Some((answer, abandoned)) }
    }

    /// Waits for it.
    pub(super) async fn wait(mut self) -> Result<Written> {
        let Some((answer, _)) = &mut self.under_way else { return Err(stopped()) };
        let outcome = answer.await;
        self.under_way = None;
        outcome.unwrap_or_else(|_| Err(stopped()))
    }
}

impl<A, F> Drop for Outcome<A, F>
where
    A: FnOnce() -> F,
    F: FnOnce(Written) + Send + 'static,
{
    fn drop(&mut self) {
        let Some((answer, abandoned)) = self.under_way.take() else { return };
        // Without a runtime the server is stopping.
        let Ok(runtime) = Handle::try_current() else { return };
        let publish = abandoned();
        runtime.spawn(async move {
            if let Ok(Ok(written)) = answer.await {
                publish(written);
            }
        });
    }
}
