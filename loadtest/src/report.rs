//! The result of a run: figures for machines (JSON) and for people (a short table).

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use hdrhistogram::Histogram;
use serde::Serialize;

use crate::audience::Mishaps;
use crate::error::Error;
use crate::ledger::Audit;
use crate::poster::Answers;

/// Everything a scenario measured; parts it does not measure are absent.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Report {
    /// Subcommand.
    pub(crate) scenario: &'static str,
    /// Host and port.
    pub(crate) target: String,
    /// Settings of the subcommand, by flag name.
    pub(crate) settings: serde_json::Value,
    /// Length of the measured window, in seconds.
    pub(crate) seconds: f64,
    /// Whether everything the scenario promises held; decides the exit code.
    pub(crate) clean: bool,
    /// What was posted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) posts: Option<Posts>,
    /// Notifications received.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) deliveries: Option<Deliveries>,
    /// Memory of the server process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) memory: Option<Memory>,
    /// CPU time of both sides in the measured window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cpu: Option<Cpu>,
    /// The clients that held polls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) clients: Option<Mishaps>,
    /// The verdict over the deliveries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ledger: Option<Audit>,
    /// Posts at rising rates, step by step.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) steps: Vec<Step>,
    /// Ends and new starts of the server.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) rounds: Vec<Round>,
    /// What was counted and must have a certain value.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) facts: Vec<Fact>,
    /// Waits that are no requests.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) delays: Vec<Delay>,
    /// Reads by kind.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) reads: Vec<Reads>,
    /// Devices that could not be removed afterwards.
    pub(crate) devices_left: usize,
}

/// Percentiles in milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Latency {
    samples: u64,
    p50_ms: f64,
    p90_ms: f64,
    p99_ms: f64,
    p999_ms: f64,
    max_ms: f64,
}

/// Posts; latency runs from the due time to the answer.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Posts {
    /// Answers 201 in the measured window, per second.
    per_second: f64,
    /// Rows in these answers, per second, where a post holds more than one.
    #[serde(skip_serializing_if = "Option::is_none")]
    rows_per_second: Option<f64>,
    by_status: BTreeMap<String, u64>,
    latency: Latency,
}

/// Posts at one rate on a fixed schedule; latency runs from the due time to the answer.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Step {
    /// Posts due per second.
    pub(crate) rate: u32,
    /// Answers 201 to measured posts, per second of the schedule.
    pub(crate) per_second: f64,
    /// Posts sent and not answered 201.
    pub(crate) failed: u64,
    /// Posts sent more than 10 ms after they were due, because every connection was waiting for an answer.
    pub(crate) late: u64,
    /// Posts that were not sent within 5 s.
    pub(crate) unsent: u64,
    /// Whether the server failed, left posts unsent, or took more than a second for one in a hundred.
    pub(crate) broke: bool,
    pub(crate) latency: Latency,
}

/// One end of the server under load, and what it held when it was there again.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Round {
    /// From 1.
    pub(crate) number: u32,
    /// What was ended.
    pub(crate) stop: &'static str,
    /// Milliseconds of posting before.
    pub(crate) ended_after_ms: u64,
    /// Milliseconds from the end until the server was ready again.
    pub(crate) ready_after_ms: u64,
    /// Posts answered 4xx; there is no reason for any.
    pub(crate) refused: u64,
    /// All posts by answer.
    pub(crate) by_status: BTreeMap<String, u64>,
    /// The verdict over the rows.
    pub(crate) ledger: Audit,
}

/// Something that was counted.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Fact {
    /// What.
    pub(crate) what: &'static str,
    /// What came out.
    pub(crate) found: String,
    /// What should have.
    pub(crate) expected: String,
    /// Whether it did.
    pub(crate) holds: bool,
}

/// How long something took that nobody asked for.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Delay {
    /// From what to what.
    pub(crate) kind: &'static str,
    pub(crate) latency: Latency,
}

/// Reads of one kind; latency runs from the request to the whole answer.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Reads {
    /// What was asked for.
    pub(crate) kind: &'static str,
    /// Answers by status; empty where the server does not have this request.
    pub(crate) by_status: BTreeMap<u16, u64>,
    /// Bytes of the last body.
    pub(crate) bytes: usize,
    pub(crate) latency: Latency,
}

/// Notifications; latency runs from the due time of the post to the delivery.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Deliveries {
    per_second: f64,
    latency: Latency,
}

/// PSS of the server in bytes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Memory {
    /// With the devices created and no poll open.
    before: u64,
    /// With all polls open.
    held: u64,
    /// Growth from `before` to `held`, per poll.
    per_poll: f64,
    /// After the storm, polls still open.
    after: u64,
    /// `after` / `held`.
    after_over_held: f64,
    /// (`after` - `before`) / (`held` - `before`): what the storm left on the polls alone.
    growth_after_over_held: f64,
}

/// CPU seconds in the measured window; a generator near 100 % of its core is the limit, not the server.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Cpu {
    server_seconds: Option<f64>,
    server_percent: Option<f64>,
    generator_seconds: f64,
    generator_percent: f64,
}

impl Latency {
    /// Percentiles of a histogram in microseconds.
    pub(crate) fn of(histogram: &Histogram<u64>) -> Self {
        let at = |quantile| histogram.value_at_quantile(quantile) as f64 / 1000.0;
        Self {
            samples: histogram.len(),
            p50_ms: at(0.5),
            p90_ms: at(0.9),
            p99_ms: at(0.99),
            p999_ms: at(0.999),
            max_ms: histogram.max() as f64 / 1000.0,
        }
    }
}

impl Latency {
    /// Whether 99 of 100 took no longer.
    pub(crate) fn is_within(&self, milliseconds: u32) -> bool {
        self.p99_ms <= f64::from(milliseconds)
    }
}

impl Reads {
    /// Whether all were answered 200, and 99 of 100 within so long. A request the server does not have is.
    pub(crate) fn is_within(&self, milliseconds: u32) -> bool {
        self.by_status.keys().all(|status| *status == 200) && self.latency.is_within(milliseconds)
    }
}

impl Posts {
    /// Figures of all posters over the measured seconds.
    pub(crate) fn of(answers: &Answers, seconds: f64) -> Self {
        Self::of_rows(answers, seconds, 1)
    }

    /// The same where each post holds so many rows.
    pub(crate) fn of_rows(answers: &Answers, seconds: f64, rows: u32) -> Self {
        let per_second = answers.latency.len() as f64 / seconds;
        Self {
            per_second,
            rows_per_second: (rows > 1).then(|| per_second * f64::from(rows)),
            by_status: answers.by_status.clone(),
            latency: Latency::of(&answers.latency),
        }
    }
}

impl Deliveries {
    /// Figures of all receivers over the measured seconds.
    pub(crate) fn of(latency: &Histogram<u64>, seconds: f64) -> Self {
        Self { per_second: latency.len() as f64 / seconds, latency: Latency::of(latency) }
    }
}

impl Memory {
    /// From three readings; `None` when one could not be taken.
    pub(crate) fn of(
        polls: usize,
        before: Option<u64>,
        held: Option<u64>,
        after: Option<u64>,
    ) -> Option<Self> {
        let (before, held, after) = (before?, held?, after?);
        let growth = |to: u64| to as f64 - before as f64;
        Some(Self {
            before,
            held,
            per_poll: growth(held) / polls as f64,
            after,
            after_over_held: after as f64 / held as f64,
            growth_after_over_held: growth(after) / growth(held),
        })
    }
}

impl Cpu {
    /// From the seconds each side used in `window` seconds.
    pub(crate) fn of(server_seconds: Option<f64>, generator_seconds: f64, window: f64) -> Self {
        let percent = |seconds: f64| 100.0 * seconds / window;
        Self {
            server_seconds,
            server_percent: server_seconds.map(percent),
            generator_seconds,
            generator_percent: percent(generator_seconds),
        }
    }
}

impl Report {
    /// Writes the report as JSON.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn write_json(&self, path: &Path) -> Result<(), Error> {
        let json = serde_json::to_string_pretty(self).map_err(std::io::Error::from)?;
        Ok(fs::write(path, json + "\n")?)
    }

    /// Prints the table to standard output.
    pub(crate) fn print(&self) {
        use std::io::Write as _;
        // A closed pipe is the reader's decision, not a fault of the run.
        write!(std::io::stdout(), "{}", self.table()).ok();
    }

    /// The table: one figure a line.
    pub(crate) fn table(&self) -> String {
        let mut table = String::new();
        for (label, value) in self.rows() {
            table += &format!("{label:<24} {value}\n");
        }
        table
    }

    fn rows(&self) -> Vec<(&'static str, String)> {
        let mut rows = vec![("scenario", format!("{} against {}", self.scenario, self.target))];
        rows.push(("measured seconds", format!("{:.1}", self.seconds)));
        if let Some(posts) = &self.posts {
            rows.push(("posts/s", format!("{:.0}", posts.per_second)));
            rows.extend(posts.rows_per_second.iter().map(|rate| ("rows/s", format!("{rate:.0}"))));
            rows.push(("posts by status", format!("{:?}", posts.by_status)));
            rows.push(("post latency", posts.latency.row()));
        }
        if let Some(deliveries) = &self.deliveries {
            rows.push(("deliveries/s", format!("{:.0}", deliveries.per_second)));
            rows.push(("post-to-delivery latency", deliveries.latency.row()));
        }
        rows.extend(self.steps.iter().map(|step| ("at a rate of", step.row())));
        for round in &self.rounds {
            rows.push(("round", round.row()));
            rows.extend(round.ledger.examples.iter().map(|fault| ("", fault.clone())));
        }
        rows.extend(self.facts.iter().map(|fact| (fact.what, fact.row())));
        rows.extend(self.delays.iter().map(|delay| (delay.kind, delay.latency.row())));
        rows.extend(self.reads.iter().map(|reads| (reads.kind, reads.row())));
        rows.extend(self.memory.iter().flat_map(Memory::rows));
        rows.extend(self.cpu.iter().map(Cpu::row));
        rows.extend(self.clients.iter().map(|clients| ("clients", clients.row())));
        rows.extend(self.ledger.iter().map(|ledger| ("ledger", ledger.row())));
        rows.extend(self.ledger.iter().flat_map(|ledger| &ledger.examples).map(|fault| ("", fault.clone())));
        if self.devices_left > 0 {
            rows.push(("devices left behind", self.devices_left.to_string()));
        }
        rows.push(("verdict", if self.clean { "clean" } else { "NOT CLEAN" }.to_owned()));
        rows
    }
}

impl Latency {
    fn row(&self) -> String {
        format!(
            "p50 {:.2}  p90 {:.2}  p99 {:.2}  p99.9 {:.2}  max {:.2} ms  ({} samples)",
            self.p50_ms, self.p90_ms, self.p99_ms, self.p999_ms, self.max_ms, self.samples
        )
    }
}

impl Step {
    /// One line.
    pub(crate) fn row(&self) -> String {
        format!(
            "{:>6}/s  answered {:.0}/s  p50 {:.2}  p99 {:.2}  max {:.2} ms  failed {}  late {}  unsent {}{}",
            self.rate,
            self.per_second,
            self.latency.p50_ms,
            self.latency.p99_ms,
            self.latency.max_ms,
            self.failed,
            self.late,
            self.unsent,
            if self.broke { "  BROKE" } else { "" }
        )
    }
}

impl Round {
    /// Whether nothing was lost, doubled, torn, refused or made up, and something was written at all.
    pub(crate) fn is_clean(&self) -> bool {
        self.ledger.is_clean() && self.refused == 0 && self.ledger.acknowledged > 0
    }

    /// One line.
    pub(crate) fn row(&self) -> String {
        format!(
            "{:>2} {:<8} after {:.1} s, ready {:.1} s later; rows {}; posts {:?}  {}",
            self.number,
            self.stop,
            self.ended_after_ms as f64 / 1000.0,
            self.ready_after_ms as f64 / 1000.0,
            self.ledger.row(),
            self.by_status,
            if self.is_clean() { "clean" } else { "NOT CLEAN" }
        )
    }
}

impl Fact {
    /// A number that must be so large.
    pub(crate) fn number(what: &'static str, found: usize, expected: usize) -> Self {
        let holds = found == expected;
        Self { what, found: found.to_string(), expected: expected.to_string(), holds }
    }

    fn row(&self) -> String {
        match self.holds {
            true => self.found.clone(),
            false => format!("{} INSTEAD OF {}", self.found, self.expected),
        }
    }
}

impl Reads {
    fn row(&self) -> String {
        match self.by_status.is_empty() {
            true => "not offered by this server".to_owned(),
            false => format!("{}  {:?}, {} bytes", self.latency.row(), self.by_status, self.bytes),
        }
    }
}

impl Memory {
    fn rows(&self) -> [(&'static str, String); 2] {
        let mebibytes = |bytes: u64| bytes as f64 / 1_048_576.0;
        [
            ("memory per held poll", format!("{:.0} bytes", self.per_poll)),
            (
                "server PSS",
                format!(
                    "before {:.1}  held {:.1}  after {:.1} MiB; after/held {:.3}, growth only {:.3}",
                    mebibytes(self.before),
                    mebibytes(self.held),
                    mebibytes(self.after),
                    self.after_over_held,
                    self.growth_after_over_held
                ),
            ),
        ]
    }
}

impl Cpu {
    fn row(&self) -> (&'static str, String) {
        let server = match (self.server_seconds, self.server_percent) {
            (Some(seconds), Some(percent)) => format!("server {seconds:.2} s ({percent:.2} % of a core)"),
            _ => "server unknown".to_owned(),
        };
        let generator =
            format!("generator {:.2} s ({:.1} %)", self.generator_seconds, self.generator_percent);
        ("CPU", format!("{server}  {generator}"))
    }
}

impl Mishaps {
    fn row(&self) -> String {
        let cause = self.first_cause.as_deref().map(|cause| format!(": {cause}")).unwrap_or_default();
        format!("reconnects {}  ended {}{cause}", self.reconnects, self.ended)
    }
}

impl Audit {
    fn row(&self) -> String {
        format!(
            "acknowledged {}  unknown {}  expected {}  delivered {}  lost {}  doubled {}  reordered {}  unexpected {}  torn {}",
            self.acknowledged,
            self.unknown,
            self.expected,
            self.delivered,
            self.lost,
            self.doubled,
            self.reordered,
            self.unexpected,
            self.torn
        )
    }
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
