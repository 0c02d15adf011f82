//! Streams and their events: changes in the tenant, rows for output streams, and rows of the
//! modules' own streams.

use platform_model::id::ManagedObjectId;
use platform_model::input_stream::InputStream;
use platform_model::origin::ProcessingMode;
use platform_model::timestamp::Timestamp;

use platform_model::origin::Depth;
use std::sync::Arc;

use platform_model::change::PublishedChange;

use super::value::{Type, Value};

/// The streams whose rows change the platform or reach external systems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OutputStream {
    /// Creates a managed object.
    CreateManagedObject,
    /// Changes a managed object.
    UpdateManagedObject,
    /// Deletes a managed object.
    DeleteManagedObject,
    /// Creates an event.
    CreateEvent,
    /// Changes an event.
    UpdateEvent,
    /// Deletes an event.
    DeleteEvent,
    /// Creates a measurement.
    CreateMeasurement,
    /// Deletes a measurement.
    DeleteMeasurement,
    /// Creates an operation.
    CreateOperation,
    /// Changes an operation.
    UpdateOperation,
    /// Creates an alarm.
    CreateAlarm,
    /// Changes an alarm.
    UpdateAlarm,
    /// Sends an email.
    SendEmail,
    /// Sends a text message.
    SendSms,
    /// Sends a push message.
    SendPush,
    /// Makes a phone call that speaks a text.
    SendSpeech,
    /// Sends an HTTP request.
    SendRequest,
    /// Sends an export by email.
    SendExport,
    /// Sends a dashboard by email.
    SendDashboard,
}

/// A change in the tenant or a response that arrived. It is shared by all modules and everything that retains
/// it.
#[derive(Debug)]
pub struct Input {
    /// The change or the response.
    pub occurrence: Occurrence,
    pub(crate) mode: ProcessingMode,
    /// The distance from the client request that caused the change. If modules wrote in between, `_origin` is "cep".
    pub depth: Depth,
    /// The approximate size in bytes, which counts against the memory limit of a module that retains it.
    pub weight: u32,
}

impl Input {
    /// Returns the stream of the input.
    ///
    /// # Panics
    /// Panics if the input belongs to no stream; see [`InputStream::of`].
    pub fn stream(&self) -> InputStream {
        match &self.occurrence {
            Occurrence::Changed(event) => InputStream::of(event),
            Occurrence::Deleted(deletion) => InputStream::of(&deletion.event),
            Occurrence::Response(_) => Some(InputStream::ResponseReceived),
        }
        .expect("only events of a stream become an input")
    }
}

/// The content of an input. It takes only two words, because a module may retain many.
#[derive(Debug)]
pub enum Occurrence {
    /// A creation or a change; it contains the object.
    Changed(PublishedChange),
    /// A deletion; [`Input::new`] converts the hub's event to it.
    Deleted(Box<Deletion>),
    /// The result of a request that a module sent.
    Response(Arc<Response>),
}

/// A deletion, of which only ids are known.
#[derive(Debug)]
pub struct Deletion {
    pub(crate) event: PublishedChange,
    /// The managed object that the deleted object concerned.
    pub source: ManagedObjectId,
}

/// The result of a `SendRequest`.
#[derive(Debug, Clone)]
pub struct Response {
    /// The status of the response. If it is 0, there was no response and the body contains the reason.
    pub status: u16,
    /// The body of the response.
    pub body: Arc<str>,
    /// The time at which the response arrived.
    pub creation_time: Timestamp,
    /// The managed object that the request named.
    pub source: Option<ManagedObjectId>,
}

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
