//! Values of expressions, and their types.
//!
//! [`seen`] looks at values without making them, which is how filters stay cheap; [`order`] compares, [`key`] groups, [`arithmetic`]
//! reckons; [`json`] writes and [`parse`] reads JSON; [`weight`] tells what memory something takes.

mod arithmetic;
mod json;
mod key;
mod object;
mod order;
mod parse;
mod seen;
#[cfg(test)]
mod tests;
mod text;
mod weight;

use std::sync::Arc;

use crate::model::alarm::Alarm;
use crate::model::event::Event;
use crate::model::managed_object::ManagedObject;
use crate::model::measurement::Measurement;
use crate::model::operation::Operation;
use crate::model::timestamp::Timestamp;

use super::stream::{StreamEvent, StreamType};
pub(crate) use arithmetic::{Number, negate, reckon, time_of};
pub(crate) use key::Key;
pub(crate) use object::ObjectSeen;
pub(crate) use order::Plain;
pub(crate) use seen::{IdSeen, Seen};

/// A value; cheap to clone.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    Null,
    Boolean(bool),
    Integer(i64),
    Double(f64),
    Text(Arc<str>),
    /// A date.
    Time(Timestamp),
    Id(Arc<Id>),
    /// A JSON array.
    List(Arc<[Value]>),
    /// A JSON object, in the order of its members.
    Map(Arc<Map>),
    /// An object of the platform.
    Object(Object),
    /// An event of a stream as a whole.
    Event(StreamEvent),
}

/// Members of a JSON object, in order; names are unique.
#[derive(Debug, Clone, Default)]
pub(crate) struct Map(pub(crate) Vec<(Arc<str>, Value)>);

/// The id of an object: of a source, a device, or the object itself. Equal to the text of its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Id {
    pub(crate) value: Arc<str>,
    /// Type and name of the managed object, where they are known.
    pub(crate) type_: Option<Arc<str>>,
    pub(crate) name: Option<Arc<str>>,
}

impl Id {
    /// The id of something of which nothing else is known.
    pub(crate) fn of(value: impl std::fmt::Display) -> Self {
        Self { value: value.to_string().into(), type_: None, name: None }
    }
}

impl Map {
    /// The value of a member.
    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(known, _)| **known == *name).map(|(_, value)| value)
    }
}

/// Objects of the platform, shared with whoever else holds them.
#[allow(clippy::enum_variant_names)] // The document calls one of them an object.
#[derive(Debug, Clone)]
pub(crate) enum Object {
    ManagedObject(Arc<ManagedObject>),
    Event(Arc<Event>),
    Measurement(Arc<Measurement>),
    Operation(Arc<Operation>),
    Alarm(Arc<Alarm>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ObjectKind {
    ManagedObject,
    Event,
    Measurement,
    Operation,
    Alarm,
}

/// What is known of a value before it is there. Null is of every type.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Type {
    /// Nothing: what JSON holds.
    Any,
    Boolean,
    Integer,
    Double,
    Text,
    Time,
    Id,
    List,
    Map,
    Object(ObjectKind),
    Event(Box<StreamType>),
}
