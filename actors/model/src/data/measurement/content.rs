//! Parsing the fragments of a measurement into series, units and numbers (G-03).

use std::borrow::Cow;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::shape::{Number, Series, ValueFragment};
use crate::body::MAX_SHORT_TEXT;
use crate::error::{Error, Result};
use crate::fragments::Fragments;

/// The maximum number of bytes of a unit; `m³/h` is a long one.
const MAX_UNIT: usize = 256;
/// The characters that a name must not contain, besides white space: a dot separates fragment and series in a request.
const FORBIDDEN: [char; 10] = ['.', ',', '*', '[', ']', '(', ')', '@', '$', '"'];

/// The maximum number of names that are compared with each other; more are looked up in a table.
const FEW: usize = 16;

/// The parsed fragments of a measurement.
#[derive(Debug, Default)]
pub(super) struct ParsedFragments {
    pub(super) fragments: Vec<ValueFragment>,
    pub(super) others: Vec<Box<str>>,
    pub(super) readings: Vec<f64>,
    /// Whether the fragments consist only of names, units and numbers.
    pub(super) regular: bool,
}

impl ParsedFragments {
    /// Parses fragments.
    ///
    /// # Errors
    /// `Invalid` names a series whose value is not a number or whose unit is not a text, or a name that is not allowed.
    pub(super) fn of(fragments: &Fragments) -> Result<Self> {
        let mut content = Self { regular: true, ..Self::default() };
        for (name, raw) in fragments.iter() {
            let mut series = Vec::new();
            if let Some(members) = JsonMembers::of(raw) {
                content.read_fragment(name, &members, &mut series)?;
            }
            if series.is_empty() {
                content.regular = false;
                content.others.push(name.into());
            } else {
                check_name(name, name)?;
                content.fragments.push(ValueFragment { name: name.into(), series });
            }
        }
        Ok(content)
    }

    fn read_fragment(&mut self, of: &str, members: &JsonMembers<'_>, into: &mut Vec<Series>) -> Result<()> {
        for (name, raw) in members.iter() {
            let reading = JsonMembers::of(raw);
            let Some((reading, value)) = reading.as_ref().and_then(|r| Some((r, r.get("value")?))) else {
                self.regular = false;
                continue;
            };
            check_name(name, &format!("{of}.{name}"))?;
            let number: f64 = value.get().parse().ok().filter(|_| is_number(value)).ok_or_else(|| {
                Error::invalid_value(&format!("{of}.{name}.value"), value.get(), "a number")
            })?;
            let unit = reading.get("unit").filter(|unit| unit.get() != "null");
            let unit = unit.map(|unit| read_unit(unit, of, name)).transpose()?;
            let members = 1 + usize::from(unit.is_some());
            self.regular &= reading.len() == members && Number(number).is_written_as(value.get());
            self.readings.push(number);
            into.push(Series { name: name.into(), unit });
        }
        Ok(())
    }
}

fn read_unit(raw: &RawValue, fragment: &str, series: &str) -> Result<Box<str>> {
    let unit: Option<String> =
        serde_json::from_str(raw.get()).ok().filter(|unit: &String| unit.len() <= MAX_UNIT);
    unit.map(Into::into).ok_or_else(|| {
        let allowed = format!("a string of at most {MAX_UNIT} bytes");
        Error::invalid_value(&format!("{fragment}.{series}.unit"), raw.get(), &allowed)
    })
}

fn is_number(raw: &RawValue) -> bool {
    raw.get().starts_with(|c: char| c == '-' || c.is_ascii_digit())
}

fn check_name(name: &str, path: &str) -> Result<()> {
    let forbidden = |c: char| c.is_whitespace() || FORBIDDEN.contains(&c);
    if name.is_empty() || name.len() > MAX_SHORT_TEXT || name.contains(forbidden) {
        let allowed = "1 to 1024 bytes without white space and any of . , * [ ] ( ) @ $ \"";
        Err(Error::invalid_value("name of fragment or series", path, allowed))
    } else {
        Ok(())
    }
}

/// The members of a JSON object, borrowed from its text. Of members with the same name, the last one counts.
pub(super) struct JsonMembers<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> JsonMembers<'a> {
    /// Parses an object; returns `None` for other values.
    pub(super) fn of(raw: &'a RawValue) -> Option<Self> {
        if raw.get().starts_with('{') { serde_json::from_str(raw.get()).ok() } else { None }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.0.iter().map(|(name, raw)| (&**name, *raw))
    }

    pub(super) fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.iter().find(|(known, _)| *known == name).map(|(_, raw)| raw)
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}

/// A name, borrowed unless it contains an escape sequence.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for JsonMembers<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = JsonMembers<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<JsonMembers<'de>, M::Error> {
                let mut members: Vec<(Cow<'de, str>, &'de RawValue)> = Vec::new();
                while let Some((Name(name), raw)) = map.next_entry::<Name<'de>, &'de RawValue>()? {
                    members.push((name, raw));
                }
                Ok(JsonMembers(last_of_each_name(members)))
            }
        }
        deserializer.deserialize_map(Object)
    }
}

/// Keeps the last of several members with one name, at the position of the first.
fn last_of_each_name<'a>(members: Vec<(Cow<'a, str>, &'a RawValue)>) -> Vec<(Cow<'a, str>, &'a RawValue)> {
    let is_new = |at: usize| members[..at].iter().all(|(earlier, _)| *earlier != members[at].0);
    if members.len() <= FEW && (1..members.len()).all(is_new) {
        return members;
    }
    let mut places = std::collections::HashMap::with_capacity(members.len());
    let mut kept: Vec<(Cow<'a, str>, &'a RawValue)> = Vec::with_capacity(members.len());
    for (name, raw) in members {
        match places.get(&name) {
            Some(&at) => kept[at] = (name, raw),
            None => {
                places.insert(name.clone(), kept.len());
                kept.push((name, raw));
            }
        }
    }
    kept
}
