//! The metrics of background jobs.

use std::time::{SystemTime, UNIX_EPOCH};

use super::state::RunResult;

/// The number of runs by job and result (done, failed, panicked).
const RUNS: &str = "platform_job_runs_total";
/// The number of runs that failed or panicked since the last successful one, by job.
const FAILURES: &str = "platform_job_failures";
/// The end of the last run, in seconds since 1970, by job.
const LAST_RUN: &str = "platform_job_last_run_timestamp_seconds";

/// Describes the metrics of this module to the installed recorder.
pub(crate) fn describe() {
    ::metrics::describe_counter!(RUNS, "runs of background jobs that were done, failed or panicked");
    ::metrics::describe_gauge!(FAILURES, "runs of a background job that failed since its last success");
    ::metrics::describe_gauge!(LAST_RUN, "end of the last run of a background job, in seconds since 1970");
}

/// Creates the counters of a job, so that a rule sees its first panic as an increase.
pub(super) fn register(name: &'static str) {
    for outcome in ["done", "failed", "panicked"] {
        ::metrics::counter!(RUNS, "name" => name, "outcome" => outcome).increment(0);
    }
}

pub(super) fn record(name: &'static str, result: RunResult, failures: u32) {
    let outcome = match result {
        RunResult::Done => "done",
        RunResult::Failed => "failed",
        RunResult::Panicked => "panicked",
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    ::metrics::counter!(RUNS, "name" => name, "outcome" => outcome).increment(1);
    ::metrics::gauge!(FAILURES, "name" => name).set(f64::from(failures));
    ::metrics::gauge!(LAST_RUN, "name" => name).set(now.as_secs_f64());
}

pub(super) fn record_recovery(name: &'static str) {
    ::metrics::gauge!(FAILURES, "name" => name).set(0.0);
}
