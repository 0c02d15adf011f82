//! Devices registered by the rows of a file (docs/rules.md#bulk-registration; N-10 to N-17).

mod devices;
mod existing;
mod failures;
mod files;
mod groups;
mod interrupted;
mod memory;
mod notifications;
mod properties;
mod races;
mod requests;
mod tenants;
mod under_way;

use crate::harness::prelude::*;

const REGISTRATIONS: &str = "/devicecontrol/bulkNewDeviceRequests";
const CONTENT_TYPE: &str = "multipart/form-data; boundary=----boundary4711";
/// A password that counts as generated, so that hashing many of them takes no time.
const SECRET: &str = "secret-of-a-machine";

/// A form with the part `file`.
fn form(file: impl AsRef<[u8]>) -> Vec<u8> {
    let begin = "------boundary4711\r\nContent-Disposition: form-data; name=\"file\"; filename=\"devices.csv\"\r\n\
        Content-Type: text/csv\r\n\r\n";
    [begin.as_bytes(), file.as_ref(), b"\r\n------boundary4711--\r\n"].concat()
}

/// POST of a file.
async fn upload(caller: &Caller, file: impl AsRef<[u8]>) -> Response {
    let request = caller.request("POST", REGISTRATIONS).header("Content-Type", CONTENT_TYPE);
    request.accepting_json().body(form(file)).send().await
}

/// Registers the devices of a file and returns the result.
async fn register(caller: &Caller, file: impl AsRef<[u8]>) -> Value {
    let answer = upload(caller, file).await.expect(201);
    answer.json()
}

/// The counts of a result: all, created, failed, successful.
fn counts(result: &Value) -> [u64; 4] {
    ["numberOfAll", "numberOfCreated", "numberOfFailed", "numberOfSuccessful"]
        .map(|name| result[name].as_u64().unwrap_or_else(|| panic!("no {name} in {result}")))
}

/// Ids and reasons of the rows that failed.
fn failures(result: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = result["failedCreationList"].as_array().unwrap();
    list.iter().map(|row| (text(&row["deviceId"]), text(&row["failureReason"]))).collect()
}

/// Returns a file with `count` devices, named `a0` and following, with type and name.
fn fleet(count: usize) -> String {
    let rows = (0..count).map(|n| format!("a{n};{SECRET};pump;Pump {n}\n"));
    "ID;CREDENTIALS;TYPE;NAME\n".to_owned() + &rows.collect::<String>()
}

/// The managed object that an external id names.
async fn object_of(caller: &Caller, type_: &str, value: &str) -> Value {
    let id = caller.read(&format!("/identity/externalIds/{type_}/{value}")).await;
    let id = id["managedObject"]["id"].as_str().unwrap().to_owned();
    caller.read(&format!("{OBJECTS}/{id}?withParents=true")).await
}

/// The managed objects of a type, the oldest first.
async fn objects_of_type(caller: &Caller, type_: &str) -> Vec<Value> {
    let page = caller.read(&format!("{OBJECTS}?type={type_}&pageSize=2000")).await;
    page["managedObjects"].as_array().unwrap().clone()
}

/// Returns whether a caller can log in.
async fn comes_in(caller: &Caller) -> bool {
    let answer = caller.get("/user/currentUser").await;
    assert!([200, 401].contains(&answer.status), "{}", answer.text);
    answer.status == 200
}

/// The result of a file whose rows were all created.
fn all_created(count: u64) -> Value {
    json!({
        "numberOfAll": count,
        "numberOfCreated": count,
        "numberOfFailed": 0,
        "numberOfSuccessful": count,
        "credentialUpdatedList": [],
        "failedCreationList": [],
    })
}
