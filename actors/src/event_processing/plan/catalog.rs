//! Schemas and streams that modules declare: what a name of a stream stands for beyond the fixed ones.

use std::collections::BTreeMap;
use std::sync::Arc;

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

/// Whether two declarations say the same, in whatever order.
pub(super) fn agree(one: &Columns, other: &Columns) -> bool {
    one.0.len() == other.0.len()
        && one.0.iter().all(|(name, type_)| other.position(name).is_some_and(|at| other.0[at].1 == *type_))
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
