//! The key of an application in a request: it names the application in audit records, and nothing else (C-05, Y-03).

mod audit;
mod several_servers;
mod unknown;

use platform::auth::password::SecretKey;
use serde_json::{Value, json};

use crate::harness::{Caller, Request, TestDatabase, TestServer, eventually};

/// The header that carries a key.
pub(crate) const KEY: &str = "X-Platform-Application-Key";
const RECORDS: &str = "/audit/auditRecords";

/// Adds an application of a tenant, and tells the servers.
pub(crate) async fn insert_application(database: &TestDatabase, tenant: &str, name: &str, key: &str) {
    let secret = SecretKey::load(&database.data_dir().join("secret.key")).unwrap().unwrap();
    let statement = "INSERT INTO applications (tenant, id, name, type, availability, key_hash, sealed_key, \
            required_roles, roles, created_at) \
        VALUES ($1, (SELECT coalesce(max(id), 0) + 1 FROM applications), $2, 'EXTERNAL', 'PRIVATE', $3, '', \
            '{}', '{}', now())";
    database.execute(statement, &[&tenant, &name, &secret.hash_of_application_key(key)]).await;
    announce(database).await;
}

/// Tells the servers that applications changed.
async fn announce(database: &TestDatabase) {
    database.execute("SELECT pg_notify('platform_users', 'main/+applications')", &[]).await;
}

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
    let answer = keyed(caller, "POST", RECORDS, key).json(&record()).send().await;
    assert_eq!(answer.status, 201, "{}", answer.text);
    answer.json()["application"].clone()
}

/// Waits until a server has heard what became of the application of a key.
async fn until_named(server: &TestServer, key: &str, application: Value) {
    eventually("the application of the key", async || {
        (named(&server.admin(), key).await == application).then_some(())
    })
    .await;
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
