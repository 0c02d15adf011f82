//! Scenarios in which something fails: the server, its database, the devices, the good manners of clients.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::Serialize;

use super::Written;

/// Settings of `durability`.
#[derive(Debug, Clone, Args, Serialize)]
pub(crate) struct Durability {
    /// Shell command that starts the server in the foreground, at the address of --url
    #[arg(long)]
    pub(crate) server_command: String,
    /// Data directory of that server; its private PostgreSQL is found there
    #[arg(long, default_value = "platform-data")]
    pub(crate) data_dir: PathBuf,
    /// File the server's output is appended to
    #[arg(long, default_value = "durability-server.log")]
    pub(crate) server_log: PathBuf,
    /// What is ended
    #[arg(long, value_enum, default_value_t = Stop::Alternate)]
    pub(crate) stop: Stop,
    /// Shell command that stops a PostgreSQL that is not private, such as "pg_ctl stop -m immediate -D …"
    #[arg(long)]
    pub(crate) stop_command: Option<String>,
    /// Shell command that starts that PostgreSQL again
    #[arg(long, requires = "stop_command")]
    pub(crate) start_command: Option<String>,
    /// Ends and new starts
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) rounds: u32,
    /// Latest moment of a round at which it ends, in seconds
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u64).range(2..=3600))]
    pub(crate) seconds: u64,
    /// Posts per second, on a fixed schedule
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) rate: u32,
    /// What is written, in turn
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Written::Alarm, Written::Event, Written::Measurement])]
    pub(crate) kinds: Vec<Written>,
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
    /// Clients that go on as ever; each holds a poll and is told of alarms
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) clients: u32,
    /// Alarms posted for them per second
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) alarms_per_second: u32,
    /// Seconds of measured posting, before the slow connections come and again while they are there
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=600))]
    pub(crate) seconds: u64,
}

/// How a round of `durability` ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Stop {
    /// SIGKILL to the server
    Kill,
    /// Immediate stop of its PostgreSQL
    Postgres,
    /// One after the other
    Alternate,
}

impl Stop {
    /// How round `number` (from 1) ends.
    pub(crate) fn in_round(self, number: u32) -> Self {
        match self {
            Self::Alternate if number % 2 == 1 => Self::Kill,
            Self::Alternate => Self::Postgres,
            one_way => one_way,
        }
    }

    /// One word.
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
    /// Devices that must speak
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) devices: u32,
    /// How many of them fall silent for a while
    #[arg(long, default_value_t = 1000)]
    pub(crate) silent: u32,
    /// Minutes within which they must speak
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=8))]
    pub(crate) interval: u32,
    /// What they send
    #[arg(long, value_enum, default_value_t = Written::Measurement)]
    pub(crate) sends: Written,
    /// Seconds between two messages of a device
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) every: u64,
}
