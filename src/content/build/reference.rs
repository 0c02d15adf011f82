//! The page of an interface: its operations with their examples, and the tables of the schemas that they name.

use serde_json::Value;

use super::html::{escaped, inline, markdown, push};
use super::operations::{Operation, of_tag};
use super::schemas::push_schema;
use super::types::{has_table, words};
use super::values::{members, text};
use super::{command_lines, examples, roles};

/// The schema of errors, which the page about errors explains.
const ERROR: &str = "#/components/schemas/Error";

/// Returns the body of the page of a tag.
pub(crate) fn page(document: &Value, tag: &Value) -> String {
    let operations = of_tag(document, tag);
    let (name, description) = (text(&tag["name"]), markdown(text(&tag["description"])));
    let mut html = format!("<h1>{}</h1>\n{description}", escaped(name));
    push_index(&mut html, &operations);
    let (mut schemas, mut errors) = (Vec::new(), Vec::new());
    for operation in &operations {
        push_operation(&mut html, document, operation, &mut errors);
        add_schemas(document, operation.described, &mut schemas);
    }
    push_errors(&mut html, document, errors);
    schemas.sort();
    if !schemas.is_empty() {
        push(&mut html, "<h2 id=\"schemas\">Schemas</h2>");
    }
    for name in schemas {
        push_schema(&mut html, document, &name, &document["components"]["schemas"][&name]);
    }
    html
}

fn push_index(html: &mut String, operations: &[Operation<'_>]) {
    push(html, "<ul>");
    for Operation { id, method, path, described, .. } in operations {
        let summary = escaped(text(&described["summary"]));
        let request = format!("<code>{method} {}</code>", escaped(path));
        push(html, &format!("<li><a href=\"#{id}\">{summary}</a>: {request}</li>"));
    }
    push(html, "</ul>");
}

fn push_operation<'d>(
    html: &mut String,
    document: &'d Value,
    operation: &Operation<'d>,
    errors: &mut Vec<&'d str>,
) {
    let Operation { id, method, path, described, twins } = operation;
    push(html, &format!("<h2 id=\"{id}\">{}</h2>", escaped(text(&described["summary"]))));
    push(html, &format!("<p><code class=\"method\">{method} {}</code></p>", escaped(path)));
    html.push_str(&roles::linked(document, &markdown(text(&described["description"]))));
    if !twins.is_empty() {
        let twin = |(id, method, path): &(&str, String, &str)| {
            format!("<code id=\"{id}\">{method} {}</code>", escaped(path))
        };
        let twins: Vec<String> = twins.iter().map(twin).collect();
        push(html, &format!("<p>Likewise: {}.</p>", twins.join(", ")));
    }
    push_parameters(html, document, described);
    let bodies = bodies(document, &described["requestBody"]["content"]);
    if !bodies.is_empty() {
        push(html, &format!("<p>Body: {bodies}</p>"));
    }
    push(html, &examples::curl(document, method, path, described));
    if let Some(line) = command_lines::line(document, described) {
        push(html, &line);
    }
    push_responses(html, document, described, errors);
}

fn push_parameters(html: &mut String, document: &Value, operation: &Value) {
    if operation.get("parameters").is_none() {
        return;
    }
    push(html, "<table><tr><th>Parameter</th><th>In</th><th>Type</th><th>Meaning</th></tr>");
    for parameter in examples::parameters(document, operation) {
        let (name, place) = (escaped(text(&parameter["name"])), text(&parameter["in"]));
        let required = place == "query" && parameter["required"] == true;
        let mark = if required { "<br><i>required</i>" } else { "" };
        let (kind, meaning) =
            (words(document, &parameter["schema"]), inline(text(&parameter["description"])));
        push(html, &format!("<tr><td><code>{name}</code>{mark}</td><td>{place}</td>"));
        push(html, &format!("<td>{kind}</td><td>{meaning}</td></tr>"));
    }
    push(html, "</table>");
}

/// Returns the types of a body, each with its media types.
fn bodies(document: &Value, content: &Value) -> String {
    let mut kinds: Vec<(String, Vec<String>)> = Vec::new();
    for (media_type, body) in members(content) {
        let described = text(&body["schema"]["description"]).trim_end_matches('.');
        let kind = match body["schema"].get("type").or(body["schema"].get("$ref")) {
            None if !described.is_empty() => inline(described),
            _ => words(document, &body["schema"]),
        };
        let media_type = format!("<code>{}</code>", escaped(media_type));
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, media_types)) => media_types.push(media_type),
            None => kinds.push((kind, vec![media_type])),
        }
    }
    let one = |(kind, media_types): (String, Vec<String>)| format!("{kind} as {}", media_types.join(", "));
    kinds.into_iter().map(one).collect::<Vec<_>>().join("; ")
}

/// Adds the responses that are particular to an operation. Those that many operations share are links to the table at
/// the end of the page.
fn push_responses<'d>(
    html: &mut String,
    document: &'d Value,
    operation: &'d Value,
    errors: &mut Vec<&'d str>,
) {
    push(html, "<table><tr><th>Status</th><th>Meaning</th><th>Body</th></tr>");
    let mut shared = Vec::new();
    for (status, response) in members(&operation["responses"]) {
        if let Some(place) = response["$ref"].as_str() {
            errors.push(place);
            shared.push(format!("<a href=\"#errors\">{status}</a>"));
            continue;
        }
        let content = &response["content"];
        let is_error = content["application/json"]["schema"].to_string().contains(ERROR);
        let bodies = if is_error { String::new() } else { bodies(document, content) };
        let meaning = inline(text(&response["description"]));
        push(html, &format!("<tr><td>{status}</td><td>{meaning}</td><td>{bodies}</td></tr>"));
    }
    push(html, "</table>");
    if !shared.is_empty() {
        push(html, &format!("<p>As everywhere: {}</p>", shared.join(" ")));
    }
}

/// Adds the table of the errors that many operations share.
fn push_errors(html: &mut String, document: &Value, mut places: Vec<&str>) {
    if places.is_empty() {
        return;
    }
    push(html, "<h2 id=\"errors\">Errors of many operations</h2>");
    push(html, "<p><a href=\"/docs/errors\">Errors</a> explains their body.</p>");
    push(html, "<table><tr><th>Status</th><th>Meaning</th></tr>");
    let named = |place: &&str| document.pointer(place.trim_start_matches('#'));
    places.sort_unstable();
    places.dedup();
    let mut rows: Vec<String> = Vec::new();
    for response in places.iter().filter_map(named) {
        let (status, meaning) = (text(&response["x-status"]), inline(text(&response["description"])));
        rows.push(format!("<tr><td>{status}</td><td>{meaning}</td></tr>"));
    }
    rows.sort();
    rows.iter().for_each(|row| push(html, row));
    push(html, "</table>");
}

/// Adds the names of the schemas with a table that a value names, and of those that these name.
fn add_schemas(document: &Value, value: &Value, names: &mut Vec<String>) {
    match value {
        Value::Object(members) => members.values().for_each(|value| add_schemas(document, value, names)),
        Value::Array(items) => items.iter().for_each(|value| add_schemas(document, value, names)),
        Value::String(place) if place != ERROR => {
            let Some(name) = place.strip_prefix("#/components/schemas/") else { return };
            let schema = &document["components"]["schemas"][name];
            if names.iter().any(|known| known == name) {
                return;
            }
            if has_table(schema) {
                names.push(name.to_owned());
            }
            add_schemas(document, schema, names);
        }
        _ => {}
    }
}
