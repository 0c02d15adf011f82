//! The scenario for event-processing modules.

use clap::{Args, ValueEnum};
use serde::Serialize;

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
