//! Scenarios that download files.

use clap::Args;
use serde::Serialize;

/// Settings of `hosted`.
#[derive(Debug, Clone, Args, Serialize)]
pub(crate) struct Hosted {
    /// Connections; each downloads the file again and again
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) connections: u32,
    /// Size of the file in bytes; it cannot be compressed
    #[arg(long, default_value_t = 5_000_000, value_parser = clap::value_parser!(u32).range(1..=500_000_000))]
    pub(crate) file_bytes: u32,
    /// Seconds of each turn
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) seconds: u64,
    /// URL of the same file at another server, which is measured in turns with this one
    #[arg(long, value_name = "URL")]
    pub(crate) against: Option<String>,
    /// Turns of each
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) turns: u32,
    /// Write the file here first, for the other server to serve
    #[arg(long, value_name = "FILE")]
    pub(crate) write_file: Option<std::path::PathBuf>,
}
