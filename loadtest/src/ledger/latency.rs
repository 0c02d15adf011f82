//! Durations.

use hdrhistogram::Histogram;
use serde::Serialize;

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
    /// Computes the percentiles of a histogram in microseconds.
    pub(crate) fn of(histogram: &Histogram<u64>) -> Self {
        let at = |quantile| histogram.value_at_quantile(quantile) as f64 / 1000.0;
        Self {
            samples: histogram.len(),
            p50_ms: at(0.5),
            p90_ms: at(0.9),
            p95_ms: at(0.95),
            p99_ms: at(0.99),
            p999_ms: at(0.999),
            max_ms: histogram.max() as f64 / 1000.0,
            curve_ms: CURVE.map(at).into(),
            histogram_us: text_of(histogram),
        }
    }
}

fn text_of(histogram: &Histogram<u64>) -> String {
    let recorded = histogram.iter_recorded();
    let counts = recorded.map(|value| format!("{}:{}", value.value_iterated_to(), value.count_at_value()));
    counts.collect::<Vec<_>>().join(" ")
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
    use crate::ledger::run::histogram;

    #[test]
    fn nothing_measured_is_not_a_latency_of_zero() {
        let nothing = Latency::of(&histogram([].into_iter()));
        assert_eq!((nothing.row().as_str(), nothing.brief().as_str()), ("no samples", "no samples"));
    }

    #[test]
    fn every_quantile_is_that_of_the_histogram() {
        let times = histogram((1..=2000).map(|number| number * number));
        let latency = Latency::of(&times);
        for quantile in [0.001, 0.5, 0.75, 0.975, 0.999, 0.9999, 1.0] {
            let expected = times.value_at_quantile(quantile) as f64 / 1000.0;
            assert_eq!(quantile_of(&latency.histogram_us, quantile), Some(expected), "{quantile}");
        }
        assert_eq!(quantile_of(&Latency::of(&histogram([].into_iter())).histogram_us, 0.5), None);
    }
}
