//! What had to hold, and whether it did.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::audience::Mishaps;
use crate::ledger::Audit;

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

impl Fact {
    /// A number that must be so large.
    pub(crate) fn number(what: &'static str, found: usize, expected: usize) -> Self {
        let holds = found == expected;
        Self { what, found: found.to_string(), expected: expected.to_string(), holds }
    }

    /// A number that must be so large or larger.
    pub(crate) fn at_least(what: &'static str, found: usize, least: usize) -> Self {
        Self { what, found: found.to_string(), expected: format!("at least {least}"), holds: found >= least }
    }

    /// Something that may have any value.
    pub(crate) fn told(what: &'static str, found: String) -> Self {
        Self { what, found, expected: "any".to_owned(), holds: true }
    }

    pub(super) fn row(&self) -> String {
        match self.holds {
            true => self.found.clone(),
            false => format!("{} INSTEAD OF {}", self.found, self.expected),
        }
    }
}

impl Mishaps {
    pub(super) fn row(&self) -> String {
        let cause = self.first_cause.as_deref().map(|cause| format!(": {cause}")).unwrap_or_default();
        format!("reconnects {}  ended {}{cause}", self.reconnects, self.ended)
    }
}

impl Audit {
    pub(super) fn row(&self) -> String {
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
