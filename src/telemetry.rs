//! Logs and metrics of a server process.

use std::io::IsTerminal;
use std::sync::OnceLock;
use std::time::Duration;

use actix_web::http::StatusCode;
use metrics::Histogram;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use tracing_subscriber::EnvFilter;

use crate::config::{LogFormat, Settings};

/// Seconds from a request's head to its answer, by route; held polls count until their head goes out.
const REQUEST_DURATION: &str = "platform_http_request_seconds";

/// Verifications of passwords that were throttled, by what (account, source) and how (delayed, refused).
const THROTTLED: &str = "platform_authentication_throttled_total";

/// Handshakes of TLS, by how they ended (done, failed, slow, plain).
const HANDSHAKES: &str = "platform_tls_handshakes_total";

/// How often histograms are folded up; until then each request that was answered takes room.
const UPKEEP: Duration = Duration::from_secs(1);

static RECORDER: OnceLock<PrometheusHandle> = OnceLock::new();

/// Sends log lines to standard error.
///
/// # Errors
/// When the filter cannot be read; the text says where.
pub fn start_logging(settings: &Settings) -> Result<(), String> {
    // Libraries that announce each of their steps are heard when somebody asks for them.
    let filter =
        EnvFilter::try_new(format!("actix_server=warn,refinery_core=warn,rustls=error,{}", settings.log))
            .map_err(|e| format!("--log {}: {e}", settings.log))?;
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    let started = match settings.log_format {
        LogFormat::Text => lines.try_init(),
        LogFormat::Json => lines.json().try_init(),
    };
    started.map_err(|e| e.to_string())
}

/// Installs the recorder, once per process; further calls do nothing.
pub fn start_metrics() {
    RECORDER.get_or_init(|| {
        let seconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];
        let rows = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0];
        let recorder = PrometheusBuilder::new()
            .set_buckets_for_metric(Matcher::Suffix("_seconds".into()), &seconds)
            .and_then(|builder| builder.set_buckets_for_metric(Matcher::Suffix("_rows".into()), &rows))
            .expect("the buckets are not empty")
            .build_recorder();
        let handle = recorder.handle();
        metrics::describe_histogram!(
            REQUEST_DURATION,
            "seconds from a request's head to its answer, by route"
        );
        metrics::describe_counter!(
            THROTTLED,
            "verifications of passwords that waited or were answered 429, for guesses at the account or by the source"
        );
        metrics::describe_counter!(
            HANDSHAKES,
            "handshakes of TLS that were done, failed, took too long, or were plain HTTP instead"
        );
        if metrics::set_global_recorder(recorder).is_ok() {
            platform_actors::metrics::describe();
        }
        handle
    });
}

/// Folds up histograms for as long as it is polled.
pub async fn keep_up() {
    loop {
        tokio::time::sleep(UPKEEP).await;
        if let Some(recorder) = RECORDER.get() {
            recorder.run_upkeep();
        }
    }
}

/// Everything measured, in Prometheus' text format.
pub fn render() -> String {
    RECORDER.get().map(PrometheusHandle::render).unwrap_or_default()
}

/// For whose wrong passwords a verification is throttled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Throttled {
    /// The account's.
    Account,
    /// The source's.
    Source,
}

/// Counts a verification that was `delayed` or `refused`.
pub fn count_throttled(by: Throttled, how: &'static str) {
    let by = match by {
        Throttled::Account => "account",
        Throttled::Source => "source",
    };
    metrics::counter!(THROTTLED, "by" => by, "how" => how).increment(1);
}

/// How a handshake of TLS ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handshake {
    /// There is a connection.
    Done,
    /// The client broke it off, or offered nothing that is served here.
    Failed,
    /// It took too long.
    Slow,
    /// The client spoke HTTP without TLS.
    Plain,
}

/// Counts a handshake that ended.
pub fn count_handshake(ended: Handshake) {
    let outcome = match ended {
        Handshake::Done => "done",
        Handshake::Failed => "failed",
        Handshake::Slow => "slow",
        Handshake::Plain => "plain",
    };
    metrics::counter!(HANDSHAKES, "outcome" => outcome).increment(1);
}

/// Durations of the requests of one route, by class of status. Handles are looked up once per route, so that a request
/// costs an addition and paths of devices make no metric of their own.
pub struct RouteDurations([Histogram; 5]);

impl RouteDurations {
    /// `route` is the pattern, e.g. `/alarm/alarms/{id}`.
    pub fn new(route: &str) -> Self {
        let of = |class: &'static str| metrics::histogram!(REQUEST_DURATION, "route" => route.to_owned(), "status" => class);
        Self(["1xx", "2xx", "3xx", "4xx", "5xx"].map(of))
    }

    /// Counts a request that was answered.
    pub fn record(&self, status: StatusCode, duration: Duration) {
        let class = (status.as_u16() / 100).clamp(1, 5) - 1;
        self.0[usize::from(class)].record(duration);
    }
}
