//! The `curl` line of each operation: method, path, parameters, media type and body are those of the operation.

use std::collections::HashMap;

use super::*;
use crate::harness::reference::REFERENCE;

/// A line of `curl`, taken apart.
#[derive(Debug, Default)]
struct Line {
    method: String,
    path: String,
    query: Vec<(String, String)>,
    content_type: Option<String>,
    body: Option<String>,
    is_form: bool,
    has_credentials: bool,
}

impl Line {
    fn parse(text: &str) -> Self {
        let words = words_of(&text.replace("\\\n", " "));
        let mut line = Self { method: "GET".into(), ..Self::default() };
        let mut words = words.iter().skip(1);
        while let Some(word) = words.next() {
            let mut value =
                || words.next().unwrap_or_else(|| panic!("nothing follows {word}: {text}")).clone();
            match word.as_str() {
                "--head" => line.method = "HEAD".into(),
                "-N" => {}
                "-X" => line.method = value(),
                "-u" => line.has_credentials = value().contains('/'),
                "-d" | "--data-binary" => line.body = Some(value()),
                "-F" => line.is_form = value().contains('='),
                "-H" => {
                    let header = value();
                    let (name, value) = header.split_once(": ").unwrap_or_else(|| panic!("{header}"));
                    match name {
                        "Content-Type" => line.content_type = Some(value.to_owned()),
                        "X-Auth-Token" => line.has_credentials = true,
                        _ => {}
                    }
                }
                address => line.set_address(address.strip_prefix("http://127.0.0.1:8080").expect(text)),
            }
        }
        line
    }

    fn set_address(&mut self, address: &str) {
        let (path, query) = address.split_once('?').unwrap_or((address, ""));
        path.clone_into(&mut self.path);
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        self.query = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    }

    /// Returns whether the path is one of a template such as `/alarm/alarms/{id}`.
    fn fits(&self, template: &str) -> bool {
        let (own, other) = (self.path.split('/'), template.split('/'));
        own.clone().count() == other.clone().count()
            && own.zip(other).all(|(own, other)| (other.starts_with('{') && !own.is_empty()) || own == other)
    }
}

/// Splits a line as a shell does, with single quotes only.
fn words_of(line: &str) -> Vec<String> {
    let (mut words, mut is_quoted) = (vec![String::new()], false);
    for character in line.chars() {
        match character {
            '\'' => is_quoted = !is_quoted,
            ' ' | '\n' if !is_quoted => words.push(String::new()),
            other => words.last_mut().unwrap().push(other),
        }
    }
    words.into_iter().filter(|word| !word.is_empty()).collect()
}

/// Returns the parameters of an operation that are in the query.
fn filters(operation: &Value) -> Vec<&Value> {
    let of_place = |parameter: &'static Value| {
        let place = parameter["$ref"].as_str().and_then(|place| REFERENCE.pointer(&place[1..]));
        place.unwrap_or(parameter)
    };
    let id = operation["operationId"].as_str().unwrap();
    let paths = REFERENCE["paths"].as_object().unwrap();
    let operations = paths.values().flat_map(|item| item.as_object().unwrap().values());
    let operation = operations.into_iter().find(|operation| operation["operationId"] == id).unwrap();
    let all = operation["parameters"].as_array().into_iter().flatten().map(of_place);
    all.filter(|parameter| parameter["in"] == "query").collect()
}

fn check(path: &str, method: &str, operation: &Value, line: &Line) {
    let id = operation["operationId"].as_str().unwrap();
    assert_eq!(line.method, method.to_uppercase(), "{id}: {line:?}");
    assert!(line.fits(path), "{id}: {} is not {path}", line.path);
    assert_eq!(line.has_credentials, operation["security"] != serde_json::json!([]), "{id}: {line:?}");

    let filters = filters(operation);
    for (name, _) in &line.query {
        assert!(filters.iter().any(|filter| filter["name"] == **name), "{id} has no parameter {name}");
    }
    let given = |filter: &&Value| line.query.iter().any(|(name, _)| filter["name"] == **name);
    let lost: Vec<_> = filters.iter().filter(|filter| filter["required"] == true && !given(filter)).collect();
    assert!(lost.is_empty(), "{id} lacks {lost:?}");
    let affects_many =
        ["put", "delete"].contains(&method) && filters.iter().any(|one| one["name"] == "dateFrom");
    assert!(!affects_many || !line.query.is_empty(), "{id}: the example affects everything");

    let Some(content) = operation["requestBody"]["content"].as_object() else {
        assert!(line.body.is_none() && !line.is_form && line.content_type.is_none(), "{id}: {line:?}");
        return;
    };
    if line.is_form {
        assert!(content.contains_key("multipart/form-data"), "{id} takes no form");
        return;
    }
    let content_type = line.content_type.as_deref().unwrap_or_else(|| panic!("{id} has no media type"));
    let described = content.get(content_type).or(content.get("*/*"));
    let described = described.unwrap_or_else(|| panic!("{id} does not take {content_type}"));
    let body = line.body.as_deref().unwrap_or_else(|| panic!("{id} has no body"));
    if content_type == "application/json" {
        assert_eq!(serde_json::from_str::<Value>(body).unwrap(), described["example"], "{id}");
    } else {
        let example = described["example"].as_str().unwrap_or("@FILE").trim();
        assert!(body == "@FILE" || body == example, "{id}: {body}");
    }
}

#[tokio::test]
async fn every_operation_has_a_curl_line_that_sends_what_it_takes() {
    let (_server, pages, stranger) = pages().await;
    let sections = pages.values().flat_map(|html| html.split("<h2 id=\"").skip(1));
    let sections: HashMap<_, _> = sections.filter_map(|section| section.split_once('"')).collect();
    let twins = pages.values().flat_map(|html| html.split("<code id=\"").skip(1));
    let twins: HashMap<_, _> = twins.filter_map(|twin| twin.split_once("\">")).collect();
    let (mut shown, mut likewise, mut public) = (0, 0, Vec::new());
    for (path, item) in REFERENCE["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let id = operation["operationId"].as_str().unwrap();
            let Some(section) = sections.get(id) else {
                let twin = twins.get(id).unwrap_or_else(|| panic!("{id} is on no page"));
                assert!(twin.starts_with(&format!("{} {path}</code>", method.to_uppercase())), "{id}");
                likewise += 1;
                continue;
            };
            let line =
                section.split_once("<pre class=\"curl\">").and_then(|(_, rest)| rest.split_once("</pre>"));
            let (line, _) = line.unwrap_or_else(|| panic!("{id} has no curl line"));
            let line = Line::parse(&plain(line));
            check(path, method, operation, &line);
            public.extend(Some(line.path).filter(|path| path.starts_with("/docs")));
            shown += 1;
        }
    }
    assert!(shown > 150 && likewise > 40, "{shown} operations and {likewise} twins");
    assert!(public.len() > 3, "{public:?}");
    for path in public {
        stranger.get(&path).await.expect(200);
    }
}
