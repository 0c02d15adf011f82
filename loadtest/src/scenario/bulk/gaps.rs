//! The regularity of events: the times between one and the next. Pure data. Times are microseconds.

use crate::ledger::latency::{Delay, Latency};
use crate::report::Fact;

/// Times that should be a ramp apart.
#[derive(Debug)]
pub(crate) struct Gaps {
    times: Vec<i64>,
}

impl Gaps {
    /// Creates it from times in any order.
    pub(crate) fn of(mut times: Vec<i64>) -> Self {
        times.sort_unstable();
        Self { times }
    }

    /// Returns the time from the first to the last, in seconds.
    pub(crate) fn total(&self) -> f64 {
        let ends = self.times.first().zip(self.times.last());
        ends.map_or(0.0, |(first, last)| (last - first) as f64 / 1e6)
    }

    /// Returns by how many per cent the whole took longer than `ramp` seconds between each two; negative when
    /// it was shorter, and zero for fewer than two.
    pub(crate) fn error(&self, ramp: f64) -> f64 {
        let due = self.times.len().saturating_sub(1) as f64 * ramp;
        if due == 0.0 { 0.0 } else { 100.0 * (self.total() - due) / due }
    }

    /// Returns whether the whole took as long as the ramp requires, within a tolerance in per cent.
    pub(crate) fn fact(&self, ramp: f64, tolerance: f64) -> Fact {
        let error = self.error(ramp);
        Fact {
            what: "ramp",
            found: format!(
                "{:.3} s for {} gaps of {ramp} s: {error:+.3} %",
                self.total(),
                self.gaps().count()
            ),
            expected: format!("{tolerance} % at most"),
            holds: error.abs() <= tolerance,
        }
    }

    /// Returns how many gaps were shorter than half the ramp: delays must not be made up by a higher rate
    /// (K-11).
    pub(crate) fn haste(&self, ramp: f64) -> Fact {
        let half = ramp * 1e6 / 2.0;
        let short = self.gaps().filter(|gap| (*gap as f64) < half).count();
        Fact::any("gaps under half a ramp", short.to_string())
    }

    /// Returns the distribution of the gaps.
    pub(crate) fn delay(&self) -> Delay {
        Delay { kind: "gaps", latency: Latency::of(&self.gaps().collect()) }
    }

    fn gaps(&self) -> impl Iterator<Item = u64> {
        self.times.windows(2).map(|pair| (pair[1] - pair[0]) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four times: 10, 10 and 40 ms apart.
    fn gaps() -> Gaps {
        Gaps::of([1_060_000, 1_000_000, 1_010_000, 1_020_000].into())
    }

    #[test]
    fn whole_is_compared_with_the_ramp() {
        assert!((gaps().total() - 0.06).abs() < 1e-9);
        assert!((gaps().error(0.01) - 100.0).abs() < 1e-9);
        assert!((gaps().error(0.04) + 50.0).abs() < 1e-9);
        assert!(gaps().fact(0.02, 0.01).holds);
        let fact = gaps().fact(0.01, 99.0);
        assert_eq!((fact.holds, &*fact.found), (false, "0.060 s for 3 gaps of 0.01 s: +100.000 %"));
        assert!(!gaps().fact(0.04, 49.0).holds);
    }

    #[test]
    fn spread_is_that_of_the_gaps() {
        let delay = serde_json::to_value(gaps().delay()).unwrap();
        assert_eq!(delay["latency"]["samples"], 3);
        assert_eq!(delay["latency"]["p50_ms"].as_f64().unwrap().round(), 10.0);
        assert_eq!(delay["latency"]["max_ms"].as_f64().unwrap().round(), 40.0);
    }

    #[test]
    fn short_gaps_are_counted() {
        assert_eq!(gaps().haste(0.02).found, "0");
        assert_eq!(gaps().haste(0.021).found, "2");
    }

    #[test]
    fn one_time_or_none_has_no_gaps_and_no_error() {
        for times in [vec![], vec![7]] {
            let gaps = Gaps::of(times);
            assert_eq!((gaps.total(), gaps.error(0.01)), (0.0, 0.0));
        }
    }
}
