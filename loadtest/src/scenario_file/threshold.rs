//! Thresholds as sentences: `p99 of notified <= 50ms`, `lost = 0`, `server memory ≤ 200MB`.

use serde::Serialize;
use serde_json::Value;

use super::figure::{self, Figure, Unit};
use super::outcome::Sample;

/// The comparisons, the longer signs first.
const COMPARISONS: [(&str, Comparison); 7] = [
    ("<=", Comparison::AtMost),
    (">=", Comparison::AtLeast),
    ("≤", Comparison::AtMost),
    ("≥", Comparison::AtLeast),
    ("<", Comparison::Below),
    (">", Comparison::Above),
    ("=", Comparison::Equal),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    AtMost,
    AtLeast,
    Below,
    Above,
    Equal,
}

/// A condition for a figure.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Threshold {
    /// The sentence as the file has it.
    pub(super) sentence: String,
    pub(super) figure: &'static Figure,
    /// The member of a report for figures with percentiles.
    quantile: &'static str,
    comparison: Comparison,
    /// In milliseconds, bytes, percent, or a number.
    limit: f64,
}

/// A threshold with the figure of a phase.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Judged {
    pub(super) threshold: String,
    /// In milliseconds, bytes, percent, or a number; absent if no load of the phase measured it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) value: Option<f64>,
    /// The figure with its unit, or `not measured`.
    pub(super) found: String,
    pub(super) holds: bool,
}

impl Threshold {
    /// Reads a sentence.
    ///
    /// # Errors
    /// What is not understood, and what is allowed.
    pub(super) fn parse(sentence: &str) -> Result<Self, String> {
        let refused = |reason: String| format!("threshold {sentence:?}: {reason}");
        let split = COMPARISONS.iter().find_map(|(sign, comparison)| {
            sentence.split_once(sign).map(|(name, limit)| (name.trim(), *comparison, limit.trim()))
        });
        let (name, comparison, limit) = split.ok_or_else(|| {
            refused("write a figure, one of <= ≤ < >= ≥ > =, and a limit, such as `lost = 0`".to_owned())
        })?;
        let (quantile, name) = match name.split_once(" of ") {
            Some((quantile, name)) => (Some(quantile.trim()), name.trim()),
            None => (None, name),
        };
        let figure = figure::named(name).map_err(refused)?;
        let member = match (quantile, figure.has_quantiles()) {
            (None, false) => "",
            (Some(name), true) => figure::quantile(name)
                .ok_or_else(|| refused(format!("{name:?} is not one of {}", figure::quantiles())))?,
            (None, true) => {
                return Err(refused(format!("write a percentile before it, such as `p99 of {name}`")));
            }
            (Some(_), false) => return Err(refused(format!("{name} has no percentiles"))),
        };
        let limit = limit_of(limit, figure.unit).map_err(refused)?;
        Ok(Self { sentence: sentence.to_owned(), figure, quantile: member, comparison, limit })
    }

    /// Judges a phase. A figure that nobody measured does not hold.
    pub(super) fn judge(&self, reports: &[Value], samples: &[Sample]) -> Judged {
        let value = self.figure.value(self.quantile, reports, samples);
        Judged {
            threshold: self.sentence.clone(),
            value,
            found: value.map_or("not measured".to_owned(), |value| shown(value, self.figure.unit)),
            holds: value.is_some_and(|value| self.allows(value)),
        }
    }

    fn allows(&self, value: f64) -> bool {
        match self.comparison {
            Comparison::AtMost => value <= self.limit,
            Comparison::AtLeast => value >= self.limit,
            Comparison::Below => value < self.limit,
            Comparison::Above => value > self.limit,
            Comparison::Equal => (value - self.limit).abs() < f64::EPSILON,
        }
    }
}

/// Reads a limit with its unit.
fn limit_of(text: &str, unit: Unit) -> Result<f64, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, suffix) = text.split_at(digits);
    let units: &[(&str, f64)] = match unit {
        Unit::Count => &[("", 1.0)],
        Unit::Rate => &[("", 1.0), ("/s", 1.0)],
        Unit::Time => &[("ms", 1.0), ("s", 1000.0), ("min", 60_000.0)],
        Unit::Memory => &[
            ("kB", 1e3),
            ("MB", 1e6),
            ("GB", 1e9),
            ("KiB", 1024.0),
            ("MiB", 1_048_576.0),
            ("GiB", 1_073_741_824.0),
        ],
        Unit::Percent => &[("%", 1.0)],
    };
    let factor = units.iter().find(|(name, _)| *name == suffix.trim()).map(|(_, factor)| *factor);
    match (number.parse::<f64>(), factor) {
        (Ok(number), Some(factor)) => Ok(number * factor),
        _ => {
            let allowed: Vec<String> = units.iter().map(|(name, _)| format!("`50{name}`")).collect();
            Err(format!("{text:?} is not a limit; write it like {}", allowed.join(" or ")))
        }
    }
}

/// Returns a value with its unit, for people.
fn shown(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Count => format!("{value:.0}"),
        Unit::Rate => format!("{value:.1}/s"),
        Unit::Time => format!("{value:.2} ms"),
        Unit::Memory => format!("{:.1} MB", value / 1e6),
        Unit::Percent => format!("{value:.1} %"),
    }
}
