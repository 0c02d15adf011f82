//! The settings of `fairness`.

use clap::{Args, ValueEnum};
use serde::Serialize;

/// Loads the server with one tenant, with each kind of load in turn, while another tenant sends requests at a fixed
/// rate.
#[derive(Debug, Clone, Args, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Fairness {
    /// Kinds of load of the noisy tenant, one after the other
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "queries,one-device,many-devices,polls,downloads,modules"
    )]
    pub(crate) kinds: Vec<NoiseKind>,
    /// Requests per second of the quiet tenant: half of them reads, half writes
    #[arg(long, default_value_t = 200)]
    pub(crate) rate: u32,
    /// Connections of the quiet tenant
    #[arg(long, default_value_t = 16)]
    pub(crate) connections: u32,
    /// Connections of the noisy tenant, each of which sends one request after the other
    #[arg(long, default_value_t = 40)]
    pub(crate) noisy: u32,
    /// Long polls that the noisy tenant holds; one alarm a second is delivered to all
    #[arg(long, default_value_t = 10_000)]
    pub(crate) polls: u32,
    /// Measured seconds of the quiet tenant alone, and again beside each kind of load
    #[arg(long, default_value_t = 10)]
    pub(crate) seconds: u64,
    /// Seconds of load before its measurement
    #[arg(long, default_value_t = 3)]
    pub(crate) warmup: u64,
    /// The largest allowed growth of the 99th percentile, as a factor
    #[arg(long, default_value_t = 2.0)]
    pub(crate) most: f64,
    /// The intended growth of the 99th percentile, as a factor
    #[arg(long, default_value_t = 1.5)]
    pub(crate) aim: f64,
}

/// A kind of load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum NoiseKind {
    /// Queries of series over 100 000 measurements
    Queries,
    /// Alarms of one device
    OneDevice,
    /// Measurements of 500 devices
    ManyDevices,
    /// Held long polls to which alarms are delivered
    Polls,
    /// Downloads of a file of 10 MB
    Downloads,
    /// Event-processing modules that compute
    Modules,
}

impl NoiseKind {
    /// Returns the name in the table.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Queries => "queries",
            Self::OneDevice => "one-device",
            Self::ManyDevices => "many-devices",
            Self::Polls => "polls",
            Self::Downloads => "downloads",
            Self::Modules => "modules",
        }
    }
}
