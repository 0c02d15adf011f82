//! Measurements (docs/rules.md#measurements; G-01 to G-11).

mod aggregation;
mod collections;
mod create;
mod csv;
mod delete;
mod list;
mod modes;
mod numbers;
mod partitions;
mod permissions;
mod races;
mod rollups;
mod series;
mod units;

use crate::harness::prelude::*;

/// Stores a measurement with one series and returns it.
async fn measure(caller: &Caller, source: &str, time: &str, value: i64) -> Value {
    caller.create(MEASUREMENTS, &measurement_of(source, time, value)).await
}

/// A measurement of this type with these members.
fn measurement_with(source: &str, type_: &str, time: &str, members: &Value) -> Value {
    let mut body = json!({"type": type_, "time": time, "source": {"id": source}});
    body.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    body
}

/// A measurement whose fragments are this JSON text, sent and given back as text.
async fn round_trip(caller: &Caller, source: &str, fragments: &str) -> String {
    let body = format!(
        r#"{{"type":"t","time":"2024-01-01T00:00:00.000Z","source":{{"id":"{source}"}},{fragments}}}"#
    );
    let request = caller.request("POST", MEASUREMENTS).accepting_json();
    let created = request.header("Content-Type", "application/json").body(body).send().await.expect(201);
    let read = caller.get(created.header("Location").unwrap()).await;
    assert_eq!(read.text, created.text);
    read.text
}

/// The query of a series over all of 2024 (and what is around it).
fn series_of(source: &str, more: &str) -> String {
    format!("{MEASUREMENTS}/series?source={source}&dateFrom=1970-01-01&dateTo=9999-12-31{more}")
}
