//! The scenario that compares credentials.

use clap::Args;
use serde::Serialize;

/// Settings of `credentials`.
#[derive(Debug, Clone, Args, Serialize)]
pub(crate) struct Credentials {
    /// Connections; each asks again when the answer is there
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) connections: u32,
    /// What is read; the less the server does for it, the more its credentials weigh
    #[arg(long, default_value = "/platform")]
    pub(crate) path: String,
    /// Turns of each kind of credentials
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) turns: u32,
    /// Seconds of measured asking in each turn
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) seconds: u64,
    /// Seconds of asking before, not in the figures
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(..=86_400))]
    pub(crate) warmup: u64,
    /// CPU time of the server for a request with an access token against one with Basic, that there may be at most, such as 1.05
    /// [default: any]
    #[arg(long, value_name = "RATIO")]
    pub(crate) most_cpu: Option<f64>,
}
