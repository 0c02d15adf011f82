//! Logs and metrics of a server process.

mod quota;

use std::io::IsTerminal;
use std::sync::{LazyLock, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

use actix_http::error::DispatchError;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use tracing_subscriber::filter::FilterExt;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

use quota::Quotas;

use crate::config::{LogFormat, Settings};
use crate::jobs;
use crate::terminal::LogLines;

/// The number of throttled password verifications, by subject (account, source) and effect (delayed, refused).
const THROTTLED: &str = "platform_authentication_throttled_total";

/// The number of log-ins that failed, by kind (password, token).
const FAILED_LOGINS: &str = "platform_authentication_failures_total";

/// The number of TLS handshakes, by result (done, failed, slow, plain).
const HANDSHAKES: &str = "platform_tls_handshakes_total";

/// The number of connections that ended because of an error of the peer, by kind (malformed, slow, undeliverable,
/// other).
const FAULTY_CONNECTIONS: &str = "platform_http_faulty_connections_total";

/// The number of free bytes on the disk of the private PostgreSQL.
const FREE_DISK: &str = "platform_disk_free_bytes";

/// 1, with the version of the program and of its schema as labels.
const BUILD: &str = "platform_build_info";

/// The end of the certificate's validity, in seconds since 1970.
const CERTIFICATE_EXPIRY: &str = "platform_tls_certificate_expiry_timestamp_seconds";

/// The default log levels of libraries; `--log` may raise the level of each. `actix_http` logs malformed requests from
/// anybody as errors, so they are counted instead. `tokio_postgres` logs statements with their parameters, including
/// password hashes, and its notices report no problems.
const LIBRARIES: &str =
    "actix_http=off,actix_server=warn,refinery_core=warn,rustls=error,tokio_postgres=warn";

static QUOTAS: LazyLock<Quotas> = LazyLock::new(Quotas::default);

static RECORDER: OnceLock<PrometheusHandle> = OnceLock::new();

/// Returns the filter of a log, with that of the libraries.
///
/// # Errors
/// The filter is invalid; the text contains the position.
pub fn check_filter(filter: &str) -> Result<EnvFilter, String> {
    EnvFilter::try_new(format!("{LIBRARIES},{filter}")).map_err(|error| format!("--log {filter}: {error}"))
}

/// Starts to log to standard error.
///
/// # Errors
/// The filter is invalid; the text contains the position.
pub fn start_logging(settings: &Settings) -> Result<(), String> {
    let filter = check_filter(&settings.log)?;
    let lines =
        tracing_subscriber::fmt::layer().with_ansi(std::io::stderr().is_terminal()).with_writer(|| LogLines);
    let lines = match settings.log_format {
        LogFormat::Text => lines.boxed(),
        LogFormat::Json => lines.json().boxed(),
    };
    let quotas: &'static Quotas = &QUOTAS;
    let started = tracing_subscriber::registry().with(lines.with_filter(filter.and(quotas))).try_init();
    started.map_err(|e| e.to_string())
}

/// Installs the metrics recorder once per process. Further calls do nothing. `describe` describes the metrics of the
/// server to it, and `of_requests` is the name of the histogram of requests, of which there is one for each interface.
pub fn start_metrics(of_requests: &str, describe: impl FnOnce()) {
    RECORDER.get_or_init(|| {
        let seconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];
        let fewer_seconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0];
        let rows = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0];
        let recorder = PrometheusBuilder::new()
            .set_buckets_for_metric(Matcher::Suffix("_seconds".into()), &seconds)
            .and_then(|builder| {
                builder.set_buckets_for_metric(Matcher::Full(of_requests.into()), &fewer_seconds)
            })
            .and_then(|builder| builder.set_buckets_for_metric(Matcher::Suffix("_rows".into()), &rows))
            .expect("the buckets are not empty")
            .build_recorder();
        let handle = recorder.handle();
        // Descriptions go to the installed recorder.
        if metrics::set_global_recorder(recorder).is_ok() {
            describe();
            describe_own();
            jobs::describe();
            platform_store::metrics::describe();
            metrics_process::Collector::default().describe();
            let schema = format!("V{}", platform_store::schema::restoration::newest_schema());
            metrics::gauge!(BUILD, "version" => env!("CARGO_PKG_VERSION"), "schema" => schema).set(1.0);
        }
        handle
    });
}

/// Describes the metrics of this module to the installed recorder.
fn describe_own() {
    metrics::describe_counter!(
        THROTTLED,
        "verifications of passwords that were delayed or got 429, because of guesses at the account or by the source"
    );
    metrics::describe_counter!(FAILED_LOGINS, "log-ins with a wrong password or an invalid token");
    metrics::describe_counter!(
        HANDSHAKES,
        "handshakes of TLS that were done, failed, took too long, or were plain HTTP instead"
    );
    metrics::describe_counter!(
        FAULTY_CONNECTIONS,
        "connections that ended because of the peer: malformed or slow requests, undeliverable responses"
    );
    metrics::describe_gauge!(BUILD, "1, with the version of the program and of the newest schema it knows");
    metrics::describe_gauge!(
        CERTIFICATE_EXPIRY,
        "end of the validity of the certificate, in seconds since 1970; absent without HTTPS"
    );
    metrics::describe_gauge!(FREE_DISK, "bytes that are free on the disk of the private PostgreSQL");
    metrics::describe_counter!(
        quota::LEFT_OUT,
        "log lines that were omitted because their place in the code had logged enough"
    );
}

/// Aggregates histograms and renews the quotas of log lines. It must be called every second: until then each completed
/// request takes memory, and the quotas are those of a second.
pub fn keep_up() {
    QUOTAS.renew();
    if let Some(recorder) = RECORDER.get() {
        recorder.run_upkeep();
    }
}

/// Returns all metrics of the recorder in Prometheus' text format, with those of the process as they are now.
pub fn render() -> String {
    metrics_process::Collector::default().collect();
    RECORDER.get().map(PrometheusHandle::render).unwrap_or_default()
}

/// The subject whose wrong passwords caused the throttling of a verification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Throttled {
    /// The account.
    Account,
    /// The address of the client.
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

/// Counts a log-in that failed.
pub fn count_failed_login(kind: &'static str) {
    metrics::counter!(FAILED_LOGINS, "kind" => kind).increment(1);
}

/// The result of a TLS handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handshake {
    /// The connection is established.
    Done,
    /// The client aborted the handshake, or offered nothing that the server supports.
    Failed,
    /// The handshake exceeded its timeout.
    Slow,
    /// The client sent HTTP without TLS.
    Plain,
}

/// Counts a completed handshake.
pub fn count_handshake(ended: Handshake) {
    let outcome = match ended {
        Handshake::Done => "done",
        Handshake::Failed => "failed",
        Handshake::Slow => "slow",
        Handshake::Plain => "plain",
    };
    metrics::counter!(HANDSHAKES, "outcome" => outcome).increment(1);
}

/// Counts a connection that ends because the head of a request cannot be used: it is `malformed` or `slow`.
pub fn count_flawed_head(cause: &'static str) {
    metrics::counter!(FAULTY_CONNECTIONS, "cause" => cause).increment(1);
}

/// Counts a connection that ended because of an error of the peer. A peer that merely disconnected is not counted.
pub(crate) fn count_faulty_connection(fault: &DispatchError) {
    let cause = match fault {
        DispatchError::Parse(_) => "malformed",
        DispatchError::SlowRequestTimeout => "slow",
        DispatchError::Body(_) | DispatchError::DisconnectTimeout => "undeliverable",
        DispatchError::Io(_) => return,
        _ => "other",
    };
    metrics::counter!(FAULTY_CONNECTIONS, "cause" => cause).increment(1);
}

/// Sets the metric of the certificate's validity.
pub(crate) fn set_certificate_expiry(expires: SystemTime) {
    let seconds = expires.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    metrics::gauge!(CERTIFICATE_EXPIRY).set(seconds);
}

/// Sets the metric of the free bytes on the disk of the private PostgreSQL. The first measurement precedes the
/// recorder, so the gauge is looked up each time.
pub fn set_free_disk(bytes: u64) {
    metrics::gauge!(FREE_DISK).set(bytes as f64);
}
