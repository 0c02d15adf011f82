//! Converts the row of an output stream to the request body that a client would send.

use platform_epl::stream::OutputStream;
use platform_epl::value::Value;
use platform_model::body::Body;
use platform_model::error::Result;

use super::cells::Cells;

/// The representation of a column in a body.
#[derive(Clone, Copy)]
enum Member {
    Text(&'static str),
    Time(&'static str),
    /// An id as a value of its own.
    Id(&'static str),
    /// An id within an object.
    Source(&'static str),
}

use Member::{Id, Source, Text, Time};

const MANAGED_OBJECT: &[Member] = &[Text("type"), Text("name"), Text("owner")];
const EVENT: &[Member] = &[Text("type"), Time("time"), Text("text"), Source("source")];
const MEASUREMENT: &[Member] = &[Text("type"), Time("time"), Source("source")];
const OPERATION: &[Member] = &[Id("deviceId"), Text("status")];
const ALARM: &[Member] =
    &[Text("type"), Time("time"), Text("text"), Source("source"), Text("status"), Text("severity")];

/// Returns the request body for a row. A column takes precedence over a fragment with the same name. Null
/// columns are omitted; within fragments null is kept, because it removes a member on an update (C-10).
///
/// # Errors
/// Returns `Invalid` if a column has the wrong type or if a body must not contain the value.
pub(super) fn body(stream: OutputStream, row: Cells<'_>) -> Result<Body> {
    Body::parse(json(stream, row)?.as_bytes())
}

pub(super) fn json(stream: OutputStream, row: Cells<'_>) -> Result<String> {
    let members = match stream {
        OutputStream::CreateManagedObject | OutputStream::UpdateManagedObject => MANAGED_OBJECT,
        OutputStream::CreateEvent | OutputStream::UpdateEvent => EVENT,
        OutputStream::CreateMeasurement => MEASUREMENT,
        OutputStream::CreateOperation | OutputStream::UpdateOperation => OPERATION,
        OutputStream::CreateAlarm | OutputStream::UpdateAlarm => ALARM,
        _ => &[],
    };
    let mut json = Object::new();
    for member in members {
        match *member {
            Text(name) => json.add(name, row.text(name).map(|text| quoted(&text))),
            Time(name) => json.add(name, row.time(name)?.map(|time| quoted(&time))),
            Id(name) => json.add(name, row.id(name)?.map(|id| quoted(&id))),
            Source(name) => json.add(name, row.id(name)?.map(|id| format!("{{\"id\":{}}}", quoted(&id)))),
        }
    }
    for (name, value) in row.map("fragments")?.into_iter().flat_map(|fragments| &fragments.0) {
        let is_column = members.iter().any(|member| {
            let (Text(known) | Time(known) | Id(known) | Source(known)) = *member;
            known == &**name && row.get(known).is_some()
        });
        if !is_column {
            json.add(name, Some(bare(value)));
        }
    }
    Ok(json.finish())
}

/// Serializes a value as JSON, with ids as plain text as everywhere in the API.
fn bare(value: &Value) -> String {
    match value {
        Value::Id(id) => quoted(&id.value),
        Value::List(values) => {
            let values: Vec<String> = values.iter().map(bare).collect();
            format!("[{}]", values.join(","))
        }
        Value::Map(map) => {
            let mut json = Object::new();
            map.0.iter().for_each(|(name, value)| json.add(name, Some(bare(value))));
            json.finish()
        }
        value => value.to_json(),
    }
}

/// A JSON object that is being written.
struct Object(String);

impl Object {
    fn new() -> Self {
        Self("{".into())
    }

    fn add(&mut self, name: &str, json: Option<String>) {
        if let Some(json) = json {
            if self.0.len() > 1 {
                self.0.push(',');
            }
            self.0.push_str(&quoted(name));
            self.0.push(':');
            self.0.push_str(&json);
        }
    }

    fn finish(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
