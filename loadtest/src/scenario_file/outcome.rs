//! The result of a scenario file.

use serde::Serialize;
use serde_json::Value;

use super::pulse::{self, GeneratorDelay};
use super::sample::Sample;
use super::threshold::{Judged, Threshold};
use crate::error::Error;
use crate::population::Closed;
use crate::report::{Report, clean_or_not};

/// The result of a file. Its JSON form has the name [`SCHEMA`] and this [`VERSION`], which increases when a member
/// changes its meaning or disappears.
#[derive(Debug, Default, Serialize)]
pub(super) struct Outcome {
    pub(super) schema: &'static str,
    pub(super) version: u32,
    pub(super) name: String,
    pub(super) target: String,
    /// The version of the generator and the number of cores of its machine.
    pub(super) generator: String,
    pub(super) cores: usize,
    /// The time at which the run started.
    pub(super) began: String,
    /// The seed of the random choices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) seed: Option<u64>,
    /// Whether all phases were clean.
    pub(super) clean: bool,
    /// The reason why the run ended early, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ended_early: Option<String>,
    /// Whether a missed threshold ended the run early.
    pub(super) aborted: bool,
    pub(super) phases: Vec<PhaseOutcome>,
    /// The names of the phases that never began, because the run ended early.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) not_begun: Vec<String>,
    /// The faults that were caused at servers and clients.
    pub(super) happened: Vec<Mark>,
    /// The number of devices, users, template sets and tenants that were removed, and of those that
    /// could not be removed.
    pub(super) removed: usize,
    pub(super) left: usize,
}

/// The name of the JSON form.
pub(super) const SCHEMA: &str = "platform-loadtest-run";
/// The version of the JSON form.
pub(super) const VERSION: u32 = 2;

/// A fault with its time.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Mark {
    /// The seconds since the start of the run.
    pub(super) at: f64,
    pub(super) what: String,
}

/// The result of a phase.
#[derive(Debug, Default, Serialize)]
pub(super) struct PhaseOutcome {
    pub(super) name: String,
    /// The seconds since the start of the run.
    pub(super) started: f64,
    pub(super) ended: f64,
    /// Whether each load was clean and each threshold holds.
    pub(super) clean: bool,
    pub(super) thresholds: Vec<Judged>,
    pub(super) loads: Vec<LoadOutcome>,
    /// The longest time by which the generator of this process was late itself, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) generator_delay: Option<GeneratorDelay>,
    /// The state of servers, PostgreSQL, clients and the generator, once a second.
    pub(super) samples: Vec<Sample>,
}

/// The result of a load.
#[derive(Debug, Serialize)]
pub(super) struct LoadOutcome {
    pub(super) scenario: String,
    pub(super) clean: bool,
    /// The reason why the load could not be measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
    /// The report of the scenario; `null` if it could not be measured.
    pub(super) report: Value,
    /// The report as a table for people, with one figure per line.
    #[serde(skip)]
    pub(super) table: String,
}

impl Outcome {
    /// Adds the results of the groups, and the reasons why they are incomplete.
    pub(super) fn add(&mut self, closed: Closed) {
        (self.removed, self.left) = (closed.removed, closed.left);
        for (phase, report) in self.phases.iter_mut().zip(closed.reports) {
            phase.loads.insert(0, LoadOutcome::of("groups".to_owned(), Ok(report)));
        }
        if let Some(last) = self.phases.last_mut() {
            let failed = |error| LoadOutcome::of("end of the run".to_owned(), Err(error));
            last.loads.extend(closed.failures.into_iter().map(failed));
        }
    }

    /// Returns the result for people: the phases with their figures, and the verdict at the end, where a terminal shows
    /// it.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for phase in &self.phases {
            text += &format!(
                "\nPhase {} ({:.0} s): {}\n",
                phase.name,
                phase.ended - phase.started,
                clean_or_not(phase.clean)
            );
            for load in &phase.loads {
                text += &load.table;
                text += &load
                    .error
                    .as_ref()
                    .map(|error| format!("{}: {error}\n", load.scenario))
                    .unwrap_or_default();
                text += "\n";
            }
            if let Some(delay) = &phase.generator_delay {
                text += &format!(
                    "the generator itself was late by up to {:.0} ms at {:.1} s\n",
                    delay.ms, delay.at
                );
            }
            for judged in &phase.thresholds {
                let result = if judged.holds { "holds " } else { "MISSED" };
                text += &format!("{result}  {:<36} {}\n", judged.threshold, judged.found);
            }
        }
        if let Some(reason) = &self.ended_early {
            text += &format!("\nended early: {reason}\n");
        }
        if self.left > 0 {
            text += &format!(
                "\n{} devices, users or tenants could not be removed; `loadtest clean` does it later\n",
                self.left
            );
        }
        text + &format!("\n{}: {}\n", self.name, clean_or_not(self.clean))
    }
}

impl LoadOutcome {
    /// Returns the result of a load from its report or from its error.
    pub(super) fn of(scenario: String, report: Result<Report, Error>) -> Self {
        match report {
            Ok(report) => Self {
                scenario,
                clean: report.clean,
                error: None,
                table: report.table(),
                report: serde_json::to_value(&report).unwrap_or_default(),
            },
            Err(error) => Self {
                scenario,
                clean: false,
                error: Some(error.to_string()),
                report: Value::Null,
                table: String::new(),
            },
        }
    }
}

impl PhaseOutcome {
    /// Returns whether the phase is not clean only because thresholds are not judged.
    pub(super) fn is_unjudged(&self) -> bool {
        let missed: Vec<_> = self.thresholds.iter().filter(|judged| !judged.holds).collect();
        self.loads.iter().all(|load| load.clean)
            && !missed.is_empty()
            && missed.iter().all(|judged| judged.generator_late_ms.is_some())
    }

    /// Takes the samples and delays of the phase, and judges the thresholds when all reports exist.
    pub(super) fn judge(&mut self, thresholds: &[Threshold], samples: &[Sample], delays: &[GeneratorDelay]) {
        let within = self.started..=self.ended;
        self.samples = samples.iter().filter(|sample| within.contains(&sample.at)).cloned().collect();
        self.generator_delay = pulse::longest(delays, self.started, self.ended);
        let reports: Vec<Value> = self.loads.iter().map(|load| load.report.clone()).collect();
        self.thresholds =
            thresholds.iter().map(|one| one.judge(&reports, &self.samples, self.generator_delay)).collect();
        self.clean =
            self.loads.iter().all(|load| load.clean) && self.thresholds.iter().all(|judged| judged.holds);
    }
}
