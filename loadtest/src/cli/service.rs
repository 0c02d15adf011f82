//! The scenario that calls a microservice through the platform.

use std::net::SocketAddr;

use clap::Args;
use serde::Serialize;

/// Settings of `service`.
#[derive(Debug, Clone, Args, Serialize)]
pub(crate) struct Service {
    /// Name of the microservice, which is created when there is none; its route must lead to --listen
    #[arg(long, default_value = "loadtest-echo")]
    pub(crate) application: String,
    /// Where the generator plays the microservice
    #[arg(long, default_value = "127.0.0.1:18790")]
    pub(crate) listen: SocketAddr,
    /// Command that sets the route, run by a shell; without it the command is printed and awaited
    #[arg(long, value_name = "COMMAND")]
    #[serde(skip)]
    pub(crate) route_command: Option<String>,
    /// Requests per second, on a fixed schedule
    #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) rate: u32,
    /// Connections that send them
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) connections: u32,
    /// How often each way is measured, in turn
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) turns: u32,
    /// Seconds of each turn before those that are measured
    #[arg(long, default_value_t = 2)]
    pub(crate) warmup: u64,
    /// Seconds of each turn that are measured
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) seconds: u64,
    /// Microseconds that the way through the platform may take longer, of 99 in 100
    #[arg(long, default_value_t = 1000)]
    pub(crate) limit: u64,
}
