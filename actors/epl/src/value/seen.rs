//! Intermediate values of expressions, borrowed from the event instead of constructed.
//!
//! Most of what a filter reads is compared and dropped. Members of objects are therefore found without a copy,
//! and fragments are parsed from their JSON only as far as needed.

use std::sync::Arc;

use platform_model::data::measurement::Measurement;
use platform_model::timestamp::Timestamp;

use super::{EvaluationsLeft, Fault, Id, ObjectSeen, Plain, StreamEvent, Value, arithmetic::Number, parse};

/// The cost of examining a member, expressed as the number of bytes that could be read in the same time.
const MEMBER: usize = 8;
/// The cost of serializing an object and reading the result, in the same unit.
const PAYLOAD: usize = 4096;

/// A value that is either constructed or still borrowed from its origin.
#[derive(Debug)]
pub(crate) enum Seen<'a> {
    Null,
    Boolean(bool),
    Number(Number),
    Time(Timestamp),
    Text(&'a str),
    /// The decimal text of an id.
    Digits(i64),
    Id(IdSeen<'a>),
    Object(ObjectSeen<'a>),
    /// An object in its client representation.
    Payload(ObjectSeen<'a>),
    /// The member `source` of a payload.
    Source(IdSeen<'a>),
    /// A fragment of a measurement: the index of the fragment in the shape and the index of its first number.
    Fragment(&'a Measurement, usize, usize),
    /// One series of such a fragment: its value and its unit.
    Reading(f64, Option<&'a str>),
    /// The JSON text of an object or array.
    Json(&'a str),
    /// An event of a stream; a match is the list of the events for which a tag before `until` stands.
    Event(&'a StreamEvent),
    Kept(&'a Value),
    Made(Value),
}

/// The id of an object, with what is known about the managed object that it refers to.
#[derive(Debug, Clone, Copy)]
pub struct IdSeen<'a> {
    pub(crate) number: i64,
    pub(crate) type_: Option<&'a str>,
    pub(crate) name: Option<&'a str>,
}

impl<'a> Seen<'a> {
    /// Returns a text, or null for `None`.
    pub(crate) fn optional_text(text: Option<&'a str>) -> Self {
        text.map_or(Self::Null, Self::Text)
    }

    /// Returns the value reduced to what comparisons need.
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

    /// Returns the value of a condition; `None` means unknown.
    pub(crate) fn truth(&self) -> Option<bool> {
        match self.plain() {
            Plain::Boolean(value) => Some(value),
            _ => None,
        }
    }

    /// Constructs the value.
    ///
    /// # Errors
    /// Returns a fault if JSON is nested too deep or has too many parts, or if events are nested in events too
    /// deep.
    pub(crate) fn into_value(self) -> Result<Value, Fault> {
        match self {
            Self::Made(value) => Ok(value),
            seen => seen.value(),
        }
    }

    /// Constructs the value without consuming its origin.
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
            Self::Event(StreamEvent::Match(list)) => {
                let element = |event: &StreamEvent| Ok(Value::Event(event.within_limits()?.clone()));
                Value::List(list.events().map(element).collect::<Result<_, Fault>>()?)
            }
            Self::Event(event) => Value::Event(event.within_limits()?.clone()),
            Self::Kept(value) => (*value).clone(),
            Self::Made(value) => value.clone(),
        })
    }

    /// Returns the number of members that a search examines.
    fn breadth(&self) -> usize {
        match self {
            Self::Object(object) | Self::Payload(object) => object.fragments(),
            Self::Fragment(measurement, fragment, _) => measurement.shape.fragments[*fragment].series.len(),
            Self::Kept(Value::Map(map)) => map.0.len(),
            Self::Kept(Value::Object(object)) => ObjectSeen::of(object).fragments(),
            _ => 0,
        }
    }

    /// Returns the approximate cost of constructing the value, in bytes.
    pub(crate) fn cost(&self) -> usize {
        match self {
            Self::Json(text) => text.len().saturating_mul(4),
            Self::Payload(object) => PAYLOAD.saturating_add(object.fragments().saturating_mul(MEMBER)),
            Self::Fragment(..) => self.breadth().saturating_mul(PAYLOAD),
            Self::Event(StreamEvent::Match(list)) => size_of_val(&*list.0),
            _ => 0,
        }
    }

    /// Returns a member by name; null if there is none. A search through JSON costs its length.
    ///
    /// # Errors
    /// Returns a fault if the step exceeds its budget.
    pub(crate) fn member(self, name: &str, left: &EvaluationsLeft) -> Result<Self, Fault> {
        left.spend_for(self.breadth().saturating_mul(MEMBER))?;
        Ok(match self {
            Self::Id(id) => id.member(name),
            Self::Source(id) => id.source_member(name),
            Self::Object(object) => object.member(name),
            Self::Payload(object) => object.shown_member(name, left)?,
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
                left.spend_for(text.len())?;
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
            // The constructed value is dropped here, so the member is constructed as well.
            Self::Made(ref value) => Self::Made(Seen::Kept(value).member(name, left)?.into_value()?),
            _ => Self::Null,
        })
    }

    /// Returns an element of a list, counted from 0; null if there is none.
    ///
    /// # Errors
    /// Returns a fault if the step exceeds its budget.
    pub(crate) fn element(self, at: usize, left: &EvaluationsLeft) -> Result<Self, Fault> {
        Ok(match self {
            Self::Json(text) => {
                left.spend_for(text.len())?;
                parse::element(text, at)
            }
            // The events of a tag that `until` repeated.
            Self::Event(StreamEvent::Match(list)) => {
                list.0.get(at).and_then(Option::as_ref).map_or(Self::Null, Self::Event)
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
        // Texts are shared, so this clones the reference instead of the text.
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

    /// Returns the members of `source` in the client representation.
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
