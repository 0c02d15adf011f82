//! The tables of the members of schemas.

use serde_json::Value;

use super::html::{inline, push};
use super::types::{referred, words};
use super::values;

/// The members of one object, and which of them it always has.
struct Members<'d> {
    all: Vec<(&'d str, &'d Value)>,
    required: Vec<&'d str>,
}

/// Adds the heading, the description and the members of a schema.
pub(crate) fn push_schema(html: &mut String, document: &Value, name: &str, schema: &Value) {
    push(html, &format!("<h3 id=\"{name}\">{name}</h3>"));
    if let Some(description) = schema["description"].as_str() {
        push(html, &format!("<p>{}</p>", inline(description)));
    }
    if let Some(alternatives) = schema["anyOf"].as_array() {
        push(html, "<p>One of:</p>\n<ul>");
        for alternative in alternatives {
            html.push_str(&format!("<li>{}", words(document, alternative)));
            push_members(html, document, alternative);
            push(html, "</li>");
        }
        push(html, "</ul>");
    } else if schema.get("properties").is_none() && schema.get("allOf").is_none() {
        let one = words(document, schema);
        push(html, &format!("<p>{}{}.</p>", one[..1].to_uppercase(), &one[1..]));
        push_members(html, document, &schema["items"]);
    } else {
        push_members(html, document, schema);
    }
}

/// Adds the table of the members that a schema has itself.
fn push_members(html: &mut String, document: &Value, schema: &Value) {
    let mut members = Members { all: Vec::new(), required: Vec::new() };
    collect(document, schema, &mut members);
    if members.all.is_empty() {
        return;
    }
    if members.required.is_empty() && members.all.len() > 1 {
        push(html, "<p>All members are optional.</p>");
    }
    push(html, "<table><tr><th>Member</th><th>Type</th><th>Meaning</th></tr>");
    push_rows(html, document, "", &members);
    push(html, "</table>");
}

/// Collects the members of a schema and of those that it combines.
fn collect<'d>(document: &'d Value, schema: &'d Value, members: &mut Members<'d>) {
    for part in schema["allOf"].as_array().into_iter().flatten() {
        collect(document, referred(document, part).map_or(part, |(_, target)| target), members);
    }
    let required = schema["required"].as_array().into_iter().flatten();
    members.required.extend(required.filter_map(Value::as_str));
    members.all.extend(values::members(&schema["properties"]));
}

fn push_rows(html: &mut String, document: &Value, place: &str, members: &Members<'_>) {
    for (name, member) in &members.all {
        let place = format!("{place}{name}");
        let optional = !members.required.is_empty() && !members.required.contains(name);
        let mark = if optional { "<br><i>optional</i>" } else { "" };
        push(html, &format!("<tr><td><code>{place}</code>{mark}</td><td>{}</td>", words(document, member)));
        push(html, &format!("<td>{}</td></tr>", inline(meaning(document, member))));
        push_inner(html, document, &place, member);
    }
}

/// Adds the members of an object that is described within another one.
fn push_inner(html: &mut String, document: &Value, place: &str, member: &Value) {
    let mut inner = Members { all: Vec::new(), required: Vec::new() };
    collect(document, member, &mut inner);
    push_rows(html, document, &format!("{place}."), &inner);
    for alternative in member["anyOf"].as_array().into_iter().flatten() {
        push_inner(html, document, place, alternative);
    }
    if member["items"].is_object() {
        push_inner(html, document, &format!("{place}[]"), &member["items"]);
    }
    if member["additionalProperties"].is_object() {
        push_inner(html, document, &format!("{place}.&lt;name&gt;"), &member["additionalProperties"]);
    }
}

/// Returns the description of a member, or of the schema to which it refers.
fn meaning<'d>(document: &'d Value, member: &'d Value) -> &'d str {
    let of_schema = || referred(document, member).and_then(|(_, target)| target["description"].as_str());
    member["description"].as_str().or_else(of_schema).unwrap_or_default()
}
