//! Scenarios that write as fast as the server accepts.

use clap::Args;
use serde::Serialize;

use crate::protocol::object_kind::ObjectKind;

/// Settings of `measurements`.
#[derive(Debug, Clone, Args, Serialize)]
pub(crate) struct Measurements {
    /// Connections; without --rate and --ramp each posts again when it has the response to the post before
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) connections: u32,
    /// Devices the measurements are spread over
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) devices: u32,
    /// Measured seconds; of a ramp, seconds of each step
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) seconds: u64,
    /// Unmeasured seconds before, for warm-up
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(..=86_400))]
    pub(crate) warmup: u64,
    /// Objects that are posted
    #[arg(long, value_enum, default_value_t = ObjectKind::Measurement)]
    pub(crate) kind: ObjectKind,
    /// Measurements in each post; more than one make a measurementCollection
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) per_post: u32,
    /// Processing mode, such as TRANSIENT [default: none is sent, which means PERSISTENT]
    #[arg(long)]
    pub(crate) mode: Option<String>,
    /// Request responses with a body
    #[arg(long)]
    pub(crate) accept: bool,
    /// Read everything back at the end and compare it with the ledger
    #[arg(long)]
    pub(crate) verify: bool,
    /// Posts per second on a fixed schedule, regardless of the responses
    #[arg(long, conflicts_with = "ramp", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) rate: Option<u32>,
    /// Posts per second, rising step by step until the server breaks, such as 1000..20000
    #[arg(long, value_name = "FROM..TO", value_parser = Ramp::parse)]
    pub(crate) ramp: Option<Ramp>,
    /// Difference between the rates of two steps of a ramp
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) step: u32,
}

/// A range of rates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Ramp {
    /// The first rate, in posts per second.
    pub(crate) from: u32,
    /// The last rate.
    pub(crate) to: u32,
}

impl Ramp {
    fn parse(text: &str) -> Result<Self, String> {
        let rate = |text: &str| text.parse().ok().filter(|rate| (1..=1_000_000).contains(rate));
        let rates = text.split_once("..").and_then(|(from, to)| rate(from).zip(rate(to)));
        let ramp = rates.map(|(from, to)| Self { from, to }).filter(|ramp| ramp.from < ramp.to);
        ramp.ok_or_else(|| "two rising rates from 1 to 1000000, such as 1000..20000".to_owned())
    }

    /// Returns the rates from the first on, each higher by `step`.
    pub(crate) fn rates(self, step: u32) -> impl Iterator<Item = u32> {
        (self.from..=self.to).step_by(step as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ramp_is_two_rising_rates() {
        let ramp = Ramp::parse("1000..4500").unwrap();
        assert_eq!(ramp.rates(1500).collect::<Vec<_>>(), [1000, 2500, 4000]);
        for text in ["", "5", "5..", "0..5", "7..5", "5..5", "1..2000000", "-1..5"] {
            assert!(Ramp::parse(text).is_err(), "{text}");
        }
    }
}
