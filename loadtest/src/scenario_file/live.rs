//! The figures of the phase under way, for people who watch a run, and for thresholds that end it early.

use parking_lot::Mutex;
use serde_json::{Value, json};

use super::Phase;
use super::pulse::{self, GeneratorDelay};
use super::sample::Sample;
use crate::ledger::latency::Latency;
use crate::ledger::latency::Times;
use crate::population::series::Second;

/// The values of the last second that `/metrics` has, with their names in a sample.
const GAUGES: [(&str, &str); 6] = [
    ("sessions", "sessions"),
    ("server_memory_bytes", "server_memory"),
    ("server_cpu_percent", "server_cpu_percent"),
    ("generator_cpu_percent", "generator_cpu_percent"),
    ("postgres_memory_bytes", "postgres_memory"),
    ("postgres_cpu_percent", "postgres_cpu_percent"),
];

/// The figures so far.
#[derive(Debug)]
pub(super) struct Live(Mutex<SoFar>);

/// The figures of the phase under way.
#[derive(Debug, Default)]
struct SoFar {
    /// The number of the phase, and its start in seconds of the run.
    phase: Option<(usize, f64)>,
    posted: Times,
    notified: Times,
    failed: u64,
    samples: Vec<Sample>,
    /// Posts accepted, posts failed, notifications and reconnects in the phases before and in this one.
    totals: [u64; 4],
}

impl Live {
    pub(super) fn new() -> Self {
        Self(Mutex::new(SoFar::of(None)))
    }

    /// Begins a phase at a second of the run.
    pub(super) fn begin(&self, phase: usize, at: f64) {
        let mut so_far = self.0.lock();
        *so_far = SoFar { totals: so_far.totals, ..SoFar::of(Some((phase, at))) };
    }

    /// Adds a second with its events, if the run has groups.
    pub(super) fn add(&self, sample: &Sample, events: Option<&Second>) {
        let mut so_far = self.0.lock();
        if let Some(events) = events {
            events.posted.iter().for_each(|micros| so_far.posted.record((*micros).into()));
            events.notified.iter().for_each(|micros| so_far.notified.record((*micros).into()));
            so_far.failed += events.failed;
            let counts =
                [events.posted.len() as u64, events.failed, events.notified.len() as u64, events.reconnects];
            so_far.totals.iter_mut().zip(counts).for_each(|(total, count)| *total += count);
        }
        so_far.samples.push(sample.clone());
    }

    /// Returns the 99th percentiles of notifications and of posts so far, in milliseconds, if there are any.
    pub(super) fn p99s(&self) -> [Option<f64>; 2] {
        let so_far = self.0.lock();
        [&so_far.notified, &so_far.posted].map(|times| (!times.is_empty()).then(|| times.ms(0.99)))
    }

    /// Returns the figures in the text form of Prometheus: counts of the whole run, the percentiles of the phase
    /// under way,
    /// and the values of the last second.
    pub(super) fn metrics(&self) -> String {
        let so_far = self.0.lock();
        let mut text = String::new();
        let mut add = |name: &str, kind: &str, value: f64| {
            text += &format!("# TYPE loadtest_{name} {kind}\nloadtest_{name} {value}\n");
        };
        add("phase", "gauge", so_far.phase.map_or(0.0, |(number, _)| number as f64 + 1.0));
        let names = ["posts_total", "posts_failed_total", "notifications_total", "reconnects_total"];
        for (name, total) in names.into_iter().zip(so_far.totals) {
            add(name, "counter", total as f64);
        }
        if let Some(last) = so_far.samples.last() {
            add("run_seconds", "gauge", last.at);
            for (name, of_sample) in GAUGES {
                last.value(of_sample).into_iter().for_each(|value| add(name, "gauge", value));
            }
        }
        for (name, times) in [("post", &so_far.posted), ("notification", &so_far.notified)] {
            let name = format!("loadtest_{name}_seconds");
            text += &format!("# TYPE {name} summary\n");
            for quantile in [0.5, 0.9, 0.99, 1.0] {
                let seconds = times.micros(quantile) as f64 / 1e6;
                text += &format!("{name}{{quantile=\"{quantile}\"}} {seconds}\n");
            }
            text += &format!("{name}_sum {}\n", times.mean() * times.len() as f64 / 1e6);
            text += &format!("{name}_count {}\n", times.len());
        }
        text
    }

    /// Returns the first threshold of the phase under way that ends the run because it does not hold, with the figure
    /// that was found. A miss that the delay of the generator itself explains does not end the run.
    pub(super) fn missed(&self, phases: &[Phase], delays: &[GeneratorDelay]) -> Option<String> {
        let so_far = self.0.lock();
        let (number, began) = so_far.phase?;
        let now = so_far.samples.last()?.at;
        let due = |after: std::time::Duration| now - began >= after.as_secs_f64();
        let mut due = phases[number]
            .thresholds
            .iter()
            .filter(|threshold| threshold.aborts_after.is_some_and(due))
            .peekable();
        due.peek()?;
        let reports = [so_far.report(now - began)];
        let delay = pulse::longest(delays, began, now);
        let judged = due.map(|threshold| threshold.judge(&reports, &so_far.samples, delay));
        let mut missed =
            judged.filter(|one| !one.holds && one.value.is_some() && one.generator_late_ms.is_none());
        missed.next().map(|one| format!("{} was missed: {}", one.threshold, one.found))
    }
}

impl SoFar {
    fn of(phase: Option<(usize, f64)>) -> Self {
        Self { phase, ..Self::default() }
    }

    /// Returns the figures in the places in which the report of a phase has them.
    fn report(&self, seconds: f64) -> Value {
        let latency =
            |times| json!({"latency": Latency::of(times), "per_second": times.len() as f64 / seconds});
        let mut report = json!({"posts": latency(&self.posted), "deliveries": latency(&self.notified)});
        report["posts"]["failed"] = self.failed.into();
        report
    }
}

#[cfg(test)]
mod tests {
    use super::super::scenario_file_tests::parse;
    use super::*;

    const FILE: &str = "name = \"x\"\n[[group]]\nname = \"g\"\ncount = 2\nalarms = 9\n[[phase]]\nname = \
        \"p\"\nlasts = \"9s\"\nthresholds = [\"failed = 0\", { that = \"p99 of posts <= 10ms\", abort = true, after \
        = \"3s\" }]\n";

    /// Returns what ends the run in a second of the phase if all posts until then took this long.
    fn missed(at: f64, micros: u32, delays: &[GeneratorDelay]) -> Option<String> {
        let phases = parse(FILE).unwrap().phases;
        let live = Live::new();
        live.begin(0, 100.0);
        let events = Second { posted: vec![micros; 5], failed: 1, ..Second::default() };
        live.add(&Sample { at, ..Sample::default() }, Some(&events));
        live.missed(&phases, delays)
    }

    #[test]
    fn only_a_threshold_with_abort_ends_the_run_and_not_before_its_time() {
        let found = missed(103.0, 20_000, &[]).unwrap();
        assert!(found.starts_with("p99 of posts <= 10ms was missed: 2"), "{found}");
        assert_eq!(missed(102.9, 20_000, &[]), None);
        assert_eq!(missed(108.0, 9000, &[]), None);
        let delay = |ms| GeneratorDelay { at: 101.0, ms };
        assert_eq!(missed(103.0, 20_000, &[delay(60.0)]), None);
        assert!(missed(103.0, 200_000, &[delay(60.0)]).is_some());
    }

    #[test]
    fn next_phase_begins_without_figures() {
        let live = Live::new();
        let events = Second { posted: vec![20_000], ..Second::default() };
        live.begin(0, 0.0);
        live.add(&Sample::default(), Some(&events));
        assert!(live.p99s()[1].is_some_and(|ms| ms >= 20.0) && live.p99s()[0].is_none());
        live.begin(1, 5.0);
        assert_eq!(live.p99s(), [None, None]);
    }
}
