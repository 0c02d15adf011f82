//! The result of a run: figures for machines (JSON) and for people (a short table).

mod consumed;
mod figures;
mod part;
mod process;
mod verdict;
mod ways;

use std::fs;
use std::path::Path;

use serde::Serialize;

pub(crate) use self::consumed::Consumed;
pub(crate) use self::figures::{Deliveries, Kept, Posts, Queries, Reads, Step};
pub(crate) use self::part::Part;
pub(crate) use self::process::{Cpu, Memory};
pub(crate) use self::ways::{Ratio, Way};
use crate::error::Error;
use crate::ledger::Audit;
pub(crate) use crate::ledger::fact::Fact;
use crate::ledger::latency::Delay;
use crate::ledger::session::SessionAudit;
use crate::traffic::audience::ClientFailures;

/// The least width of the column of labels, in characters.
const NARROWEST: usize = 24;

/// Everything a scenario measured; parts it does not measure are absent.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Report {
    /// The subcommand.
    pub(crate) scenario: &'static str,
    /// Host and port.
    pub(crate) target: String,
    /// The settings of the subcommand, by flag name.
    pub(crate) settings: serde_json::Value,
    /// The length of the measured window, in seconds.
    pub(crate) seconds: f64,
    /// Whether all conditions of the scenario held; determines the exit code.
    pub(crate) clean: bool,
    /// The posts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) posts: Option<Posts>,
    /// The reads of groups.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) queries: Option<Queries>,
    /// The delays of the generator's own schedule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) kept: Option<Kept>,
    /// The same rows, sent in several ways.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) ways: Vec<Way>,
    /// The ratios between these ways.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) ratios: Vec<Ratio>,
    /// The notifications received.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) deliveries: Option<Deliveries>,
    /// The memory of the server process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) memory: Option<Memory>,
    /// The CPU time of both sides in the measured window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cpu: Option<Cpu>,
    /// The clients that held polls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) clients: Option<ClientFailures>,
    /// The verdict on the deliveries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ledger: Option<Audit>,
    /// The verdict on the sessions at several servers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sessions: Option<SessionAudit>,
    /// The notifications of named consumers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) consumed: Option<Consumed>,
    /// The posts at rising rates, step by step.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) steps: Vec<Step>,
    /// The conditions that were checked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) facts: Vec<Fact>,
    /// Durations that are not those of requests.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) delays: Vec<Delay>,
    /// The reads by kind.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) reads: Vec<Reads>,
    /// The figures of each group and of all dashboards of a name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) parts: Vec<Part>,
    /// The number of devices that could not be removed afterwards.
    pub(crate) devices_left: usize,
}

impl Report {
    /// Writes the report as JSON.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn write_json(&self, path: &Path) -> Result<(), Error> {
        Ok(fs::write(path, json(self)?)?)
    }

    /// Prints the table to standard output.
    pub(crate) fn print(&self) {
        print(&self.table());
    }

    /// Returns the table, with one figure per line.
    pub(crate) fn table(&self) -> String {
        let rows = self.rows();
        let width = rows.iter().map(|(label, _)| label.chars().count()).fold(NARROWEST, usize::max);
        rows.into_iter().map(|(label, value)| format!("{label:<width$} {value}\n")).collect()
    }

    fn rows(&self) -> Vec<(&'static str, String)> {
        let mut rows = vec![("scenario", format!("{} against {}", self.scenario, self.target))];
        rows.push(("measured seconds", format!("{:.1}", self.seconds)));
        rows.extend(self.posts.iter().flat_map(Posts::rows));
        rows.extend(self.queries.iter().flat_map(Queries::rows));
        rows.extend(self.kept.iter().map(Kept::row));
        rows.extend(self.ways.iter().flat_map(Way::rows));
        rows.extend(self.ratios.iter().map(Ratio::row));
        rows.extend(self.deliveries.iter().flat_map(Deliveries::rows));
        rows.extend(self.steps.iter().map(|step| ("at a rate of", step.row())));
        rows.extend(self.facts.iter().map(|fact| (fact.what, fact.row())));
        rows.extend(self.delays.iter().map(|delay| (delay.kind, delay.latency.row())));
        rows.extend(self.reads.iter().map(|reads| (reads.kind, reads.row())));
        rows.extend(self.memory.iter().flat_map(Memory::rows));
        rows.extend(self.cpu.iter().flat_map(Cpu::rows));
        rows.extend(self.clients.iter().map(|clients| ("clients", clients.row())));
        rows.extend(self.sessions.iter().flat_map(SessionAudit::rows));
        rows.extend(self.consumed.iter().flat_map(Consumed::rows));
        rows.extend(self.parts.iter().map(|part| ("of which", part.row())));
        rows.extend(self.ledger.iter().map(|ledger| ("ledger", ledger.row())));
        rows.extend(self.ledger.iter().flat_map(|ledger| &ledger.examples).map(|fault| ("", fault.clone())));
        if self.devices_left > 0 {
            rows.push(("devices left behind", self.devices_left.to_string()));
        }
        rows.push(("verdict", clean_or_not(self.clean).to_owned()));
        rows
    }
}

/// Prints to standard output.
pub(crate) fn print(text: &str) {
    use std::io::Write as _;
    // An error means that the reader closed the pipe, which is not a fault of the run.
    write!(std::io::stdout(), "{text}").ok();
}

/// Returns a result as JSON for people.
///
/// # Errors
/// The result cannot be written as JSON.
pub(crate) fn json(result: &impl Serialize) -> Result<String, Error> {
    Ok(serde_json::to_string_pretty(result).map_err(std::io::Error::from)? + "\n")
}

/// Returns the verdict in words.
pub(crate) fn clean_or_not(is_clean: bool) -> &'static str {
    if is_clean { "clean" } else { "NOT CLEAN" }
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
