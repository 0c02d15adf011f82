//! Scenarios with failures: of devices, or of slow clients.

use clap::Args;
use serde::Serialize;

use crate::protocol::object_kind::ObjectKind;

/// Settings of `trickle`.
#[derive(Debug, Clone, Args, Serialize)]
pub(crate) struct Trickle {
    /// Slow connections: a third sends nothing, a third its head, a third its body byte by byte
    #[arg(long, default_value_t = 5000, value_parser = clap::value_parser!(u32).range(1..=15_000))]
    pub(crate) connections: u32,
    /// Milliseconds between two bytes
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u64).range(10..=60_000))]
    pub(crate) every: u64,
    /// Clients that work as usual; each holds a poll and receives alarms
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) clients: u32,
    /// Alarms posted for them per second
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) alarms_per_second: u32,
    /// Measured seconds, before the slow connections open and again while they are open
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=600))]
    pub(crate) seconds: u64,
}

/// Settings of `availability`.
#[derive(Debug, Clone, Args, Serialize)]
pub(crate) struct Availability {
    /// Devices that must send messages
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) devices: u32,
    /// Number of devices that stop for a while
    #[arg(long, default_value_t = 1000)]
    pub(crate) silent: u32,
    /// Minutes within which they must send a message
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=8))]
    pub(crate) interval: u32,
    /// Objects that they send
    #[arg(long, value_enum, default_value_t = ObjectKind::Measurement)]
    pub(crate) sends: ObjectKind,
    /// Seconds between two messages of a device
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) every: u64,
}
