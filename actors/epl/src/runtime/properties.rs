//! The properties of an event of an input stream.

use std::sync::Arc;

use platform_model::id::ManagedObjectId;
use platform_model::realtime::change::PublishedChange;

use crate::plan::expression::Property;
use crate::stream::{Deletion, Input, Occurrence, Response};
use crate::value::{Id, IdSeen, Map, ObjectSeen, Seen, StreamEvent, Value};

impl StreamEvent {
    /// Returns a property or column by its name; null if there is none.
    pub(crate) fn member(&self, name: &str) -> Seen<'_> {
        match self {
            Self::Input(input) => input.member(name),
            Self::Row(row) => {
                let value = row.columns.position(name).and_then(|at| row.values.get(at));
                value.map_or(Seen::Null, Seen::Kept)
            }
            Self::Match(_) => Seen::Null,
        }
    }

    /// Returns the value at which the paths of `getString` and the other getters start: the payload of an input event,
    /// the columns of a row.
    pub(crate) fn content(&self) -> Seen<'_> {
        match self {
            Self::Input(input) => input.property(Property::Payload),
            Self::Row(_) | Self::Match(_) => Seen::Event(self),
        }
    }
}

impl Input {
    /// Returns a property by its name; null if there is none.
    pub(crate) fn member(&self, name: &str) -> Seen<'_> {
        let property = match name {
            "_type" => Property::Type,
            "_mode" => Property::Mode,
            "_origin" => Property::Origin,
            "payload" => Property::Payload,
            "status" => Property::Status,
            "body" => Property::Body,
            "creationTime" => Property::CreationTime,
            "source" => Property::Source,
            name if self.stream().object_member() == Some(name) => Property::Object,
            _ => return Seen::Null,
        };
        self.property(property)
    }

    pub(crate) fn property(&self, property: Property) -> Seen<'_> {
        match (property, &self.occurrence) {
            (Property::Type, _) => Seen::Text(self.stream().words().1),
            (Property::Mode, _) => Seen::Text(self.mode.as_str()),
            (Property::Origin, _) => Seen::optional_text((self.depth.writes > 0).then_some("cep")),
            (Property::Object, Occurrence::Changed(event)) => {
                ObjectSeen::of_change(event).map_or(Seen::Null, Seen::Object)
            }
            (Property::Payload, Occurrence::Changed(event)) => {
                ObjectSeen::of_change(event).map_or(Seen::Null, Seen::Payload)
            }
            (Property::Object, Occurrence::Deleted(deletion)) => Seen::Made(deleted(deletion)),
            (Property::Payload, Occurrence::Deleted(deletion)) => Seen::Made(
                deleted_id(&deletion.event)
                    .map_or(Value::Null, |id| map([("id", Value::Text(id.to_string().into()))])),
            ),
            (Property::Payload, Occurrence::Response(response)) => Seen::Made(payload(response)),
            (Property::Status, Occurrence::Response(response)) => {
                Seen::Made(Value::Integer(response.status.into()))
            }
            (Property::Body, Occurrence::Response(response)) => Seen::Text(&response.body),
            (Property::CreationTime, Occurrence::Response(response)) => Seen::Time(response.creation_time),
            (Property::Source, Occurrence::Response(response)) => response.source.map_or(Seen::Null, id),
            _ => Seen::Null,
        }
    }
}

/// Returns what is known of a deleted object: its id and that of its source.
fn deleted(deletion: &Deletion) -> Value {
    let id = |id| Value::Id(Arc::new(Id::of(id)));
    let own = deleted_id(&deletion.event).map(|own| ("id", id(own)));
    map(own.into_iter().chain([("source", id(deletion.source.0))]))
}

/// Returns the id of the deleted object.
fn deleted_id(event: &PublishedChange) -> Option<i64> {
    match event {
        PublishedChange::AlarmDeleted(id) => Some(id.0),
        PublishedChange::MeasurementDeleted(id) => Some(id.0),
        PublishedChange::ManagedObjectDeleted(id) => Some(id.0),
        PublishedChange::EventDeleted(id) => Some(id.0),
        PublishedChange::OperationDeleted(id) => Some(id.0),
        _ => None,
    }
}

fn id<'a>(source: ManagedObjectId) -> Seen<'a> {
    Seen::Id(IdSeen { number: source.0, type_: None, name: None })
}

fn payload(response: &Response) -> Value {
    let source = response.source.map(|id| map([("id", Value::Text(id.to_string().into()))]));
    map([
        ("status", Value::Integer(response.status.into())),
        ("body", Value::Text(response.body.clone())),
        ("creationTime", Value::Text(response.creation_time.to_string().into())),
        ("source", source.unwrap_or(Value::Null)),
    ])
}

fn map(members: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    Value::Map(Arc::new(Map(members.into_iter().map(|(name, value)| (name.into(), value)).collect())))
}
