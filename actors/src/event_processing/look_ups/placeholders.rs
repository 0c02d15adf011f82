//! `replaceAllPlaceholders(text, object)` (Q-12) replaces `#{path}` by a value of the object in its client
//! representation, `#{source.path}` by a value of the object's device, and `#{source}` by the device's id. As in
//! expressions, `.value` of an id is its text. A placeholder without a value becomes an empty text.

use platform_epl::value::Value;
use platform_model::error::{Error, Result};
use platform_model::links::{Links, encode};
use serde_json::Value as Json;

use super::StoreLookUps;

/// The maximum length of the resulting text in bytes.
const LONGEST: usize = 64 << 10;

/// A part of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part<'t> {
    Text(&'t str),
    Placeholder(&'t str),
}

/// Splits a text into literal parts and placeholders. A placeholder that is not closed is literal text.
pub(super) fn parts(mut text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    while let Some((before, rest)) = text.split_once("#{") {
        let Some((path, after)) = rest.split_once('}') else { break };
        if !before.is_empty() {
            parts.push(Part::Text(before));
        }
        parts.push(Part::Placeholder(path.trim()));
        text = after;
    }
    if !text.is_empty() {
        parts.push(Part::Text(text));
    }
    parts
}

/// Returns the path within the device if the placeholder refers to the device.
fn of_device(path: &str) -> Option<&str> {
    path.strip_prefix("source.").or_else(|| path.strip_prefix("deviceId."))
}

/// Returns the value at a path as text, or an empty text if there is none.
fn shown(json: &Json, path: &str) -> String {
    let found = path.split('.').try_fold(json, |json, name| match json {
        Json::Object(members) => members.get(name),
        Json::Array(elements) => elements.get(name.parse::<usize>().ok()?),
        Json::String(_) if name == "value" => Some(json),
        _ => None,
    });
    match found {
        None | Some(Json::Null) => String::new(),
        Some(Json::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// Returns the id of the object's device.
fn source(object: &Json) -> Option<String> {
    let source = object.get("source").or_else(|| object.get("deviceId"))?;
    let id = match source {
        Json::Object(source) => source.get("id").or_else(|| source.get("value"))?,
        id => id,
    };
    match id {
        Json::String(id) => Some(id.clone()),
        Json::Number(id) => Some(id.to_string()),
        _ => None,
    }
}

/// Joins the parts, with the placeholders replaced by values of the object and its device.
///
/// # Errors
/// Returns `Invalid` if the result is too long.
pub(super) fn replaced(parts: &[Part<'_>], object: &Json, device: &Json) -> Result<String> {
    let mut text = String::new();
    for part in parts {
        match part {
            Part::Text(part) => text.push_str(part),
            Part::Placeholder("source" | "deviceId" | "source.value" | "deviceId.value") => {
                text.push_str(&source(object).unwrap_or_default())
            }
            Part::Placeholder(path) => match of_device(path) {
                Some(path) => text.push_str(&shown(device, path)),
                None => text.push_str(&shown(object, path)),
            },
        }
        if text.len() > LONGEST {
            return Err(Error::Invalid("a text with its placeholders replaced is longer than 64 KiB".into()));
        }
    }
    Ok(text)
}

impl StoreLookUps {
    /// Replaces the placeholders of a text. The device is read at most once, and only if a placeholder refers
    /// to it.
    pub(super) async fn replace_placeholders(&self, text: &str, object: &Value) -> Result<Value> {
        let parts = parts(text);
        let json = match object {
            Value::Event(event) => event.to_json(),
            value => value.to_json(),
        };
        let object: Json = serde_json::from_str(&json).unwrap_or_default();
        let asks = |part: &Part<'_>| matches!(part, Part::Placeholder(path) if of_device(path).is_some());
        let id = source(&object).filter(|_| parts.iter().any(asks));
        let device = self.find_managed_object(&id.map_or(Value::Null, |id| Value::Text(id.into()))).await?;
        let device = device.map(|device| encode(&*device, &Links::new("")));
        let device: Json = device.and_then(|json| serde_json::from_slice(&json).ok()).unwrap_or_default();
        Ok(Value::Text(replaced(&parts, &object, &device)?.into()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn replace(text: &str) -> Result<String> {
        let object = json!({
            "id": "12", "text": "it's warm", "count": 3, "source": {"id": "7", "name": "shown"}, "plat_T": {"list": [1,
            {"a": true}]},
        });
        let device = json!({"id": "7", "name": "Boiler", "plat_Position": {"lat": 51.5}});
        replaced(&parts(text), &object, &device)
    }

    #[test]
    fn placeholders_are_read_from_the_object_and_from_its_device() {
        for (text, expected) in [
            ("nothing", "nothing"),
            ("#{text}!", "it's warm!"),
            ("#{count} of #{source}", "3 of 7"),
            ("#{id.value} of #{source.value}, #{deviceId.value}", "12 of 7, 7"),
            ("#{source.name} at #{ source.plat_Position.lat }", "Boiler at 51.5"),
            ("#{plat_T.list.1.a}#{plat_T.list.0}", "true1"),
            ("#{plat_T.list}", r#"[1,{"a":true}]"#),
            ("<#{no}#{text.no}#{source.no}#{}>", "<>"),
            ("#{text", "#{text"),
            ("##{count}} #{#{count}", "#3} "),
            ("ä#{count}ä", "ä3ä"),
        ] {
            assert_eq!(replace(text).expect(text), expected, "{text}");
        }
    }

    #[test]
    fn text_that_grows_too_long_is_a_fault() {
        assert!(replace(&"#{text}".repeat(10_000)).is_err());
    }
}
