//! Values as expressions see them on their way: borrowed from the event, not yet made.
//!
//! Most of what filters look at is compared and dropped. So members of objects are found here without a copy, and fragments are read
//! from their JSON only as far as they are asked for.

use std::sync::Arc;

use super::{Id, ObjectSeen, Plain, Value, arithmetic::Number, parse};
use crate::event_processing::runtime::{Fault, World};
use crate::event_processing::stream::StreamEvent;
use crate::model::measurement::Measurement;
use crate::model::timestamp::Timestamp;

/// What it takes to look at a member, in bytes that could be read meanwhile.
const MEMBER: usize = 8;
/// What it takes to write an object out and read it, likewise.
const PAYLOAD: usize = 4096;

/// A value, made or still where it came from.
#[derive(Debug)]
pub(crate) enum Seen<'a> {
    Null,
    Boolean(bool),
    Number(Number),
    Time(Timestamp),
    Text(&'a str),
    /// The text of an id.
    Digits(i64),
    Id(IdSeen<'a>),
    Object(ObjectSeen<'a>),
    /// An object as clients are shown it.
    Payload(ObjectSeen<'a>),
    /// The member `source` of a payload.
    Source(IdSeen<'a>),
    /// A fragment of a measurement: its place in the shape, and that of its first number.
    Fragment(&'a Measurement, usize, usize),
    /// One series of it.
    Reading(f64, Option<&'a str>),
    /// The text of an object or array.
    Json(&'a str),
    Event(&'a StreamEvent),
    Kept(&'a Value),
    Made(Value),
}

/// The id of an object, and what is known of the managed object it names.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IdSeen<'a> {
    pub(crate) number: i64,
    pub(crate) type_: Option<&'a str>,
    pub(crate) name: Option<&'a str>,
}

impl<'a> Seen<'a> {
    /// A text, or null.
    pub(crate) fn optional_text(text: Option<&'a str>) -> Self {
        text.map_or(Self::Null, Self::Text)
    }

    /// What a comparison sees of it.
    pub(crate) fn plain(&self) -> Plain<'_> {
        match self {
            Self::Null => Plain::Null,
            Self::Boolean(value) => Plain::Boolean(*value),
            Self::Number(number) => Plain::Number(*number),
            Self::Time(time) => Plain::Time(*time),
            Self::Text(text) => Plain::Text(text),
            Self::Digits(number) | Self::Id(IdSeen { number, .. }) => Plain::Digits(*number),
            Self::Kept(value) => value.plain(),
            Self::Made(value) => value.plain(),
            _ => Plain::Composite,
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self.plain(), Plain::Null)
    }

    /// The value of a condition; `None` is unknown.
    pub(crate) fn truth(&self) -> Option<bool> {
        match self.plain() {
            Plain::Boolean(value) => Some(value),
            _ => None,
        }
    }

    /// Makes the value.
    ///
    /// # Errors
    /// JSON that is nested too deep or has too many parts; events in events in events.
    pub(crate) fn into_value(self) -> Result<Value, Fault> {
        match self {
            Self::Made(value) => Ok(value),
            seen => seen.value(),
        }
    }

    /// Makes the value, and leaves what it was made of.
    ///
    /// # Errors
    /// See [`into_value`](Self::into_value).
    pub(crate) fn value(&self) -> Result<Value, Fault> {
        Ok(match self {
            Self::Null => Value::Null,
            Self::Boolean(value) => Value::Boolean(*value),
            Self::Number(number) => (*number).into(),
            Self::Time(time) => Value::Time(*time),
            Self::Text(text) => Value::Text((*text).into()),
            Self::Digits(number) => Value::Text(number.to_string().into()),
            Self::Id(id) => Value::Id(Arc::new(id.id())),
            Self::Object(object) => Value::Object(object.shared()),
            Self::Payload(object) => Value::of_json(&object.shown())?,
            Self::Source(id) => parse::map(id.source_members().map(|(name, seen)| (name, seen.value()))),
            Self::Fragment(measurement, fragment, first) => {
                let series = &measurement.shape.fragments[*fragment].series;
                let numbers = measurement.readings.get(*first..).unwrap_or_default();
                let readings = series.iter().zip(numbers);
                parse::map(readings.map(|(series, number)| {
                    (&*series.name, Seen::Reading(*number, series.unit.as_deref()).value())
                }))
            }
            Self::Reading(number, unit) => {
                let unit = unit.map(|unit| ("unit", Ok(Value::Text(unit.into()))));
                parse::map([("value", Ok(Value::Double(*number)))].into_iter().chain(unit))
            }
            Self::Json(text) => Value::of_json(text)?,
            Self::Event(event) => Value::Event(event.within_limits()?.clone()),
            Self::Kept(value) => (*value).clone(),
            Self::Made(value) => value.clone(),
        })
    }

    /// How many members are looked through for one.
    fn breadth(&self) -> usize {
        match self {
            Self::Object(object) | Self::Payload(object) => object.fragments(),
            Self::Fragment(measurement, fragment, _) => measurement.shape.fragments[*fragment].series.len(),
            Self::Kept(Value::Map(map)) => map.0.len(),
            Self::Kept(Value::Object(object)) => ObjectSeen::of(object).fragments(),
            _ => 0,
        }
    }

    /// What it takes to make the value, about, in bytes.
    pub(crate) fn cost(&self) -> usize {
        match self {
            Self::Json(text) => text.len().saturating_mul(4),
            Self::Payload(object) => PAYLOAD.saturating_add(object.fragments().saturating_mul(MEMBER)),
            Self::Fragment(..) => self.breadth().saturating_mul(PAYLOAD),
            _ => 0,
        }
    }

    /// A member by its name; null where there is none. Looking through JSON counts by its length.
    ///
    /// # Errors
    /// When the step used up what it may.
    pub(crate) fn member(self, name: &str, world: &World<'_>) -> Result<Self, Fault> {
        world.spend_for(self.breadth().saturating_mul(MEMBER))?;
        Ok(match self {
            Self::Id(id) => id.member(name),
            Self::Source(id) => id.source_member(name),
            Self::Object(object) => object.member(name),
            Self::Payload(object) => object.shown_member(name, world)?,
            Self::Fragment(measurement, fragment, first) => {
                let series = &measurement.shape.fragments[fragment].series;
                let place = series.iter().position(|series| *series.name == *name);
                place
                    .and_then(|at| {
                        let number = measurement.readings.get(first + at)?;
                        Some(Self::Reading(*number, series[at].unit.as_deref()))
                    })
                    .unwrap_or(Self::Null)
            }
            Self::Reading(number, unit) => match name {
                "value" => Self::Number(Number::Double(number)),
                "unit" => Self::optional_text(unit),
                _ => Self::Null,
            },
            Self::Json(text) => {
                world.spend_for(text.len())?;
                parse::member(text, name)
            }
            Self::Event(event) => event.member(name),
            Self::Kept(value) => match value {
                Value::Map(map) => map.get(name).map_or(Self::Null, Self::Kept),
                Value::Id(id) => id.member(name),
                Value::Object(object) => ObjectSeen::of(object).member(name),
                Value::Event(event) => event.member(name),
                _ => Self::Null,
            },
            // What was made here is not kept: so what is found in it is made too.
            Self::Made(ref value) => Self::Made(Seen::Kept(value).member(name, world)?.into_value()?),
            _ => Self::Null,
        })
    }

    /// An element of a list, counted from 0; null where there is none.
    ///
    /// # Errors
    /// When the step used up what it may.
    pub(crate) fn element(self, at: usize, world: &World<'_>) -> Result<Self, Fault> {
        Ok(match self {
            Self::Json(text) => {
                world.spend_for(text.len())?;
                parse::element(text, at)
            }
            Self::Kept(Value::List(values)) => values.get(at).map_or(Self::Null, Self::Kept),
            Self::Made(Value::List(values)) => {
                values.get(at).map_or(Self::Null, |value| Self::Made(value.clone()))
            }
            _ => Self::Null,
        })
    }
}

impl Id {
    fn member(&self, name: &str) -> Seen<'_> {
        // Texts are shared, so they are handed on instead of copied.
        let text = match name {
            "value" => Some(&self.value),
            "type" => self.type_.as_ref(),
            "name" => self.name.as_ref(),
            _ => None,
        };
        text.map_or(Seen::Null, |text| Seen::Made(Value::Text(text.clone())))
    }
}

impl<'a> IdSeen<'a> {
    fn id(self) -> Id {
        Id { type_: self.type_.map(Into::into), name: self.name.map(Into::into), ..Id::of(self.number) }
    }

    fn member(self, name: &str) -> Seen<'a> {
        match name {
            "value" => Seen::Digits(self.number),
            "type" => Seen::optional_text(self.type_),
            "name" => Seen::optional_text(self.name),
            _ => Seen::Null,
        }
    }

    /// What clients are shown as `source`.
    fn source_members(self) -> impl Iterator<Item = (&'static str, Seen<'a>)> {
        let members = ["id", "self", "name", "type"].map(|name| (name, self.source_member(name)));
        members.into_iter().filter(|(_, seen)| !seen.is_null())
    }

    fn source_member(self, name: &str) -> Seen<'a> {
        match name {
            "id" => Seen::Digits(self.number),
            "self" => Seen::Made(Value::Text(format!("/inventory/managedObjects/{}", self.number).into())),
            "name" => Seen::optional_text(self.name),
            "type" => Seen::optional_text(self.type_),
            _ => Seen::Null,
        }
    }
}
