//! Scenario files (TOML): phases one after the other, in each of them loads at the same time, and thresholds for the
//! figures of the phase. A load is a scenario of the command line with its settings.
//!
//! Reading order: this file (what a file contains), [`threshold`] and [`figure`] (what is judged), [`check`] (a file in
//! plain words), [`run`] (the phases), [`outcome`] (the result), [`html`] and [`junit`] (the result for others).

mod check;
mod figure;
mod html;
mod junit;
mod load;
mod outcome;
mod run;
#[cfg(test)]
mod scenario_file_tests;
mod threshold;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;
use toml::{Spanned, Value};

pub(crate) use self::check::explanation;
pub(crate) use self::figure::explain;
use self::load::Load;
pub(crate) use self::run::run;
use self::threshold::Threshold;
use crate::cli::Common;
use crate::error::Error;

/// A scenario file.
#[derive(Debug)]
pub(crate) struct ScenarioFile {
    name: String,
    phases: Vec<Phase>,
}

/// A phase: it ends when all its loads have ended.
#[derive(Debug)]
struct Phase {
    name: String,
    thresholds: Vec<Threshold>,
    loads: Vec<Load>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileTable {
    name: String,
    #[serde(default)]
    phase: Vec<Spanned<PhaseTable>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PhaseTable {
    name: String,
    #[serde(default)]
    thresholds: Vec<Spanned<String>>,
    #[serde(default)]
    load: Vec<Spanned<LoadTable>>,
}

type LoadTable = BTreeMap<Spanned<String>, Spanned<Value>>;

/// The text of a file, which names the places of errors.
#[derive(Debug)]
struct Source<'a> {
    file: &'a Path,
    text: &'a str,
}

impl Source<'_> {
    /// Returns an error at a position (bytes from the start), with the number of its line.
    fn error(&self, at: usize, message: &str) -> Error {
        let line = 1 + self.text.bytes().take(at).filter(|byte| *byte == b'\n').count();
        Error::Refused(format!("{}:{line}: {message}", self.file.display()))
    }
}

impl ScenarioFile {
    /// Reads a file. `common` are the settings of the command line, which apply to each load.
    ///
    /// # Errors
    /// The file cannot be read, or something in it is not understood; the error names file, line, key and value.
    pub(crate) fn read(file: &Path, common: &Common) -> Result<Self, Error> {
        let unreadable = |error| Error::Refused(format!("{} cannot be read: {error}", file.display()));
        Self::parse(file, &fs::read_to_string(file).map_err(unreadable)?, common)
    }

    /// Returns how many clients are connected at the same time in the largest phase.
    pub(crate) fn clients(&self) -> usize {
        let of_phase = |phase: &Phase| phase.loads.iter().map(|load| load.arguments.scenario.clients()).sum();
        self.phases.iter().map(of_phase).max().unwrap_or_default()
    }

    fn parse(file: &Path, text: &str, common: &Common) -> Result<Self, Error> {
        let source = Source { file, text };
        let table: FileTable = toml::from_str(text)
            .map_err(|error| source.error(error.span().map_or(0, |span| span.start), error.message()))?;
        if table.phase.is_empty() {
            return Err(source
                .error(0, "there is no phase; write [[phase]] with a name and at least one [[phase.load]]"));
        }
        let phases = table.phase.into_iter().map(|phase| Phase::of(&source, phase, common));
        Ok(Self { name: table.name, phases: phases.collect::<Result<_, _>>()? })
    }
}

impl Phase {
    fn of(source: &Source<'_>, phase: Spanned<PhaseTable>, common: &Common) -> Result<Self, Error> {
        let at = phase.span().start;
        let PhaseTable { name, thresholds, load } = phase.into_inner();
        if load.is_empty() {
            return Err(source.error(at, &format!("phase {name:?} has no [[phase.load]]")));
        }
        let threshold = |sentence: Spanned<String>| {
            Threshold::parse(sentence.get_ref())
                .map_err(|reason| source.error(sentence.span().start, &reason))
        };
        Ok(Self {
            name,
            thresholds: thresholds.into_iter().map(threshold).collect::<Result<_, _>>()?,
            loads: load.into_iter().map(|load| Load::of(source, &load, common)).collect::<Result<_, _>>()?,
        })
    }
}
