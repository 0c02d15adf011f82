//! A condition of a run, and whether it holds.

use serde::Serialize;

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

    /// Returns the cell of a table that shows it.
    pub(crate) fn row(&self) -> String {
        if self.holds { self.found.clone() } else { format!("{} INSTEAD OF {}", self.found, self.expected) }
    }
}
