//! The types of members, parameters and bodies in words: `text of at most 30 characters`, `list of alarms`, `date and
//! time, ISO 8601`. A schema with members is a link to its table on the same page.

use serde_json::Value;

use super::html::escaped;

/// From this bound on a number has no bound that matters to a client.
const BOUNDLESS: u64 = i32::MAX as u64;

/// Schemas that have words of their own, and these words for one value and for several.
const NAMED: [(&str, &str, &str); 2] = [("Id", "id (digits)", "ids"), ("Link", "address", "addresses")];

/// Returns the type of a value as HTML.
pub(crate) fn words(document: &Value, schema: &Value) -> String {
    let mut words = without_default(document, schema);
    if let Some(default) = schema.get("default") {
        words += &format!("; default {}", code(default));
    }
    words
}

fn without_default(document: &Value, schema: &Value) -> String {
    if let Some((name, target)) = referred(document, schema) {
        if let Some((_, one, _)) = NAMED.iter().find(|(known, ..)| *known == name) {
            return (*one).to_owned();
        }
        return if has_table(target) { link(name, &spaced(name)) } else { words(document, target) };
    }
    // A form that no other key can say.
    if let Some(title) = schema["title"].as_str() {
        return escaped(title);
    }
    if let Some(only) = schema.get("const") {
        return format!("always {}", code(only));
    }
    if let Some(allowed) = schema["enum"].as_array() {
        return joined(allowed.iter().map(code).collect());
    }
    for alternatives in ["anyOf", "oneOf"] {
        if let Some(all) = schema[alternatives].as_array() {
            return joined(all.iter().map(|one| words(document, one)).collect());
        }
    }
    match &schema["type"] {
        // Ids are texts, and requests may send them as numbers.
        Value::Array(kinds) if *kinds == ["string", "integer"] => "id, as text or number".to_owned(),
        Value::Array(kinds) => {
            let one = |kind: &Value| of_kind(document, kind.as_str().unwrap_or_default(), schema);
            joined(kinds.iter().map(one).collect())
        }
        Value::String(kind) => of_kind(document, kind, schema),
        _ => "any value".to_owned(),
    }
}

fn of_kind(document: &Value, kind: &str, schema: &Value) -> String {
    match kind {
        "string" => text(schema),
        "integer" => format!("whole number{}", bounds(schema)),
        "number" => format!("number{}", bounds(schema)),
        "boolean" => "true or false".to_owned(),
        "null" => code(&Value::Null),
        "array" => list(document, schema),
        "object" => object(document, schema),
        other => panic!("src/content/build/types.rs has no words for the type {other}"),
    }
}

fn text(schema: &Value) -> String {
    match schema["format"].as_str() {
        Some("date-time") => return "date and time, ISO 8601".to_owned(),
        Some("uri") => return "address".to_owned(),
        Some("uuid") => return "UUID".to_owned(),
        _ => {}
    }
    if schema.get("contentMediaType").is_some() {
        return "file".to_owned();
    }
    if schema["pattern"] == "^[0-9]+$" {
        return "digits".to_owned();
    }
    let bound = |name: &str| schema[name].as_u64().filter(|bound| *bound < BOUNDLESS);
    match (bound("minLength").filter(|least| *least > 1), bound("maxLength")) {
        (Some(least), Some(most)) => format!("text of {least} to {most} characters"),
        (None, Some(most)) => format!("text of at most {most} characters"),
        (Some(least), None) => format!("text of at least {least} characters"),
        (None, None) => "text".to_owned(),
    }
}

fn bounds(schema: &Value) -> String {
    let least = schema["minimum"].as_u64();
    match (least, schema["maximum"].as_u64().filter(|most| *most < BOUNDLESS)) {
        (Some(least), Some(most)) => format!(" from {least} to {most}"),
        (Some(least), None) => format!(" from {least} on"),
        (None, Some(most)) => format!(" up to {most}"),
        (None, None) => String::new(),
    }
}

fn list(document: &Value, schema: &Value) -> String {
    if schema["maxItems"] == 0 {
        return "empty list".to_owned();
    }
    match schema.get("items") {
        Some(items) => format!("list of {}", plural(document, items)),
        None => "list".to_owned(),
    }
}

fn object(document: &Value, schema: &Value) -> String {
    let values = &schema["additionalProperties"];
    let is_simple = |values: &Value| values["type"].is_string() && values.get("properties").is_none();
    if schema.get("properties").is_none()
        && is_simple(if values["type"] == "array" { &values["items"] } else { values })
    {
        return format!("object with {} as values", plural(document, values));
    }
    "object".to_owned()
}

/// Returns the type of the members of a list.
fn plural(document: &Value, schema: &Value) -> String {
    let named = |name: &str| NAMED.iter().find(|(known, ..)| *known == name).map(|(_, _, several)| *several);
    match referred(document, schema) {
        Some((name, _)) if named(name).is_some() => named(name).unwrap_or_default().to_owned(),
        Some((name, target)) if has_table(target) => link(name, &format!("{}s", spaced(name))),
        Some((_, target)) => plural(document, target),
        None if schema.get("enum").is_some()
            || schema.get("anyOf").is_some()
            || schema["type"].is_array() =>
        {
            format!("values, each {}", words(document, schema))
        }
        None if schema["type"] == "array" => format!("lists, each a {}", list(document, schema)),
        None => match words(document, schema).split_once(' ') {
            Some(("whole", rest)) => format!("whole {}", rest.replacen("number", "numbers", 1)),
            Some((noun, rest)) => format!("{noun}s {rest}"),
            None => format!("{}s", words(document, schema)),
        },
    }
}

/// Returns name and content of the schema that a reference names.
pub(crate) fn referred<'d>(document: &'d Value, schema: &'d Value) -> Option<(&'d str, &'d Value)> {
    let place = schema["$ref"].as_str()?;
    let name = place.strip_prefix("#/components/schemas/")?;
    Some((name, &document["components"]["schemas"][name]))
}

/// Returns whether the members of a schema are shown in a table of its own.
pub(crate) fn has_table(schema: &Value) -> bool {
    let has_members =
        |schema: &Value| ["properties", "allOf", "anyOf"].iter().any(|part| schema.get(part).is_some());
    has_members(schema) || has_members(&schema["items"]) || schema["type"] == "object"
}

fn link(name: &str, shown: &str) -> String {
    if name == "Error" {
        return format!("<a href=\"/docs/errors\">{shown}</a>");
    }
    format!("<a href=\"#{name}\">{shown}</a>")
}

/// Returns the words of a name: `NewAlarm` are `new alarm`.
fn spaced(name: &str) -> String {
    let mut words = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.push(letter.to_ascii_lowercase());
    }
    words
}

fn code(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
    format!("<code>{}</code>", escaped(&text))
}

/// Joins alternatives with commas and `or`, each once.
fn joined(mut alternatives: Vec<String>) -> String {
    alternatives.dedup();
    let last = alternatives.pop().unwrap_or_default();
    if alternatives.is_empty() { last } else { format!("{} or {last}", alternatives.join(", ")) }
}
