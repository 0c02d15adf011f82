//! Scenarios in which clients wait for notifications.

use clap::{Args, ValueEnum};
use serde::Serialize;

use crate::audience::Transport;
use crate::object_kind::ObjectKind;

/// Settings of `fleet`.
#[derive(Debug, Clone, Args, Serialize)]
pub(crate) struct Fleet {
    /// Devices; each holds a long poll on its own alarms
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) devices: u32,
    /// Clients on the alarms of all devices, half by long polling, half by WebSocket
    #[arg(long, default_value_t = 50)]
    pub(crate) dashboards: u32,
    /// Kind of object that is posted and received; with --post-header "X-Platform-Processing-Mode: TRANSIENT"
    /// measurements are delivered without being stored
    #[arg(long, value_enum, default_value_t = ObjectKind::Alarm)]
    pub(crate) kind: ObjectKind,
    /// Devices with posts; the others receive nothing [default: all]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) speaking: Option<u32>,
    /// Alarms posted per second, on a fixed schedule regardless of the responses
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) alarms_per_second: u32,
    /// Measured seconds
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) seconds: u64,
    /// Seconds before, in the ledger but not measured
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(..=86_400))]
    pub(crate) warmup: u64,
    /// Connections that post
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) posters: u32,
}

/// The channel that the clients of `fanout` share.
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
    /// Transport of the clients
    #[arg(long, value_enum, default_value_t = Transport::LongPolling)]
    pub(crate) transport: Transport,
    /// Channel they share
    #[arg(long, value_enum, default_value_t = SharedChannel::Device)]
    pub(crate) channel: SharedChannel,
    /// Measured seconds
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) seconds: u64,
    /// Seconds before, in the ledger but not measured
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(..=86_400))]
    pub(crate) warmup: u64,
}

/// Settings of `hold`.
#[derive(Debug, Clone, Args, Serialize)]
pub(crate) struct Hold {
    /// Clients
    #[arg(long, default_value_t = 18_000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) clients: u32,
    /// Transport of the clients
    #[arg(long, value_enum, default_value_t = Transport::LongPolling)]
    pub(crate) transport: Transport,
    /// Devices whose channels they are spread over
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) devices: u32,
    /// Idle seconds, over which the CPU is measured
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) seconds: u64,
}
