//! Streams and what flows through them: what happens in the tenant, what statements insert, and rows of their own.

use std::sync::Arc;

use crate::hub;
use crate::model::id::ManagedObjectId;
use crate::model::origin::ProcessingMode;
use crate::model::timestamp::Timestamp;

use super::value::{Type, Value};

/// The streams of what happens in the tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum InputStream {
    ManagedObjectCreated,
    ManagedObjectUpdated,
    ManagedObjectDeleted,
    EventCreated,
    EventUpdated,
    EventDeleted,
    MeasurementCreated,
    MeasurementDeleted,
    OperationCreated,
    OperationUpdated,
    AlarmCreated,
    AlarmUpdated,
    ResponseReceived,
}

/// A set of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct InputStreams(u16);

impl InputStreams {
    pub(crate) fn insert(&mut self, stream: InputStream) {
        self.0 |= 1 << stream as u16;
    }

    pub(crate) fn contains(self, stream: InputStream) -> bool {
        self.0 & (1 << stream as u16) != 0
    }

    pub(crate) fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn bits(self) -> u16 {
        self.0
    }

    pub(crate) fn of_bits(bits: u16) -> Self {
        Self(bits)
    }
}

impl InputStream {
    /// All, by the order of their numbers.
    pub(crate) const ALL: [Self; 13] = [
        Self::ManagedObjectCreated,
        Self::ManagedObjectUpdated,
        Self::ManagedObjectDeleted,
        Self::EventCreated,
        Self::EventUpdated,
        Self::EventDeleted,
        Self::MeasurementCreated,
        Self::MeasurementDeleted,
        Self::OperationCreated,
        Self::OperationUpdated,
        Self::AlarmCreated,
        Self::AlarmUpdated,
        Self::ResponseReceived,
    ];

    /// Its name, and its `_type`.
    pub(crate) fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::ManagedObjectCreated => ("ManagedObjectCreated", "MANAGED_OBJECT_CREATE"),
            Self::ManagedObjectUpdated => ("ManagedObjectUpdated", "MANAGED_OBJECT_UPDATE"),
            Self::ManagedObjectDeleted => ("ManagedObjectDeleted", "MANAGED_OBJECT_DELETE"),
            Self::EventCreated => ("EventCreated", "EVENT_CREATE"),
            Self::EventUpdated => ("EventUpdated", "EVENT_UPDATED"),
            Self::EventDeleted => ("EventDeleted", "EVENT_DELETE"),
            Self::MeasurementCreated => ("MeasurementCreated", "MEASUREMENT_CREATE"),
            Self::MeasurementDeleted => ("MeasurementDeleted", "MEASUREMENT_DELETE"),
            Self::OperationCreated => ("OperationCreated", "OPERATION_CREATE"),
            Self::OperationUpdated => ("OperationUpdated", "OPERATION_UPDATE"),
            Self::AlarmCreated => ("AlarmCreated", "ALARM_CREATE"),
            Self::AlarmUpdated => ("AlarmUpdated", "ALARM_UPDATE"),
            Self::ResponseReceived => ("ResponseReceived", "REQUEST_RESULT"),
        }
    }

    pub(crate) fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|stream| stream.words().0 == name)
    }

    /// Where an event told by the hub belongs; deletions of alarms and operations belong nowhere.
    pub(crate) fn of(event: &hub::Event) -> Option<Self> {
        Some(match event {
            hub::Event::AlarmCreated(_) => Self::AlarmCreated,
            hub::Event::AlarmUpdated(_) => Self::AlarmUpdated,
            hub::Event::MeasurementCreated(_) => Self::MeasurementCreated,
            hub::Event::MeasurementDeleted(_) => Self::MeasurementDeleted,
            hub::Event::ManagedObjectCreated(_) => Self::ManagedObjectCreated,
            hub::Event::ManagedObjectUpdated(_) => Self::ManagedObjectUpdated,
            hub::Event::ManagedObjectDeleted(_) => Self::ManagedObjectDeleted,
            hub::Event::EventCreated(_) => Self::EventCreated,
            hub::Event::EventUpdated(_) => Self::EventUpdated,
            hub::Event::EventDeleted(_) => Self::EventDeleted,
            hub::Event::OperationCreated(_) => Self::OperationCreated,
            hub::Event::OperationUpdated(_) => Self::OperationUpdated,
            hub::Event::AlarmDeleted(_) | hub::Event::OperationDeleted(_) => return None,
        })
    }
}

/// The streams that act on the platform, or on the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum OutputStream {
    CreateManagedObject,
    UpdateManagedObject,
    DeleteManagedObject,
    CreateEvent,
    UpdateEvent,
    DeleteEvent,
    CreateMeasurement,
    DeleteMeasurement,
    CreateOperation,
    UpdateOperation,
    CreateAlarm,
    UpdateAlarm,
    SendEmail,
    SendSms,
    SendPush,
    SendSpeech,
    SendRequest,
    SendExport,
    SendDashboard,
}

/// Something that happened in the tenant, or an answer that came. Shared by all modules and all that retain it.
#[derive(Debug)]
pub(crate) struct Input {
    pub(crate) occurrence: Occurrence,
    pub(crate) mode: ProcessingMode,
    /// How much of it is the doing of modules; beyond zero writes `_origin` is "cep".
    pub(crate) depth: Depth,
    /// About how many bytes it holds: what a module that retains it uses up.
    pub(crate) weight: u32,
}

impl Input {
    /// The stream it belongs to.
    ///
    /// # Panics
    /// For what belongs to none; see [`InputStream::of`].
    pub(crate) fn stream(&self) -> InputStream {
        match &self.occurrence {
            Occurrence::Told(event) => InputStream::of(event),
            Occurrence::Deleted(deletion) => InputStream::of(&deletion.event),
            Occurrence::Response(_) => Some(InputStream::ResponseReceived),
        }
        .expect("only what belongs to a stream becomes an input")
    }
}

/// Two words, for a module may retain many.
#[derive(Debug)]
pub(crate) enum Occurrence {
    /// With the object, which says what it is about.
    Told(hub::Event),
    /// [`Input::new`] makes it of a deletion that is told.
    Deleted(Box<Deletion>),
    Response(Arc<Response>),
}

/// Only ids are known of what is gone.
#[derive(Debug)]
pub(crate) struct Deletion {
    pub(crate) event: hub::Event,
    /// The managed object it is about.
    pub(crate) source: ManagedObjectId,
}

/// What became of a `SendRequest`.
#[derive(Debug, Clone)]
pub(crate) struct Response {
    /// Of the answer; 0 when there was none, then the body says why.
    pub(crate) status: u16,
    pub(crate) body: Arc<str>,
    pub(crate) creation_time: Timestamp,
    /// As the request named it.
    pub(crate) source: Option<ManagedObjectId>,
}

/// How far something is from what clients did, so that endless chains end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Depth {
    /// Statements, one feeding the other.
    pub(crate) statements: u8,
    /// Writes of modules, one causing the other.
    pub(crate) writes: u8,
}

impl Depth {
    /// The deeper in each respect: of what was made of several.
    pub(crate) fn max(self, other: Self) -> Self {
        Self { statements: self.statements.max(other.statements), writes: self.writes.max(other.writes) }
    }
}

/// The columns of a stream of rows, in order.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Columns(pub(crate) Vec<(Arc<str>, Type)>);

impl Columns {
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|(known, _)| **known == *name)
    }
}

/// One row that a statement made.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) columns: Arc<Columns>,
    pub(crate) values: Box<[Value]>,
    pub(crate) depth: Depth,
    /// See [`Input::weight`].
    pub(crate) weight: u32,
    /// How deep its values are nested, so that no chain of rows in rows grows without end.
    pub(crate) nesting: u8,
}

/// What flows through streams; cheap to clone.
#[derive(Debug, Clone)]
pub(crate) enum StreamEvent {
    Input(Arc<Input>),
    Row(Arc<Row>),
    /// What a pattern found: an event for each tag, as far as it was met.
    Match(Arc<Match>),
}

/// Shared by a thin pointer, so that all events are small.
#[derive(Debug, Clone)]
pub(crate) struct Match(pub(crate) Box<[Option<StreamEvent>]>);

impl Match {
    /// The event of a tag, if it was met.
    pub(crate) fn get(&self, tag: u16) -> Option<&StreamEvent> {
        self.0.get(usize::from(tag))?.as_ref()
    }

    /// What was met.
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

/// What the events of a stream look like.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum StreamType {
    Input(InputStream),
    Rows(Arc<Columns>),
}
