//! The loop that drives every background job.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use platform_model::error::{Error, Result};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::state::RunResult;
use super::{First, Job, JobStates};

/// A function that is called with the name of a job at the begin of each run.
#[derive(Debug, Clone, Copy)]
pub struct BeforeRun(pub fn(&'static str));

impl PartialEq for BeforeRun {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::fn_addr_eq(self.0, other.0)
    }
}

impl Eq for BeforeRun {}

/// Starts background jobs and keeps them running.
#[derive(Clone)]
pub struct Supervisor {
    states: Arc<JobStates>,
    /// The longest pause after an error or a panic. A run that waits for events counts as a success when it has lasted
    /// as long.
    restart: Duration,
    before_run: Option<BeforeRun>,
}

/// The end of a run: its result, or the payload of its panic.
type Ended = Result<Result<()>, Box<dyn Any + Send>>;

impl Supervisor {
    /// Creates a supervisor that records results in `states`. After an error or a panic a job pauses for at most
    /// `restart`.
    pub fn new(states: Arc<JobStates>, restart: Duration, before_run: Option<BeforeRun>) -> Self {
        Self { states, restart, before_run }
    }

    /// Runs jobs on the calling thread until the returned set is dropped or aborted. Must be called within an actix
    /// system.
    pub fn start(&self, jobs: impl IntoIterator<Item = Job>) -> JoinSet<()> {
        let mut running = JoinSet::new();
        for job in jobs {
            let place = self.states.add(&job);
            running.spawn_local(self.clone().keep_running(job, place));
        }
        running
    }

    async fn keep_running(self, mut job: Job, place: usize) {
        match job.first {
            First::AtOnce => {}
            First::AfterPause => job.rest((job.pause)()).await,
            First::After(delay) => job.rest(delay).await,
        }
        loop {
            let ended = self.run_once(&mut job, place).await;
            let pause = match self.record(&job, place, ended) {
                RunResult::Done => (job.pause)(),
                RunResult::Failed | RunResult::Panicked => self.restart.min(job.retry),
            };
            job.rest(pause).await;
        }
    }

    async fn run_once(&self, job: &mut Job, place: usize) -> Ended {
        let (name, waits_for_events) = (job.name, job.period.is_none());
        let run = async {
            self.before_run.iter().for_each(|BeforeRun(call)| call(name));
            job.run.run().await
        };
        let mut run = pin!(AssertUnwindSafe(run).catch_unwind());
        if waits_for_events {
            tokio::select! {
                ended = &mut run => return ended,
                () = sleep(self.restart) => self.states.recover(place),
            }
        }
        run.await
    }

    /// Records the end of a run, and logs the first and then ever fewer of the failures in a row.
    fn record(&self, job: &Job, place: usize, ended: Ended) -> RunResult {
        let result = match &ended {
            Ok(Ok(())) => RunResult::Done,
            Ok(Err(_)) => RunResult::Failed,
            Err(_) => RunResult::Panicked,
        };
        let failures = self.states.record(place, result);
        let job = job.name;
        match ended {
            Ok(Ok(())) => {}
            // The watch of the database has logged this already.
            Ok(Err(error @ Error::Unavailable(_))) => {
                tracing::debug!(job, %error, "a background job cannot run now");
            }
            Ok(Err(error)) if failures.is_power_of_two() => {
                tracing::warn!(job, failures, %error, "a background job failed; it is run again");
            }
            Ok(Err(error)) => tracing::debug!(job, failures, %error, "a background job failed again"),
            Err(panic) => {
                let message = message_of(&*panic);
                tracing::error!(job, failures, message, "a background job ended in a panic; it is run again");
            }
        }
        result
    }
}

impl Job {
    /// Waits for the end of a pause, or until the job is woken.
    async fn rest(&self, pause: Duration) {
        match &self.wake {
            None => sleep(pause).await,
            Some(wake) => tokio::select! {
                () = sleep(pause) => {}
                () = wake() => {}
            },
        }
    }
}

fn message_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}
