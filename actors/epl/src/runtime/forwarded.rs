//! Converts rows of other modules to the columns that this module's plan expects.
//!
//! Columns are read by position. While modules are deployed anew, one that still runs by its old plan may forward rows
//! with columns that the plan here does not know: such a row is reordered by the names of its columns, or it is not
//! read.

use std::sync::Arc;

use super::Fault;
use crate::plan::Stream;
use crate::value::{Columns, Row, Type};

/// The rows that could not be read.
#[derive(Debug, Default)]
pub(super) struct Unreadable {
    /// The columns of the last such row. A mismatch is reported once and not for each row: it soon passes, and many
    /// faults would switch the module off.
    reported: Option<Arc<Columns>>,
}

/// Returns a row in the order of a stream's columns; none when a column is missing or has another type.
pub(super) fn fitted(stream: &Stream, row: &Arc<Row>) -> Option<Arc<Row>> {
    let Stream::Named(_, expected) = stream else { return None };
    if Arc::ptr_eq(expected, &row.columns) || **expected == *row.columns {
        return Some(row.clone());
    }
    let value = |(name, type_): &(Arc<str>, Type)| {
        let at = row.columns.position(name)?;
        let given = &row.columns.0.get(at)?.1;
        if given == type_ || *type_ == Type::Any { row.values.get(at).cloned() } else { None }
    };
    let values = expected.0.iter().map(value).collect::<Option<Box<[_]>>>()?;
    Some(Arc::new(Row::new(expected.clone(), values, row.depth)))
}

impl Unreadable {
    /// Returns the fault to report for a row that does not fit; none if it was reported for earlier rows with the same
    /// columns.
    pub(super) fn note(&mut self, stream: &str, row: &Row) -> Option<Fault> {
        if self.reported.as_ref().is_some_and(|reported| Arc::ptr_eq(reported, &row.columns)) {
            return None;
        }
        self.reported = Some(row.columns.clone());
        let message = format!(
            "another module inserts other columns into '{stream}' than it did when this one was planned"
        );
        Some(Fault::new(message))
    }
}
