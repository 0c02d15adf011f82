//! Conditions, and whether they hold.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::audience::ClientFailures;
use crate::ledger::Audit;

/// One kill of the server under load, and its data after the restart.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Round {
    /// The number of the round, from 1.
    pub(crate) number: u32,
    /// The process that was killed.
    pub(crate) stop: &'static str,
    /// The milliseconds of posting before.
    pub(crate) ended_after_ms: u64,
    /// The milliseconds from the kill until the server was ready again.
    pub(crate) ready_after_ms: u64,
    /// The posts with a 4xx response, which there should not be.
    pub(crate) refused: u64,
    /// All posts by response.
    pub(crate) by_status: BTreeMap<String, u64>,
    /// The verdict on the rows.
    pub(crate) ledger: Audit,
}

impl Round {
    /// Returns whether nothing was lost, doubled, torn, rejected or unexpected, and something was written at
    /// all.
    pub(crate) fn is_clean(&self) -> bool {
        self.ledger.is_clean() && self.refused == 0 && self.ledger.acknowledged > 0
    }

    /// Returns one line of text.
    pub(crate) fn row(&self) -> String {
        format!(
            "{:>2} {:<8} after {:.1} s, ready {:.1} s later; rows {}; posts {:?}  {}",
            self.number,
            self.stop,
            self.ended_after_ms as f64 / 1000.0,
            self.ready_after_ms as f64 / 1000.0,
            self.ledger.row(),
            self.by_status,
            super::clean_or_not(self.is_clean())
        )
    }
}

/// A value that was measured, with its expected value.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Fact {
    /// The name of the value.
    pub(crate) what: &'static str,
    /// The measured value.
    pub(crate) found: String,
    /// The expected value.
    pub(crate) expected: String,
    /// Whether the measured value is as expected.
    pub(crate) holds: bool,
}

impl Fact {
    /// Returns a number that must have this value.
    pub(crate) fn number(what: &'static str, found: usize, expected: usize) -> Self {
        let holds = found == expected;
        Self { what, found: found.to_string(), expected: expected.to_string(), holds }
    }

    /// Returns a number that must have this value or a larger one.
    pub(crate) fn at_least(what: &'static str, found: usize, least: usize) -> Self {
        Self { what, found: found.to_string(), expected: format!("at least {least}"), holds: found >= least }
    }

    /// Returns a value without an expectation.
    pub(crate) fn any(what: &'static str, found: String) -> Self {
        Self { what, found, expected: "any".to_owned(), holds: true }
    }

    pub(super) fn row(&self) -> String {
        if self.holds { self.found.clone() } else { format!("{} INSTEAD OF {}", self.found, self.expected) }
    }
}

impl ClientFailures {
    pub(super) fn row(&self) -> String {
        let cause = self.first_cause.as_deref().map(|cause| format!(": {cause}")).unwrap_or_default();
        format!("reconnects {}  ended {}{cause}", self.reconnects, self.ended)
    }
}

impl Audit {
    pub(super) fn row(&self) -> String {
        format!(
            "acknowledged {}  unknown {}  expected {}  delivered {}  lost {}  doubled {}  reordered {}  unexpected \
             {}  torn {}",
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
