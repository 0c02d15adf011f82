//! The scenario that calls a microservice through the platform.

use std::net::SocketAddr;

use clap::Args;
use serde::Serialize;

/// Settings of `service`.
#[derive(Debug, Clone, Args, Serialize)]
pub(crate) struct Service {
    /// Name of the microservice, which is created if it does not exist; its route must lead to --listen
    #[arg(long, default_value = "loadtest-echo")]
    pub(crate) application: String,
    /// Address at which the generator plays the microservice
    #[arg(long, default_value = "127.0.0.1:18790")]
    pub(crate) listen: SocketAddr,
    /// Shell command that sets the route; without it the command is printed and awaited
    #[arg(long, value_name = "COMMAND")]
    #[serde(skip)]
    pub(crate) route_command: Option<String>,
    /// Requests per second, on a fixed schedule
    #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) rate: u32,
    /// Connections that send them
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) connections: u32,
    /// Number of measurements of each path, in turns
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) turns: u32,
    /// Unmeasured seconds of each turn
    #[arg(long, default_value_t = 2)]
    pub(crate) warmup: u64,
    /// Measured seconds of each turn
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) seconds: u64,
    /// Highest allowed additional latency through the platform at the 99th percentile, in microseconds
    #[arg(long, default_value_t = 1000)]
    pub(crate) limit: u64,
}
