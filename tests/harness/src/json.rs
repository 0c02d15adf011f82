//! Helpers for JSON: redaction for complete comparisons, and access to members of collections.

use serde_json::{Map, Value};

/// The members that hold the server's clock; their format is checked, and they are replaced by `<time>`.
const SERVER_TIMES: [&str; 3] = ["creationTime", "lastUpdated", "lastPasswordChange"];

/// Returns a copy in which server times are `<time>` and each given text inside a string is replaced by its
/// name, such as `(&id, "<id>")` or `(server.base(), "<base>")`.
pub fn redacted(value: &Value, names: &[(&str, &str)]) -> Value {
    match value {
        Value::String(text) => {
            Value::String(names.iter().fold(text.clone(), |text, (from, to)| text.replace(from, to)))
        }
        Value::Array(items) => items.iter().map(|item| redacted(item, names)).collect(),
        Value::Object(members) => Value::Object(members.iter().map(|(k, v)| member(k, v, names)).collect()),
        other => other.clone(),
    }
}

fn member(name: &str, value: &Value, names: &[(&str, &str)]) -> (String, Value) {
    let time = value.as_str().filter(|_| SERVER_TIMES.contains(&name));
    let shown = match time {
        Some(text) if text.len() == 24 && text.ends_with('Z') => "<time>".into(),
        _ => redacted(value, names),
    };
    (name.to_owned(), shown)
}

/// Returns a copy of an object without these members.
pub fn without(value: &Value, members: &[&str]) -> Value {
    let object = value.as_object().unwrap_or_else(|| panic!("not an object: {value}"));
    let kept = object.iter().filter(|(name, _)| !members.contains(&name.as_str()));
    Value::Object(kept.map(|(name, value)| (name.clone(), value.clone())).collect::<Map<_, _>>())
}

/// Returns the ids of the members of a collection, in order.
pub fn ids(collection: &Value, array: &str) -> Vec<String> {
    member_texts(collection, array, "id")
}

/// Returns one string member of every member of a collection, in order.
pub fn member_texts(collection: &Value, array: &str, name: &str) -> Vec<String> {
    let members =
        collection[array].as_array().unwrap_or_else(|| panic!("no array '{array}' in {collection}"));
    let text = |member: &Value| {
        member[name].as_str().unwrap_or_else(|| panic!("no text '{name}' in {member}")).to_owned()
    };
    members.iter().map(text).collect()
}

/// The members of a managed object that the server sets.
pub const SERVER_MEMBERS: [&str; 11] = [
    "id",
    "self",
    "owner",
    "creationTime",
    "lastUpdated",
    "childDevices",
    "childAssets",
    "childAdditions",
    "deviceParents",
    "assetParents",
    "additionParents",
];
