//! The page of the roles, and links from the names of roles to it.

use std::fmt::Write as _;

use serde_json::Value;

use super::html::{escaped, inline, push};
use super::markdown::anchor;
use super::values::{members, text};

/// The address of the page.
const PAGE: &str = "/docs/roles";

/// Returns the body of the page: what each role allows, and the operations that require it.
pub(crate) fn table(document: &Value) -> String {
    let mut html = String::from(
        "<h1>Roles</h1>\n<p>A user holds roles directly and by its groups. Each is checked literally: \
         <code>ADMIN</code> does not include <code>READ</code>. The owner of an object, and device permissions, \
         allow more for single objects. Microservices may define further roles.</p>\n\
         <table><tr><th>Role</th><th>A user with it may</th><th>Operations that name it</th></tr>\n",
    );
    for (role, meaning) in members(&document["x-roles"]) {
        let meaning = inline(text(meaning));
        push(&mut html, &format!("<tr id=\"{role}\"><td><code>{role}</code></td><td>{meaning}</td>"));
        push(&mut html, &format!("<td>{}</td></tr>", operations(document, role)));
    }
    push(&mut html, "</table>");
    html
}

/// Returns links to the operations whose descriptions name a role. Twins of an operation are left out.
fn operations(document: &Value, role: &str) -> String {
    let mut links: Vec<String> = Vec::new();
    for (_, item) in members(&document["paths"]) {
        for (method, operation) in members(item) {
            let names = words(text(&operation["description"])).any(|word| word == role);
            if !names || method == "head" {
                continue;
            }
            let [tag, id, summary] =
                [&operation["tags"][0], &operation["operationId"], &operation["summary"]].map(text);
            let link = format!("<a href=\"/docs/api/{}#{id}\">{}</a>", anchor(tag), escaped(summary));
            if !links.iter().any(|known| known.ends_with(&link[link.find('>').unwrap_or(0)..])) {
                links.push(link);
            }
        }
    }
    links.join(", ")
}

/// Returns the names of roles in a text.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_uppercase() && !c.is_ascii_digit() && c != '_')
        .filter(|word| word.starts_with("ROLE_"))
}

/// Turns the names of roles in HTML into links to the page.
pub(crate) fn linked(document: &Value, html: &str) -> String {
    let mut linked = String::new();
    let mut rest = html;
    while let Some(at) = rest.find("ROLE_") {
        let (before, behind) = rest.split_at(at);
        let end = behind.find(|c: char| !c.is_ascii_uppercase() && !c.is_ascii_digit() && c != '_');
        let (role, after) = behind.split_at(end.unwrap_or(behind.len()));
        let known = document["x-roles"].get(role).is_some();
        let link = if known { format!("<a href=\"{PAGE}#{role}\">{role}</a>") } else { role.to_owned() };
        write!(linked, "{before}{link}").expect("writing to memory does not fail");
        rest = after;
    }
    linked + rest
}
