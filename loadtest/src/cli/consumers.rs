//! The settings of `consumers`.

use clap::{Args, ValueEnum};
use serde::Serialize;

use crate::protocol::consumer::reader::Way;

/// Settings of `consumers`.
#[derive(Debug, Clone, Args, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Consumers {
    /// Figures to measure, one after the other. `idle` needs a server that has hardly worked, so measure it alone
    #[arg(long, value_enum, value_delimiter = ',', default_value = "throughput,catch-up,lapse")]
    pub(crate) figures: Vec<ConsumerFigure>,
    /// Numbers of consumers of `throughput`, in turns
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "0,1,10",
        value_parser = clap::value_parser!(u32).range(..=1000)
    )]
    pub(crate) counts: Vec<u32>,
    /// Turns of each number
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) turns: u32,
    /// Way in which consumers are read
    #[arg(long, value_enum, default_value_t = Way::LongPoll)]
    pub(crate) way: Way,
    /// Largest number of notifications in the response to a long poll
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) batch: u32,
    /// Connections that write
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) connections: u32,
    /// Devices that the writes are spread over
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) devices: u32,
    /// Measurements in each write of `throughput`
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) per_post: u32,
    /// Measured seconds of each turn, and of the others' writes alone
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) seconds: u64,
    /// Unmeasured seconds before, for warm-up
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(..=3600))]
    pub(crate) warmup: u64,
    /// Writes per second of the others in `catch-up` and `lapse`, on a fixed schedule
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) rate: u32,
    /// Notifications that are written while the consumer of `catch-up` is away; 1800000 are an hour at 500 writes/s
    #[arg(long, default_value_t = 600_000, value_parser = clap::value_parser!(u32).range(1000..=10_000_000))]
    pub(crate) backlog: u32,
    /// Consumers of `idle`, each of which holds a poll; the tenant's limit `consumers` must allow them
    #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) idle: u32,
    /// Bound of the backlog in `lapse`, in bytes
    #[arg(long, default_value_t = 1_048_576, value_parser = clap::value_parser!(u64).range(65_536..=1_073_741_824))]
    pub(crate) max_bytes: u64,
}

impl Consumers {
    /// Returns the largest number of connections that read at the same time.
    pub(super) fn most_readers(&self) -> u32 {
        let of_figure = |figure: &ConsumerFigure| match figure {
            ConsumerFigure::Throughput => self.counts.iter().copied().max().unwrap_or_default(),
            ConsumerFigure::Idle => self.idle,
            ConsumerFigure::CatchUp | ConsumerFigure::Lapse => 2,
        };
        self.figures.iter().map(of_figure).max().unwrap_or_default()
    }
}

/// A figure of `consumers`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ConsumerFigure {
    /// Writes at the highest rate into one tenant with different numbers of consumers
    Throughput,
    /// A consumer that was away reads its backlog, while others write
    CatchUp,
    /// Consumers without anything to read: the memory of each held poll
    Idle,
    /// A backlog grows beyond its bound
    Lapse,
}
