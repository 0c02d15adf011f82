//! Event-processing modules, for tests of several nouns.

use serde_json::{Value, json};

use super::{Caller, eventually, measurement_of};

pub const MODULES: &str = "/cep/modules";

/// Deploys a text and returns the module.
pub async fn deploy(caller: &Caller, text: &str) -> Value {
    let request = caller.request("POST", MODULES).accepting_json().header("Content-Type", "text/plain");
    let answer = request.body(text).send().await;
    assert_eq!(answer.status, 201, "{text}: {}", answer.text);
    answer.json()
}

/// Returns the path of a module.
pub fn path_of(module: &Value) -> String {
    format!("{MODULES}/{}", module["id"].as_str().unwrap())
}

/// Returns the status of a module.
pub async fn status(caller: &Caller, module: &Value) -> String {
    caller.read(&path_of(module)).await["status"].as_str().unwrap().to_owned()
}

/// Deploys or undeploys a module.
pub async fn set_status(caller: &Caller, module: &Value, status: &str) {
    let answer = caller.put(&path_of(module), &json!({"status": status})).await;
    assert_eq!((answer.status, &answer.json()["status"]), (200, &json!(status)), "{}", answer.text);
}

/// Returns a module that creates an event of this type for each measurement.
pub fn marking(name: &str, type_: &str) -> String {
    format!(
        "module {name};\n\
         insert into CreateEvent\n\
         select '{type_}' as type, 'seen' as text, m.measurement.time as time,\n    \
             m.measurement.source.value as source\n\
         from MeasurementCreated m;\n"
    )
}

/// Returns a module that creates an event for each measurement. The text is the number of measurements so far.
pub fn counting(name: &str) -> String {
    format!(
        "module {name};\n\
         create schema Seen(time date, source string, n long);\n\
         insert into Seen\n\
         select m.measurement.time as time, m.measurement.source.value as source, count(*) as n\n\
         from MeasurementCreated m;\n\
         insert into CreateEvent\n\
         select 'count' as type, cast(s.n, string) as text, s.time as time, s.source as source from Seen s;\n"
    )
}

/// Sends a measurement.
pub async fn measure(caller: &Caller, device: &str, value: i64) {
    caller
        .create("/measurement/measurements", &measurement_of(device, "2024-03-10T02:30:00.000Z", value))
        .await;
}

/// Returns the texts of the events of a type, the oldest first.
pub async fn events(caller: &Caller, type_: &str) -> Vec<String> {
    let list = caller.read(&format!("/event/events?type={type_}&pageSize=2000")).await;
    let mut events: Vec<(i64, String)> = list["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| {
            let id = event["id"].as_str().unwrap().parse().unwrap();
            (id, event["text"].as_str().unwrap().to_owned())
        })
        .collect();
    events.sort_unstable();
    events.into_iter().map(|(_, text)| text).collect()
}

/// Waits until there are this many events of a type and returns their texts.
pub async fn events_come(caller: &Caller, type_: &str, count: usize) -> Vec<String> {
    eventually(&format!("{count} events of type {type_}"), async || {
        Some(events(caller, type_).await).filter(|events| events.len() >= count)
    })
    .await
}
