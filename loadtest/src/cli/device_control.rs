//! Scenarios in which devices are registered and receive operations.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

/// Settings of `bulk`.
#[derive(Debug, Clone, Args, Serialize)]
pub(crate) struct Bulk {
    /// Devices of the group
    #[arg(long, default_value_t = 5000, value_parser = clap::value_parser!(u32).range(2..=100_000))]
    pub(crate) devices: u32,
    /// Number of agents among them; the others are children of these [default: all]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) agents: Option<u32>,
    /// Seconds between two operations
    #[arg(long, default_value_t = 0.01, value_parser = ramp)]
    pub(crate) ramp: f64,
    /// Highest allowed deviation of the total time from the ramp, in per cent
    #[arg(long, default_value_t = 2.0)]
    pub(crate) tolerance: f64,
    /// Let the agents hold polls and execute their operations meanwhile
    #[arg(long)]
    pub(crate) hold_polls: bool,
}

/// Settings of `registration`.
#[derive(Debug, Clone, Args, Serialize)]
pub(crate) struct Registration {
    /// Rows of the file
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub(crate) rows: u32,
    /// How many of the devices, evenly spread, send a handshake afterwards
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) sample: u32,
    /// Lowest allowed rows per second [default: any]
    #[arg(long)]
    pub(crate) at_least: Option<u32>,
}

/// Settings of `reconnect`.
#[derive(Debug, Clone, Args, Serialize)]
pub(crate) struct Reconnect {
    /// Devices that connect at once, each with its own credentials
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) devices: u32,
    /// Seconds within which all must hold their polls
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=600))]
    pub(crate) within: u64,
    /// How often all reconnect after that, with credentials that the server then has cached
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=100))]
    pub(crate) returns: u32,
    /// Devices have no users, and credentials that are not verified: for the floor, which registers none
    #[arg(long)]
    pub(crate) without_users: bool,
    /// Devices log in with certificates instead of passwords, of an authority that the tenant trusts for the time of
    /// the run; the server needs HTTPS and --client-certificates
    #[arg(long, conflicts_with = "without_users")]
    pub(crate) certificates: bool,
    /// Shell command that starts the server in the foreground, at the address of --url; it is started, and again after
    /// the registration [default: the server runs]
    #[arg(long)]
    pub(crate) server_command: Option<String>,
    /// File to which the output of that server is appended
    #[arg(long, default_value = "reconnect-server.log")]
    pub(crate) server_log: PathBuf,
}

fn ramp(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds: &f64| (0.0001..=60.0).contains(seconds));
    seconds.ok_or_else(|| "seconds from 0.0001 to 60".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ramp_is_a_time_between_two_operations() {
        assert_eq!(ramp("0.01"), Ok(0.01));
        for text in ["", "0", "-1", "61", "x", "inf", "NaN"] {
            assert!(ramp(text).is_err(), "{text}");
        }
    }
}
