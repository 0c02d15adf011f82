//! `platform status` and `platform doctor`. The first prints which servers and database run here; the second prints
//! problems and the command that solves each. Both only read: they start no PostgreSQL and upgrade no schema.
//!
//! [`address`] sends requests to the server, [`machine`] and [`files`] examine this machine, [`database`] queries
//! PostgreSQL and lists the servers that use it, and [`bus`] examines how the servers reach each other through it.

mod address;
mod bus;
mod database;
mod files;
mod jobs;
mod machine;
#[cfg(test)]
mod tests;

use std::fmt;

use platform_front::config::Settings;
use serde_json::{Value, json};

use crate::cli::{Output, Scope};

/// The result of one check, or one fact of `platform status`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    subject: &'static str,
    state: State,
    told: String,
    /// The remedy: a command or a sentence.
    remedy: Option<String>,
}

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    Good,
    /// The check could not be made.
    Unknown,
    /// It works now, but needs attention before it fails.
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

/// The findings of a command in the form in which it prints them.
#[derive(Debug)]
pub struct Report {
    findings: Vec<Finding>,
    output: Output,
    /// Whether the command checks: then it prints remedies, and a fault makes its exit code 1.
    judges: bool,
}

impl Report {
    /// Returns whether a check found a fault, so that the exit code is 1.
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

/// Returns the findings of `platform status`: with [`Scope::Life`] only whether the server responds.
pub async fn status(settings: &Settings, output: Output, scope: Scope) -> Report {
    if scope == Scope::Life {
        return Report { findings: address::life(settings).await, output, judges: true };
    }
    let mut findings = address::server(settings).await;
    findings.extend(database::facts(settings).await);
    Report { findings, output, judges: false }
}

/// Returns the findings of `platform doctor`, which works with or without a running server.
pub async fn doctor(settings: &Settings, output: Output) -> Report {
    let mut findings = address::check(settings).await;
    findings.extend(machine::check(settings));
    findings.extend(files::check(settings));
    findings.extend(Box::pin(database::check(settings)).await);
    Report { findings, output, judges: true }
}
