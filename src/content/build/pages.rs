//! The pages below `/docs`: the reference of each interface, made from the OpenAPI document, and the guides. They
//! have no scripts and request nothing from other servers.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::html::{escaped, inline, page, push};
use super::markdown::{Places, anchor, render};
use super::values::text;
use super::{reference, roles, search};

/// The documents beside the guides, with their titles in the list of pages.
const DOCUMENTS: [(&str, &str); 4] = [
    ("modules", "The language of event-processing modules"),
    ("settings", "All settings"),
    ("glossary", "Terms"),
    ("rules", "The rules of the API"),
];

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
        href=\"/openapi.json\">/openapi.json</a>. Notifications as an AsyncAPI document: <a \
        href=\"/asyncapi.json\">/asyncapi.json</a>.</p><ul>",
    );
    for tag in document["tags"].as_array().expect("the document has tags") {
        let name = text(&tag["name"]);
        let path = format!("api/{}", anchor(name));
        let summary = inline(text(&tag["description"]));
        push(&mut listed, &format!("<li><a href=\"/docs/{path}\">{}</a>: {summary}</li>", escaped(name)));
        pages.push((path, page(name, &reference::page(document, tag))));
    }
    push(&mut listed, "</ul><h2>More</h2><ul><li><a href=\"/docs/roles\">Roles</a></li>");
    push(&mut listed, "<li><a href=\"/docs/errors\">Errors</a></li>");
    pages.push(("roles".to_owned(), page("Roles", &roles::table(document))));
    for (name, title) in DOCUMENTS {
        push(&mut listed, &format!("<li><a href=\"/docs/{name}\">{title}</a></li>"));
        let text = read(&docs.join(format!("{name}.md")));
        pages.push((name.to_owned(), page(title, &render(&text, "", &places))));
    }
    listed.push_str("</ul>");
    // The server puts what it finds at this place (src/web/api/documentation.rs).
    pages.push(("search".to_owned(), page("Search", "<h1>Search</h1>\n<!--results-->")));
    pages.push((String::new(), page("Documentation", &listed)));
    pages
}

/// Returns the index of all pages and of the page about errors, as JSON.
pub(crate) fn index(docs: &Path, pages: &[(String, String)]) -> String {
    let mut index = Vec::new();
    for (path, html) in pages.iter().filter(|(path, _)| !["", "search"].contains(&&**path)) {
        search::add_page(&mut index, &format!("/docs/{path}"), html);
    }
    search::add_page(&mut index, "/docs/errors", &read(&docs.join("errors.html")));
    Value::from(index).to_string()
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
