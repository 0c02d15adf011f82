//! Rows of other modules, as this module's plan expects them.
//!
//! Columns are read by their places. While modules are deployed anew, one that still runs by its old plan may hand on rows of columns
//! that the plan here does not know: such a row is put in order by the names of its columns, or it is not read.

use std::sync::Arc;

use super::Fault;
use crate::event_processing::plan::Stream;
use crate::event_processing::stream::{Columns, Row};
use crate::event_processing::value::Type;

/// What came that could not be read.
#[derive(Debug, Default)]
pub(super) struct Unreadable {
    /// The columns of the last. That they do not fit is told once, not of each row: it soon passes, and many faults would switch the
    /// module off.
    told: Option<Arc<Columns>>,
}

/// A row in the order of a stream's columns; none when it lacks one, or holds something else there.
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
    /// What is said of a row that does not fit; nothing if that was said of those before.
    pub(super) fn note(&mut self, stream: &str, row: &Row) -> Option<Fault> {
        if self.told.as_ref().is_some_and(|told| Arc::ptr_eq(told, &row.columns)) {
            return None;
        }
        self.told = Some(row.columns.clone());
        let message = format!(
            "another module inserts other columns into '{stream}' than it did when this one was planned"
        );
        Some(Fault::new(message))
    }
}
