//! `platform status` and `platform doctor`: what runs here, and what is wrong, with the command that mends it. They read
//! only: they start no PostgreSQL and upgrade no schema.
//!
//! [`address`] asks the server, [`jobs`] judges its background jobs, [`machine`] and [`files`] look at the machine,
//! [`database`] at PostgreSQL and the servers on it.

mod address;
mod database;
mod files;
mod jobs;
mod machine;
#[cfg(test)]
mod tests;

use std::fmt;

use serde_json::{Value, json};

use crate::cli::{Output, Scope};
use crate::config::Settings;

/// What was found about one subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    subject: &'static str,
    state: State,
    told: String,
    /// What mends it: a command, or a sentence.
    remedy: Option<String>,
}

/// How good a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    Good,
    /// It could not be checked now.
    Unknown,
    /// It works, and will not for ever.
    Warning,
    /// Something does not work, or data may be lost.
    Fault,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            Self::Good => "ok",
            Self::Unknown => "unknown",
            Self::Warning => "warning",
            Self::Fault => "fault",
        }
    }
}

impl Finding {
    fn new(subject: &'static str, state: State, told: impl Into<String>) -> Self {
        Self { subject, state, told: told.into(), remedy: None }
    }

    fn good(subject: &'static str, told: impl Into<String>) -> Self {
        Self::new(subject, State::Good, told)
    }

    fn unknown(subject: &'static str, told: impl Into<String>) -> Self {
        Self::new(subject, State::Unknown, told)
    }

    fn warning(subject: &'static str, told: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { remedy: Some(remedy.into()), ..Self::new(subject, State::Warning, told) }
    }

    fn fault(subject: &'static str, told: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { remedy: Some(remedy.into()), ..Self::new(subject, State::Fault, told) }
    }
}

/// What was found, as a command prints it.
#[derive(Debug)]
pub struct Report {
    findings: Vec<Finding>,
    output: Output,
    /// Whether remedies are printed, and a fault is an error.
    judges: bool,
}

impl Report {
    /// Returns whether a fault was found, which `platform doctor` tells by its exit code.
    pub fn is_bad(&self) -> bool {
        self.judges && self.findings.iter().any(|finding| finding.state == State::Fault)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.output == Output::Json {
            let as_json = |finding: &Finding| {
                json!({"subject": finding.subject, "state": finding.state.word(), "told": finding.told,
                    "remedy": finding.remedy})
            };
            return write!(f, "{}", self.findings.iter().map(as_json).collect::<Value>());
        }
        let width = self.findings.iter().map(|finding| finding.subject.len()).max().unwrap_or_default();
        for Finding { subject, state, told, remedy } in &self.findings {
            match self.judges {
                true => writeln!(f, "{:<7}  {subject:<width$}  {told}", state.word())?,
                false => writeln!(f, "{subject:<width$}  {told}")?,
            }
            if let (true, Some(remedy)) = (self.judges, remedy) {
                writeln!(f, "         {:width$}  → {remedy}", "")?;
            }
        }
        if self.judges {
            let count = |state: State| {
                let number = self.findings.iter().filter(|finding| finding.state == state).count();
                format!("{number} {}{}", state.word(), if number == 1 { "" } else { "s" })
            };
            write!(f, "\n{}, {}", count(State::Fault), count(State::Warning))?;
        }
        Ok(())
    }
}

/// Returns what runs here.
pub async fn status(settings: &Settings, output: Output, scope: Scope) -> Report {
    if scope == Scope::Life {
        return Report { findings: address::life(settings).await, output, judges: true };
    }
    let mut findings = address::server(settings).await;
    findings.extend(database::facts(settings).await);
    Report { findings, output, judges: false }
}

/// Returns everything that can be checked, whether the server runs or not.
pub async fn doctor(settings: &Settings, output: Output) -> Report {
    let mut findings = address::check(settings).await;
    findings.extend(machine::check(settings));
    findings.extend(files::check(settings));
    findings.extend(database::check(settings).await);
    Report { findings, output, judges: true }
}
