//! The catalog holds the schemas and streams that modules declare, in addition to the built-in streams.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::language::Mistake;
use crate::language::syntax::Span;
use crate::value::{Columns, StreamType, Type};

/// The declarations by stream name. Modules that insert into the same stream declare it identically.
pub type Catalog = BTreeMap<Arc<str>, Declared>;

/// The declaration of a stream by a module.
#[derive(Debug, Clone, PartialEq)]
pub struct Declared {
    pub(crate) columns: Arc<Columns>,
    pub(crate) manner: Manner,
    /// The module that declared the stream.
    pub module: Arc<str>,
}

/// The origin of the columns of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// The stream was declared by `create schema`. An insert may omit columns, which are then null.
    Schema,
    /// The first insert defined the columns. All other inserts must have the same columns.
    Insert,
}

/// The maximum number of columns of a stream, a schema or a select list.
const MAX_COLUMNS: usize = 500;

/// The maximum number of columns of a row, including the columns of nested events. It keeps type comparison
/// fast.
const MAX_TYPES: usize = 4096;

/// Returns whether the columns, including those of nested events, stay within [`MAX_TYPES`].
pub(super) fn is_small(columns: &Columns) -> bool {
    let mut left = MAX_TYPES;
    count(columns, &mut left)
}

fn count(columns: &Columns, left: &mut usize) -> bool {
    columns.0.iter().all(|(_, type_)| {
        *left = left.saturating_sub(1);
        *left > 0
            && match type_ {
                Type::Event(event) => match event.as_ref() {
                    StreamType::Rows(columns) => count(columns, left),
                    StreamType::Input(_) => true,
                },
                _ => true,
            }
    })
}

/// # Errors
/// Returns a mistake if there are more columns than a stream may have.
pub(super) fn check_columns(columns: usize, span: Span) -> Result<(), Mistake> {
    if columns > MAX_COLUMNS {
        Err(Mistake::new(span, format!("at most {MAX_COLUMNS} columns, here are {columns}")))
    } else {
        Ok(())
    }
}

/// Returns whether two declarations have the same columns, in any order.
pub(super) fn agree(one: &Columns, other: &Columns) -> bool {
    let by_name = |columns: &Columns| columns.0.iter().cloned().collect::<std::collections::BTreeMap<_, _>>();
    one.0.len() == other.0.len() && by_name(one) == by_name(other)
}

/// Formats names as `a, b and c` for a message. A long list is cut off.
pub(super) fn enumerate<T: AsRef<str>>(names: impl IntoIterator<Item = T>) -> String {
    const SHOWN: usize = 20;
    let names: Vec<T> = names.into_iter().take(SHOWN + 1).collect();
    let listed = |names: &[T]| names.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(", ");
    match names.as_slice() {
        [] => "none".to_owned(),
        many if many.len() > SHOWN => format!("{}, …", listed(&many[..SHOWN])),
        all => listed(all),
    }
}
