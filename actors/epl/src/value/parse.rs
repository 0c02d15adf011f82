//! Reads values from JSON: either a whole value within limits, or a single member without parsing the rest.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::arithmetic::Number;
use super::weight::MAX_NESTING;
use super::{Fault, Map, Seen, Value};

/// The maximum number of numbers, texts, lists and maps in one value.
const MAX_PARTS: usize = 100_000;
/// Up to this number of names, duplicates are found by pairwise comparison; beyond it, by hashing.
const FEW: usize = 16;

impl Value {
    /// Parses JSON.
    ///
    /// # Errors
    /// Returns a fault if the text is not JSON, is nested deeper than 64 levels or has more than 100 000 parts.
    pub(crate) fn of_json(text: &str) -> Result<Self, Fault> {
        let left = Cell::new(MAX_PARTS);
        let mut reader = serde_json::Deserializer::from_str(text);
        Part { depth: 0, left: &left }
            .deserialize(&mut reader)
            .and_then(|value| reader.end().map(|()| value))
            .map_err(|error| Fault::new(format!("JSON that cannot be read: {error}")))
    }
}

/// Returns the value of a JSON text without parsing the content of an object or array.
pub(super) fn seen(text: &str) -> Seen<'_> {
    match text.as_bytes() {
        [b'{' | b'[', ..] => Seen::Json(text),
        [b'"', inner @ .., b'"'] if !inner.contains(&b'\\') => Seen::Text(&text[1..text.len() - 1]),
        [b'"', ..] => {
            serde_json::from_str::<Arc<str>>(text).map_or(Seen::Null, |text| Seen::Made(Value::Text(text)))
        }
        b"true" => Seen::Boolean(true),
        b"false" => Seen::Boolean(false),
        [b'-' | b'0'..=b'9', ..] => {
            let whole = text.parse().map(Number::Integer).ok();
            let number = whole.or_else(|| text.parse().map(Number::Double).ok());
            number.map_or(Seen::Null, Seen::Number)
        }
        _ => Seen::Null,
    }
}

/// Returns a member of a JSON object; of duplicates the last. The result is null if there is no such member.
pub(super) fn member<'a>(text: &'a str, name: &str) -> Seen<'a> {
    struct Member<'n>(&'n str);
    impl<'de> Visitor<'de> for Member<'_> {
        type Value = Option<&'de RawValue>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a JSON object")
        }

        fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
            let mut found = None;
            while let Some(Name(name)) = map.next_key()? {
                if *name == *self.0 {
                    found = Some(map.next_value()?)
                } else {
                    map.next_value::<IgnoredAny>()?;
                }
            }
            Ok(found)
        }
    }
    let found = serde_json::Deserializer::from_str(text).deserialize_map(Member(name));
    found.ok().flatten().map_or(Seen::Null, |raw| seen(raw.get()))
}

/// Returns an element of a JSON array, counted from 0; null if there is no such element.
pub(super) fn element(text: &str, at: usize) -> Seen<'_> {
    struct Element(usize);
    impl<'de> Visitor<'de> for Element {
        type Value = Option<&'de RawValue>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a JSON array")
        }

        fn visit_seq<S: SeqAccess<'de>>(self, mut sequence: S) -> Result<Self::Value, S::Error> {
            let mut found = None;
            for at in 0.. {
                let next = if at == self.0 {
                    sequence.next_element()?.map(|raw| found = Some(raw))
                } else {
                    sequence.next_element::<IgnoredAny>()?.map(drop)
                };
                if next.is_none() {
                    break;
                }
            }
            Ok(found)
        }
    }
    let found = serde_json::Deserializer::from_str(text).deserialize_seq(Element(at));
    found.ok().flatten().map_or(Seen::Null, |raw| seen(raw.get()))
}

/// Builds a map of members with distinct names. A member whose value cannot be constructed is left out.
pub(super) fn map<'a>(members: impl IntoIterator<Item = (&'a str, Result<Value, Fault>)>) -> Value {
    let members = members.into_iter().filter_map(|(name, value)| Some((name.into(), value.ok()?)));
    Value::Map(Arc::new(Map(members.collect())))
}

/// A name, borrowed unless it contains an escape.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

/// Deserializes one part of a value, with the parts nested in it.
#[derive(Clone, Copy)]
struct Part<'l> {
    depth: u8,
    left: &'l Cell<usize>,
}

impl Part<'_> {
    fn deeper<E: serde::de::Error>(self) -> Result<Self, E> {
        if self.depth < MAX_NESTING {
            Ok(Self { depth: self.depth + 1, ..self })
        } else {
            Err(E::custom(format_args!("nested deeper than {MAX_NESTING}")))
        }
    }
}

impl<'de> DeserializeSeed<'de> for Part<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        match self.left.get().checked_sub(1) {
            Some(left) => self.left.set(left),
            None => return Err(D::Error::custom(format_args!("more than {MAX_PARTS} parts"))),
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Part<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Boolean(value))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Integer(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(i64::try_from(number).map_or(Value::Double(number as f64), Value::Integer))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(Value::Double(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.into()))
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut sequence: S) -> Result<Value, S::Error> {
        let part = self.deeper()?;
        let mut values = Vec::new();
        while let Some(value) = sequence.next_element_seed(part)? {
            values.push(value);
        }
        Ok(Value::List(values.into()))
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Value, M::Error> {
        let part = self.deeper()?;
        let mut members: Vec<(Arc<str>, Value)> = Vec::new();
        let mut places: HashMap<Arc<str>, usize> = HashMap::new();
        while let Some(name) = map.next_key::<Arc<str>>()? {
            let value = map.next_value_seed(part)?;
            if members.len() == FEW && places.is_empty() {
                let known = members.iter().enumerate();
                places = known.map(|(at, (name, _))| (name.clone(), at)).collect();
            }
            let known = if members.len() < FEW {
                members.iter().position(|(known, _)| *known == name)
            } else {
                places.get(&name).copied()
            };
            match known {
                Some(at) => members[at].1 = value,
                None => {
                    if members.len() >= FEW {
                        places.insert(name.clone(), members.len());
                    }
                    members.push((name, value));
                }
            }
        }
        Ok(Value::Map(Arc::new(Map(members))))
    }
}
