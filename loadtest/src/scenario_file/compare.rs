//! Compares two results of `run`: which figures are better, which are worse, and which differences are noise.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::outcome::{Outcome, SCHEMA, VERSION};
use super::sample::{Sample, median};
use super::stall::stalls;
use crate::cli::Compare;
use crate::error::Error;
use crate::report;

/// A difference counts as noise if its probability by chance is higher than this.
const CHANCE: f64 = 0.01;
/// The fewest runs on each side for a comparison of runs. With fewer, the seconds of the runs are compared instead.
const FEWEST_RUNS: usize = 5;
/// The fewest seconds on each side for a comparison of seconds. With fewer, a value is not compared.
const FEWEST_SECONDS: usize = 8;

/// The compared figures: the name in a sample, the name in the table, whether a larger value is better, and the largest
/// difference that never counts: CPU is measured in clock ticks, and memory depends on what the server did before.
const COMPARED: [(&str, &str, bool, f64); 9] = [
    ("posts", "posts per second", true, 0.0),
    ("failed", "failed per second", false, 0.0),
    ("notified", "notified per second", true, 0.0),
    ("notified_p50_ms", "p50 of notified, ms", false, 0.0),
    ("notified_p99_ms", "p99 of notified, ms", false, 0.0),
    ("posts_p99_ms", "p99 of posts, ms", false, 0.0),
    ("server_cpu_percent", "server CPU, %", false, 3.0),
    ("server_memory", "server memory, bytes", false, 16.0 * 1024.0 * 1024.0),
    ("postgres_cpu_percent", "PostgreSQL CPU, %", false, 3.0),
];

/// The parts of a result that are compared.
#[derive(Debug, Deserialize)]
pub(super) struct Run {
    name: String,
    clean: bool,
    pub(super) phases: Vec<RunPhase>,
}

#[derive(Debug, Deserialize)]
pub(super) struct RunPhase {
    pub(super) name: String,
    samples: Vec<Sample>,
    #[serde(default)]
    pub(super) loads: Vec<RunLoad>,
}

#[derive(Debug, Deserialize)]
pub(super) struct RunLoad {
    pub(super) report: Value,
}

/// The meaning of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Better,
    Worse,
    Noise,
}

/// A value of a phase in both runs.
#[derive(Debug)]
struct Row {
    name: &'static str,
    before: Spread,
    after: Spread,
    /// The probability of such a difference by chance.
    chance: f64,
    verdict: Verdict,
}

/// The median and the quartiles of a value.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Spread {
    median: f64,
    low: f64,
    high: f64,
}

/// The result of an earlier run, with which later ones are compared.
#[derive(Debug)]
pub(super) struct Baseline(Run);

impl Baseline {
    /// Reads a baseline.
    ///
    /// # Errors
    /// The file is not the result of a run.
    pub(super) fn read(file: &Path) -> Result<Self, Error> {
        Run::read(file).map(Self)
    }

    /// Prints the comparison with a later run. Returns whether the later run is worse.
    ///
    /// # Errors
    /// The runs have no phase in common.
    pub(super) fn judge(self, outcome: &Outcome, tolerance: f64) -> Result<bool, Error> {
        let phases = outcome.phases.iter().map(|phase| RunPhase {
            name: phase.name.clone(),
            samples: phase.samples.clone(),
            loads: phase.loads.iter().map(|load| RunLoad { report: load.report.clone() }).collect(),
        });
        let after = Run { name: outcome.name.clone(), clean: outcome.clean, phases: phases.collect() };
        print(&[self.0], &[after], tolerance)
    }
}

/// Compares the results of runs and prints the comparison. Returns whether the later runs are not worse.
///
/// # Errors
/// A file is not the result of a run, or the runs have no phase in common.
pub(crate) fn compare(settings: &Compare) -> Result<bool, Error> {
    let read = |files: &[PathBuf]| files.iter().map(|file| Run::read(file)).collect::<Result<Vec<_>, _>>();
    print(&read(&settings.before)?, &read(&settings.after)?, settings.tolerance).map(|is_worse| !is_worse)
}

impl Run {
    fn read(file: &Path) -> Result<Self, Error> {
        let refused = |reason: String| Error::Refused(format!("{}: {reason}", file.display()));
        let text = fs::read_to_string(file).map_err(|error| refused(error.to_string()))?;
        let value: Value = serde_json::from_str(&text).map_err(|error| refused(error.to_string()))?;
        let (schema, version) = (value["schema"].as_str(), value["version"].as_u64());
        if schema != Some(SCHEMA) || version != Some(VERSION.into()) {
            let found = format!("{} {}", schema.unwrap_or("without schema"), version.unwrap_or_default());
            return Err(refused(format!(
                "it is {found}, not {SCHEMA} {VERSION} as `loadtest run --json` writes it"
            )));
        }
        serde_json::from_value(value).map_err(|error| refused(error.to_string()))
    }
}

/// Prints the comparison. Returns whether the later runs are worse.
pub(super) fn print(before: &[Run], after: &[Run], tolerance: f64) -> Result<bool, Error> {
    let by_runs = before.len().min(after.len()) >= FEWEST_RUNS;
    let mut text = format!(
        "{} ({}) against {} ({}): Mann-Whitney rank test over {}; verdicts below {CHANCE} and beyond {tolerance} %\n",
        names(after),
        after.len(),
        names(before),
        before.len(),
        if by_runs { "the medians of the runs" } else { "the seconds of the runs" }
    );
    let phases: Vec<&str> =
        before.iter().flat_map(|run| &run.phases).map(|phase| phase.name.as_str()).collect();
    let mut seen = Vec::new();
    let mut is_worse = before.iter().all(|run| run.clean) && !after.iter().all(|run| run.clean);
    if is_worse {
        text += "worse: the later run is not clean, the earlier one was\n";
    }
    for phase in phases {
        if seen.contains(&phase) || !after.iter().any(|run| run.phases.iter().any(|of| of.name == phase)) {
            continue;
        }
        seen.push(phase);
        text += &format!(
            "\n{phase}\n{:<22} {:>30} {:>30} {:>9} {:>9}\n",
            "", "before: median (half of all)", "after", "change", "chance"
        );
        for row in rows(before, after, phase, by_runs, tolerance) {
            is_worse |= row.verdict == Verdict::Worse;
            text += &row.text();
        }
        for stall in stalls(before, after, phase) {
            is_worse = true;
            text += &stall;
        }
    }
    if seen.is_empty() {
        return Err(Error::Refused("the runs have no phase of the same name".to_owned()));
    }
    report::print(&text);
    Ok(is_worse)
}

fn names(runs: &[Run]) -> &str {
    runs.first().map_or("", |run| &run.name)
}

fn rows(before: &[Run], after: &[Run], phase: &str, by_runs: bool, tolerance: f64) -> Vec<Row> {
    let values = |runs: &[Run], key: &str| -> Vec<f64> {
        let of_run = |run: &Run| -> Vec<f64> {
            let phases = run.phases.iter().filter(|of| of.name == phase);
            let samples = phases.flat_map(|phase| &phase.samples);
            let mut values: Vec<f64> = samples.filter_map(|sample| sample.value(key)).collect();
            if by_runs { median(&mut values).into_iter().collect() } else { values }
        };
        runs.iter().flat_map(of_run).collect()
    };
    let fewest = if by_runs { FEWEST_RUNS } else { FEWEST_SECONDS };
    let row = |(key, name, more_is_better, floor): (&str, &'static str, bool, f64)| {
        let (mut before, mut after) = (values(before, key), values(after, key));
        if before.len().min(after.len()) < fewest {
            return None;
        }
        let chance = mann_whitney(&before, &after);
        let (before, after) = (Spread::of(&mut before)?, Spread::of(&mut after)?);
        let is_small = (after.median - before.median).abs() <= floor;
        let verdict = match verdict(before.median, after.median, chance, tolerance, more_is_better) {
            _ if is_small => Verdict::Noise,
            verdict => verdict,
        };
        Some(Row { name, before, after, chance, verdict })
    };
    COMPARED.into_iter().filter_map(row).collect()
}

fn verdict(before: f64, after: f64, chance: f64, tolerance: f64, more_is_better: bool) -> Verdict {
    let is_equal = (after - before).abs() <= before.abs() * tolerance / 100.0;
    match chance < CHANCE && !is_equal {
        false => Verdict::Noise,
        true if (after > before) == more_is_better => Verdict::Better,
        true => Verdict::Worse,
    }
}

impl Spread {
    fn of(values: &mut [f64]) -> Option<Self> {
        let median = median(values)?;
        Some(Self { median, low: values[values.len() / 4], high: values[values.len() * 3 / 4] })
    }

    fn text(self) -> String {
        format!("{} ({} to {})", rounded(self.median), rounded(self.low), rounded(self.high))
    }
}

/// Returns a number with at least three significant digits.
fn rounded(value: f64) -> String {
    if value.abs() >= 100.0 { format!("{value:.0}") } else { format!("{value:.2}") }
}

impl Row {
    fn text(&self) -> String {
        let change = match self.before.median {
            0.0 => String::new(),
            before => format!("{:+.1} %", 100.0 * (self.after.median - before) / before),
        };
        let verdict = match self.verdict {
            Verdict::Better => "better",
            Verdict::Worse => "WORSE",
            Verdict::Noise => "noise",
        };
        format!(
            "{:<22} {:>30} {:>30} {change:>9} {:>9.4}  {verdict}\n",
            self.name,
            self.before.text(),
            self.after.text(),
            self.chance
        )
    }
}

/// Returns the probability that two groups differ this much in rank by chance (two-sided, normal approximation,
/// corrected for ties).
fn mann_whitney(first: &[f64], second: &[f64]) -> f64 {
    let mut all: Vec<(f64, bool)> =
        first.iter().map(|value| (*value, true)).chain(second.iter().map(|value| (*value, false))).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (n, m, total) = (first.len() as f64, second.len() as f64, all.len() as f64);
    let (mut ranks_of_first, mut ties, mut before) = (0.0, 0.0, 0.0);
    for tied in all.chunk_by(|a, b| a.0 == b.0) {
        let equal = tied.len() as f64;
        let of_first = tied.iter().filter(|(_, is_first)| *is_first).count();
        ranks_of_first += (before + (equal + 1.0) / 2.0) * of_first as f64;
        ties += equal.powi(3) - equal;
        before += equal;
    }
    let u = ranks_of_first - n * (n + 1.0) / 2.0;
    let deviation = (n * m / 12.0 * (total + 1.0 - ties / (total * (total - 1.0)))).sqrt();
    if deviation.is_nan() || deviation == 0.0 {
        return 1.0;
    }
    let z = (u - n * m / 2.0).abs() / deviation;
    complementary_error(z / std::f64::consts::SQRT_2)
}

/// Returns the complementary error function of a number that is not negative (Abramowitz and Stegun 7.1.26, accurate to
/// seven digits).
fn complementary_error(x: f64) -> f64 {
    const FACTORS: [f64; 5] = [0.254_829_592, -0.284_496_736, 1.421_413_741, -1.453_152_027, 1.061_405_429];
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    let polynomial = FACTORS.iter().rev().fold(0.0, |sum, factor| (sum + factor) * t);
    polynomial * (-x * x).exp()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    #[test]
    fn chance_of_a_difference_is_that_of_the_ranks() {
        let numbers = |from: u32, to: u32| (from..to).map(f64::from).collect::<Vec<_>>();
        assert!((mann_whitney(&numbers(0, 20), &numbers(0, 20)) - 1.0).abs() < 1e-6);
        // scipy.stats.mannwhitneyu(range(1, 11), range(6, 16), method="asymptotic") gives 0.00314.
        let half = mann_whitney(&numbers(1, 11), &numbers(6, 16));
        assert!((0.001..0.01).contains(&half), "{half}");
        assert!(mann_whitney(&numbers(0, 20), &numbers(20, 40)) < 1e-6);
        assert_eq!(mann_whitney(&[5.0; 9], &[5.0; 9]), 1.0);
        assert!((complementary_error(1.0) - 0.157_299_2).abs() < 1e-6);
    }

    #[test]
    fn verdict_needs_ranks_and_more_than_the_tolerance() {
        assert_eq!(verdict(100.0, 120.0, 0.001, 5.0, true), Verdict::Better);
        assert_eq!(verdict(100.0, 120.0, 0.001, 5.0, false), Verdict::Worse);
        assert_eq!(verdict(100.0, 104.0, 0.001, 5.0, true), Verdict::Noise);
        assert_eq!(verdict(100.0, 120.0, 0.02, 5.0, true), Verdict::Noise);
        assert_eq!(verdict(0.0, 1.0, 0.001, 5.0, false), Verdict::Worse);
    }

    fn run(posts: impl Fn(u32) -> f64, clean: bool) -> Run {
        let sample =
            |second: u32| Sample { at: second.into(), values: [("posts".to_owned(), posts(second))].into() };
        let samples = (0..30).map(sample).collect();
        let phase = RunPhase { name: "p".to_owned(), samples, loads: Vec::new() };
        Run { name: "x".to_owned(), clean, phases: vec![phase] }
    }

    /// Returns a run whose seconds are all alike, with a latency of the whole phase.
    pub(in super::super) fn run_with(key: &str, value: f64, max_ms: f64) -> Run {
        let sample = |second: u32| Sample { at: second.into(), values: [(key.to_owned(), value)].into() };
        let report = serde_json::json!({"deliveries": {"latency": {"p99_ms": 20.0, "max_ms": max_ms}}});
        let samples = (0..16).map(sample).collect();
        let phase = RunPhase { name: "p".to_owned(), samples, loads: vec![RunLoad { report }] };
        Run { name: "x".to_owned(), clean: true, phases: vec![phase] }
    }

    #[test]
    fn differences_below_the_resolution_of_a_figure_are_noise() {
        for (key, before, after, is_worse) in [
            ("server_cpu_percent", 3.0, 3.99, false),
            ("server_cpu_percent", 3.0, 6.5, true),
            ("postgres_cpu_percent", 1.0, 3.5, false),
            ("server_memory", 22.8e6, 24.3e6, false),
            ("server_memory", 200e6, 230e6, true),
            ("notified_p99_ms", 1.0, 2.0, true),
        ] {
            let (before, after) = (run_with(key, before, 20.0), run_with(key, after, 20.0));
            assert_eq!(print(&[before], &[after], 5.0).unwrap(), is_worse, "{key}");
        }
    }

    #[test]
    fn seconds_are_compared_and_runs_if_there_are_enough() {
        let noisy = |base: f64| move |second: u32| base + f64::from(second % 7);
        let [slow, fast] = [noisy(100.0), noisy(120.0)];
        let of = |before: &[Run], after: &[Run], by_runs| rows(before, after, "p", by_runs, 5.0);
        let seconds = of(&[run(slow, true)], &[run(fast, true)], false);
        assert_eq!((seconds.len(), seconds[0].verdict), (1, Verdict::Better));
        assert_eq!(seconds[0].before, Spread { median: 103.0, low: 101.0, high: 105.0 });
        let many =
            |base: f64| (0..5).map(|number| run(noisy(base + f64::from(number)), true)).collect::<Vec<_>>();
        assert_eq!(of(&many(100.0), &many(120.0), true)[0].verdict, Verdict::Better);
        assert!(of(&many(100.0)[..4], &many(120.0), true).is_empty());
        assert!(print(&[run(fast, true)], &[run(slow, true)], 5.0).unwrap());
        assert!(print(&[run(slow, true)], &[run(slow, false)], 5.0).unwrap());
        assert!(!print(&[run(slow, false)], &[run(slow, false)], 5.0).unwrap());
    }
}
