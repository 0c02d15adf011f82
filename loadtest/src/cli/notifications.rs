//! Scenarios in which clients wait for notifications.

use clap::{Args, ValueEnum};
use serde::Serialize;

use super::Written;
use crate::audience::Transport;

/// Settings of `fleet`.
#[derive(Debug, Clone, Args, Serialize)]
pub(crate) struct Fleet {
    /// Devices; each holds a long poll on its own alarms
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) devices: u32,
    /// Clients on the alarms of all devices, half by long polling, half by WebSocket
    #[arg(long, default_value_t = 50)]
    pub(crate) dashboards: u32,
    /// What is posted and polled for; measurements, with --post-header "X-Platform-Processing-Mode: TRANSIENT", are told
    /// without being stored
    #[arg(long, value_enum, default_value_t = Written::Alarm)]
    pub(crate) kind: Written,
    /// Devices that are posted for, the others hear nothing [default: all]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) speaking: Option<u32>,
    /// Alarms posted per second, on a fixed schedule whatever the server does
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) alarms_per_second: u32,
    /// Seconds of measured posting
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) seconds: u64,
    /// Seconds of posting before, in the ledger but not in the figures
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(..=86_400))]
    pub(crate) warmup: u64,
    /// Connections that post
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) posters: u32,
}

/// Which channel the clients of `fanout` share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SharedChannel {
    /// The alarms of the one device
    Device,
    /// The alarms of all devices
    Wildcard,
}

/// Settings of `fanout`.
#[derive(Debug, Clone, Args, Serialize)]
pub(crate) struct Fanout {
    /// Clients
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) clients: u32,
    /// How they are connected
    #[arg(long, value_enum, default_value_t = Transport::LongPolling)]
    pub(crate) transport: Transport,
    /// Channel they share
    #[arg(long, value_enum, default_value_t = SharedChannel::Device)]
    pub(crate) channel: SharedChannel,
    /// Seconds of measured broadcasts
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) seconds: u64,
    /// Seconds of broadcasts before, in the ledger but not in the figures
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(..=86_400))]
    pub(crate) warmup: u64,
}

/// Settings of `hold`.
#[derive(Debug, Clone, Args, Serialize)]
pub(crate) struct Hold {
    /// Clients
    #[arg(long, default_value_t = 18_000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) clients: u32,
    /// How they are connected
    #[arg(long, value_enum, default_value_t = Transport::LongPolling)]
    pub(crate) transport: Transport,
    /// Devices whose channels they are spread over
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) devices: u32,
    /// Seconds of nothing happening, over which the CPU is measured
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) seconds: u64,
}
