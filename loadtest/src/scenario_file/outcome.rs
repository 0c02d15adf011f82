//! The result of a scenario file.

use serde::Serialize;
use serde_json::Value;

use super::threshold::Judged;
use crate::report::clean_or_not;

/// The result of a file. Its JSON form has the name [`SCHEMA`] and this [`VERSION`], which grows when a member changes
/// its meaning or disappears.
#[derive(Debug, Serialize)]
pub(super) struct Outcome {
    pub(super) schema: &'static str,
    pub(super) version: u32,
    pub(super) name: String,
    pub(super) target: String,
    /// Whether all phases were clean.
    pub(super) clean: bool,
    pub(super) phases: Vec<PhaseOutcome>,
}

/// The name of the JSON form.
pub(super) const SCHEMA: &str = "platform-loadtest-run";
/// The version of the JSON form.
pub(super) const VERSION: u32 = 1;

/// The result of a phase.
#[derive(Debug, Serialize)]
pub(super) struct PhaseOutcome {
    pub(super) name: String,
    /// From the start of the file, in seconds.
    pub(super) started: f64,
    pub(super) ended: f64,
    /// Whether each load was clean and each threshold holds.
    pub(super) clean: bool,
    pub(super) thresholds: Vec<Judged>,
    pub(super) loads: Vec<LoadOutcome>,
    /// The server, once a second.
    pub(super) samples: Vec<Sample>,
}

/// The result of a load.
#[derive(Debug, Serialize)]
pub(super) struct LoadOutcome {
    pub(super) scenario: String,
    pub(super) clean: bool,
    /// Why it could not be measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
    /// The report of the scenario; `null` if it could not be measured.
    pub(super) report: Value,
    /// The report as a table for people: one figure in each line.
    #[serde(skip)]
    pub(super) table: String,
}

/// What the server used in one second.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Sample {
    /// From the start of the file, in seconds.
    pub(super) at: f64,
    /// PSS in bytes.
    pub(super) server_memory: Option<u64>,
    /// Percent of a core since the sample before.
    pub(super) server_cpu_percent: Option<f64>,
}

impl Outcome {
    /// Returns the result for people: the phases with their figures, the verdict last, where a terminal shows it.
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
            for judged in &phase.thresholds {
                let result = if judged.holds { "holds " } else { "MISSED" };
                text += &format!("{result}  {:<36} {}\n", judged.threshold, judged.found);
            }
        }
        text + &format!("\n{}: {}\n", self.name, clean_or_not(self.clean))
    }
}
