//! An example of each operation that the command line has, as a line of `platform`. The table of nouns is that of the
//! commands themselves (src/operator/client/noun.rs).

use serde_json::Value;

use super::examples::{parameters, quoted};
use super::html::escaped;
use super::noun::{Noun, Verb, kebab};
use super::nouns::nouns;
use super::types::referred;
use super::values::members;

/// Returns the HTML of the line; `None` for an operation without a command.
pub(crate) fn line(document: &Value, operation: &Value) -> Option<String> {
    let id = operation["operationId"].as_str()?;
    let of_noun = |noun: &'static Noun| {
        noun.verbs.iter().find(|(_, known)| *known == id).map(|(verb, _)| (noun, *verb))
    };
    let (noun, verb) = nouns().find_map(of_noun)?;
    let mut words = vec!["platform".to_owned(), noun.name.to_owned(), verb.name().to_owned()];
    let ids = ids(document, operation);
    let body = &operation["requestBody"]["content"]["application/json"];
    match verb {
        Verb::List | Verb::Get | Verb::Delete | Verb::Tail => words.extend(ids),
        Verb::Follow(_) => words.push("4711".to_owned()),
        Verb::Explain => words.extend(filters(document, operation)),
        Verb::Seek => words.extend(ids.into_iter().chain(["earliest".to_owned()])),
        Verb::Download => words.extend(ids.into_iter().chain(["FILE".to_owned()])),
        Verb::Upload | Verb::Replace => words.extend(ids.into_iter().chain(["FILE".to_owned()])),
        Verb::Create if body.is_null() => words.extend(["--data".to_owned(), "@FILE".to_owned()]),
        Verb::Create | Verb::Update => {
            words.extend(ids);
            words.extend(flags(document, noun, body, verb));
        }
        Verb::UpdateMany | Verb::DeleteMany => {
            words.extend(filter(document, operation));
            for (name, value) in members(&body["example"]) {
                words.extend([format!("--new-{}", kebab(name)), quoted(&plain(value))]);
            }
        }
        Verb::Register => words.push(quoted(&plain(&body["example"]["id"]))),
    }
    Some(format!("<pre class=\"cli\">{}</pre>", escaped(&words.join(" "))))
}

/// Returns the examples of the variables of the path as one argument. Commands know the tenant themselves.
fn ids(document: &Value, operation: &Value) -> Option<String> {
    let variables =
        parameters(document, operation).filter(|one| one["in"] == "path" && one["name"] != "tenant");
    let ids: Vec<String> = variables.map(|one| plain(&one["example"])).collect();
    (!ids.is_empty()).then(|| quoted(&ids.join("/")))
}

/// Returns all filters that have an example.
fn filters(document: &Value, operation: &Value) -> Vec<String> {
    let filters =
        parameters(document, operation).filter(|one| one["in"] == "query" && one.get("example").is_some());
    filters.flat_map(|one| flag(&plain(&one["name"]), &one["example"])).collect()
}

/// Returns a filter, because commands change or delete nothing without one.
fn filter(document: &Value, operation: &Value) -> Vec<String> {
    let filter =
        parameters(document, operation).find(|one| one["in"] == "query" && one.get("example").is_some());
    filter.map(|one| flag(&plain(&one["name"]), &one["example"])).unwrap_or_default()
}

/// Returns the flags that make the example of a body.
fn flags(document: &Value, noun: &Noun, body: &Value, verb: Verb) -> Vec<String> {
    let mut known = Vec::new();
    collect(document, &body["schema"], &mut known);
    let mut words = Vec::new();
    for (name, value) in members(&body["example"]) {
        let written = value.to_string();
        let is = |fixed: &str, json: &str| fixed == name && json == written;
        if verb == Verb::Create && noun.fixed.iter().any(|(fixed, json)| is(fixed, json)) {
            continue;
        }
        let shortcut =
            noun.shortcuts.iter().find(|(.., member, json)| verb == Verb::Create && is(member, json));
        if let Some((shortcut, ..)) = shortcut {
            words.push(format!("--{shortcut}"));
        } else if name == "source" {
            words.extend(flag("device", &value["id"]));
        } else if name.to_lowercase().contains("pass") {
            words.extend([format!("--{}", kebab(name)), "-".to_owned()]);
        } else if known.contains(&name) && !value.is_null() {
            words.extend(flag(name, value));
        } else {
            set(name, value, &mut words);
        }
    }
    words
}

/// Collects the names of members that have flags of their own: those with plain values.
fn collect<'d>(document: &'d Value, schema: &'d Value, names: &mut Vec<&'d str>) {
    let schema = referred(document, schema).map_or(schema, |(_, target)| target);
    let first = schema["anyOf"].get(0);
    for part in schema["allOf"].as_array().into_iter().flatten().chain(first) {
        collect(document, part, names);
    }
    for (name, member) in members(&schema["properties"]) {
        let member = member["anyOf"].get(0).unwrap_or(member);
        let member = referred(document, member).map_or(member, |(_, target)| target);
        let kinds = &member["type"];
        let is =
            |kind: &str| *kinds == kind || kinds.as_array().is_some_and(|kinds| kinds.contains(&kind.into()));
        let is_list_of_texts = is("array") && member["items"]["type"] == "string";
        let is_plain = is_list_of_texts || !["object", "array"].into_iter().any(is);
        names.extend(is_plain.then_some(name));
    }
}

fn flag(name: &str, value: &Value) -> Vec<String> {
    vec![format!("--{}", kebab(name)), quoted(&plain(value))]
}

/// Adds a member without a flag of its own; each member of an object within it is set by itself.
fn set(place: &str, value: &Value, words: &mut Vec<String>) {
    match value.as_object().filter(|members| !members.is_empty()) {
        Some(members) => {
            members.iter().for_each(|(name, value)| set(&format!("{place}.{name}"), value, words))
        }
        None => words.extend(["--set".to_owned(), quoted(&format!("{place}={}", plain(value)))]),
    }
}

/// Returns a text as it is, a list of texts with commas between them, and everything else as JSON.
fn plain(value: &Value) -> String {
    let texts = value.as_array().map(|items| items.iter().map(Value::as_str).collect::<Option<Vec<_>>>());
    match (value.as_str(), texts.flatten()) {
        (Some(text), _) => text.to_owned(),
        (None, Some(texts)) if !texts.is_empty() => texts.join(","),
        _ => value.to_string(),
    }
}
