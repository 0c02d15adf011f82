//! Traces of notifications, and the diagnosis of a change that did not arrive (B-37, B-38).

mod losses;
mod records;
mod resource;

use crate::harness::prelude::*;

const TRACES: &str = "/notification/traces";

/// Begins a trace of a subject.
async fn trace(admin: &Caller, subject: Value) -> Value {
    admin.create(TRACES, &subject).await
}

/// Returns the records of a trace.
async fn records(admin: &Caller, trace: &Value) -> Vec<Value> {
    let list = admin.read(&format!("{TRACES}/{}/records", trace["id"].as_str().unwrap())).await;
    assert_eq!(list["missingServers"], json!([]), "{list:#}");
    list["records"].as_array().unwrap().clone()
}

/// Returns the findings of a diagnosis: the cause and the text of each.
async fn findings(admin: &Caller, query: &str) -> Vec<(String, String)> {
    let diagnosis = admin.read(&format!("/notification/diagnosis?{query}")).await;
    assert_eq!(diagnosis["missingServers"], json!([]), "{diagnosis:#}");
    let text = |finding: &Value, name: &str| finding[name].as_str().unwrap().to_owned();
    let findings = diagnosis["findings"].as_array().unwrap();
    findings.iter().map(|finding| (text(finding, "cause"), text(finding, "text"))).collect()
}

/// Asserts that a diagnosis has a finding of this cause whose text has all these parts.
fn assert_found(findings: &[(String, String)], cause: &str, parts: &[&str]) {
    let found = findings.iter().any(|(of, text)| of == cause && parts.iter().all(|part| text.contains(part)));
    assert!(found, "{cause} {parts:?} is missing in {findings:#?}");
}

/// Asserts that a diagnosis has no finding of this cause.
fn assert_not_found(findings: &[(String, String)], cause: &str) {
    assert!(findings.iter().all(|(of, _)| of != cause), "{cause} is in {findings:#?}");
}

/// Waits until a user has no session.
async fn until_without_session(admin: &Caller, user: &str) {
    let sessions = format!("/tenant/sessions?user={user}");
    until("the session ends", async || admin.read(&sessions).await["sessions"] == json!([])).await;
}

/// Returns the id of a created object.
fn id(object: &Value) -> String {
    object["id"].as_str().unwrap().to_owned()
}
