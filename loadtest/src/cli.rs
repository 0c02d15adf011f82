//! What can be asked for on the command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use serde::Serialize;

use crate::body::Kind;

/// Loads a running server over HTTP and WebSocket, and proves with a ledger that nothing was lost, doubled or
/// reordered. Exit code 0: clean; 1: measured, not clean; 2: not measured.
#[derive(Debug, Parser)]
#[command(name = "loadtest", version)]
pub(crate) struct Arguments {
    /// Settings of every scenario.
    #[command(flatten)]
    pub(crate) common: Common,
    /// Which scenario to run.
    #[command(subcommand)]
    pub(crate) scenario: Scenario,
}

/// Settings of every scenario.
#[derive(Debug, Clone, Args)]
pub(crate) struct Common {
    /// Server to load; must be a loopback address unless --allow-remote-target is given
    #[arg(long, global = true, default_value = "http://127.0.0.1:8080")]
    pub(crate) url: String,
    /// User name, or tenant/user
    #[arg(long, global = true, env = "LOADTEST_USER", default_value = "admin")]
    pub(crate) user: String,
    /// Password of the user
    #[arg(long, global = true, env = "LOADTEST_PASSWORD", hide_env_values = true, default_value = "")]
    pub(crate) password: String,
    /// Also write the result to this file, as JSON
    #[arg(long, global = true)]
    pub(crate) json: Option<PathBuf>,
    /// Process whose memory and CPU are measured [default: the one that listens on the target port]
    #[arg(long, global = true)]
    pub(crate) server_pid: Option<u32>,
    /// Threads of the generator; one is right when it is pinned to one core
    #[arg(long, global = true, default_value_t = 1)]
    pub(crate) threads: usize,
    /// Connections being opened at the same time
    #[arg(long, global = true, default_value_t = 64)]
    pub(crate) connecting: usize,
    /// Seconds of rest before the memory with all polls open is read
    #[arg(long, global = true, default_value_t = 3)]
    pub(crate) settle: u64,
    /// Most seconds to wait for deliveries still owed after the last post
    #[arg(long, global = true, default_value_t = 20)]
    pub(crate) drain: u64,
    /// Leave the devices and alarms on the server
    #[arg(long, global = true)]
    pub(crate) keep: bool,
    /// Header to send with every post that is measured, such as "X-Platform-Processing-Mode: TRANSIENT"
    #[arg(long, global = true, alias = "alarm-header", value_name = "NAME: VALUE")]
    pub(crate) post_header: Option<String>,
    /// Accept a target that is not this machine; only load servers that are yours
    #[arg(long, global = true)]
    pub(crate) allow_remote_target: bool,
}

/// The scenarios.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum Scenario {
    /// Each device holds a poll, dashboards watch all alarms, alarms arrive at a fixed rate
    Fleet(Fleet),
    /// Many polls on one channel; each alarm goes to all, the next is posted when all have it
    Fanout(Fanout),
    /// Alarms as fast as the server takes them, nobody listening
    Alarms(Alarms),
    /// Measurements, one or many per post, as fast as the server takes them or on a fixed schedule
    Measurements(Measurements),
    /// One device's year of measurements, sent in collections
    SeriesFill(SeriesFill),
    /// Reads of that year: series by day, by hour and raw, a page of a day
    Series(Series),
    /// Starts the server, ends it at random moments under writes, and compares what it holds with what it answered
    Durability(Durability),
    /// Many devices speak, some fall silent: exactly those are reported, once and in time
    Availability(Availability),
    /// Fills a database with many alarms, events and measurements, by SQL
    DataFill(DataFill),
    /// Reads of the newest of them; filled by `data-fill`
    Data(Data),
    /// Polls held and nothing happening
    Hold(Hold),
    /// Reads of a large inventory, one after the other; filled by `inventory-fill`
    Inventory(Inventory),
    /// Fills a database with a large inventory, by SQL
    InventoryFill(InventoryFill),
}

/// Settings of `fleet`.
#[derive(Debug, Clone, Args, Serialize)]
pub(crate) struct Fleet {
    /// Devices; each holds a long poll on its own alarms
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) devices: u32,
    /// Clients on the alarms of all devices, half by long polling, half by WebSocket
    #[arg(long, default_value_t = 50)]
    pub(crate) dashboards: u32,
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
    /// Clients, all by long polling
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) clients: u32,
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

/// Settings of `alarms`.
#[derive(Debug, Clone, Args, Serialize)]
pub(crate) struct Alarms {
    /// Connections; each posts its next alarm when the one before is answered
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) connections: u32,
    /// Devices the alarms are spread over
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) devices: u32,
    /// Seconds of measured posting
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) seconds: u64,
    /// Seconds of posting before, not in the figures
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(..=86_400))]
    pub(crate) warmup: u64,
}

/// Settings of `measurements`.
#[derive(Debug, Clone, Args, Serialize)]
pub(crate) struct Measurements {
    /// Connections; without --rate and --ramp each posts again when the post before is answered
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) connections: u32,
    /// Devices the measurements are spread over
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) devices: u32,
    /// Seconds of measured posting; of a ramp, seconds of each step
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) seconds: u64,
    /// Seconds of posting before, not in the figures
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(..=86_400))]
    pub(crate) warmup: u64,
    /// Measurements in each post; more than one make a measurementCollection
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) per_post: u32,
    /// Processing mode, such as TRANSIENT [default: none is sent, which means PERSISTENT]
    #[arg(long)]
    pub(crate) mode: Option<String>,
    /// Ask for answers with a body
    #[arg(long)]
    pub(crate) accept: bool,
    /// Read everything back at the end and compare it with the ledger
    #[arg(long)]
    pub(crate) verify: bool,
    /// Posts per second on a fixed schedule, whatever the server does
    #[arg(long, conflicts_with = "ramp", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) rate: Option<u32>,
    /// Posts per second, rising step by step until the server breaks, such as 1000..20000
    #[arg(long, value_name = "FROM..TO", value_parser = Ramp::parse)]
    pub(crate) ramp: Option<Ramp>,
    /// By how much each step of a ramp is steeper than the one before
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) step: u32,
}

/// Settings of `series-fill`.
#[derive(Debug, Clone, Args, Serialize)]
pub(crate) struct SeriesFill {
    /// Minutes, each with one measurement, from the start of 2025 on
    #[arg(long, default_value_t = crate::year::MINUTES, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub(crate) minutes: u32,
    /// Measurements in each collection
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) per_post: u32,
    /// Connections that send
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) connections: u32,
}

/// Settings of `series`.
#[derive(Debug, Clone, Args, Serialize)]
pub(crate) struct Series {
    /// Id of the device [default: the newest one that series-fill made]
    #[arg(long)]
    pub(crate) source: Option<String>,
    /// Minutes it was filled with
    #[arg(long, default_value_t = crate::year::MINUTES, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub(crate) minutes: u32,
    /// Requests of each kind
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) requests: u32,
    /// Milliseconds that 99 of 100 answers of each kind must not exceed
    #[arg(long, default_value_t = 300)]
    pub(crate) limit: u32,
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

/// Settings of `data-fill`.
#[derive(Debug, Clone, Args, Serialize)]
pub(crate) struct DataFill {
    /// Database of the server, `postgres://…` or `key=value …`; the server must be running on it
    #[arg(long, env = "LOADTEST_DATABASE_URL", hide_env_values = true)]
    #[serde(skip)]
    pub(crate) database_url: String,
    /// Tenant that is filled; the user of --user must be one of it
    #[arg(long, default_value = "main")]
    pub(crate) tenant: String,
    /// Rows of each kind
    #[arg(long, default_value_t = 10_000_000, value_parser = clap::value_parser!(u32).range(1000..=1_000_000_000))]
    pub(crate) rows: u32,
    /// Devices they are spread over
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub(crate) devices: u32,
    /// Days before now they are spread over
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(i32).range(1..=300))]
    pub(crate) days: i32,
    /// What is made
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Written::Alarm, Written::Event, Written::Measurement])]
    pub(crate) kinds: Vec<Written>,
}

/// Settings of `data`.
#[derive(Debug, Clone, Args, Serialize)]
pub(crate) struct Data {
    /// Devices, as the database was filled
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub(crate) devices: u32,
    /// What is read
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Written::Alarm, Written::Event, Written::Measurement])]
    pub(crate) kinds: Vec<Written>,
    /// Requests of each kind
    #[arg(long, default_value_t = 300, value_parser = clap::value_parser!(u32).range(10..=100_000))]
    pub(crate) requests: u32,
    /// Milliseconds that 99 of 100 answers of each kind must not exceed
    #[arg(long, default_value_t = 50)]
    pub(crate) limit: u32,
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

/// What is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Written {
    /// Alarms
    Alarm,
    /// Events
    Event,
    /// Measurements, some of them in collections
    Measurement,
}

impl Written {
    /// As a kind of post.
    pub(crate) fn kind(self) -> Kind {
        match self {
            Self::Alarm => Kind::Alarm,
            Self::Event => Kind::Event,
            Self::Measurement => Kind::Measurement,
        }
    }
}

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

/// Rates from one to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Ramp {
    /// The first, in posts per second.
    pub(crate) from: u32,
    /// The last.
    pub(crate) to: u32,
}

impl Ramp {
    fn parse(text: &str) -> Result<Self, String> {
        let rate = |text: &str| text.parse().ok().filter(|rate| (1..=1_000_000).contains(rate));
        let rates = text.split_once("..").and_then(|(from, to)| rate(from).zip(rate(to)));
        let ramp = rates.map(|(from, to)| Self { from, to }).filter(|ramp| ramp.from < ramp.to);
        ramp.ok_or_else(|| "two rising rates from 1 to 1000000, such as 1000..20000".to_owned())
    }

    /// The rates in between, each steeper by `step`.
    pub(crate) fn rates(self, step: u32) -> impl Iterator<Item = u32> {
        (self.from..=self.to).step_by(step as usize)
    }
}

/// Settings of `hold`.
#[derive(Debug, Clone, Args, Serialize)]
pub(crate) struct Hold {
    /// Clients, all by long polling
    #[arg(long, default_value_t = 18_000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) clients: u32,
    /// Devices whose channels they are spread over
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) devices: u32,
    /// Seconds of nothing happening, over which the CPU is measured
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) seconds: u64,
}

/// The shape of the inventory that `inventory-fill` makes and `inventory` reads.
#[derive(Debug, Clone, Copy, Args, Serialize)]
pub(crate) struct Shape {
    /// Managed objects
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1000..=100_000_000))]
    pub(crate) objects: u32,
    /// How many of them are devices, evenly spread
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub(crate) devices: u32,
}

/// Settings of `inventory`.
#[derive(Debug, Clone, Args, Serialize)]
pub(crate) struct Inventory {
    /// As the database was filled
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) shape: Shape,
    /// Requests of each kind
    #[arg(long, default_value_t = 300, value_parser = clap::value_parser!(u32).range(10..=100_000))]
    pub(crate) requests: u32,
    /// Page reached through the links `next`
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) page: u32,
    /// Milliseconds that 99 of 100 answers of each kind must not exceed
    #[arg(long, default_value_t = 50)]
    pub(crate) limit: u32,
}

/// Settings of `inventory-fill`.
#[derive(Debug, Clone, Args, Serialize)]
pub(crate) struct InventoryFill {
    /// Database of the server, `postgres://…` or `key=value …`; the server must have started on it once
    #[arg(long, env = "LOADTEST_DATABASE_URL", hide_env_values = true)]
    #[serde(skip)]
    pub(crate) database_url: String,
    /// Tenant whose inventory is filled
    #[arg(long, default_value = "main")]
    pub(crate) tenant: String,
    /// What is made
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) shape: Shape,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn flags_are_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn ramp_is_two_rising_rates() {
        let ramp = Ramp::parse("1000..4500").unwrap();
        assert_eq!(ramp.rates(1500).collect::<Vec<_>>(), [1000, 2500, 4000]);
        for text in ["", "5", "5..", "0..5", "7..5", "5..5", "1..2000000", "-1..5"] {
            assert!(Ramp::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn common_flags_may_follow_the_scenario() {
        let arguments =
            Arguments::parse_from(["loadtest", "fleet", "--devices", "7", "--url", "http://127.0.0.1:1"]);
        assert_eq!(arguments.common.url, "http://127.0.0.1:1");
        assert!(matches!(arguments.scenario, Scenario::Fleet(Fleet { devices: 7, .. })));
    }
}
