//! Named consumers of notifications: they continue where they were, however long nobody read them.

mod bayeux;
mod events;
mod filters;
mod journal;
mod lapse;
mod reading;
mod resource;
mod rights;
mod several_servers;

use crate::harness::prelude::*;

const CONSUMERS: &str = "/notification/consumers";
/// The channels of everything that is published.
const EVERYTHING: [&str; 5] =
    ["/managedobjects/*", "/alarms/*", "/events/*", "/measurements/*", "/operations/*"];

/// Creates a consumer.
async fn consumer(caller: &Caller, name: &str, channels: &[&str]) -> Value {
    caller.create(CONSUMERS, &json!({"name": name, "channels": channels})).await
}

/// Reads a consumer.
async fn shown(caller: &Caller, name: &str) -> Value {
    caller.read(&format!("{CONSUMERS}/{name}")).await
}

/// Requests the next notifications; `query` has the parameters.
async fn batch(caller: &Caller, name: &str, query: &str) -> Value {
    caller.read(&format!("{CONSUMERS}/{name}/notifications?{query}")).await
}

/// Returns the notifications of a batch.
fn sent(batch: &Value) -> &[Value] {
    batch["notifications"].as_array().unwrap()
}

/// Returns the positions of the notifications of a batch.
fn positions(batch: &Value) -> Vec<i64> {
    sent(batch).iter().map(|notification| notification["position"].as_i64().unwrap()).collect()
}

/// Returns the types of the alarms or events in a batch.
fn types(batch: &Value) -> Vec<String> {
    let type_of = |notification: &Value| notification["data"]["data"]["type"].as_str().unwrap().to_owned();
    sent(batch).iter().map(type_of).collect()
}

/// Reads and acknowledges until this many notifications have arrived, and returns them.
async fn read(caller: &Caller, name: &str, count: usize) -> Vec<Value> {
    let (mut received, mut acknowledged) = (Vec::new(), String::new());
    while received.len() < count {
        let batch = batch(caller, name, &format!("wait=5{acknowledged}")).await;
        assert_eq!(batch["recovered"], true, "{batch}");
        received.extend_from_slice(sent(&batch));
        acknowledged = format!("&acknowledge={}", batch["position"]);
    }
    received
}
