//! The bodies of the calls of static rows. Strings are escaped, numbers keep their digits.

use std::borrow::Cow;

use platform_model::fragments::Fragments;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

/// A JSON object under construction. Members whose argument is absent are omitted (H-03).
#[derive(Debug, Default)]
pub(super) struct JsonObject(Fragments);

impl JsonObject {
    /// Adds a string.
    pub(super) fn text(self, name: &str, value: Option<&str>) -> Self {
        self.raw(name, value.map(raw))
    }

    /// Adds strings under these names, in this order.
    pub(super) fn texts<'t>(self, names: &[&str], mut value: impl FnMut(usize) -> Option<&'t str>) -> Self {
        names.iter().enumerate().fold(self, |object, (at, name)| object.text(name, value(at)))
    }

    /// Adds a list.
    pub(super) fn list(self, name: &str, items: &[impl Serialize]) -> Self {
        self.raw(name, Some(raw(items)))
    }

    /// Adds an object.
    pub(super) fn object(self, name: &str, value: Self) -> Self {
        self.raw(name, Some(raw(&value.0)))
    }

    /// Adds a JSON value.
    pub(super) fn raw(mut self, name: &str, value: Option<Box<RawValue>>) -> Self {
        if let Some(value) = value {
            self.0.set(name, value);
        }
        self
    }

    /// Returns the text of the object.
    pub(super) fn into_json(self) -> String {
        self.0.to_json()
    }
}

impl Serialize for JsonObject {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

/// Returns an object whose members are all `null`: as the body of a PUT it removes them.
pub(super) fn removing(names: &[Cow<'_, str>]) -> String {
    let given = names.iter().filter(|name| !name.is_empty());
    let members: Map<String, Value> = given.map(|name| (name.to_string(), Value::Null)).collect();
    Value::from(members).to_string()
}

/// Serializes strings, and lists and objects of strings.
pub(super) fn raw(value: &(impl Serialize + ?Sized)) -> Box<RawValue> {
    to_raw_value(value).expect("texts, and lists and objects of them, are JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_members_are_left_out_and_texts_are_escaped() {
        let inner = JsonObject::default().raw("n", RawValue::from_string("1.50".into()).ok()).raw("m", None);
        let values = [Some("a\"b"), None, Some("c\n")];
        let object = JsonObject::default()
            .texts(&["x", "y", "z"], |at| values[at])
            .object("inner", inner)
            .list("list", &["a\\n"]);
        assert_eq!(object.into_json(), r#"{"x":"a\"b","z":"c\n","inner":{"n":1.50},"list":["a\\n"]}"#);
    }

    #[test]
    fn names_to_remove_are_given_once_and_absent_ones_not_at_all() {
        let names = ["a", "", "b\"", "a"].map(Cow::from);
        assert_eq!(removing(&names), r#"{"a":null,"b\"":null}"#);
    }
}
