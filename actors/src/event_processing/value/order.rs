//! Which values are equal, and which is less.
//!
//! Operators compare what goes together and give null otherwise; [`Value::order`] has a place for everything, for minimum, maximum and
//! median.

use std::cmp::Ordering;

use super::arithmetic::{Number, whole};
use super::text::cmp_digits;
use super::{Key, Seen, Value};
use crate::model::timestamp::Timestamp;

/// What a comparison sees of a value. An id is the text of its value here.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Plain<'a> {
    Null,
    Boolean(bool),
    Number(Number),
    Text(&'a str),
    /// The text of this number: an id nobody made a text of.
    Digits(i64),
    Time(Timestamp),
    /// A list, a map, an object, an event.
    Composite,
}

impl Value {
    /// What a comparison sees of it.
    pub(crate) fn plain(&self) -> Plain<'_> {
        match self {
            Self::Null => Plain::Null,
            Self::Boolean(value) => Plain::Boolean(*value),
            Self::Integer(number) => Plain::Number(Number::Integer(*number)),
            Self::Double(number) => Plain::Number(Number::Double(*number)),
            Self::Text(text) => Plain::Text(text),
            Self::Id(id) => Plain::Text(&id.value),
            Self::Time(time) => Plain::Time(*time),
            Self::List(_) | Self::Map(_) | Self::Object(_) | Self::Event(_) => Plain::Composite,
        }
    }

    /// A total order: null, booleans, numbers, texts and ids, times, everything else (all alike). NaN is the largest number.
    pub(crate) fn order(&self, other: &Self) -> Ordering {
        let (left, right) = (self.plain(), other.plain());
        left.rank().cmp(&right.rank()).then_with(|| match (left, right) {
            (Plain::Boolean(left), Plain::Boolean(right)) => left.cmp(&right),
            _ => left.compare(right).unwrap_or(Ordering::Equal),
        })
    }
}

impl Plain<'_> {
    /// Which is less; `None`, which is null, where there is no order between them.
    pub(crate) fn compare(self, other: Plain<'_>) -> Option<Ordering> {
        Some(match (self, other) {
            (Self::Number(left), Plain::Number(right)) => compare_numbers(left, right),
            (Self::Text(left), Plain::Text(right)) => left.cmp(right),
            (Self::Digits(left), Plain::Text(right)) => cmp_digits(left, right),
            (Self::Text(left), Plain::Digits(right)) => cmp_digits(right, left).reverse(),
            (Self::Digits(left), Plain::Digits(right)) if left == right => Ordering::Equal,
            (Self::Digits(left), Plain::Digits(right)) => cmp_digits(left, &right.to_string()),
            (Self::Time(left), Plain::Time(right)) => left.cmp(&right),
            _ => return None,
        })
    }

    fn rank(self) -> u8 {
        match self {
            Self::Null => 0,
            Self::Boolean(_) => 1,
            Self::Number(_) => 2,
            Self::Text(_) | Self::Digits(_) => 3,
            Self::Time(_) => 4,
            Self::Composite => 5,
        }
    }
}

impl Seen<'_> {
    /// How many bytes a comparison with it may look at.
    pub(crate) fn length(&self) -> usize {
        match self.plain() {
            Plain::Text(text) => text.len(),
            Plain::Composite => match self {
                Self::Kept(value) => value.size().bytes,
                Self::Made(value) => value.size().bytes,
                seen => seen.cost(),
            },
            _ => 0,
        }
    }

    /// Whether the values are equal; `None`, which is null, where one is null or they do not go together. Lists, maps, objects and events are equal as they are as [`Key`]s.
    pub(crate) fn equals(&self, other: &Seen<'_>) -> Option<bool> {
        match (self.plain(), other.plain()) {
            (Plain::Null, _) | (_, Plain::Null) => None,
            (Plain::Boolean(left), Plain::Boolean(right)) => Some(left == right),
            (Plain::Composite, Plain::Composite) => {
                let (left, right) = (self.value().ok()?, other.value().ok()?);
                let alike = std::mem::discriminant(&left) == std::mem::discriminant(&right);
                alike.then(|| Key(vec![left]) == Key(vec![right]))
            }
            (left, right) => left.compare(right).map(Ordering::is_eq),
        }
    }
}

/// Exact, also where a double cannot hold the whole number; -0 is 0, NaN equals itself and is larger than everything.
pub(super) fn compare_numbers(left: Number, right: Number) -> Ordering {
    match (left, right) {
        (Number::Integer(left), Number::Integer(right)) => left.cmp(&right),
        (Number::Double(left), Number::Double(right)) => {
            left.partial_cmp(&right).unwrap_or_else(|| left.is_nan().cmp(&right.is_nan()))
        }
        (Number::Integer(left), Number::Double(right)) => compare_mixed(left, right),
        (Number::Double(left), Number::Integer(right)) => compare_mixed(right, left).reverse(),
    }
}

fn compare_mixed(left: i64, right: f64) -> Ordering {
    if right.is_nan() {
        return Ordering::Less;
    }
    match whole(right.floor()) {
        // Between `floor` and the number is less than one, so a whole number is above it exactly when it is above `floor`.
        Some(floor) => {
            left.cmp(&floor).then(if right.fract() == 0.0 { Ordering::Equal } else { Ordering::Less })
        }
        None if right > 0.0 => Ordering::Less,
        None => Ordering::Greater,
    }
}
