//! Reads the columns of a row in the formats that request bodies and sending streams need.

use platform_model::body::MAX_SHORT_TEXT;
use platform_model::error::{Error, Result};

use platform_epl::value::{Map, Number, Object, Row, Value, time_of};

/// The columns of a row by name. A null column counts as absent (C-10).
#[derive(Debug, Clone, Copy)]
pub(super) struct Cells<'r>(pub(super) &'r Row);

impl<'r> Cells<'r> {
    /// Returns the value of a column; `None` for null.
    pub(super) fn get(self, name: &str) -> Option<&'r Value> {
        let value = self.0.values.get(self.0.columns.position(name)?)?;
        (!matches!(value, Value::Null)).then_some(value)
    }

    /// Returns a column of any type as text.
    pub(super) fn text(self, name: &str) -> Option<String> {
        Some(self.get(name)?.as_text()?.into_owned())
    }

    /// Returns a required column as text.
    ///
    /// # Errors
    /// Returns `Invalid` with the column's name if it is absent.
    pub(super) fn mandatory_text(self, name: &str) -> Result<String> {
        self.text(name).ok_or_else(|| absent(name))
    }

    /// Returns a column as an id: the value of an [`Id`](platform_epl::value::Id), or the id of an
    /// object.
    ///
    /// # Errors
    /// Returns `Invalid` if the value is not an id.
    pub(super) fn id(self, name: &str) -> Result<Option<String>> {
        self.get(name).map(|value| id_of(name, value)).transpose()
    }

    /// Returns a required column as an id.
    ///
    /// # Errors
    /// Returns `Invalid` with the column's name if it is absent.
    pub(super) fn mandatory_id(self, name: &str) -> Result<String> {
        self.id(name)?.ok_or_else(|| absent(name))
    }

    /// Returns a column as a list of ids; a single id gives a list of one.
    ///
    /// # Errors
    /// Returns `Invalid` if a value is not an id.
    pub(super) fn ids(self, name: &str) -> Result<Vec<String>> {
        match self.get(name) {
            None => Ok(Vec::new()),
            Some(Value::List(values)) => values.iter().map(|value| id_of(name, value)).collect(),
            Some(value) => Ok(vec![id_of(name, value)?]),
        }
    }

    /// Returns a column as a time. It can hold a date, its text, or milliseconds since 1970.
    ///
    /// # Errors
    /// Returns `Invalid` for any other value.
    pub(super) fn time(self, name: &str) -> Result<Option<String>> {
        let Some(value) = self.get(name) else { return Ok(None) };
        Ok(Some(match milliseconds(value) {
            Some(milliseconds) => time_of(milliseconds)
                .ok_or_else(|| Error::invalid_value(name, milliseconds, "milliseconds since 1970"))?
                .to_string(),
            None => value.as_text().ok_or_else(|| absent(name))?.into_owned(),
        }))
    }

    /// Returns a column as an object.
    ///
    /// # Errors
    /// Returns `Invalid` for any other value.
    pub(super) fn map(self, name: &str) -> Result<Option<&'r Map>> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Map(map)) => Ok(Some(map)),
            Some(_) => Err(Error::invalid_value(name, "no object", "pairs of names and values")),
        }
    }
}

/// Returns the error for a required column that is null (E-01).
pub(super) fn absent(name: &str) -> Error {
    platform_model::body::missing(&[(name, true)])
}

/// Returns the text of an id. The value can be an `Id`, a text or number, a platform object, or a map with a
/// `value` or an `id`.
///
/// # Errors
/// Returns `Invalid` for any other value.
pub(in crate::event_processing) fn id_of(name: &str, value: &Value) -> Result<String> {
    let id = match value {
        Value::Object(object) => own_id(object),
        Value::Map(map) => match map.get("value").or_else(|| map.get("id")) {
            Some(Value::Map(_)) | None => None,
            Some(inner) => return id_of(name, inner),
        },
        Value::Id(_) | Value::Text(_) | Value::Integer(_) | Value::Double(_) => {
            value.as_text().map(|text| text.into_owned())
        }
        _ => None,
    };
    match id {
        Some(id) if id.len() <= MAX_SHORT_TEXT => Ok(id),
        Some(id) => Err(Error::invalid_value(name, id, "an id")),
        None => Err(Error::invalid_value(name, "something else", "an id")),
    }
}

fn own_id(object: &Object) -> Option<String> {
    match object {
        Object::ManagedObject(object) => object.id.map(|id| id.to_string()),
        Object::Event(event) => event.id.map(|id| id.to_string()),
        Object::Measurement(measurement) => measurement.id.map(|id| id.to_string()),
        Object::Operation(operation) => operation.id.map(|id| id.to_string()),
        Object::Alarm(alarm) => alarm.id.map(|id| id.to_string()),
    }
}

/// Returns a number as milliseconds; `None` if it is not a number or does not fit into 64 bits.
pub(in crate::event_processing) fn milliseconds(value: &Value) -> Option<i64> {
    match value {
        Value::Integer(number) => Some(*number),
        Value::Double(number) => Number::Double(*number).whole(),
        _ => None,
    }
}
