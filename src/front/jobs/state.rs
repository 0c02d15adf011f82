//! The states of the background jobs of a server.

use std::time::Duration;

use parking_lot::Mutex;
use platform_model::timestamp::Timestamp;
use serde::Serialize;

use super::{Job, metrics};

/// The states of all background jobs of a server, in the order in which they were started.
#[derive(Debug, Default)]
pub struct JobStates(Mutex<Vec<JobState>>);

/// The state of a background job.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JobState {
    name: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    period_seconds: Option<f64>,
    lease: bool,
    /// The end of the last run.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_run: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_result: Option<RunResult>,
    /// The number of runs that failed or panicked since the last successful one.
    failures: u32,
    /// The number of panics since the server started.
    panics: u32,
}

/// The result of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub(super) enum RunResult {
    Done,
    Failed,
    Panicked,
}

impl JobStates {
    /// Returns the states of all jobs.
    pub fn all(&self) -> Vec<JobState> {
        self.0.lock().clone()
    }

    /// Adds a job that has not run yet, and returns its place.
    pub(super) fn add(&self, job: &Job) -> usize {
        metrics::register(job.name);
        let mut states = self.0.lock();
        states.push(JobState {
            name: job.name,
            period_seconds: job.period.as_ref().map(Duration::as_secs_f64),
            lease: job.lease,
            last_run: None,
            last_result: None,
            failures: 0,
            panics: 0,
        });
        states.len() - 1
    }

    /// Records the result of a run that has ended now. Returns the number of failures in a row.
    pub(super) fn record(&self, place: usize, result: RunResult) -> u32 {
        let mut states = self.0.lock();
        let state = &mut states[place];
        state.last_run = Some(Timestamp::now());
        state.last_result = Some(result);
        state.failures = if result == RunResult::Done { 0 } else { state.failures.saturating_add(1) };
        state.panics += u32::from(result == RunResult::Panicked);
        metrics::record(state.name, result, state.failures);
        state.failures
    }

    /// Records that the run in progress works.
    pub(super) fn recover(&self, place: usize) {
        let mut states = self.0.lock();
        states[place].failures = 0;
        metrics::record_recovery(states[place].name);
    }
}
