//! Records every request, whichever way it takes: its line in the log, its metrics, and its part in the statistics of
//! its tenant. [`middleware`] does so for all requests except those of the fast lane.

pub(crate) mod counts;
mod durations;
pub(crate) mod failures;
pub mod log;
pub mod middleware;

use platform_front::telemetry;

pub use durations::RouteDurations;

/// Installs the metrics recorder of the process, with the descriptions of all metrics.
pub fn start_metrics() {
    telemetry::start_metrics(durations::REQUEST_DURATION, || {
        durations::describe();
        platform_actors::metrics::describe();
    });
}
