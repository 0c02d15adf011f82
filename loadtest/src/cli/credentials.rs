//! The scenario that compares credentials.

use clap::Args;
use serde::Serialize;

/// Settings of `credentials`.
#[derive(Debug, Clone, Args, Serialize)]
pub(crate) struct Credentials {
    /// Connections; each sends the next request when it has the response
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) connections: u32,
    /// Path that is read; the cheaper it is for the server, the more the credentials weigh
    #[arg(long, default_value = "/platform")]
    pub(crate) path: String,
    /// Turns of each kind of credentials
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) turns: u32,
    /// Measured seconds of each turn
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) seconds: u64,
    /// Unmeasured seconds before, for warm-up
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(..=86_400))]
    pub(crate) warmup: u64,
    /// Highest allowed ratio of the server's CPU time for a request with an access token to one with Basic,
    /// such as 1.05 [default: any]
    #[arg(long, value_name = "RATIO")]
    pub(crate) most_cpu: Option<f64>,
}
