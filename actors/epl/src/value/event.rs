//! Events of streams: inputs, rows with values, and matches. A value may be an event, too.

use std::sync::Arc;

use platform_model::origin::Depth;
use platform_model::realtime::input_stream::InputStream;

use super::{Type, Value};
use crate::stream::Input;

/// The columns of a stream of rows, in order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Columns(pub Vec<(Arc<str>, Type)>);

impl Columns {
    /// Returns the position of the column with this name.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|(known, _)| **known == *name)
    }
}

/// A row that a statement produced.
#[derive(Debug)]
pub struct Row {
    /// The names and types of the values.
    pub columns: Arc<Columns>,
    /// One value for each column.
    pub values: Box<[Value]>,
    /// The distance of the row from the client request that caused it.
    pub depth: Depth,
    /// The approximate size in bytes; see [`Input::weight`].
    pub weight: u32,
    /// The nesting depth of its values, which is limited so that rows nested in rows cannot grow endlessly.
    pub nesting: u8,
}

/// An event of a stream, which is cheap to clone.
#[derive(Debug, Clone)]
pub enum StreamEvent {
    /// A change in the tenant, or a response.
    Input(Arc<Input>),
    /// A row of another statement.
    Row(Arc<Row>),
    /// A pattern match: an event for each tag that has been matched.
    Match(Arc<Match>),
}

/// The matched events. A thin pointer keeps [`StreamEvent`] small.
#[derive(Debug, Clone)]
pub struct Match(pub Box<[Option<StreamEvent>]>);

impl Match {
    /// Returns the event of a tag, if the tag has been matched.
    pub(crate) fn get(&self, tag: u16) -> Option<&StreamEvent> {
        self.0.get(usize::from(tag))?.as_ref()
    }

    /// Returns the matched events.
    pub(crate) fn events(&self) -> impl Iterator<Item = &StreamEvent> {
        self.0.iter().flatten()
    }
}

impl StreamEvent {
    pub(crate) fn depth(&self) -> Depth {
        match self {
            Self::Input(input) => input.depth,
            Self::Row(row) => row.depth,
            Self::Match(tags) => tags.events().map(Self::depth).fold(Depth::default(), Depth::max),
        }
    }
}

/// The type of the events of a stream.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamType {
    /// The events of a built-in stream.
    Input(InputStream),
    /// Rows with these columns.
    Rows(Arc<Columns>),
}
