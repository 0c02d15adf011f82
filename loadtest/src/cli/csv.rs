//! Scenarios in which devices use the compact CSV protocol.

use clap::{Args, ValueEnum};
use serde::Serialize;

/// Settings of `csv-rows`.
#[derive(Debug, Clone, Args, Serialize)]
pub(crate) struct CsvRows {
    /// Connections; each sends the next request when it has the response
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) connections: u32,
    /// Devices of the rows
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) devices: u32,
    /// Rows in each request; several numbers, such as 1,100, take turns
    #[arg(long, value_delimiter = ',', default_values_t = [1],
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) rows: Vec<u32>,
    /// Also send the same measurements as JSON, in turns
    #[arg(long)]
    pub(crate) against_rest: bool,
    /// Turns of each
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) turns: u32,
    /// Measured seconds of each turn
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) seconds: u64,
    /// Unmeasured seconds before, for warm-up
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(..=86_400))]
    pub(crate) warmup: u64,
    /// Sender of the rows
    #[arg(long, value_enum, default_value_t = SentBy::Device)]
    pub(crate) sent_by: SentBy,
    /// Send no header Accept: for a server that responds with lines nevertheless
    #[arg(long)]
    pub(crate) no_accept: bool,
    /// Send Content-Type with the JSON, as most clients do; the server does not need it
    #[arg(long)]
    pub(crate) content_type: bool,
    /// Read everything back at the end and compare it with the ledger
    #[arg(long)]
    pub(crate) verify: bool,
    /// Limits that must hold
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) limits: RowLimits,
}

/// The limits of `csv-rows` [default: none].
#[derive(Debug, Default, Clone, Copy, Args, Serialize)]
pub(crate) struct RowLimits {
    /// Lowest allowed ratio of rows per second, with the fewest rows per request, to JSON, such as 0.8
    #[arg(long, value_name = "RATIO", requires = "against_rest", value_parser = ratio)]
    pub(crate) least_to_json: Option<f64>,
    /// Lowest allowed ratio of rows per second, with many rows per request, to the next fewer, such as 5
    #[arg(long, value_name = "RATIO", value_parser = ratio)]
    pub(crate) least_to_fewer: Option<f64>,
    /// Highest allowed ratio of bytes on the wire, with the fewest rows per request, to JSON, such as 0.5
    #[arg(long, value_name = "RATIO", requires = "against_rest", value_parser = ratio)]
    pub(crate) most_bytes: Option<f64>,
}

fn ratio(text: &str) -> Result<f64, String> {
    let ratio = text.parse().ok().filter(|ratio: &f64| (0.001..=1000.0).contains(ratio));
    ratio.ok_or_else(|| "a ratio from 0.001 to 1000".to_owned())
}

/// The sender of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SentBy {
    /// Each device, with its own credentials
    Device,
    /// The user of --user, who names the device in X-Device-Id
    User,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratio_is_a_positive_number() {
        assert_eq!(ratio("0.8"), Ok(0.8));
        for text in ["", "0", "-1", "1001", "x", "inf", "NaN"] {
            assert!(ratio(text).is_err(), "{text}");
        }
    }
}
