//! What can be asked of the events of input streams, and of the objects of the platform.

use std::sync::Arc;

use super::expression::Property;
use crate::event_processing::stream::InputStream;
use crate::event_processing::value::{ObjectKind, Type};

impl InputStream {
    /// Properties of its events by their names, in the order rows show them.
    pub(crate) fn properties(self) -> Vec<(&'static str, Property, Type)> {
        let mut properties = vec![
            ("_type", Property::Type, Type::Text),
            ("_mode", Property::Mode, Type::Text),
            ("_origin", Property::Origin, Type::Text),
            ("payload", Property::Payload, Type::Map),
        ];
        match self.object() {
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

    /// One property.
    pub(crate) fn property(self, name: &str) -> Option<(Property, Type)> {
        let mut properties = self.properties().into_iter();
        properties.find(|(known, ..)| *known == name).map(|(_, property, type_)| (property, type_))
    }

    /// The member that holds the object; of a deletion a map, because nothing but ids is left of it.
    fn object(self) -> Option<(&'static str, Type)> {
        Some(match self {
            Self::ManagedObjectCreated | Self::ManagedObjectUpdated => {
                ("managedObject", Type::Object(ObjectKind::ManagedObject))
            }
            Self::ManagedObjectDeleted => ("managedObject", Type::Map),
            Self::EventCreated | Self::EventUpdated => ("event", Type::Object(ObjectKind::Event)),
            Self::EventDeleted => ("event", Type::Map),
            Self::MeasurementCreated => ("measurement", Type::Object(ObjectKind::Measurement)),
            Self::MeasurementDeleted => ("measurement", Type::Map),
            Self::OperationCreated | Self::OperationUpdated => {
                ("operation", Type::Object(ObjectKind::Operation))
            }
            Self::AlarmCreated | Self::AlarmUpdated => ("alarm", Type::Object(ObjectKind::Alarm)),
            Self::ResponseReceived => return None,
        })
    }
}

/// The columns of `select *`.
pub(super) fn names(stream: InputStream) -> Vec<Arc<str>> {
    stream.properties().into_iter().map(|(name, ..)| Arc::from(name)).collect()
}

impl ObjectKind {
    /// All, by the nouns that stand in the names of finders and classes.
    pub(crate) const NOUNS: [(&'static str, Self); 5] = [
        ("ManagedObject", Self::ManagedObject),
        ("Event", Self::Event),
        ("Measurement", Self::Measurement),
        ("Operation", Self::Operation),
        ("Alarm", Self::Alarm),
    ];

    /// The members of Q-06.
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

    /// The type of a member; what is no member of Q-06 is a fragment, of which nothing is known.
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
