//! Schemas and streams that modules declare: what a name of a stream stands for beyond the fixed ones.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::event_processing::language::Mistake;
use crate::event_processing::language::syntax::Span;
use crate::event_processing::stream::{Columns, StreamType};
use crate::event_processing::value::Type;

/// By their names. A stream that several modules insert into is declared by each of them alike.
pub(crate) type Catalog = BTreeMap<Arc<str>, Declared>;

/// What a module said of a stream.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Declared {
    pub(crate) columns: Arc<Columns>,
    pub(crate) manner: Manner,
    /// The module that said so.
    pub(crate) module: Arc<str>,
}

/// How a stream came by its columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// By `create schema`: what is inserted may leave columns out, which are null then.
    Schema,
    /// By the first insert: others insert the same columns.
    Insert,
}

/// Columns of a stream, a schema or a select list at most.
const MAX_COLUMNS: usize = 500;

/// Columns of columns, counted through: what a row may hold at most, so that types stay quick to compare.
const MAX_TYPES: usize = 4096;

/// Whether the columns, with those of the events they hold, are few enough to be compared quickly.
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
/// More columns than a stream may have.
pub(super) fn check_columns(columns: usize, span: Span) -> Result<(), Mistake> {
    match columns > MAX_COLUMNS {
        true => Err(Mistake::new(span, format!("at most {MAX_COLUMNS} columns, here are {columns}"))),
        false => Ok(()),
    }
}

/// Whether two declarations say the same, in whatever order.
pub(super) fn agree(one: &Columns, other: &Columns) -> bool {
    let by_name = |columns: &Columns| columns.0.iter().cloned().collect::<std::collections::BTreeMap<_, _>>();
    one.0.len() == other.0.len() && by_name(one) == by_name(other)
}

/// `a, b and c` for a message; of many the first.
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
