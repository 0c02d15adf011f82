//! Tests who may do what on every route: `expected.txt` has a row for each route and method, with the status that each
//! kind of caller gets. The test fails if a route is not in it.

mod fixture;
mod full_disk;
mod hostile;
mod reference;
mod row;

use std::collections::BTreeSet;

use fixture::{Fixture, Who};
use futures_util::StreamExt;
use futures_util::stream;
use row::Row;

use crate::harness::prelude::*;

/// The number of rows that are tested at the same time.
const AT_ONCE: usize = 8;
/// Part of every name in tenant `main`, which no other tenant may ever see.
const SECRET: &str = "zebra";

/// Paths whose methods everyone may learn from `Allow` (T-03, L-04).
const OPEN: [&str; 2] = ["/v1/oauth/accesstokens", "/v2/{account}/limits"];

fn rows() -> Vec<Row> {
    Row::parse_all(include_str!("expected.txt"))
}

#[test]
fn every_route_and_method_has_a_row() {
    let rows = rows();
    let mut wanted = BTreeSet::new();
    for (pattern, allow) in platform_web::routes::listed() {
        for method in allow.split(',').filter(|method| !method.is_empty()) {
            wanted.insert((pattern.clone(), method.to_owned()));
        }
    }
    let listed = platform_web::routes::listed();
    let mut found = BTreeSet::new();
    for row in &rows {
        let pattern = listed.iter().map(|(pattern, _)| pattern).find(|pattern| row.matches(pattern));
        let pattern = pattern.unwrap_or_else(|| panic!("no route for {row}"));
        found.insert((pattern.clone(), row.method.clone()));
    }

    let missing: Vec<_> = wanted.difference(&found).collect();
    let unknown: Vec<_> = found.difference(&wanted).collect();

    assert!(missing.is_empty(), "routes without a row in tests/api/matrix/expected.txt: {missing:#?}");
    assert!(unknown.is_empty(), "rows for methods their route does not list: {unknown:#?}");
}

#[tokio::test]
async fn every_caller_gets_the_expected_status() {
    check_every_cell().await;
}

/// Each request is sent to the next of two servers.
mod statuses_at_two_servers {
    #[tokio::test]
    async fn every_caller_gets_the_expected_status() {
        super::check_every_cell().await;
    }
}

async fn check_every_cell() {
    let fixture = Fixture::create().await;
    let rows = rows();

    let wrong: Vec<Vec<String>> =
        stream::iter(&rows).map(|row| try_row(&fixture, row)).buffer_unordered(AT_ONCE).collect().await;

    let wrong = wrong.concat();
    assert!(wrong.is_empty(), "{} of {} cells:\n{}", wrong.len(), rows.len() * 6, wrong.join("\n"));
}

/// Returns the faults of a row, for each kind of caller.
async fn try_row(fixture: &Fixture, row: &Row) -> Vec<String> {
    let mut wrong = Vec::new();
    for (who, expected) in Who::ALL.into_iter().zip(row.expected) {
        let (path, body) = fixture.arrange(&row.path, row.body.as_deref()).await;
        let answer = send(fixture.caller(who), &row.method, &path, body.as_deref()).await;
        if answer.status != expected {
            let text: String = answer.text.chars().take(200).collect();
            wrong.push(format!("{row} as {who:?}: {} instead of {expected}: {text}", answer.status));
        }
        // Data of a tenant must not be visible to other tenants or without credentials; the response may repeat what
        // the caller sent.
        let sent = format!("{path}{}", body.unwrap_or_default());
        if matches!(who, Who::Stranger | Who::OtherTenant)
            && !sent.contains(SECRET)
            && answer.text.contains(SECRET)
        {
            wrong.push(format!("{row} as {who:?} leaks: {}", answer.text));
        }
    }
    wrong
}

async fn send(caller: &Caller, method: &str, path: &str, body: Option<&str>) -> Response {
    let request = caller.request(method, path).accepting_json();
    let request = match body {
        None => request,
        Some(form) if form.starts_with("--") => {
            request.header("Content-Type", "multipart/form-data; boundary=b").body(form)
        }
        Some(json) => request.header("Content-Type", "application/json").body(json),
    };
    request.send().await
}

#[tokio::test]
async fn methods_that_are_not_listed_are_405_and_the_rest_is_allowed() {
    let fixture = Fixture::create().await;
    let admin = fixture.caller(Who::Admin);

    for (pattern, allow) in platform_web::routes::listed() {
        let path = row::example(&pattern);
        for method in ["GET", "POST", "PUT", "DELETE", "PATCH"] {
            if allow.split(',').any(|allowed| allowed == method) {
                continue;
            }
            let answer = admin.request(method, &path).send().await;
            assert_eq!((answer.status, answer.header("Allow")), (405, Some(&*allow)), "{method} {pattern}");
            let stranger = fixture.caller(Who::Stranger).request(method, &path).send().await;
            assert_eq!(
                stranger.status,
                if OPEN.contains(&&*pattern) { 405 } else { 401 },
                "{method} {pattern}"
            );
        }
    }
}
