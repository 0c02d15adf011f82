//! Scenarios in which clients wait for notifications.

use clap::{Args, ValueEnum};
use serde::Serialize;

use crate::protocol::object_kind::ObjectKind;
use crate::traffic::audience::Transport;

/// The channel of the clients of `fanout`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SharedChannel {
    /// The alarms of the one device
    Device,
    /// The alarms of all devices
    Wildcard,
    /// The alarms of a device of its own, for each client; alarms are posted at --rate
    Own,
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
    /// Channel that they share, or one for each of them
    #[arg(long, value_enum, default_value_t = SharedChannel::Device)]
    pub(crate) channel: SharedChannel,
    /// Kind of object that is posted and received; with --post-header "X-Platform-Processing-Mode: TRANSIENT"
    /// measurements are delivered without being stored
    #[arg(long, value_enum, default_value_t = ObjectKind::Alarm)]
    pub(crate) kind: ObjectKind,
    /// With --channel own: posts per second, on a fixed schedule regardless of the responses
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rate: u32,
    /// With --channel own: devices with posts; the clients of the others receive nothing [default: all]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) speaking: Option<u32>,
    /// Measured seconds
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) seconds: u64,
    /// Seconds before, in the ledger but not measured
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(..=86_400))]
    pub(crate) warmup: u64,
}
