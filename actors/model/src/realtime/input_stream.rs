//! The streams of changes that event-processing modules read.

use crate::realtime::change::PublishedChange;

/// The built-in streams that carry changes in the tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InputStream {
    /// A managed object was created.
    ManagedObjectCreated,
    /// A managed object was changed.
    ManagedObjectUpdated,
    /// A managed object was deleted.
    ManagedObjectDeleted,
    /// An event was created.
    EventCreated,
    /// An event was changed.
    EventUpdated,
    /// An event was deleted.
    EventDeleted,
    /// A measurement was created.
    MeasurementCreated,
    /// A measurement was deleted.
    MeasurementDeleted,
    /// An operation was created.
    OperationCreated,
    /// An operation was changed.
    OperationUpdated,
    /// An alarm was created.
    AlarmCreated,
    /// An alarm was changed.
    AlarmUpdated,
    /// A server responded to a request of a module, or did not.
    ResponseReceived,
}

/// A set of input streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InputStreams(u16);

impl InputStreams {
    /// Adds a stream.
    pub fn insert(&mut self, stream: InputStream) {
        self.0 |= 1 << stream as u16;
    }

    /// Returns whether the set contains a stream.
    pub fn contains(self, stream: InputStream) -> bool {
        self.0 & (1 << stream as u16) != 0
    }

    /// Returns the streams of either set.
    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the set as bits, in which form it is stored.
    pub fn bits(self) -> u16 {
        self.0
    }

    /// Returns the set that was stored as bits.
    pub fn of_bits(bits: u16) -> Self {
        Self(bits)
    }
}

impl InputStream {
    /// All input streams in the order of their numbers.
    pub const ALL: [Self; 13] = [
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

    /// Returns the stream's name and the `_type` of its events.
    pub fn words(self) -> (&'static str, &'static str) {
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

    /// Returns the stream with this name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|stream| stream.words().0 == name)
    }

    /// Returns the stream of a hub event. Deletions of alarms and operations belong to no stream.
    pub fn of(event: &PublishedChange) -> Option<Self> {
        Some(match event {
            PublishedChange::AlarmCreated(_) => Self::AlarmCreated,
            PublishedChange::AlarmUpdated(_) => Self::AlarmUpdated,
            PublishedChange::MeasurementCreated(_) => Self::MeasurementCreated,
            PublishedChange::MeasurementDeleted(_) => Self::MeasurementDeleted,
            PublishedChange::ManagedObjectCreated(_) => Self::ManagedObjectCreated,
            PublishedChange::ManagedObjectUpdated(_) => Self::ManagedObjectUpdated,
            PublishedChange::ManagedObjectDeleted(_) => Self::ManagedObjectDeleted,
            PublishedChange::EventCreated(_) => Self::EventCreated,
            PublishedChange::EventUpdated(_) => Self::EventUpdated,
            PublishedChange::EventDeleted(_) => Self::EventDeleted,
            PublishedChange::OperationCreated(_) => Self::OperationCreated,
            PublishedChange::OperationUpdated(_) => Self::OperationUpdated,
            PublishedChange::AlarmDeleted(_) | PublishedChange::OperationDeleted(_) => return None,
        })
    }

    /// Returns the name under which events of the stream have their object; none for responses to requests.
    pub fn object_member(self) -> Option<&'static str> {
        Some(match self {
            Self::ManagedObjectCreated | Self::ManagedObjectUpdated | Self::ManagedObjectDeleted => {
                "managedObject"
            }
            Self::EventCreated | Self::EventUpdated | Self::EventDeleted => "event",
            Self::MeasurementCreated | Self::MeasurementDeleted => "measurement",
            Self::OperationCreated | Self::OperationUpdated => "operation",
            Self::AlarmCreated | Self::AlarmUpdated => "alarm",
            Self::ResponseReceived => return None,
        })
    }
}
