//! Parses thresholds that are written as sentences: `p99 of notified <= 50ms`, `lost = 0`, `server memory ≤ 200MB`,
//! `failed of "meters" = 0`.

use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use super::figure::{self, Figure, Percentile};
use super::pulse::GeneratorDelay;
use super::sample::Sample;
use crate::traffic::schedule::quantity::parse;

/// The comparison signs, with the longer ones first.
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
#[derive(Debug, Clone)]
pub(super) struct Threshold {
    /// The sentence as the file has it.
    pub(super) sentence: String,
    pub(super) figure: &'static Figure,
    /// The group or dashboards that the figure is about; all of them if none is named.
    pub(super) of: Option<String>,
    /// The time in the phase from which the run ends as soon as the threshold does not hold.
    pub(super) aborts_after: Option<Duration>,
    /// The percentile, for figures that have them.
    percentile: Option<Percentile>,
    comparison: Comparison,
    /// The limit in milliseconds, bytes, percent, or as a number.
    limit: f64,
}

/// A threshold with the figure of a phase.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Judged {
    pub(super) threshold: String,
    /// The value in milliseconds, bytes, percent, or as a number; absent if no load of the phase measured it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) value: Option<f64>,
    /// The figure with its unit, or `not measured`.
    pub(super) found: String,
    pub(super) holds: bool,
    /// The milliseconds by which the generator itself was late, if that may be why the threshold does not hold. It is
    /// then not judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) generator_late_ms: Option<f64>,
}

/// Returns a sentence without the name of a group, and that name, if it has one; `None` if the name is not complete.
fn split_name(sentence: &str) -> Option<(String, Option<String>)> {
    let Some((before, rest)) = sentence.split_once('"') else { return Some((sentence.to_owned(), None)) };
    let (name, after) = rest.split_once('"').filter(|(name, _)| !name.is_empty())?;
    let before = before.trim_end().strip_suffix(" of")?;
    Some((format!("{before} {after}"), Some(name.to_owned())))
}

/// Returns the figures of a group or of dashboards in each report.
fn parts_named(name: &str, reports: &[Value]) -> Vec<Value> {
    let parts = reports.iter().filter_map(|report| report["parts"].as_array()).flatten();
    parts.filter(|part| part["name"] == name).cloned().collect()
}

/// Returns the second of the run in which a latency was longest, if the samples have it.
fn worst_second(figure: &str, samples: &[Sample]) -> Option<f64> {
    let [longest, rare] = ["max", "p99"].map(|quantile| format!("{figure}_{quantile}_ms"));
    let value = |sample: &Sample| sample.value(&longest).or_else(|| sample.value(&rare));
    let known = samples.iter().filter_map(|sample| Some((sample.at, value(sample)?)));
    known.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(at, _)| at)
}

impl Threshold {
    /// Reads a sentence.
    ///
    /// # Errors
    /// A text that names the invalid part and the allowed values.
    pub(super) fn parse(sentence: &str) -> Result<Self, String> {
        let refused = |reason: String| format!("threshold {sentence:?}: {reason}");
        let (unquoted, of) = split_name(sentence).ok_or_else(|| {
            refused("a name is written as `of \"…\"`, such as `failed of \"meters\" = 0`".to_owned())
        })?;
        let split = COMPARISONS.iter().find_map(|(sign, comparison)| {
            unquoted.split_once(sign).map(|(name, limit)| (name.trim(), *comparison, limit.trim()))
        });
        let (name, comparison, limit) = split.ok_or_else(|| {
            refused("write a figure, one of <= ≤ < >= ≥ > =, and a limit, such as `lost = 0`".to_owned())
        })?;
        let (quantile, name) = match name.split_once(" of ") {
            Some((quantile, name)) => (Some(quantile.trim()), name.trim()),
            None => (None, name),
        };
        let figure = figure::named(name).map_err(refused)?;
        let percentile = match (quantile, figure.has_quantiles()) {
            (None, false) => None,
            (Some(name), true) => Some(figure::percentile(name).map_err(refused)?),
            (None, true) => {
                return Err(refused(format!("write a percentile before it, such as `p99 of {name}`")));
            }
            (Some(_), false) => return Err(refused(format!("{name} has no percentiles"))),
        };
        let limit = parse(limit, figure.unit).map_err(refused)?;
        let sentence = sentence.to_owned();
        Ok(Self { sentence, figure, of, aborts_after: None, percentile, comparison, limit })
    }

    /// Judges a phase. A threshold does not hold if its figure was not measured.
    /// A latency that was exceeded by no more than the delay of the generator itself is not judged.
    pub(super) fn judge(
        &self,
        reports: &[Value],
        samples: &[Sample],
        delay: Option<GeneratorDelay>,
    ) -> Judged {
        let parts: Vec<Value>;
        let reports = match &self.of {
            Some(name) => {
                parts = parts_named(name, reports);
                &parts
            }
            None => reports,
        };
        let value = self.figure.value(self.percentile, reports, samples);
        let mut found = value.map_or("not measured".to_owned(), |value| self.figure.unit.shown(value));
        let holds = value.is_some_and(|value| self.allows(value));
        let explains = |delay: &GeneratorDelay| {
            let is_by_delay = value.is_some_and(|value| delay.ms >= value - self.limit);
            let is_upper = matches!(self.comparison, Comparison::AtMost | Comparison::Below);
            !holds
                && is_upper
                && (self.figure.name == "late" && value.is_some()
                    || self.figure.has_quantiles() && is_by_delay)
        };
        let delay = delay.filter(explains);
        if !holds
            && self.figure.has_quantiles()
            && self.of.is_none()
            && let Some(worst) = worst_second(self.figure.name, samples)
        {
            found += &format!("; worst second: {worst:.0} s");
        }
        if let Some(delay) = delay {
            found += &format!(
                "; not judged: the generator itself was late by up to {:.0} ms at {:.1} s",
                delay.ms, delay.at
            );
        }
        let generator_late_ms = delay.map(|delay| delay.ms);
        Judged { threshold: self.sentence.clone(), value, found, holds, generator_late_ms }
    }

    /// Returns the threshold with its effect, for people.
    pub(super) fn in_words(&self) -> String {
        let ends = |after: Duration| format!("; from {} s on, a miss ends the run", after.as_secs_f64());
        format!("{}{}", self.sentence, self.aborts_after.map(ends).unwrap_or_default())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_are_sentences_with_units() {
        for sentence in [
            "p97.25 of posts < 1s",
            "p99 of notified ≤ 50ms",
            "max of posts < 1.5 s",
            "server memory <= 200MB",
            "server CPU <= 80%",
            "posts per second >= 90/s",
            "p99 of notified of \"a <= 1 b\" <= 50ms",
            "failed of \"meters\" = 0",
        ] {
            assert!(Threshold::parse(sentence).is_ok(), "{sentence}");
        }
        for sentence in [
            "lost",
            "lost = many",
            "p100 of posts < 1s",
            "p0 of posts < 1s",
            "pNaN of posts < 1s",
            "posts < 1s",
            "p99 of lost = 0",
            "lost = 0ms",
            "server memory < 5",
            "lost = -1",
            "failed of \"meters = 0",
            "failed \"meters\" = 0",
            "failed of \"\" = 0",
        ] {
            assert!(
                Threshold::parse(sentence).unwrap_err().starts_with(&format!("threshold {sentence:?}: ")),
                "{sentence}"
            );
        }
    }
    #[test]
    fn threshold_of_a_group_is_judged_by_the_figures_of_the_group() {
        let report = serde_json::json!({"posts": {"failed": 7}, "parts": [
            {"name": "a", "posts": {"failed": 0}}, {"name": "b", "posts": {"failed": 7}}, {"name": "c"}]});
        let judge = |sentence: &str| {
            let judged = Threshold::parse(sentence).unwrap().judge(std::slice::from_ref(&report), &[], None);
            (judged.holds, judged.found)
        };
        assert_eq!(judge("failed = 0"), (false, "7".to_owned()));
        assert_eq!(judge("failed of \"a\" = 0"), (true, "0".to_owned()));
        assert_eq!(judge("failed of \"b\" = 0"), (false, "7".to_owned()));
        assert_eq!(judge("failed of \"c\" = 0"), (false, "not measured".to_owned()));
    }
}
