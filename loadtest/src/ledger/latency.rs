//! Durations.

use hdrhistogram::Histogram;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Durations are counted up to ten minutes, in microseconds, to three digits.
const LONGEST: u64 = 600_000_000;

/// Durations in microseconds.
#[derive(Debug, Clone)]
pub(crate) struct Times(Histogram<u64>);

impl Default for Times {
    fn default() -> Self {
        Self(Histogram::new_with_max(LONGEST, 3).expect("the bounds are constants the crate accepts"))
    }
}

impl Times {
    /// Adds a duration; longer ones count as ten minutes.
    pub(crate) fn record(&mut self, micros: u64) {
        self.record_n(micros, 1);
    }

    /// Adds the same duration several times.
    pub(crate) fn record_n(&mut self, micros: u64, count: u64) {
        self.0.saturating_record_n(micros, count);
    }

    /// Adds other durations.
    pub(crate) fn add(&mut self, other: &Self) {
        self.0.add(&other.0).expect("all have the same bounds");
    }

    /// Returns the number of durations.
    pub(crate) fn len(&self) -> u64 {
        self.0.len()
    }

    /// Returns whether there is no duration.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the mean in microseconds.
    pub(crate) fn mean(&self) -> f64 {
        self.0.mean()
    }

    /// Returns a quantile in microseconds.
    pub(crate) fn micros(&self, quantile: f64) -> u64 {
        self.0.value_at_quantile(quantile)
    }

    /// Returns a quantile in milliseconds.
    pub(crate) fn ms(&self, quantile: f64) -> f64 {
        self.micros(quantile) as f64 / 1000.0
    }

    /// Returns each value with its count, in ascending order.
    fn counts(&self) -> impl Iterator<Item = (u64, u64)> {
        self.0.iter_recorded().map(|value| (value.value_iterated_to(), value.count_at_value()))
    }
}

impl FromIterator<u64> for Times {
    fn from_iter<I: IntoIterator<Item = u64>>(durations: I) -> Self {
        let mut times = Self::default();
        durations.into_iter().for_each(|micros| times.record(micros));
        times
    }
}

/// Generators exchange the values with their counts.
impl Serialize for Times {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.counts())
    }
}

impl<'de> Deserialize<'de> for Times {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut times = Self::default();
        for (micros, count) in Vec::<(u64, u64)>::deserialize(deserializer)? {
            times.record_n(micros, count);
        }
        Ok(times)
    }
}

/// Percentiles in milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Latency {
    samples: u64,
    pub(crate) p50_ms: f64,
    p90_ms: f64,
    p95_ms: f64,
    pub(crate) p99_ms: f64,
    p999_ms: f64,
    pub(crate) max_ms: f64,
    /// The values at [`CURVE`], for charts.
    curve_ms: Vec<f64>,
    /// All values in microseconds with their counts, in ascending order: `1200:5 1350:2`. The values have three digits.
    histogram_us: String,
}

/// The quantiles of a percentile curve.
pub(crate) const CURVE: [f64; 14] =
    [0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975, 0.99, 0.995, 0.999, 0.9995, 0.9999, 1.0];

impl Latency {
    /// Computes the percentiles of durations.
    pub(crate) fn of(times: &Times) -> Self {
        let at = |quantile| times.ms(quantile);
        let counts = times.counts().map(|(micros, count)| format!("{micros}:{count}"));
        Self {
            samples: times.len(),
            p50_ms: at(0.5),
            p90_ms: at(0.9),
            p95_ms: at(0.95),
            p99_ms: at(0.99),
            p999_ms: at(0.999),
            max_ms: times.0.max() as f64 / 1000.0,
            curve_ms: CURVE.map(at).into(),
            histogram_us: counts.collect::<Vec<_>>().join(" "),
        }
    }
}

/// Returns a quantile in milliseconds of a histogram that was written as a text; `None` if it has no values.
pub(crate) fn quantile_of(text: &str, quantile: f64) -> Option<f64> {
    let counts = text.split(' ').map(|one| {
        let (micros, count) = one.split_once(':')?;
        Some((micros.parse::<u64>().ok()?, count.parse::<u64>().ok()?))
    });
    let counts: Vec<(u64, u64)> = counts.collect::<Option<_>>()?;
    let samples: u64 = counts.iter().map(|(_, count)| count).sum();
    let rank = ((samples as f64 * quantile).ceil() as u64).max(1);
    let mut below = 0;
    let reached = counts.iter().find(|(_, count)| {
        below += count;
        below >= rank
    });
    reached.map(|(micros, _)| *micros as f64 / 1000.0)
}

impl Latency {
    /// Returns whether nothing was measured.
    pub(crate) fn is_empty(&self) -> bool {
        self.samples == 0
    }

    /// Returns whether the 99th percentile is within a limit.
    pub(crate) fn is_within(&self, milliseconds: u32) -> bool {
        self.p99_ms <= f64::from(milliseconds)
    }
}

impl Latency {
    /// Returns the median and the 99th percentile in a few words.
    pub(crate) fn brief(&self) -> String {
        if self.is_empty() {
            return "no samples".to_owned();
        }
        format!("p50 {:.1} p99 {:.1} ms", self.p50_ms, self.p99_ms)
    }

    /// Returns all percentiles, or that nothing was measured.
    pub(crate) fn row(&self) -> String {
        if self.is_empty() {
            return "no samples".to_owned();
        }
        format!(
            "p50 {:.2}  p90 {:.2}  p95 {:.2}  p99 {:.2}  p99.9 {:.2}  max {:.2} ms  ({} samples)",
            self.p50_ms, self.p90_ms, self.p95_ms, self.p99_ms, self.p999_ms, self.max_ms, self.samples
        )
    }
}

/// A duration that is not that of a request.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Delay {
    /// The start and the end of the duration, in words.
    pub(crate) kind: &'static str,
    pub(crate) latency: Latency,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_measured_is_not_a_latency_of_zero() {
        let nothing = Latency::of(&Times::default());
        assert_eq!((nothing.row().as_str(), nothing.brief().as_str()), ("no samples", "no samples"));
    }

    #[test]
    fn every_quantile_is_that_of_the_histogram() {
        let times: Times = (1..=2000).map(|number| number * number).collect();
        let latency = Latency::of(&times);
        for quantile in [0.001, 0.5, 0.75, 0.975, 0.999, 0.9999, 1.0] {
            assert_eq!(quantile_of(&latency.histogram_us, quantile), Some(times.ms(quantile)), "{quantile}");
        }
        assert_eq!(quantile_of(&Latency::of(&Times::default()).histogram_us, 0.5), None);
    }
}
