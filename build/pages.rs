//! The pages below `/docs`: the reference of each interface, made from the OpenAPI document, and the guides. They
//! have no scripts and request nothing from other servers.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::markdown::{Places, anchor, render};

/// The documents beside the guides, with their titles in the list of pages.
const DOCUMENTS: [(&str, &str); 4] = [
    ("modules", "The language of event-processing modules"),
    ("settings", "All settings"),
    ("glossary", "Terms"),
    ("rules", "The rules of the API"),
];

const STYLE: &str = "body{font:16px/1.5 sans-serif;max-width:60em;margin:0 auto 4em;padding:0 1em}\
nav{margin:1em 0;border-bottom:1px solid #bbb}table{border-collapse:collapse;display:block;overflow-x:auto}\
th,td{border:1px solid #bbb;padding:.3em .6em;text-align:left;vertical-align:top}\
code,pre{background:#f3f3f3}pre{padding:.6em;overflow-x:auto}h2{border-top:1px solid #bbb;padding-top:.6em}\
.method{display:inline-block;min-width:4.5em;font-weight:bold}\
@media(prefers-color-scheme:dark){body{background:#161616;color:#ddd}a{color:#8bf}code,pre{background:#2a2a2a}}";

/// Returns the path below `/docs` and the HTML of each page.
pub(crate) fn all(docs: &Path, document: &Value) -> Vec<(String, String)> {
    let guides = guides(docs);
    let mut places = Places::from([("errors.html".to_owned(), "/docs/errors".to_owned())]);
    for name in &guides {
        places.insert(format!("guide/{name}.md"), format!("/docs/guide/{name}"));
    }
    for (name, _) in DOCUMENTS {
        places.insert(format!("{name}.md"), format!("/docs/{name}"));
    }

    let mut pages = Vec::new();
    let mut listed = String::from("<h1>Documentation</h1><h2>Guides</h2><ul>");
    for name in &guides {
        let text = read(&docs.join(format!("guide/{name}.md")));
        let title = title(&text);
        push(&mut listed, &format!("<li><a href=\"/docs/guide/{name}\">{}</a></li>", escaped(title)));
        pages.push((format!("guide/{name}"), page(title, &render(&text, "guide", &places))));
    }
    listed.push_str(
        "</ul><h2>Reference of the API</h2><p>The same as an OpenAPI document for tools: <a \
        href=\"/openapi.json\">/openapi.json</a>.</p><ul>",
    );
    for tag in document["tags"].as_array().expect("the document has tags") {
        let name = text(&tag["name"]);
        let path = format!("api/{}", anchor(name));
        let summary = inline(text(&tag["description"]));
        push(&mut listed, &format!("<li><a href=\"/docs/{path}\">{}</a>: {summary}</li>", escaped(name)));
        pages.push((path, page(name, &reference(document, tag))));
    }
    listed.push_str("</ul><h2>More</h2><ul><li><a href=\"/docs/errors\">Errors</a></li>");
    for (name, title) in DOCUMENTS {
        push(&mut listed, &format!("<li><a href=\"/docs/{name}\">{title}</a></li>"));
        let text = read(&docs.join(format!("{name}.md")));
        pages.push((name.to_owned(), page(title, &render(&text, "", &places))));
    }
    listed.push_str("</ul>");
    pages.push((String::new(), page("Documentation", &listed)));
    pages
}

fn guides(docs: &Path) -> Vec<String> {
    let files = fs::read_dir(docs.join("guide")).expect("docs/guide can be listed");
    let names = files.filter_map(|file| file.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> =
        names.filter_map(|name| Some(name.strip_suffix(".md")?.to_owned())).collect();
    names.sort();
    names
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the heading of a document.
fn title(text: &str) -> &str {
    text.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or("Guide")
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn push(page: &mut String, html: &str) {
    page.push_str(html);
    page.push('\n');
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn markdown(text: &str) -> String {
    render(text, "", &Places::new())
}

/// Returns the HTML of one paragraph, without its tags.
fn inline(text: &str) -> String {
    let html = markdown(text);
    let html = html.trim();
    html.strip_prefix("<p>").and_then(|html| html.strip_suffix("</p>")).unwrap_or(html).to_owned()
}

fn page(title: &str, body: &str) -> String {
    let title = escaped(title);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n<style>{STYLE}</style>\n\
         </head>\n<body>\n<nav><a href=\"/docs\">Documentation</a></nav>\n{body}\n</body>\n</html>\n"
    )
}

/// Returns the reference of one interface: its operations, and the schemas they name.
fn reference(document: &Value, tag: &Value) -> String {
    let mut html =
        format!("<h1>{}</h1>\n{}", escaped(text(&tag["name"])), markdown(text(&tag["description"])));
    let mut schemas = Vec::new();
    for (path, item) in members(&document["paths"]) {
        for (method, operation) in members(item) {
            if operation["tags"][0] == tag["name"] {
                push_operation(&mut html, document, &format!("{} {path}", method.to_uppercase()), operation);
                mentioned(document, operation, &mut schemas);
            }
        }
    }
    push(&mut html, "<h2>Schemas</h2>");
    schemas.sort();
    for name in schemas {
        let schema = &document["components"]["schemas"][&name];
        push(&mut html, &format!("<h3 id=\"{name}\">{name}</h3>"));
        push(&mut html, &format!("<pre>{}</pre>", linked(&pretty(schema))));
    }
    html
}

fn members(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    value.as_object().into_iter().flatten().map(|(name, value)| (&**name, value))
}

fn push_operation(html: &mut String, document: &Value, head: &str, operation: &Value) {
    let (id, summary) = (text(&operation["operationId"]), escaped(text(&operation["summary"])));
    let head = escaped(head);
    push(html, &format!("<h2 id=\"{id}\">{summary}</h2>\n<p><code class=\"method\">{head}</code></p>"));
    html.push_str(&markdown(text(&operation["description"])));
    push_parameters(html, document, operation);
    for (media_type, body) in members(&operation["requestBody"]["content"]) {
        let schema = linked(&body["schema"].to_string());
        push(html, &format!("<p>Body <code>{}</code>: <code>{schema}</code></p>", escaped(media_type)));
        if let Some(example) = body.get("example").filter(|_| !media_type.contains("vnd.")) {
            let example = example.as_str().map_or_else(|| pretty(example), ToOwned::to_owned);
            push(html, &format!("<pre>{}</pre>", escaped(&example)));
        }
    }
    push_responses(html, document, operation);
}

fn push_parameters(html: &mut String, document: &Value, operation: &Value) {
    let Some(parameters) = operation["parameters"].as_array() else { return };
    push(html, "<table><tr><th>Parameter</th><th>In</th><th>Type</th><th>Meaning</th></tr>");
    for parameter in parameters {
        let parameter = followed(document, parameter);
        let (name, place) = (escaped(text(&parameter["name"])), text(&parameter["in"]));
        let (kind, meaning) =
            (linked(&parameter["schema"].to_string()), inline(text(&parameter["description"])));
        push(html, &format!("<tr><td><code>{name}</code></td><td>{place}</td>"));
        push(html, &format!("<td><code>{kind}</code></td><td>{meaning}</td></tr>"));
    }
    push(html, "</table>");
}

fn push_responses(html: &mut String, document: &Value, operation: &Value) {
    push(html, "<table><tr><th>Status</th><th>Meaning</th><th>Body</th></tr>");
    for (status, response) in members(&operation["responses"]) {
        let response = followed(document, response);
        let mut bodies = String::new();
        for (media_type, body) in members(&response["content"]) {
            let schema = linked(&body["schema"].to_string());
            write!(bodies, "<code>{}</code>: <code>{schema}</code><br>", escaped(media_type))
                .expect("writing to memory does not fail");
        }
        let meaning = inline(text(&response["description"]));
        push(html, &format!("<tr><td>{status}</td><td>{meaning}</td><td>{bodies}</td></tr>"));
    }
    push(html, "</table>");
}

/// Returns the value that a reference names, or the value itself.
fn followed<'d>(document: &'d Value, value: &'d Value) -> &'d Value {
    let place = value["$ref"].as_str().and_then(|place| document.pointer(place.strip_prefix('#')?));
    place.unwrap_or(value)
}

/// Adds the names of the schemas that a value names, and of those that these name.
fn mentioned(document: &Value, value: &Value, names: &mut Vec<String>) {
    match value {
        Value::Object(members) => members.values().for_each(|value| mentioned(document, value, names)),
        Value::Array(items) => items.iter().for_each(|value| mentioned(document, value, names)),
        Value::String(text) => {
            let Some((kind, name)) = text.strip_prefix("#/components/").and_then(|rest| rest.split_once('/'))
            else {
                return;
            };
            if kind == "schemas" {
                if names.iter().any(|known| known == name) {
                    return;
                }
                names.push(name.to_owned());
            }
            mentioned(document, &document["components"][kind][name], names);
        }
        _ => {}
    }
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).expect("a value can be written")
}

/// Returns the HTML of JSON in which references to schemas are links.
fn linked(json: &str) -> String {
    let mut html = String::new();
    let mut rest = json;
    while let Some((before, behind)) = rest.split_once("\"#/components/schemas/") {
        let (name, after) = behind.split_once('"').unwrap_or((behind, ""));
        let before = before.strip_suffix("{\"$ref\":").filter(|_| after.starts_with('}')).unwrap_or(before);
        let after = after.strip_prefix('}').filter(|_| !before.ends_with("\"$ref\": ")).unwrap_or(after);
        write!(html, "{}<a href=\"#{name}\">{name}</a>", escaped(before))
            .expect("writing to memory does not fail");
        rest = after;
    }
    html + &escaped(rest)
}
