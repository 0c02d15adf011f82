//! The API reference: it has every route, the links in its pages exist, and its examples are accepted. The client of
//! every test compares all other responses with the reference (`harness::reference`).

use std::collections::{BTreeSet, HashMap, HashSet};

use super::fixture::{Fixture, Who};
use super::*;
use crate::harness::reference::REFERENCE;

/// The ids and names in the examples, each with the fixture that replaces it. An agent is also a device.
const SAMPLES: [(&str, &str); 5] = [
    ("\"4711\"", "\"<agent>\""),
    ("\"4712\"", "\"<free>\""),
    ("\"4720\"", "\"<device group>\""),
    ("\"jane\"", "\"<user>\""),
    ("\"30\"", "\"<application>\""),
];

/// Operations whose examples only particular callers or tenants may send, and the status for the administrator of a
/// tenant.
const FOR_OTHERS: [(&str, u16); 16] = [
    // Only users that the server creates for devices and microservices may send these.
    ("createDeviceCredentials", 403),
    ("updateCurrentApplication", 403),
    // Only the tenant that manages others may send these.
    ("createTenant", 403),
    ("updateTenant", 404),
    ("updateLimitsOfTenant", 404),
    ("updateOptionEditable", 403),
    // Only users of tenant `management` vouch for others.
    ("confirmPossession", 403),
    // The administrator is not a device.
    ("enrollDevice", 401),
    ("enrollDevice2", 401),
    ("reenrollDevice", 403),
    ("reenrollDevice2", 403),
    // Another authority has signed the list of the example.
    ("uploadRevocationList", 422),
    // The client of the example does not exist.
    ("createAccessToken", 401),
    // This user has requested no secret.
    ("verifyOwnTotpSecret", 404),
    // The tenant has no identity provider.
    ("exchangeIdToken", 404),
    ("endSessionByToken", 404),
];

#[test]
fn reference_has_every_route_and_method_and_no_other() {
    let mut listed = BTreeSet::new();
    for (pattern, allow) in platform_web::routes::listed() {
        let segments = pattern.split('/').map(|segment| match segment.split_once(':') {
            Some((name, _)) => format!("{name}}}"),
            None => segment.to_owned(),
        });
        let path = segments.collect::<Vec<_>>().join("/");
        for method in allow.split(',').filter(|method| !method.is_empty()) {
            listed.insert(format!("{method} {path}"));
        }
    }
    let mut documented = BTreeSet::new();
    for (path, item) in REFERENCE["paths"].as_object().unwrap() {
        documented.extend(
            item.as_object().unwrap().keys().map(|method| format!("{} {path}", method.to_uppercase())),
        );
    }

    let missing: Vec<_> = listed.difference(&documented).collect();
    let unknown: Vec<_> = documented.difference(&listed).collect();

    assert!(missing.is_empty(), "routes that docs/openapi does not have: {missing:#?}");
    assert!(unknown.is_empty(), "operations of docs/openapi without a route: {unknown:#?}");
}

#[test]
fn every_operation_has_an_id_of_its_own_a_summary_and_an_example_of_its_json() {
    let mut ids = HashSet::new();
    for (path, method, operation) in operations() {
        let id = operation["operationId"].as_str().unwrap_or_else(|| panic!("{method} {path} has no id"));
        assert!(ids.insert(id), "two operations have the id {id}");
        assert!(operation["summary"].as_str().is_some_and(|text| !text.is_empty()), "{id} has no summary");
        let json = &operation["requestBody"]["content"]["application/json"];
        assert!(json.is_null() || json.get("example").is_some(), "{id} has no example of its body");
    }
}

#[tokio::test]
async fn example_of_every_body_is_accepted() {
    let fixture = Fixture::create().await;
    let (admin, rows) = (fixture.caller(Who::Admin), rows());
    for (path, method, operation) in operations() {
        let id = operation["operationId"].as_str().unwrap();
        for (media_type, body) in operation["requestBody"]["content"].as_object().into_iter().flatten() {
            // The media type of the resource has the same example as plain JSON.
            let Some(example) = body.get("example").filter(|_| !media_type.contains("vnd.")) else {
                continue;
            };
            let row = rows.iter().find(|row| row.method == method.to_uppercase() && row.matches(path));
            let row = row.unwrap_or_else(|| panic!("no row of expected.txt for {method} {path}"));
            let (content_type, text) = encoded(media_type, example);
            let text = SAMPLES.iter().fold(text, |text, (sample, fixture)| text.replace(sample, fixture));
            let (path, text) = fixture.arrange(&row.path, Some(&text)).await;

            // The client of the test compares the response with the reference.
            let request =
                admin.request(&row.method, &path).accepting_json().header("Content-Type", &content_type);
            let answer = request.body(text.unwrap_or_default()).send().await;

            match FOR_OTHERS.iter().find(|(operation, _)| *operation == id) {
                Some((_, status)) => drop(answer.expect(*status)),
                None => assert!(answer.status < 300, "{id}: {} {}", answer.status, answer.text),
            }
        }
    }
}

/// Returns the media type and the bytes of an example. The members of a form become its parts.
fn encoded(media_type: &str, example: &Value) -> (String, String) {
    if media_type != "multipart/form-data" {
        let text = example.as_str().map_or_else(|| example.to_string(), ToOwned::to_owned);
        return (media_type.to_owned(), text);
    }
    let mut form = String::new();
    for (name, value) in example.as_object().unwrap() {
        let file = if name == "file" { "; filename=\"example\"" } else { "" };
        let head = format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"{file}\r\n\r\n");
        form += &format!("{head}{}\r\n", value.as_str().unwrap());
    }
    (format!("{media_type}; boundary=b"), form + "--b--\r\n")
}

#[tokio::test]
async fn reference_is_served_to_everyone_and_compressed_to_those_who_accept_that() {
    let (_server, stranger) = TestServer::shared().await.with_stranger();

    let plain = stranger.get("/openapi.json").await.expect(200);
    let packed = stranger.request("GET", "/openapi.json").header("Accept-Encoding", "gzip").head().await;

    assert_eq!((&plain.json(), plain.header("Content-Encoding")), (&*REFERENCE, None));
    assert_eq!(packed.headers()["Content-Encoding"], "gzip");
    let bytes = packed.bytes().await.unwrap();
    assert!(bytes.len() < plain.text.len() / 5, "{} bytes", bytes.len());
    stranger.get("/docs/nothing").await.expect_error(404, "general/Not Found");
    stranger.get("/docs/guide/nothing").await.expect_error(404, "general/Not Found");
}

#[tokio::test]
async fn every_link_of_every_page_leads_to_a_page_and_an_anchor() {
    let (_server, stranger) = TestServer::shared().await.with_stranger();
    let (mut pages, mut waiting) = (HashMap::new(), vec!["/docs".to_owned()]);
    let mut targets = Vec::new();
    while let Some(page) = waiting.pop() {
        if pages.contains_key(&page) {
            continue;
        }
        let html = read_page(&stranger, &page).await;
        for link in html.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
            if link.contains("://") {
                continue;
            }
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let path = if path.is_empty() { page.clone() } else { path.to_owned() };
            if path.starts_with("/docs") {
                waiting.push(path.clone());
            }
            if !anchor.is_empty() {
                targets.push((page.clone(), path, anchor.to_owned()));
            }
        }
        pages.insert(page, html);
    }
    assert!(pages.len() > 25, "{:?}", pages.keys());

    for (page, path, anchor) in targets {
        let html =
            pages.get(&path).unwrap_or_else(|| panic!("{page} has an anchor of {path}, which is no page"));
        assert!(html.contains(&format!("id=\"{anchor}\"")), "{page} has a link to {path}#{anchor}");
    }
}

/// Reads a page and checks that it has no script and loads nothing else.
async fn read_page(stranger: &Caller, path: &str) -> String {
    let page = stranger.get(path).await.expect(200);
    assert_eq!(page.header("Content-Type"), Some("text/html;charset=UTF-8"), "{path}");
    let policy = page.header("Content-Security-Policy").unwrap();
    assert!(policy.starts_with("default-src 'none'"), "{path}: {policy}");
    for forbidden in ["<script", " src=", "<link", "<img", "url("] {
        assert!(!page.text.contains(forbidden), "{path} has {forbidden}");
    }
    page.text
}

#[tokio::test]
async fn address_in_an_error_leads_to_the_place_that_explains_it() {
    let (server, admin) = TestServer::shared().await.with_admin();

    let refused = admin.get("/alarm/alarms/7").await.expect(404).json();

    let info = refused["info"].as_str().unwrap();
    let (page, anchor) = info.split_once('#').unwrap();
    let page = server.stranger().get(page).await.expect(200);
    assert!(page.text.contains(&format!("id=\"{anchor}\"")), "{}", page.text);
}

/// Returns path, method and definition of every operation.
fn operations() -> Vec<(&'static str, &'static str, &'static Value)> {
    let paths = REFERENCE["paths"].as_object().unwrap();
    let of = |(path, item): (&'static String, &'static Value)| {
        let item = item.as_object().unwrap().iter();
        item.map(move |(method, operation)| (path.as_str(), method.as_str(), operation))
    };
    paths.iter().flat_map(of).collect()
}

#[test]
fn validator_names_what_differs_and_where() {
    use crate::harness::reference::Exchange;
    let body = json!({"self": "x", "externalIds": [{"self": "x", "type": "t", "externalId": 7}]}).to_string();
    let check = |status, content_type, body: &str| {
        let path = "/identity/globalIds/1/externalIds";
        Exchange { method: "GET", path, status, content_type, body }.check().unwrap_err()
    };

    let wrong = check(200, Some("application/json;charset=UTF-8"), &body);
    assert!(wrong.contains("7 is not of type \"string\" at '/externalIds/0/externalId'"), "{wrong}");
    let unknown = check(200, Some("application/json"), r#"{"self": "x", "externalIds": [], "more": 1}"#);
    assert!(unknown.contains("'more'"), "{unknown}");
    assert!(check(200, Some("text/html"), "x").contains("media type 'text/html' is not documented"));
    assert!(check(418, None, "").contains("status 418 is not documented"));
}
