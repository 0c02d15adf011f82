//! Every property of every schema, and every parameter, has a description. The help of the commands consists of them.

use super::*;
use crate::harness::reference::REFERENCE;

/// Schemas that say only of which form a value is. A property needs a description of its own beside them, except the id
/// of the object itself.
const FORMS: [&str; 2] = ["#/components/schemas/Id", "#/components/schemas/Timestamp"];

/// Adds each property in a value with its place in the document.
fn add_properties<'d>(place: &str, value: &'d Value, found: &mut Vec<(String, &'d Value)>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let below = format!("{place}/{name}");
                // An object of this name in a schema lists its properties; a property may have the name, too.
                let lists = name == "properties" && member.is_object() && !place.ends_with("/properties");
                for (property, schema) in member.as_object().filter(|_| lists).into_iter().flatten() {
                    found.push((format!("{below}/{property}"), schema));
                }
                add_properties(&below, member, found);
            }
        }
        Value::Array(items) => {
            for (number, item) in items.iter().enumerate() {
                add_properties(&format!("{place}/{number}"), item, found);
            }
        }
        _ => {}
    }
}

/// Returns the description of a property, or of the schema to which it refers.
fn description<'d>(place: &str, property: &'d Value) -> &'d str {
    if let Some(own) = property["description"].as_str() {
        return own;
    }
    let Some(reference) = property["$ref"].as_str() else { return "" };
    if FORMS.contains(&reference) && !place.ends_with("/id") {
        return "";
    }
    REFERENCE.pointer(&reference[1..]).and_then(|schema| schema["description"].as_str()).unwrap_or_default()
}

/// Returns whether a description says no more than the name, such as `The name.` of `name`.
fn only_repeats(name: &str, description: &str) -> bool {
    let letters = |text: &str| text.to_lowercase().replace(|c: char| !c.is_alphanumeric(), "");
    letters(description.trim_start_matches("The ")) == letters(name)
}

#[test]
fn every_property_of_every_schema_is_described() {
    let mut found = Vec::new();
    add_properties("#/components/schemas", &REFERENCE["components"]["schemas"], &mut found);
    add_properties("#/paths", &REFERENCE["paths"], &mut found);
    assert!(found.len() > 700, "only {} properties were found", found.len());

    let wrong: Vec<_> = found
        .iter()
        .map(|(place, property)| (place, description(place, property)))
        .filter(|(place, text)| {
            let name = place.rsplit('/').next().unwrap();
            !text.ends_with('.') || only_repeats(name, text)
        })
        .collect();

    assert!(wrong.is_empty(), "{} properties without a sentence in docs/openapi: {wrong:#?}", wrong.len());
}

#[test]
fn every_parameter_and_every_operation_is_described() {
    let mut wrong = Vec::new();
    let shared = REFERENCE["components"]["parameters"].as_object().unwrap();
    for (name, parameter) in shared {
        if !parameter["description"].as_str().is_some_and(|text| text.ends_with('.')) {
            wrong.push(name.clone());
        }
    }
    for (path, item) in REFERENCE["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let parameters = operation["parameters"].as_array().into_iter().flatten();
            for parameter in parameters.filter(|parameter| parameter.get("$ref").is_none()) {
                if !parameter["description"].as_str().is_some_and(|text| text.ends_with('.')) {
                    wrong.push(format!("{method} {path}: {}", parameter["name"]));
                }
            }
            if !operation["description"].as_str().is_some_and(|text| text.ends_with('.')) {
                wrong.push(format!("{method} {path}"));
            }
        }
    }
    assert!(wrong.is_empty(), "without a description in docs/openapi: {wrong:#?}");
}
