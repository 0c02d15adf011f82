//! Scenario files (TOML). A file describes groups of devices, dashboards and servers, and phases one after the other
//! with rates and faults; or it runs scenarios of the command line at the same time. Each phase has thresholds for its
//! figures.
//!
//! Reading order: this file (the parts of a file), [`tables`] (devices and their rates), [`load`] (scenarios of the
//! command line), [`threshold`] and [`figure`] (the verdict), [`check`] (the explanation of a file), [`run`] (the
//! phases), [`sample`] (the measurements of each second), [`outcome`] (the result), [`html`], [`chart`] and [`junit`]
//! (other forms of the result), [`compare`] (the comparison of two results).

mod chart;
mod check;
mod compare;
mod figure;
mod html;
mod junit;
mod load;
mod measurable;
mod mistakes;
#[cfg(test)]
mod mistakes_tests;
mod outcome;
mod pulse;
mod run;
mod sample;
#[cfg(test)]
mod scenario_file_tests;
mod setting;
mod stall;
mod tables;
mod threshold;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use toml::{Spanned, Value};

pub(crate) use self::check::explanation;
pub(crate) use self::compare::compare;
pub(crate) use self::figure::explain;
use self::load::Load;
pub(crate) use self::run::run;
use self::tables::{
    DashboardTable, FaultTable, GroupTable, Rates, RatesTable, ServersTable, TenantTable, duration,
};
use self::threshold::Threshold;
use crate::cli::Common;
use crate::error::Error;
use crate::population::plan::{Falsification, Plan};

/// The longest phase.
const LONGEST: Duration = Duration::from_secs(31 * 86_400);
/// The words of an error about a figure that a phase cannot measure.
const CAN_NEVER_HOLD: &str = "can never hold";

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

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct FileTable {
    name: String,
    #[serde(default = "first_seed")]
    seed: u64,
    #[serde(default = "connections")]
    connections: u32,
    #[serde(default = "yes")]
    verify: bool,
    falsify: Option<Falsification>,
    servers: Option<Spanned<ServersTable>>,
    #[serde(default)]
    tenant: Vec<TenantTable>,
    #[serde(default)]
    group: Vec<Spanned<GroupTable>>,
    #[serde(default)]
    dashboard: Vec<Spanned<DashboardTable>>,
    #[serde(default)]
    phase: Vec<Spanned<PhaseTable>>,
}

fn first_seed() -> u64 {
    1
}

fn connections() -> u32 {
    64
}

fn yes() -> bool {
    true
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PhaseTable {
    name: String,
    lasts: Option<Spanned<String>>,
    #[serde(default)]
    thresholds: Vec<Spanned<String>>,
    #[serde(default)]
    rates: RatesTable,
    #[serde(default)]
    fault: Vec<Spanned<FaultTable>>,
    #[serde(default)]
    load: Vec<Spanned<LoadTable>>,
}

type LoadTable = BTreeMap<Spanned<String>, Spanned<Value>>;

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

    /// Returns an error at a key of the table that begins at a position, or at the table if it lacks the key.
    fn error_at(&self, table: usize, key: &str, message: &str) -> Error {
        let (mut at, mut found) = (table, table);
        for (number, line) in self.text[table..].split_inclusive('\n').enumerate() {
            if number > 0 && line.trim_start().starts_with('[') {
                break;
            }
            let rest = line.trim_start().strip_prefix(key).map(str::trim_start);
            if rest.is_some_and(|rest| rest.starts_with('=')) {
                found = at;
                break;
            }
            at += line.len();
        }
        self.error(found, message)
    }

    fn of_toml(&self, error: &toml::de::Error) -> Error {
        let mut message = error.message().to_owned();
        for (kind, allowed) in [("expected u16", "0 to 65535"), ("expected u32", "0 to 4294967295")] {
            message = message.replace(kind, &format!("expected a whole number from {allowed}"));
        }
        self.error(error.span().map_or(0, |span| span.start), &message)
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
    /// Fails like [`Self::read`], and lists the mistakes that can be found at once.
    pub(crate) fn parse(file: &Path, text: &str, common: &Common) -> Result<Self, Error> {
        Self::parse_once(file, text, common)
            .map_err(|first| mistakes::with_further_ones(first, file, text, common))
    }

    /// Reads the text of a file up to the first mistake.
    fn parse_once(file: &Path, text: &str, common: &Common) -> Result<Self, Error> {
        let source = Source { file, text };
        let mut table: FileTable = toml::from_str(text).map_err(|error| source.of_toml(&error))?;
        let phases = std::mem::take(&mut table.phase);
        if phases.is_empty() {
            return Err(
                source.error(0, "there is no phase; write [[phase]] with a name and what happens in it")
            );
        }
        let name = table.name.clone();
        let (mut plan, rates) = population(&source, table)?;
        let phases = phases.into_iter().map(|phase| Phase::of(&source, phase, plan.as_mut(), &rates, common));
        let source = (file.display().to_string(), text.to_owned());
        Ok(Self { name, source, phases: phases.collect::<Result<_, _>>()?, plan })
    }
}

/// Returns the devices, dashboards and servers of a file with their rates, if it describes any.
fn population(source: &Source<'_>, table: FileTable) -> Result<(Option<Plan>, Rates), Error> {
    let mut plan = Plan {
        seed: table.seed,
        posters: table.connections.clamp(1, 10_000),
        reads_back: table.verify,
        falsification: table.falsify,
        tenants: table.tenant.into_iter().map(|tenant| tenant.name).collect(),
        ..Plan::default()
    };
    if let Some(servers) = table.servers {
        let at = servers.span().start;
        let servers = servers.into_inner().plan();
        let servers = servers.map_err(|(key, reason)| source.error_at(at, key, &reason))?;
        plan.servers = Some(servers);
    }
    let mut rates = Rates::new();
    for group in table.group {
        let at = group.span().start;
        let (group, of_group) = group.into_inner().plan(source, at, &plan.tenants)?;
        if plan.groups.iter().any(|other| other.name == group.name) {
            return Err(source.error(at, &format!("there are two groups {:?}", group.name)));
        }
        plan.groups.push(group);
        rates.push(of_group);
    }
    for dashboard in table.dashboard {
        let at = dashboard.span().start;
        let dashboard = dashboard.into_inner().plan(&plan.tenants);
        let dashboard = dashboard.map_err(|(key, reason)| source.error_at(at, key, &reason))?;
        plan.dashboards.push(dashboard);
    }
    if plan.groups.is_empty() && (plan.servers.is_some() || !plan.dashboards.is_empty()) {
        return Err(source.error(0, "there are no devices; write [[group]]"));
    }
    Ok((Some(plan).filter(|plan| !plan.groups.is_empty()), rates))
}

/// Returns the length of a phase.
fn length(source: &Source<'_>, lasts: &Spanned<String>) -> Result<Duration, Error> {
    let length = duration(lasts.get_ref()).ok().filter(|length| !length.is_zero() && *length <= LONGEST);
    let refused = "lasts: write a time such as \"30s\", at most 31 days";
    length.ok_or_else(|| source.error(lasts.span().start, refused))
}

impl Phase {
    fn of(
        source: &Source<'_>,
        phase: Spanned<PhaseTable>,
        plan: Option<&mut Plan>,
        rates: &Rates,
        common: &Common,
    ) -> Result<Self, Error> {
        let at = phase.span().start;
        let PhaseTable { name, lasts, thresholds, rates: of_phase, fault, load } = phase.into_inner();
        let refused = |reason: &str| source.error(at, &format!("phase {name:?} {reason}"));
        let lasts = match (&plan, lasts) {
            (Some(_), Some(lasts)) => length(source, &lasts)?,
            (Some(_), None) => return Err(refused("needs `lasts`, such as \"30s\"")),
            (None, None) if load.is_empty() => {
                return Err(refused("has no [[phase.load]], and there is no [[group]]"));
            }
            (None, _) => Duration::ZERO,
        };
        let threshold = |sentence: &Spanned<String>| {
            Threshold::parse(sentence.get_ref())
                .map_err(|reason| source.error(sentence.span().start, &reason))
        };
        let judged = thresholds.iter().map(threshold).collect::<Result<Vec<_>, _>>()?;
        if let Some(plan) = plan {
            let names = plan.groups.iter().map(|group| &group.name);
            let names: Vec<&str> =
                names.chain(plan.dashboards.iter().map(|one| &one.name)).map(String::as_str).collect();
            let around = (plan.servers.is_some(), names.as_slice());
            let phase = tables::phase(source, lasts, &of_phase, fault, (&plan.groups, rates), around)?;
            for (sentence, threshold) in thresholds.iter().zip(&judged).filter(|_| load.is_empty()) {
                measurable::check(threshold, plan, &phase)
                    .map_err(|reason| source.error(sentence.span().start, &reason))?;
            }
            plan.phases.push(phase);
        } else if !of_phase.is_empty() || !fault.is_empty() {
            return Err(refused("has rates or faults, and there is no [[group]]"));
        }
        Ok(Self {
            thresholds: judged,
            loads: load.into_iter().map(|load| Load::of(source, &load, common)).collect::<Result<_, _>>()?,
            name,
            lasts,
        })
    }
}
