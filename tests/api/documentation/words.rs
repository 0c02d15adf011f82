//! The pages of the reference are for people: types are words, each page lists its operations, and none is long.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;
use crate::harness::reference::REFERENCE;

/// Words of JSON Schema that mean nothing to a reader.
const JARGON: [&str; 12] = [
    "$ref",
    "anyOf",
    "allOf",
    "oneOf",
    "additionalProperties",
    "maxLength",
    "minLength",
    "&quot;type&quot;",
    ">string<",
    ">integer<",
    ">boolean<",
    ">array<",
];
/// The largest page in bytes, as it is and as most clients receive it.
const LARGEST: usize = 144 << 10;
const LARGEST_COMPRESSED: usize = 44 << 10;

/// Returns a page without its examples of requests.
fn without_examples(html: &str) -> String {
    let mut pieces = html.split("<pre class=");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |page, piece| page + piece.split_once("</pre>").map_or("", |(_, rest)| rest))
}

#[tokio::test]
async fn types_are_words() {
    let (_server, pages, _) = pages().await;
    let of_api: Vec<_> = pages.iter().filter(|(address, _)| address.starts_with("/docs/api/")).collect();
    assert!(of_api.len() > 15, "{} pages", of_api.len());
    for (address, html) in &of_api {
        let html = without_examples(html);
        for word in JARGON {
            assert!(!html.contains(word), "{address} has {word}");
        }
    }
    let cell = |page: &str, member: &str, words: &str| {
        let row = format!("<code>{member}</code>");
        let rows = pages[page].split("<tr>").filter(|rest| rest.contains(&row));
        let types: Vec<_> =
            rows.filter_map(|rest| rest.split("<td>").nth(2)?.split("</td>").next()).collect();
        assert!(types.contains(&words), "{page} {member}: {types:?}");
    };
    cell("/docs/api/alarms", "creationTime", "date and time, ISO 8601");
    cell("/docs/api/alarms", "count", "whole number from 1 on");
    cell("/docs/api/alarms", "alarms", "list of <a href=\"#Alarm\">alarms</a>");
    cell("/docs/api/tenants", "status", "<code>ACTIVE</code> or <code>SUSPENDED</code>");
    cell("/docs/api/tenants", "contactName", "text of at most 30 characters or <code>null</code>");
    cell("/docs/api/users", "password", "text of 6 to 32 characters");
    cell("/docs/api/users", "enabled", "true or false");
    cell("/docs/api/operations", "progress.pending", "whole number");
    cell("/docs/api/operations", "agents[].name", "text");
}

#[tokio::test]
async fn every_operation_is_in_the_list_at_the_top_of_its_page() {
    let (_server, pages, _) = pages().await;
    let paths = REFERENCE["paths"].to_string();
    for (address, html) in pages.iter().filter(|(address, _)| address.starts_with("/docs/api/")) {
        let top = html.split("<h2 ").next().unwrap();
        let headings = html.split("<h2 id=\"").skip(1).filter_map(|section| section.split('"').next());
        let operations = headings.filter(|id| paths.contains(&format!("\"operationId\":\"{id}\"")));
        for id in operations {
            assert!(top.contains(&format!("href=\"#{id}\"")), "{address} does not list {id}");
        }
    }
}

#[tokio::test]
async fn no_page_is_large() {
    let (_server, pages, _) = pages().await;
    for (address, html) in &pages {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(html.as_bytes()).unwrap();
        let compressed = encoder.finish().unwrap().len();
        let fits = html.len() <= LARGEST && compressed <= LARGEST_COMPRESSED;
        assert!(fits, "{address} has {} bytes, compressed {compressed}", html.len());
    }
}
