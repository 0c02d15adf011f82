//! The index that `/docs/search` searches: the text of each section of each page.

use std::collections::HashSet;

use serde_json::{Value, json};

/// A section of a page while it is read.
struct Section {
    anchor: String,
    title: String,
    text: String,
}

/// Adds the sections of a page to the index: address, title, title of the page, text.
pub(crate) fn add_page(index: &mut Vec<Value>, address: &str, html: &str) {
    let body = html.split_once("</nav>").or(html.split_once("<body>")).map_or(html, |(_, body)| body);
    let body = without_repetitions(body);
    let name = between(html, "<title>", "</title>");
    // The page about errors explains those of many operations better than the table at the end of each page.
    for Section { anchor, title, text } in sections(&body).into_iter().filter(|one| one.anchor != "errors") {
        let place = if anchor.is_empty() { address.to_owned() } else { format!("{address}#{anchor}") };
        let title = if title.is_empty() { code_of_rule(&anchor) } else { title };
        let title = if title.is_empty() { name.clone() } else { title };
        if !text.is_empty() || !title.is_empty() {
            index.push(json!([place, title, name, text]));
        }
    }
}

/// Returns the code of a rule by its anchor: `c-07b` is C-07b.
fn code_of_rule(anchor: &str) -> String {
    let (letter, rest) = anchor.split_at(anchor.len().min(1));
    letter.to_uppercase() + rest
}

/// Returns a page without its examples of requests, and with each parameter where it is first. Several operations have
/// the same ones.
fn without_repetitions(body: &str) -> String {
    let (mut known, mut kept) = (HashSet::new(), String::new());
    for piece in body.split_inclusive("</tr>") {
        let (before, row) = piece.rfind("<tr").map_or((piece, ""), |at| piece.split_at(at));
        kept.push_str(before);
        let is_parameter = row.contains("<td>query</td>") || row.contains("<td>header</td>");
        if !is_parameter || known.insert(row) {
            kept.push_str(row);
        }
    }
    for class in ["curl", "cli"] {
        let start = format!("<pre class=\"{class}\">");
        while let Some((before, rest)) = kept.split_once(&start) {
            let after = rest.split_once("</pre>").map_or("", |(_, after)| after);
            kept = format!("{before}{after}");
        }
    }
    kept
}

/// Splits a page where an element has an id. The ids of twins of an operation are within its section.
fn sections(body: &str) -> Vec<Section> {
    let mut all = vec![Section { anchor: String::new(), title: String::new(), text: String::new() }];
    let mut in_heading = false;
    for piece in body.split('<').skip(1) {
        let (tag, text) = piece.split_once('>').unwrap_or((piece, ""));
        let is_heading = tag.len() > 1 && tag.starts_with('h') && tag.as_bytes()[1].is_ascii_digit();
        let id = tag.split_once(" id=\"").filter(|(element, _)| *element != "code");
        if let Some(anchor) = id.and_then(|(_, rest)| rest.split('"').next()) {
            all.push(Section { anchor: anchor.to_owned(), title: String::new(), text: String::new() });
        }
        in_heading = is_heading || in_heading && !tag.starts_with("/h");
        let section = all.last_mut().expect("the first one is there");
        let target =
            if in_heading && section.text.is_empty() { &mut section.title } else { &mut section.text };
        // Inline elements do not separate words; all others do.
        if !["code", "/code", "a ", "/a", "em", "/em", "strong", "/strong"]
            .iter()
            .any(|name| tag.starts_with(name))
        {
            target.push(' ');
        }
        // Heads of columns are the same everywhere.
        if tag != "th" {
            target.push_str(text);
        }
    }
    for section in &mut all {
        section.title = plain(&section.title);
        section.text = plain(&section.text);
    }
    all.retain(|section| !section.title.is_empty() || !section.text.is_empty());
    all
}

/// Returns a text with single blanks and without entities.
fn plain(html: &str) -> String {
    let text = html.split_whitespace().collect::<Vec<_>>().join(" ");
    [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")]
        .iter()
        .fold(text, |text, (entity, character)| text.replace(entity, character))
}

fn between(text: &str, before: &str, after: &str) -> String {
    let rest = text.split_once(before).map_or("", |(_, rest)| rest);
    plain(rest.split(after).next().unwrap_or_default())
}
