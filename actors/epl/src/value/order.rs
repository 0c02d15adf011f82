//! Equality and order of values.
//!
//! Operators compare compatible values and give null for others; [`Value::order`] is a total order, which
//! minimum, maximum and median use.

use std::cmp::Ordering;

use platform_model::timestamp::Timestamp;

use super::arithmetic::{Number, whole};
use super::text::cmp_digits;
use super::{Key, Seen, Value};

/// A value reduced to what comparisons need. An id is represented by the text of its value.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Plain<'a> {
    Null,
    Boolean(bool),
    Number(Number),
    Text(&'a str),
    /// The decimal text of this number: an id that was not converted to text.
    Digits(i64),
    Time(Timestamp),
    /// A list, a map, an object or an event.
    Composite,
}

impl Value {
    /// Returns the value reduced to what comparisons need.
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

    /// Compares in a total order: null, booleans, numbers, texts and ids, times, then everything else, which is
    /// all equal. NaN is the largest number.
    pub(crate) fn order(&self, other: &Self) -> Ordering {
        let (left, right) = (self.plain(), other.plain());
        left.rank().cmp(&right.rank()).then_with(|| match (left, right) {
            (Plain::Boolean(left), Plain::Boolean(right)) => left.cmp(&right),
            _ => left.compare(right).unwrap_or(Ordering::Equal),
        })
    }
}

impl Plain<'_> {
    /// Compares the values; returns `None`, which means null, if they are not comparable.
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
    /// Returns the maximum number of bytes that a comparison with this value reads.
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

    /// Returns whether the values are equal, or `None`, which means null, if one of them is null or they are
    /// not comparable. Lists, maps, objects and events are compared as [`Key`]s.
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

/// Compares exactly, even if a double cannot represent the integer. -0 equals 0; NaN equals itself and is
/// larger than every other number.
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
        // The number is less than `floor` plus one, so an integer is above it exactly if it is above `floor`.
        Some(floor) => {
            left.cmp(&floor).then(if right.fract() == 0.0 { Ordering::Equal } else { Ordering::Less })
        }
        None if right > 0.0 => Ordering::Less,
        None => Ordering::Greater,
    }
}
