//! The values of expressions, and their types.
//!
//! [`seen`] reads values without constructing them, which keeps filters cheap; [`order`] compares, [`key`]
//! groups and [`arithmetic`] computes; [`json`] writes and [`parse`] reads JSON; [`weight`] estimates memory
//! use.

mod arithmetic;
mod evaluations_left;
mod event;
mod fault;
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

use platform_model::data::alarm::Alarm;
use platform_model::data::event::Event;
use platform_model::data::measurement::Measurement;
use platform_model::data::operation::Operation;
use platform_model::devices::managed_object::ManagedObject;
use platform_model::timestamp::Timestamp;

pub use arithmetic::Number;
pub(crate) use arithmetic::negate;
pub(crate) use arithmetic::reckon;
pub use arithmetic::time_of;
pub use evaluations_left::EvaluationsLeft;
pub use event::{Columns, Match, Row, StreamEvent, StreamType};
pub use fault::Fault;
pub(crate) use key::Key;
pub(crate) use object::ObjectSeen;
pub(crate) use order::Plain;
pub use seen::IdSeen;
pub(crate) use seen::Seen;

/// A value, which is cheap to clone.
#[derive(Debug, Clone)]
pub enum Value {
    /// The absence of a value.
    Null,
    /// True or false.
    Boolean(bool),
    /// A whole number.
    Integer(i64),
    /// A number with a fraction.
    Double(f64),
    /// A text.
    Text(Arc<str>),
    /// A date with time.
    Time(Timestamp),
    /// An id of a platform object.
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
pub struct Map(pub Vec<(Arc<str>, Value)>);

/// The id of a source, a device or the object itself. It equals the text of its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Id {
    /// The id as text.
    pub value: Arc<str>,
    /// The type of the managed object, if known.
    pub type_: Option<Arc<str>>,
    /// The name of the managed object, if known.
    pub name: Option<Arc<str>>,
}

impl Id {
    /// Returns an id about which nothing else is known.
    pub fn of(value: impl std::fmt::Display) -> Self {
        Self { value: value.to_string().into(), type_: None, name: None }
    }
}

impl Map {
    /// Returns the value of a member.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(known, _)| **known == *name).map(|(_, value)| value)
    }
}

/// A platform object, shared with its other holders.
#[allow(clippy::enum_variant_names)] // The document calls one of them an object.
#[derive(Debug, Clone)]
pub enum Object {
    /// A managed object.
    ManagedObject(Arc<ManagedObject>),
    /// An event.
    Event(Arc<Event>),
    /// A measurement.
    Measurement(Arc<Measurement>),
    /// An operation.
    Operation(Arc<Operation>),
    /// An alarm.
    Alarm(Arc<Alarm>),
}

/// The kind of a platform object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ObjectKind {
    /// A managed object.
    ManagedObject,
    /// An event.
    Event,
    /// A measurement.
    Measurement,
    /// An operation.
    Operation,
    /// An alarm.
    Alarm,
}

/// The static type of an expression. Null belongs to every type.
#[derive(Debug, Clone, PartialEq)]
pub enum Type {
    /// An unknown type: any JSON value.
    Any,
    /// True or false.
    Boolean,
    /// A whole number.
    Integer,
    /// A number with a fraction.
    Double,
    /// A text.
    Text,
    /// A date with time.
    Time,
    /// An id of a platform object.
    Id,
    /// A JSON array.
    List,
    /// A JSON object.
    Map,
    /// A platform object of this kind.
    Object(ObjectKind),
    /// An event of a stream with these columns.
    Event(Box<StreamType>),
}
