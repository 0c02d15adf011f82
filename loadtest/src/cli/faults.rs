//! Scenarios with failures: of the server, its database, the devices, or slow clients.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::Serialize;

use crate::object_kind::ObjectKind;

/// Settings of `durability`.
#[derive(Debug, Clone, Args, Serialize)]
pub(crate) struct Durability {
    /// Shell command that starts the server in the foreground, at the address of --url
    #[arg(long)]
    pub(crate) server_command: String,
    /// Data directory of that server; its private PostgreSQL is found there
    #[arg(long, default_value = "platform-data")]
    pub(crate) data_dir: PathBuf,
    /// File to which the server's output is appended
    #[arg(long, default_value = "durability-server.log")]
    pub(crate) server_log: PathBuf,
    /// Process that is killed
    #[arg(long, value_enum, default_value_t = Stop::Alternate)]
    pub(crate) stop: Stop,
    /// Shell command that stops a PostgreSQL that is not private, such as "pg_ctl stop -m immediate -D …"
    #[arg(long)]
    pub(crate) stop_command: Option<String>,
    /// Shell command that starts that PostgreSQL again
    #[arg(long, requires = "stop_command")]
    pub(crate) start_command: Option<String>,
    /// Rounds of a kill and a restart
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) rounds: u32,
    /// Latest moment of a round at which it is killed, in seconds
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u64).range(2..=3600))]
    pub(crate) seconds: u64,
    /// Posts per second, on a fixed schedule
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) rate: u32,
    /// Kinds of objects that are written, in turn
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [ObjectKind::Alarm, ObjectKind::Event,
          ObjectKind::Measurement])]
    pub(crate) kinds: Vec<ObjectKind>,
    /// Connections that write
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) connections: u32,
    /// Devices of each round
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) devices: u32,
}

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

/// The way in which a round of `durability` ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Stop {
    /// SIGKILL to the server
    Kill,
    /// Immediate stop of its PostgreSQL
    Postgres,
    /// In turns
    Alternate,
}

impl Stop {
    /// Returns how round `number` (from 1) ends.
    pub(crate) fn in_round(self, number: u32) -> Self {
        match self {
            Self::Alternate if number % 2 == 1 => Self::Kill,
            Self::Alternate => Self::Postgres,
            one_way => one_way,
        }
    }

    /// Returns its name in a word.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::Postgres => "postgres",
            Self::Alternate => "alternate",
        }
    }
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
