//! Scenarios that read large volumes, and those that create them.

use clap::Args;
use serde::Serialize;

use crate::protocol::object_kind::ObjectKind;
use crate::protocol::year::MINUTES;

/// The size of the inventory that `inventory-fill` creates.
#[derive(Debug, Clone, Copy, Args, Serialize)]
pub(crate) struct Shape {
    /// Managed objects
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1000..=100_000_000))]
    pub(crate) objects: u32,
    /// Number of devices among them, evenly spread
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub(crate) devices: u32,
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
    /// The size of the inventory
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) shape: Shape,
}

/// Settings of `series-fill`.
#[derive(Debug, Clone, Args, Serialize)]
pub(crate) struct SeriesFill {
    /// Minutes, each with one measurement, from the start of 2025 on
    #[arg(long, default_value_t = MINUTES, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
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
    #[arg(long, default_value_t = MINUTES, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub(crate) minutes: u32,
    /// Requests of each kind
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) requests: u32,
    /// Highest allowed 99th percentile of reads by day and by hour in milliseconds
    #[arg(long, default_value_t = 300)]
    pub(crate) limit: u32,
}

/// Settings of `data-fill`.
#[derive(Debug, Clone, Args, Serialize)]
pub(crate) struct DataFill {
    /// Database of the server, `postgres://…` or `key=value …`; the server must be running on it
    #[arg(long, env = "LOADTEST_DATABASE_URL", hide_env_values = true)]
    #[serde(skip)]
    pub(crate) database_url: String,
    /// Tenant that is filled; the user of --user must belong to it
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
    /// Kinds of objects that are created
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [ObjectKind::Alarm, ObjectKind::Event,
          ObjectKind::Measurement])]
    pub(crate) kinds: Vec<ObjectKind>,
}
