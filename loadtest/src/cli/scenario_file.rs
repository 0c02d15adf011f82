//! Scenario files: several scenarios at the same time and one after the other, with thresholds.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

/// The difference in per cent up to which two runs count as equal.
const TOLERANCE: f64 = 5.0;

/// Settings of `run`.
#[derive(Debug, Clone, Args)]
pub(crate) struct RunFile {
    /// Scenario file
    #[arg(value_name = "FILE.toml")]
    pub(crate) file: PathBuf,
    /// Replace a value of the file, such as group.trackers.count=500; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) settings: Vec<String>,
    /// Use these workers instead of this process to connect the clients and post; each is a `loadtest worker`
    #[arg(long, value_name = "HOST:PORT", value_delimiter = ',')]
    pub(crate) workers: Vec<String>,
    /// Serve the figures of the run to Prometheus while it runs, at this address
    #[arg(long, value_name = "IP:PORT", num_args = 0..=1, require_equals = true,
          default_missing_value = "127.0.0.1:9464")]
    pub(crate) metrics: Option<SocketAddr>,
    /// Compare the result with that of an earlier run, written with `--json`; the run is not clean if it is worse
    #[arg(long, value_name = "FILE.json")]
    pub(crate) baseline: Option<PathBuf>,
    /// Ignore differences up to this many per cent, even if the rank test finds them
    #[arg(long, default_value_t = TOLERANCE, value_name = "PERCENT")]
    pub(crate) tolerance: f64,
    /// Also write the result to this file, as one HTML page that needs no other file
    #[arg(long, value_name = "FILE.html")]
    pub(crate) report: Option<PathBuf>,
    /// Also write the thresholds to this file, as JUnit XML: a suite for each phase
    #[arg(long, value_name = "FILE.xml")]
    pub(crate) junit: Option<PathBuf>,
}

/// Settings of `worker`.
#[derive(Debug, Clone, Args)]
pub(crate) struct Worker {
    /// Address at which runs are expected
    #[arg(long, default_value = "127.0.0.1:7420", value_name = "IP:PORT")]
    pub(crate) listen: SocketAddr,
}

/// Settings of `check`.
#[derive(Debug, Clone, Args)]
pub(crate) struct CheckFile {
    /// Scenario file
    #[arg(value_name = "FILE.toml")]
    pub(crate) file: PathBuf,
    /// Replace a value of the file, as `run` does
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) settings: Vec<String>,
}

/// Settings of `clean`.
#[derive(Debug, Clone, Args)]
pub(crate) struct Clean {
    /// Remove them; without this flag they are only counted
    #[arg(long)]
    pub(crate) yes: bool,
    /// Leave what is younger than this many minutes, because it may belong to a run that goes on
    #[arg(long, default_value_t = 60, value_name = "MINUTES",
          value_parser = clap::value_parser!(u64).range(..=1_000_000))]
    pub(crate) older_than: u64,
}

/// Settings of `compare`.
#[derive(Debug, Clone, Args)]
pub(crate) struct Compare {
    /// Result of the earlier run, which `run --json` wrote; several runs with commas between them
    #[arg(value_name = "BEFORE.json", value_delimiter = ',', num_args = 1, required = true)]
    pub(crate) before: Vec<PathBuf>,
    /// Result of the later run, or several of them
    #[arg(value_name = "AFTER.json", value_delimiter = ',', num_args = 1, required = true)]
    pub(crate) after: Vec<PathBuf>,
    /// Ignore differences up to this many per cent, even if the rank test finds them
    #[arg(long, default_value_t = TOLERANCE, value_name = "PERCENT")]
    pub(crate) tolerance: f64,
}

/// Settings of `record`.
#[derive(Debug, Clone, Args)]
pub(crate) struct Record {
    /// Log of requests of the server, which runs with --request-log all; may be repeated [default: only the statistics]
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Vec<PathBuf>,
    /// Day of the statistics, in UTC [default: today]
    #[arg(long, value_name = "YYYY-MM-DD")]
    pub(crate) day: Option<String>,
    /// Phases into which the time of the log is divided
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) phases: u32,
    /// Seconds of each phase, whose rates are those of the log
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) seconds: u64,
    /// File to write [default: standard output]
    #[arg(long, value_name = "FILE.toml")]
    pub(crate) out: Option<PathBuf>,
}

/// Settings of `explain`.
#[derive(Debug, Clone, Args)]
pub(crate) struct Explain {
    /// Figure, fault or other word, such as `late` or `server memory` [default: all of them]
    #[arg(value_name = "FIGURE", num_args = 0..)]
    pub(crate) words: Vec<String>,
}
