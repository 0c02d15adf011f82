//! Background jobs: work that a server repeats as long as it runs.
//!
//! The table of all jobs is in `server/jobs.rs`. A [`Job`] has the code of one run and the time of the next one. The
//! [`Supervisor`] runs it again, also after an error or a panic, and records each result in [`JobStates`], which
//! readiness, metrics, `platform status` and the console show.

mod metrics;
mod state;
mod supervisor;
#[cfg(test)]
mod tests;

use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use platform_model::error::Result;

pub(crate) use metrics::describe;
pub use state::{JobState, JobStates};
pub use supervisor::{BeforeRun, Supervisor};

/// The longest pause before a job that waits for events runs again after an error or a panic.
const RETRY_OF_EVENTS: Duration = Duration::from_secs(1);

/// A background job. All jobs share the main thread, so a run never blocks it. A run may be dropped at any await.
pub struct Job {
    name: &'static str,
    /// The time between the end of a run and the begin of the next one; `None` if a run waits for an event itself.
    period: Option<Duration>,
    first: First,
    lease: bool,
    pause: Box<dyn Fn() -> Duration>,
    /// The longest pause after an error or a panic.
    retry: Duration,
    wake: Option<Box<dyn Fn() -> LocalBoxFuture<'static, ()>>>,
    run: Box<dyn Run>,
}

/// When the first run begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum First {
    AtOnce,
    AfterPause,
    After(Duration),
}

/// One run of a job. A closure that implements it keeps the state between runs.
trait Run {
    fn run(&mut self) -> LocalBoxFuture<'_, Result<()>>;
}

impl<F: AsyncFnMut() -> Result<()>> Run for F {
    fn run(&mut self) -> LocalBoxFuture<'_, Result<()>> {
        Box::pin(self())
    }
}

impl Job {
    /// Creates a job that runs at once, and again when `period` has passed since the end of a run.
    pub fn every(
        period: Duration,
        name: &'static str,
        run: impl AsyncFnMut() -> Result<()> + 'static,
    ) -> Self {
        Self {
            name,
            period: Some(period),
            first: First::AtOnce,
            lease: false,
            pause: Box::new(move || period),
            retry: period,
            wake: None,
            run: Box::new(run),
        }
    }

    /// Creates a job whose runs wait for events. The next run begins when `pause` has passed since the end of a run.
    pub fn on_events(
        pause: Duration,
        name: &'static str,
        run: impl AsyncFnMut() -> Result<()> + 'static,
    ) -> Self {
        Self { period: None, retry: RETRY_OF_EVENTS, ..Self::every(pause, name, run) }
    }

    /// Delays the first run by one pause.
    pub fn first_after_pause(self) -> Self {
        Self { first: First::AfterPause, ..self }
    }

    /// Delays the first run by `delay`, or by one period if that is shorter.
    pub fn first_after(self, delay: Duration) -> Self {
        let delay = self.period.map_or(delay, |period| period.min(delay));
        Self { first: First::After(delay), ..self }
    }

    /// Says that only the server that holds a lease does the work.
    pub fn by_lease(self) -> Self {
        Self { lease: true, ..self }
    }

    /// Computes the pause before each run.
    pub fn paused_for(self, pause: impl Fn() -> Duration + 'static) -> Self {
        Self { pause: Box::new(pause), ..self }
    }

    /// Sets the longest pause after an error or a panic.
    pub fn retried_after(self, retry: Duration) -> Self {
        Self { retry, ..self }
    }

    /// Ends a pause as soon as `wake` resolves.
    pub fn woken_by<W: Future<Output = ()> + 'static>(self, wake: impl Fn() -> W + 'static) -> Self {
        Self { wake: Some(Box::new(move || wake().boxed_local())), ..self }
    }
}
