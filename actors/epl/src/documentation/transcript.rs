//! Parses the transcripts of the examples in docs/modules.md.

use std::sync::Arc;

use platform_model::body::Body;
use platform_model::data::alarm::{Alarm, AlarmStatus, NewAlarm};
use platform_model::data::event::NewEvent;
use platform_model::data::measurement::{Measurement, NewMeasurement};
use platform_model::data::operation::{NewOperation, Operation, OperationStatus};
use platform_model::devices::managed_object::{ManagedObject, NewManagedObject};
use platform_model::id::{AlarmId, EventId, ManagedObjectId, MeasurementId, OperationId};
use platform_model::origin::Depth;
use platform_model::origin::ProcessingMode;
use platform_model::realtime::change::PublishedChange;
use platform_model::realtime::input_stream::InputStream;
use platform_model::timestamp::Timestamp;
use serde_json::{Map, Value};

use crate::stream::{Input, Occurrence, Response};

/// The time when the module is deployed: 2026-11-21T10:00:00Z, a Saturday.
pub(super) const START: i64 = 1_795_255_200_000;

const DAY: i64 = 86_400_000;

pub(super) struct Transcript {
    pub(super) lines: Vec<Line>,
}

pub(super) enum Line {
    /// `store Alarm {…}`: puts an object into the store.
    Store(String, Content),
    /// `11:00:00`: advances the time to this moment, in milliseconds since 1970.
    Time(i64, String),
    /// `10:00:05 AlarmCreated {…}`: feeds the module with an event.
    Input { now: i64, time: String, stream: InputStream, content: Content, input: Arc<Input> },
    /// `> …` and `! …`: the expected output.
    Out(String),
}

/// The JSON of a line.
pub(super) struct Content {
    /// The text as it is written in the transcript.
    text: String,
    pub(super) json: Map<String, Value>,
}

impl Transcript {
    /// Parses a transcript.
    ///
    /// # Panics
    /// Panics when the text is not a transcript.
    pub(super) fn parse(text: &str) -> Self {
        let mut joined: Vec<String> = Vec::new();
        for line in text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
            match joined.last_mut() {
                Some(before) if line.starts_with(' ') => {
                    before.push(' ');
                    before.push_str(line.trim());
                }
                _ => joined.push(line.trim_end().to_owned()),
            }
        }
        let mut now = START;
        Self { lines: joined.iter().map(|line| Line::parse(line, &mut now)).collect() }
    }

    pub(super) fn written(&self) -> String {
        self.lines.iter().map(|line| line.written() + "\n").collect()
    }
}

impl Line {
    fn parse(line: &str, now: &mut i64) -> Self {
        if line.starts_with(['>', '!']) {
            return Self::Out(spaced(line));
        }
        if let Some(stored) = line.strip_prefix("store ") {
            let (kind, json) = stored.split_once(' ').expect(line);
            return Self::Store(kind.to_owned(), Content::parse(json, *now));
        }
        let (time, rest) = time(line, *now);
        assert!(time >= *now, "time goes back: {line}");
        *now = time;
        let written = line[..line.len() - rest.len()].trim_end().to_owned();
        let Some((stream, json)) = rest.split_once(' ') else { return Self::Time(time, written) };
        let stream = InputStream::of_name(stream).unwrap_or_else(|| panic!("no stream: {line}"));
        let content = Content::parse(json, time);
        let input = Arc::new(input(stream, &content.json, time));
        Self::Input { now: time, time: written, stream, content, input }
    }

    pub(super) fn written(&self) -> String {
        match self {
            Self::Store(kind, content) => format!("store {kind} {}", content.text),
            Self::Time(_, time) => time.clone(),
            Self::Input { time, stream, content, .. } => {
                format!("{time} {} {}", stream.words().0, content.text)
            }
            Self::Out(line) => line.clone(),
        }
    }
}

impl Content {
    fn parse(text: &str, now: i64) -> Self {
        let mut json: Map<String, Value> =
            serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
        json.entry("time").or_insert_with(|| timestamp(now).to_string().into());
        json.insert("creationTime".into(), timestamp(now).to_string().into());
        Self { text: text.to_owned(), json }
    }
}

/// Parses `10:00:05` or `10:00:05.250`, optionally after a date such as `2026-11-22 `. Returns the time and the rest
/// of the line.
fn time(line: &str, now: i64) -> (i64, &str) {
    let (date, rest) = match line.split_once(' ') {
        Some((date, rest)) if date.len() == 10 => (Some(date), rest),
        _ => (None, line),
    };
    let (clock, rest) = rest.split_once(' ').unwrap_or((rest, ""));
    let day = date.map_or(now - now.rem_euclid(DAY), |date| millis(&format!("{date}T00:00:00Z")));
    let of_day = millis(&format!("1970-01-01T{clock}Z"));
    (day + of_day, rest)
}

fn millis(text: &str) -> i64 {
    let instant = Timestamp::parse("time", text).unwrap_or_else(|error| panic!("{error}: {text}")).instant();
    i64::try_from(instant.unix_timestamp_nanos() / 1_000_000).unwrap()
}

fn timestamp(millis: i64) -> Timestamp {
    let instant = time::OffsetDateTime::from_unix_timestamp_nanos(i128::from(millis) * 1_000_000).unwrap();
    Timestamp::stored(instant, 0)
}

/// Returns the event that a POST or PUT of this body would feed into the stream.
fn input(stream: InputStream, json: &Map<String, Value>, now: i64) -> Input {
    let source = ["source", "deviceId", "id"].iter().find_map(|name| {
        let value = json.get(*name)?;
        value.get("id").unwrap_or(value).as_str()?.parse().ok()
    });
    let occurrence = match stream {
        InputStream::ResponseReceived => Occurrence::Response(Arc::new(Response {
            status: u16::try_from(json["status"].as_u64().unwrap()).unwrap(),
            body: json["body"].as_str().unwrap().into(),
            creation_time: timestamp(now),
            source: source.map(ManagedObjectId),
        })),
        stream => Occurrence::Changed(change(stream, json)),
    };
    Input::new(occurrence, ManagedObjectId(source.unwrap_or(0)), ProcessingMode::Persistent, Depth::default())
}

fn change(stream: InputStream, json: &Map<String, Value>) -> PublishedChange {
    let id: i64 = json["id"].as_str().unwrap().parse().unwrap();
    match stream {
        InputStream::ManagedObjectCreated => {
            PublishedChange::ManagedObjectCreated(Arc::new(managed_object(json)))
        }
        InputStream::ManagedObjectUpdated => {
            PublishedChange::ManagedObjectUpdated(Arc::new(managed_object(json)))
        }
        InputStream::ManagedObjectDeleted => PublishedChange::ManagedObjectDeleted(ManagedObjectId(id)),
        InputStream::EventCreated => PublishedChange::EventCreated(Arc::new(event(json))),
        InputStream::EventUpdated => PublishedChange::EventUpdated(Arc::new(event(json))),
        InputStream::EventDeleted => PublishedChange::EventDeleted(EventId(id)),
        InputStream::MeasurementCreated => PublishedChange::MeasurementCreated(Arc::new(measurement(json))),
        InputStream::MeasurementDeleted => PublishedChange::MeasurementDeleted(MeasurementId(id)),
        InputStream::OperationCreated => PublishedChange::OperationCreated(Arc::new(operation(json))),
        InputStream::OperationUpdated => PublishedChange::OperationUpdated(Arc::new(operation(json))),
        InputStream::AlarmCreated => PublishedChange::AlarmCreated(Arc::new(alarm(json))),
        InputStream::AlarmUpdated => PublishedChange::AlarmUpdated(Arc::new(alarm(json))),
        InputStream::ResponseReceived => unreachable!("an answer is no event of the hub"),
    }
}

fn body(json: &Map<String, Value>) -> Body {
    Body::parse(serde_json::to_string(json).unwrap().as_bytes()).unwrap()
}

fn creation_time(json: &Map<String, Value>) -> Timestamp {
    Timestamp::parse("creationTime", json["creationTime"].as_str().unwrap()).unwrap()
}

fn id(json: &Map<String, Value>) -> i64 {
    json["id"].as_str().expect("an id").parse().expect("a number")
}

pub(super) fn managed_object(json: &Map<String, Value>) -> ManagedObject {
    let mut json = json.clone();
    json.remove("time");
    let owner = json.get("owner").and_then(Value::as_str).unwrap_or("ada").to_owned();
    let created =
        NewManagedObject::parse(body(&json)).unwrap().created(Some(ManagedObjectId(id(&json))), &owner);
    let time = creation_time(&json);
    ManagedObject { creation_time: time, last_updated: time, ..created }
}

pub(super) fn event(json: &Map<String, Value>) -> platform_model::data::event::Event {
    let created = NewEvent::parse(body(json)).unwrap().created(Some(EventId(id(json))));
    platform_model::data::event::Event { creation_time: creation_time(json), ..created }
}

pub(super) fn alarm(json: &Map<String, Value>) -> Alarm {
    let raised = NewAlarm::parse(body(json)).unwrap().raised(Some(AlarmId(id(json))), None);
    let count = json.get("count").and_then(Value::as_i64).unwrap_or(1);
    let status = json.get("status").and_then(Value::as_str).unwrap_or("ACTIVE");
    Alarm { count, status: AlarmStatus::parse(status).unwrap(), creation_time: creation_time(json), ..raised }
}

pub(super) fn measurement(json: &Map<String, Value>) -> Measurement {
    NewMeasurement::parse(body(json)).unwrap().measured(Some(MeasurementId(id(json))), Arc::new)
}

pub(super) fn operation(json: &Map<String, Value>) -> Operation {
    let mut without_time = json.clone();
    without_time.remove("time");
    let queued = NewOperation::parse(body(&without_time)).unwrap().queued();
    let status = json.get("status").and_then(Value::as_str).unwrap_or("PENDING");
    Operation {
        id: Some(OperationId(id(json))),
        status: OperationStatus::parse(status).unwrap(),
        creation_time: creation_time(json),
        ..queued
    }
}

/// Adds a blank after each comma and colon of the JSON in a line, which is how the document writes it.
pub(super) fn spaced(line: &str) -> String {
    let (mut written, mut in_text, mut escaped, mut in_json) = (String::new(), false, false, false);
    for letter in line.chars() {
        in_json |= letter == '{';
        if in_json && !in_text && letter == ' ' {
            continue;
        }
        written.push(letter);
        if in_text && (escaped || letter == '\\') {
            escaped = !escaped;
        } else if letter == '"' {
            in_text = !in_text;
        }
        if in_json && !in_text && matches!(letter, ',' | ':') {
            written.push(' ');
        }
    }
    written
}
