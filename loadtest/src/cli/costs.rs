//! Scenarios that measure what a part of the server costs: credentials, downloads, calls of microservices, and modules.

use std::net::SocketAddr;

use clap::{Args, ValueEnum};
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

/// Settings of `hosted`.
#[derive(Debug, Clone, Args, Serialize)]
pub(crate) struct Hosted {
    /// Connections; each downloads the file again and again
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) connections: u32,
    /// Size of the file in bytes; it cannot be compressed
    #[arg(long, default_value_t = 5_000_000, value_parser = clap::value_parser!(u32).range(1..=500_000_000))]
    pub(crate) file_bytes: u32,
    /// Seconds of each turn
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) seconds: u64,
    /// URL of the same file at another server, which is measured in turns with this one
    #[arg(long, value_name = "URL")]
    pub(crate) against: Option<String>,
    /// Turns of each
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) turns: u32,
    /// Write the file here first, for the other server to serve
    #[arg(long, value_name = "FILE")]
    pub(crate) write_file: Option<std::path::PathBuf>,
}

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

/// Settings of `modules`.
#[derive(Debug, Clone, Args, Serialize)]
pub(crate) struct Modules {
    /// Costs to measure
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Cost::Filters, Cost::Windows, Cost::Retained])]
    pub(crate) costs: Vec<Cost>,
    /// Measurements per second on a fixed schedule, regardless of the responses
    #[arg(long, default_value_t = 5000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) rate: u32,
    /// Connections
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) connections: u32,
    /// Devices that the measurements are spread over; each has a window of its own
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) devices: u32,
    /// Turns with the module, and without it
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) turns: u32,
    /// Measured seconds of each turn
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) seconds: u64,
    /// Unmeasured seconds before, for warm-up
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(..=86_400))]
    pub(crate) warmup: u64,
    /// Length of the window of each device; all of them together must be within what a module may retain
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) window: u32,
    /// Events that a module retains while memory is read
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1000..=1_000_000))]
    pub(crate) retained: u32,
    /// Highest allowed CPU time of the filters, in per cent of a core [default: any]
    #[arg(long, value_name = "PERCENT")]
    pub(crate) most_core: Option<f64>,
    /// Highest allowed CPU time of the windows, in microseconds per event [default: any]
    #[arg(long, value_name = "MICROSECONDS")]
    pub(crate) most_micros: Option<f64>,
}

/// The costs of modules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Cost {
    /// Ten statements that each evaluate every measurement
    Filters,
    /// An average over a window for each device
    Windows,
    /// Memory of events in a window
    Retained,
}
