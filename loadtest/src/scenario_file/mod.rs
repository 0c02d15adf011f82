//! Scenario files (TOML). A file describes groups of devices, dashboards and servers, and phases one after the other
//! with rates and faults; or it runs scenarios of the command line at the same time. Each phase has thresholds for its
//! figures.
//!
//! Reading order: this file (the parts of a file), [`fields`] and [`mistakes`] (how a table is read), [`groups`],
//! [`requests`], [`consumers`] and [`phases`] (devices, their own requests, consumers, rates, faults), [`load`]
//! (scenarios of the command line), [`threshold`], [`abort`], [`figure`] and [`words`] (the verdict and its terms),
//! [`check`] (the explanation of a file), [`run`] (the phases), [`sample`], [`live`] and [`metrics`] (the
//! measurements of each second), [`outcome`] (the result), [`html`], [`chart`] and [`junit`] (other forms of the
//! result), [`compare`] (the comparison of two results).

mod abort;
mod chart;
mod check;
mod compare;
mod consumers;
mod fields;
mod figure;
mod groups;
mod html;
mod junit;
mod known;
mod live;
mod load;
mod measurable;
#[cfg(test)]
mod measurable_tests;
mod metrics;
mod mistakes;
#[cfg(test)]
mod mistakes_tests;
mod outcome;
mod phases;
mod pulse;
pub(crate) mod record;
mod requests;
mod run;
mod sample;
#[cfg(test)]
mod scenario_file_tests;
mod setting;
mod stall;
mod threshold;
mod words;

use std::fs;
use std::path::Path;
use std::time::Duration;

use toml::de::{DeTable, DeValue};

pub(crate) use self::check::explanation;
pub(crate) use self::compare::compare;
use self::fields::{Fields, meaning, whole, yes_or_no};
use self::groups::Described;
use self::load::Load;
use self::mistakes::Mistakes;
pub(crate) use self::run::run;
use self::threshold::Threshold;
pub(crate) use self::words::explain;
use crate::cli::Common;
use crate::error::Error;
use crate::population::plan::{Falsification, Plan};

/// The longest phase.
const LONGEST: Duration = Duration::from_secs(31 * 86_400);

/// A scenario file.
#[derive(Debug)]
pub(crate) struct ScenarioFile {
    name: String,
    /// The name of the file, and its text after all replacements.
    source: (String, String),
    /// The devices, dashboards and servers, if the file describes any.
    plan: Option<Plan>,
    phases: Vec<Phase>,
}

/// A phase. It ends when its time is over and all its loads have ended.
#[derive(Debug)]
struct Phase {
    name: String,
    /// The time for which the groups keep their rates; zero without groups.
    lasts: Duration,
    thresholds: Vec<Threshold>,
    loads: Vec<Load>,
}

/// The text of a file, for errors with line numbers.
#[derive(Debug)]
struct Source<'a> {
    file: &'a Path,
    text: &'a str,
}

impl Source<'_> {
    /// Returns an error at a position (bytes from the start), with the number of its line.
    fn error(&self, at: usize, message: &str) -> Error {
        let before = &self.text[..at.min(self.text.len())];
        let added = before.lines().filter(|line| line.ends_with(setting::ADDED)).count();
        let line = 1 + before.bytes().filter(|byte| *byte == b'\n').count() - added;
        Error::Mistake { file: self.file.display().to_string(), line, reason: message.to_owned() }
    }

    fn of_toml(&self, error: &toml::de::Error) -> Error {
        self.error(error.span().map_or(0, |span| span.start), error.message())
    }
}

impl ScenarioFile {
    /// Reads a file. `common` are the settings of the command line, which apply to each load; `settings` replace values
    /// of the file.
    ///
    /// # Errors
    /// The file cannot be read or is invalid; the error names file, line, key and value.
    pub(crate) fn read(file: &Path, settings: &[String], common: &Common) -> Result<Self, Error> {
        let unreadable = |error| Error::Refused(format!("{} cannot be read: {error}", file.display()));
        let mut text = fs::read_to_string(file).map_err(unreadable)?;
        for setting in settings {
            text = setting::replaced(&Source { file, text: &text }, setting)?;
        }
        Self::parse(file, &text, common)
    }

    /// Returns the number of clients that are connected at the same time in the largest phase.
    pub(crate) fn clients(&self) -> usize {
        let of_phase = |phase: &Phase| phase.loads.iter().map(|load| load.arguments.scenario.clients()).sum();
        let of_loads: usize = self.phases.iter().map(of_phase).max().unwrap_or_default();
        of_loads + self.plan.as_ref().map_or(0, Plan::clients)
    }

    /// Returns the devices, dashboards and servers, if the file describes any.
    pub(crate) fn parse_plan(file: &Path, text: &str, common: &Common) -> Result<Option<Plan>, Error> {
        Ok(Self::parse(file, text, common)?.plan)
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// Fails like [`Self::read`], and lists all mistakes.
    pub(crate) fn parse(file: &Path, text: &str, common: &Common) -> Result<Self, Error> {
        let source = Source { file, text };
        let mistakes = Mistakes::new(&source);
        let (table, errors) = DeTable::parse_recoverable(text);
        errors.iter().for_each(|error| mistakes.add_syntax(error));
        let fields = Fields::new("", 0, table.get_ref(), &mistakes);
        let name = fields.required("name", "`name = \"…\"` in the first line", fields::text);
        let mut described = population(&fields, &mistakes);
        let read = Reading { mistakes: &mistakes, common };
        let tables = fields.tables("phase", "[[phase]]");
        if tables.is_empty() && fields.value("phase").is_none() {
            fields.refuse_lacking("there is no phase; write [[phase]] with a name and what happens in it");
        }
        let mut phases = Vec::new();
        for (at, table) in tables {
            phases.push(Phase::of(Fields::new("phase", at, table, &mistakes), &mut described, &read));
        }
        fields.end();
        mistakes.refuse()?;
        let source = (file.display().to_string(), text.to_owned());
        let plan = Some(described.plan).filter(|plan| !plan.groups.is_empty());
        Ok(Self { name: name.unwrap_or_default(), source, phases, plan })
    }
}

/// Reads the devices, dashboards and servers of a file with their rates.
fn population<'t>(fields: &Fields<'t>, mistakes: &'t Mistakes<'t>) -> Described {
    let words =
        [("drop", Falsification::Drop), ("double", Falsification::Double), ("swap", Falsification::Swap)];
    let mut described = Described::default();
    described.plan.seed = fields.read("seed", whole(0..=u64::MAX)).unwrap_or(1);
    described.plan.posters = fields.read("connections", whole(1..=10_000)).unwrap_or(64) as u32;
    described.plan.reads_back = fields.read("verify", yes_or_no).unwrap_or(true);
    described.plan.falsification = fields.read("falsify", |value| meaning(value.as_str(), &words));
    let below = |(at, table), what| Fields::new(what, at, table, mistakes);
    described.plan.servers = fields.table("servers").map(|table| groups::servers(below(table, "servers")));
    for table in fields.tables("tenant", "[[tenant]]") {
        described.add_tenant(below(table, "tenant"));
    }
    for (at, table) in fields.tables("feeder", "[[feeder]]") {
        let feeder = Fields::new("feeder", at, table, mistakes);
        let feeder = requests::feeder(feeder, mistakes.file(), &described.plan.feeders);
        described.has_doubts |= feeder.is_none();
        described.plan.feeders.extend(feeder);
    }
    for table in fields.tables("group", "[[group]]") {
        described.add_group(below(table, "group"), mistakes);
    }
    for table in fields.tables("dashboard", "[[dashboard]]") {
        described.add_dashboards(below(table, "dashboard"));
    }
    for table in fields.tables("consumer", "[[consumer]]") {
        described.add_consumers(below(table, "consumer"), mistakes);
    }
    let plan = &described.plan;
    let has_clients = !plan.dashboards.is_empty() || !plan.consumers.is_empty();
    if plan.groups.is_empty() && (plan.servers.is_some() || has_clients) {
        fields.refuse_lacking("there are no devices; write [[group]]");
    }
    described
}

/// The parts of the file that the reading of a phase needs.
struct Reading<'a> {
    mistakes: &'a Mistakes<'a>,
    common: &'a Common,
}

/// Reads the length of a phase.
fn length(value: &DeValue<'_>) -> Result<Duration, String> {
    let length = fields::time(value).ok().filter(|length| !length.is_zero() && *length <= LONGEST);
    length.ok_or_else(|| "write a time such as \"30s\", at most 31 days".to_owned())
}

impl Phase {
    /// Reads a phase, and adds what the groups do in it to the plan.
    fn of(fields: Fields<'_>, described: &mut Described, reading: &Reading<'_>) -> Self {
        let mistakes = reading.mistakes;
        let name = fields.required("name", "a name in quotes", fields::text).unwrap_or_default();
        let has_groups = !described.plan.groups.is_empty();
        let has_length = fields.value("lasts").is_some();
        let lasts = fields.read("lasts", length);
        let loads = fields.tables("load", "[[phase.load]]");
        if has_groups && !has_length {
            fields.refuse_lacking("it needs `lasts`, such as \"30s\"");
        }
        if !has_groups && fields.value("load").is_none() {
            fields.refuse_lacking("it has no [[phase.load]], and there is no [[group]]");
        }
        let judged = abort::thresholds(&fields, lasts, mistakes);
        let planned = phases::phase(&fields, described, lasts, mistakes);
        for (at, threshold) in &judged {
            measurable::check_name(threshold, described).unwrap_or_else(|reason| mistakes.add(*at, reason));
        }
        if has_groups {
            for (at, threshold) in judged.iter().filter(|_| loads.is_empty()) {
                measurable::check(threshold, described, &planned)
                    .unwrap_or_else(|reason| mistakes.add(*at, reason));
            }
            described.plan.phases.push(planned.phase);
        } else if fields.value("rates").is_some() || fields.value("fault").is_some() {
            fields.refuse_lacking("it has rates or faults, and there is no [[group]]");
        }
        let load = |(at, table)| Load::of(mistakes, at, table, reading.common);
        let loads = loads.into_iter().filter_map(load).collect();
        fields.end();
        let lasts = lasts.filter(|_| has_groups).unwrap_or_default();
        Self { name, lasts, thresholds: judged.into_iter().map(|(_, threshold)| threshold).collect(), loads }
    }
}
