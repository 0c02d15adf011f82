//! Serializes values, rows and events as JSON (B-05).

use platform_model::data::measurement::Number;
use platform_model::realtime::input_stream::InputStream;
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use super::{Id, Map, Row, Seen, StreamEvent, Value};
use crate::stream::Input;

impl Value {
    /// Returns the value as JSON. A double that is a whole number is written without a fraction; NaN and
    /// infinities are written as `null`.
    pub fn to_json(&self) -> String {
        compact(json(self))
    }
}

impl StreamEvent {
    /// Returns the event as a JSON object of its properties.
    pub fn to_json(&self) -> String {
        self.content().to_json()
    }
}

impl Row {
    /// Returns the row as a JSON object of its columns.
    pub fn to_json(&self) -> String {
        json(self)
    }
}

/// Removes the whitespace between tokens, which JSON that is stored as received can contain.
fn compact(mut json: String) -> String {
    let (mut in_text, mut escaped) = (false, false);
    json.retain(|c| {
        let kept = in_text || !c.is_ascii_whitespace();
        match c {
            _ if escaped => escaped = false,
            '\\' if in_text => escaped = true,
            '"' => in_text = !in_text,
            _ => {}
        }
        kept
    });
    json
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("writing to memory does not fail and all keys are strings")
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Boolean(value) => serializer.serialize_bool(*value),
            Self::Integer(number) => serializer.serialize_i64(*number),
            Self::Double(number) => Number(*number).serialize(serializer),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Time(time) => time.serialize(serializer),
            Self::Id(id) => id.serialize(serializer),
            Self::List(values) => values.serialize(serializer),
            Self::Map(map) => map.serialize(serializer),
            Self::Object(object) => object.serialize(serializer),
            Self::Event(event) => event.serialize(serializer),
        }
    }
}

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("value", &self.value)?;
        map.serialize_entry("type", &self.type_)?;
        map.serialize_entry("name", &self.name)?;
        map.end()
    }
}

impl Serialize for Map {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let names = self.columns.0.iter().map(|(name, _)| name);
        serializer.collect_map(names.zip(&self.values))
    }
}

/// Serializes an input as an object of its properties, and a pattern match as a list of events.
impl Serialize for StreamEvent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Input(input) => input.serialize(serializer),
            Self::Row(row) => row.serialize(serializer),
            Self::Match(tags) => {
                let mut list = serializer.serialize_seq(Some(tags.0.len()))?;
                tags.0.iter().try_for_each(|tag| list.serialize_element(tag))?;
                list.end()
            }
        }
    }
}

impl Serialize for Input {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let object = InputStream::object_member(self.stream());
        let response: &[&str] = match object {
            Some(_) => &[],
            None => &["status", "body", "creationTime", "source"],
        };
        for name in ["_type", "_mode", "_origin"].iter().chain(&object).chain(response) {
            let value = self.member(name).value().unwrap_or(Value::Null);
            map.serialize_entry(name, &value)?;
        }
        map.end()
    }
}

impl<'a> Seen<'a> {
    /// Returns the value as JSON; see [`Value::to_json`].
    pub(crate) fn to_json(&self) -> String {
        match self {
            Self::Json(text) => compact((*text).to_owned()),
            Self::Object(object) | Self::Payload(object) => compact(object.shown()),
            Self::Event(event) => compact(json(event)),
            Self::Kept(value) => value.to_json(),
            seen => seen.value().unwrap_or(Value::Null).to_json(),
        }
    }
}
