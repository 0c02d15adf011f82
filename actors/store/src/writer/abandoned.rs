//! Writes whose caller no longer waits. A client that disconnects ends its request and not the running write, which
//! is committed and must be published.

use platform_model::error::Result;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::{Committed, stopped};

/// The result of a running write.
pub(super) struct RunningWrite<A, F>
where
    A: FnOnce() -> F,
    F: FnOnce(Committed) + Send + 'static,
{
    under_way: Option<(oneshot::Receiver<Result<Committed>>, A)>,
}

impl<A, F> RunningWrite<A, F>
where
    A: FnOnce() -> F,
    F: FnOnce(Committed) + Send + 'static,
{
    /// Wraps a running write. `abandoned` returns the function that receives the committed write if the caller no
    /// longer waits.
    pub(super) fn of(reply: oneshot::Receiver<Result<Committed>>, abandoned: A) -> Self {
        Self { under_way: Some((reply, abandoned)) }
    }

    /// Waits for the result.
    pub(super) async fn wait(mut self) -> Result<Committed> {
        let Some((reply, _)) = &mut self.under_way else { return Err(stopped()) };
        let outcome = reply.await;
        self.under_way = None;
        outcome.unwrap_or_else(|_| Err(stopped()))
    }
}

impl<A, F> Drop for RunningWrite<A, F>
where
    A: FnOnce() -> F,
    F: FnOnce(Committed) + Send + 'static,
{
    fn drop(&mut self) {
        let Some((reply, abandoned)) = self.under_way.take() else { return };
        // If there is no runtime any more, the server is stopping.
        let Ok(runtime) = Handle::try_current() else { return };
        let publish = abandoned();
        runtime.spawn(async move {
            if let Ok(Ok(committed)) = reply.await {
                publish(committed);
            }
        });
    }
}
