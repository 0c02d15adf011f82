//! The values of expressions, and their types.
//!
//! [`seen`] reads values without constructing them, which keeps filters cheap; [`order`] compares, [`key`]
//! groups and [`arithmetic`] computes; [`json`] writes and [`parse`] reads JSON; [`weight`] estimates memory
//! use.

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

use platform_model::alarm::Alarm;
use platform_model::event::Event;
use platform_model::managed_object::ManagedObject;
use platform_model::measurement::Measurement;
use platform_model::operation::Operation;
use platform_model::timestamp::Timestamp;

use super::stream::{StreamEvent, StreamType};
pub(crate) use arithmetic::{Number, negate, reckon, time_of};
pub(crate) use key::Key;
pub(crate) use object::ObjectSeen;
pub(crate) use order::Plain;
pub(crate) use seen::{IdSeen, Seen};

/// A value, which is cheap to clone.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    Null,
    Boolean(bool),
    Integer(i64),
    Double(f64),
    Text(Arc<str>),
    /// A date with time.
    Time(Timestamp),
    Id(Arc<Id>),
    /// A JSON array.
    List(Arc<[Value]>),
    /// A JSON object, in the order of its members.
    Map(Arc<Map>),
    /// A platform object, such as an alarm.
    Object(Object),
    /// A whole event of a stream.
    Event(StreamEvent),
}

/// The members of a JSON object in order; names are unique.
#[derive(Debug, Clone, Default)]
pub(crate) struct Map(pub(crate) Vec<(Arc<str>, Value)>);

/// The id of a source, a device or the object itself. It equals the text of its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Id {
    pub(crate) value: Arc<str>,
    /// The type of the managed object, if known.
    pub(crate) type_: Option<Arc<str>>,
    /// The name of the managed object, if known.
    pub(crate) name: Option<Arc<str>>,
}

impl Id {
    /// Returns an id about which nothing else is known.
    pub(crate) fn of(value: impl std::fmt::Display) -> Self {
        Self { value: value.to_string().into(), type_: None, name: None }
    }
}

impl Map {
    /// Returns the value of a member.
    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(known, _)| **known == *name).map(|(_, value)| value)
    }
}

/// A platform object, shared with its other holders.
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

/// The static type of an expression. Null belongs to every type.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Type {
    /// An unknown type: any JSON value.
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
