//! Periods in the syntax tree.

use super::syntax::{Expression, Span};

/// A period, written as `1 hour 30 minutes`, as `secs seconds` (Q-10a) or as a bare number of seconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Period {
    /// The whole milliseconds of the amounts that are written as numbers.
    pub(crate) millis: u64,
    /// The amounts that are other expressions.
    pub(crate) amounts: Vec<(Expression, Unit)>,
    pub(crate) span: Span,
}

/// A unit of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A thousandth of a second.
    Millisecond,
    /// A second.
    Second,
    /// 60 seconds.
    Minute,
    /// 60 minutes.
    Hour,
    /// 24 hours.
    Day,
}

impl Unit {
    /// All units, the longest first.
    pub(crate) const ALL: [Self; 5] = [Self::Day, Self::Hour, Self::Minute, Self::Second, Self::Millisecond];

    /// Returns the unit as it is written after an amount.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Millisecond => "milliseconds",
            Self::Second => "seconds",
            Self::Minute => "minutes",
            Self::Hour => "hours",
            Self::Day => "days",
        }
    }

    /// Returns the length in milliseconds.
    pub(crate) fn millis(self) -> f64 {
        match self {
            Self::Millisecond => 1.0,
            Self::Second => 1000.0,
            Self::Minute => 60_000.0,
            Self::Hour => 3_600_000.0,
            Self::Day => 86_400_000.0,
        }
    }
}
