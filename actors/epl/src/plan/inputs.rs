//! The properties of the events of input streams and the members of platform objects.

use std::sync::Arc;

use platform_model::realtime::input_stream::InputStream;

use super::expression::Property;
use crate::value::{ObjectKind, Type};

/// Returns the properties of a stream's events with their names, in the order in which rows contain them.
pub(super) fn properties(stream: InputStream) -> Vec<(&'static str, Property, Type)> {
    let mut properties = vec![
        ("_type", Property::Type, Type::Text),
        ("_mode", Property::Mode, Type::Text),
        ("_origin", Property::Origin, Type::Text),
        ("payload", Property::Payload, Type::Map),
    ];
    match object(stream) {
        Some((name, type_)) => properties.push((name, Property::Object, type_)),
        None => properties.extend([
            ("status", Property::Status, Type::Integer),
            ("body", Property::Body, Type::Text),
            ("creationTime", Property::CreationTime, Type::Time),
            ("source", Property::Source, Type::Id),
        ]),
    }
    properties
}

/// Returns the property with this name.
pub(super) fn property(stream: InputStream, name: &str) -> Option<(Property, Type)> {
    let mut properties = properties(stream).into_iter();
    properties.find(|(known, ..)| *known == name).map(|(_, property, type_)| (property, type_))
}

/// Returns the property that holds the object. For a deletion it is a map, because only ids are left of the
/// object.
fn object(stream: InputStream) -> Option<(&'static str, Type)> {
    Some(match stream {
        InputStream::ManagedObjectCreated | InputStream::ManagedObjectUpdated => {
            ("managedObject", Type::Object(ObjectKind::ManagedObject))
        }
        InputStream::ManagedObjectDeleted => ("managedObject", Type::Map),
        InputStream::EventCreated | InputStream::EventUpdated => ("event", Type::Object(ObjectKind::Event)),
        InputStream::EventDeleted => ("event", Type::Map),
        InputStream::MeasurementCreated => ("measurement", Type::Object(ObjectKind::Measurement)),
        InputStream::MeasurementDeleted => ("measurement", Type::Map),
        InputStream::OperationCreated | InputStream::OperationUpdated => {
            ("operation", Type::Object(ObjectKind::Operation))
        }
        InputStream::AlarmCreated | InputStream::AlarmUpdated => ("alarm", Type::Object(ObjectKind::Alarm)),
        InputStream::ResponseReceived => return None,
    })
}

/// Returns the column names of `select *`.
pub(super) fn names(stream: InputStream) -> Vec<Arc<str>> {
    properties(stream).into_iter().map(|(name, ..)| Arc::from(name)).collect()
}

impl ObjectKind {
    /// All kinds of objects with the nouns that the names of finders and classes use.
    pub(crate) const NOUNS: [(&'static str, Self); 5] = [
        ("ManagedObject", Self::ManagedObject),
        ("Event", Self::Event),
        ("Measurement", Self::Measurement),
        ("Operation", Self::Operation),
        ("Alarm", Self::Alarm),
    ];

    /// Returns the members that Q-06 defines.
    pub(super) fn members(self) -> &'static [&'static str] {
        match self {
            Self::ManagedObject => &[
                "id",
                "type",
                "name",
                "lastUpdated",
                "owner",
                "childAssets",
                "childDevices",
                "assetParents",
                "deviceParents",
            ],
            Self::Event => &["id", "creationTime", "type", "text", "time", "source"],
            Self::Measurement => &["id", "type", "time", "source"],
            Self::Operation => &["id", "creationTime", "status", "deviceId"],
            Self::Alarm => {
                &["id", "creationTime", "type", "count", "severity", "status", "text", "time", "source"]
            }
        }
    }

    /// Returns the type of a member. A member that Q-06 does not define is a fragment of unknown type.
    pub(super) fn member(self, name: &str) -> Type {
        match (self, name) {
            (_, "id") => Type::Id,
            (Self::ManagedObject, "name" | "owner")
            | (Self::Event | Self::Alarm, "text")
            | (Self::Operation | Self::Alarm, "status")
            | (Self::Alarm, "severity")
            | (Self::ManagedObject | Self::Event | Self::Measurement | Self::Alarm, "type") => Type::Text,
            (Self::ManagedObject, "lastUpdated")
            | (Self::Event | Self::Measurement | Self::Alarm, "time")
            | (Self::Event | Self::Operation | Self::Alarm, "creationTime") => Type::Time,
            (Self::Event | Self::Measurement | Self::Alarm, "source") | (Self::Operation, "deviceId") => {
                Type::Id
            }
            (Self::ManagedObject, "childAssets" | "childDevices" | "assetParents" | "deviceParents") => {
                Type::List
            }
            (Self::Alarm, "count") => Type::Integer,
            _ => Type::Any,
        }
    }
}
