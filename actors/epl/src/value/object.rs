//! Platform objects as modules see them: members that Q-06 names, and arbitrary fragments.

use std::sync::{Arc, LazyLock};

use platform_model::data::alarm::Alarm;
use platform_model::data::event::Event;
use platform_model::data::measurement::Measurement;
use platform_model::data::operation::Operation;
use platform_model::devices::availability::server_fragments;
use platform_model::devices::managed_object::ManagedObject;
use platform_model::devices::reference::{LinkKind, Reference};
use platform_model::fragments::Fragments;
use platform_model::links::{Linked, Links, encode};

use super::arithmetic::Number;
use super::seen::{IdSeen, Seen};
use super::{EvaluationsLeft, Fault, Object, Value, parse};

/// Builds links as paths only, because modules have no base address.
pub(super) static PATHS: LazyLock<Links> = LazyLock::new(|| Links::new(""));

/// A borrowed platform object.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ObjectSeen<'a> {
    ManagedObject(&'a Arc<ManagedObject>),
    Event(&'a Arc<Event>),
    Measurement(&'a Arc<Measurement>),
    Operation(&'a Arc<Operation>),
    Alarm(&'a Arc<Alarm>),
}

impl<'a> ObjectSeen<'a> {
    pub(crate) fn of(object: &'a Object) -> Self {
        match object {
            Object::ManagedObject(object) => Self::ManagedObject(object),
            Object::Event(event) => Self::Event(event),
            Object::Measurement(measurement) => Self::Measurement(measurement),
            Object::Operation(operation) => Self::Operation(operation),
            Object::Alarm(alarm) => Self::Alarm(alarm),
        }
    }

    pub(crate) fn shared(self) -> Object {
        match self {
            Self::ManagedObject(object) => Object::ManagedObject(object.clone()),
            Self::Event(event) => Object::Event(event.clone()),
            Self::Measurement(measurement) => Object::Measurement(measurement.clone()),
            Self::Operation(operation) => Object::Operation(operation.clone()),
            Self::Alarm(alarm) => Object::Alarm(alarm.clone()),
        }
    }

    /// Returns the number of fragments that a search for a member examines.
    pub(super) fn fragments(self) -> usize {
        match self {
            Self::ManagedObject(object) => object.fragments.len(),
            Self::Event(event) => event.fragments.len(),
            Self::Measurement(measurement) => match &measurement.verbatim {
                Some(fragments) => fragments.len(),
                None => measurement.shape.fragments.len(),
            },
            Self::Operation(operation) => operation.fragments.len(),
            Self::Alarm(alarm) => alarm.fragments.len(),
        }
    }

    /// Returns a member: one that Q-06 defines, otherwise a fragment; null if there is neither.
    pub(crate) fn member(self, name: &str) -> Seen<'a> {
        match self {
            Self::ManagedObject(object) => managed_object(object, name),
            Self::Event(event) => match name {
                "id" => id(event.id.map(|id| id.0)),
                "creationTime" => Seen::Time(event.creation_time),
                "type" => Seen::Text(&event.type_),
                "text" => Seen::Text(&event.text),
                "time" => Seen::Time(event.time),
                "source" => {
                    let (type_, name) = (event.source_type.as_deref(), event.source_name.as_deref());
                    Seen::Id(IdSeen { number: event.source.0, type_, name })
                }
                name => fragment(&event.fragments, name),
            },
            Self::Measurement(measurement) => match name {
                "id" => id(measurement.id.map(|id| id.0)),
                "type" => Seen::Text(&measurement.shape.type_),
                "time" => Seen::Time(measurement.time),
                "source" => id(Some(measurement.source.0)),
                name => measured(measurement, name),
            },
            Self::Operation(operation) => match name {
                "id" => id(operation.id.map(|id| id.0)),
                "creationTime" => Seen::Time(operation.creation_time),
                "status" => Seen::Text(operation.status.as_str()),
                "deviceId" => {
                    let name = operation.device_name.as_deref();
                    Seen::Id(IdSeen { number: operation.device.0, type_: None, name })
                }
                name => fragment(&operation.fragments, name),
            },
            Self::Alarm(alarm) => match name {
                "id" => id(alarm.id.map(|id| id.0)),
                "creationTime" => Seen::Time(alarm.creation_time),
                "type" => Seen::Text(&alarm.type_),
                "count" => Seen::Number(Number::Integer(alarm.count)),
                "severity" => Seen::Text(alarm.severity.as_str()),
                "status" => Seen::Text(alarm.status.as_str()),
                "text" => Seen::Text(&alarm.text),
                "time" => Seen::Time(alarm.time),
                "source" => {
                    let name = alarm.source_name.as_deref();
                    Seen::Id(IdSeen { number: alarm.source.0, type_: None, name })
                }
                name => fragment(&alarm.fragments, name),
            },
        }
    }

    /// Returns a member in its client representation. Frequently used members are found directly; for others
    /// the object is serialized.
    ///
    /// # Errors
    /// Returns a fault if the step exceeds its budget.
    pub(crate) fn shown_member(self, name: &str, left: &EvaluationsLeft) -> Result<Seen<'a>, Fault> {
        match self.member(name) {
            Seen::Id(id) if name == "source" => Ok(Seen::Source(id)),
            Seen::Id(id) => Ok(Seen::Digits(id.number)),
            Seen::Time(time) => Ok(Seen::Made(Value::Text(time.to_string().into()))),
            Seen::Null | Seen::Made(_) => {
                let text = self.shown();
                left.spend_for(text.len())?;
                parse::member(&text, name).into_value().map(Seen::Made)
            }
            seen => Ok(seen),
        }
    }

    /// Returns the object in its client representation, with links as paths.
    pub(crate) fn shown(self) -> String {
        let bytes = match self {
            Self::ManagedObject(object) => encode(&**object, &PATHS),
            Self::Event(event) => encode(&**event, &PATHS),
            Self::Measurement(measurement) => encode(&**measurement, &PATHS),
            Self::Operation(operation) => encode(&**operation, &PATHS),
            Self::Alarm(alarm) => encode(&**alarm, &PATHS),
        };
        String::from_utf8(bytes).expect("JSON is UTF-8")
    }
}

fn managed_object<'a>(object: &'a ManagedObject, name: &str) -> Seen<'a> {
    match name {
        "id" => object.id.map_or(Seen::Null, |id| {
            Seen::Id(IdSeen { number: id.0, type_: object.type_.as_deref(), name: object.name.as_deref() })
        }),
        "type" => Seen::optional_text(object.type_.as_deref()),
        "name" => Seen::optional_text(object.name.as_deref()),
        "lastUpdated" => Seen::Time(object.last_updated),
        "owner" => Seen::Text(&object.owner),
        "childAssets" => ids(object.references.children(LinkKind::ChildAssets)),
        "childDevices" => ids(object.references.children(LinkKind::ChildDevices)),
        "assetParents" => ids(object.references.parents(LinkKind::ChildAssets)),
        "deviceParents" => ids(object.references.parents(LinkKind::ChildDevices)),
        name => match fragment(&object.fragments, name) {
            Seen::Null if server_fragments().iter().any(|known| known == name) => {
                let shown = encode(object, &PATHS);
                let shown = std::str::from_utf8(&shown).unwrap_or_default();
                parse::member(shown, name).into_value().map_or(Seen::Null, Seen::Made)
            }
            seen => seen,
        },
    }
}

fn id<'a>(number: Option<i64>) -> Seen<'a> {
    number.map_or(Seen::Null, |number| Seen::Id(IdSeen { number, type_: None, name: None }))
}

fn ids<'a>(references: &[Reference]) -> Seen<'a> {
    let ids = references.iter().map(|reference| {
        let name = reference.name.as_deref().map(Into::into);
        Value::Id(Arc::new(super::Id { name, ..super::Id::of(reference.id) }))
    });
    Seen::Made(Value::List(ids.collect()))
}

fn fragment<'a>(fragments: &'a Fragments, name: &str) -> Seen<'a> {
    fragments.get(name).map_or(Seen::Null, |raw| parse::seen(raw.get()))
}

/// Returns a fragment of a measurement, built from the shape and the numbers if these are all that is stored.
fn measured<'a>(measurement: &'a Measurement, name: &str) -> Seen<'a> {
    if let Some(fragments) = &measurement.verbatim {
        return fragment(fragments, name);
    }
    let mut first = 0;
    for (at, known) in measurement.shape.fragments.iter().enumerate() {
        if *known.name == *name {
            return Seen::Fragment(measurement, at, first);
        }
        first += known.series.len();
    }
    Seen::Null
}

/// Serializes the object in its client representation, with links as paths.
impl serde::Serialize for Object {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let links = &*PATHS;
        match self {
            Self::ManagedObject(value) => Linked { value: &**value, links }.serialize(serializer),
            Self::Event(value) => Linked { value: &**value, links }.serialize(serializer),
            Self::Measurement(value) => Linked { value: &**value, links }.serialize(serializer),
            Self::Operation(value) => Linked { value: &**value, links }.serialize(serializer),
            Self::Alarm(value) => Linked { value: &**value, links }.serialize(serializer),
        }
    }
}
