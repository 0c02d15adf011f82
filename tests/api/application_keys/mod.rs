//! The key of an application in a request: it names the application in audit records, and nothing else (C-05, Y-03).

mod audit;
mod several_servers;
mod unknown;

use crate::harness::application_keys::{KEY, announce, insert_application};
use crate::harness::prelude::*;

const RECORDS: &str = "/audit/auditRecords";

/// A body of an audit record.
fn record() -> Value {
    json!({
        "activity": "Door opened",
        "type": "Door",
        "time": "2024-03-10T02:30:00.000+01:00",
        "text": "Somebody opened a door",
        "source": {"id": "1"},
        "severity": "minor",
    })
}

/// A request with a key.
fn keyed(caller: &Caller, method: &str, path: &str, key: &str) -> Request {
    caller.request(method, path).header(KEY, key).accepting_json()
}

/// The application that an audit record of a request with this key names.
async fn named(caller: &Caller, key: &str) -> Value {
    let answer = keyed(caller, "POST", RECORDS, key).json(&record()).send().await.expect(201);
    answer.json()["application"].clone()
}

/// Waits until a server names this application for a key, because it learns of changes with a delay.
async fn until_named(server: &TestServer, key: &str, application: Value) {
    until("the application of the key", async || named(&server.admin(), key).await == application).await;
}

/// Activities of the audit records of an application, oldest first.
async fn recorded(caller: &Caller, application: &str) -> Vec<String> {
    let list = caller.read(&format!("{RECORDS}?application={application}&pageSize=100")).await;
    let records = list["auditRecords"].as_array().unwrap().iter();
    records
        .map(|record| {
            format!("{}: {}", record["type"].as_str().unwrap(), record["source"]["id"].as_str().unwrap())
        })
        .collect()
}
