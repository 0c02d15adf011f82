//! The path and the body of each kind of write. Every row carries a mark, by which it is recognised in
//! notifications and when it is read back.

use std::fmt::Write as _;

use serde::Deserialize;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::ledger::mark::{FRAGMENT, Mark};
use crate::protocol::csv::{self, rows};
use crate::protocol::object_kind::ObjectKind;
use crate::protocol::operations;

/// The fragment of a measurement that holds its mark.
const MARK: &str = "lt_Mark";

/// A kind of write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// One alarm, of a unique type, so that none is de-duplicated.
    Alarm,
    /// One event.
    Event,
    /// One measurement: two fragments, six series.
    Measurement,
    /// One operation; its source is the device that must execute it.
    Operation,
    /// A measurementCollection of this many measurements, stored completely or not at all.
    Measurements(u32),
    /// One measurement that is received as a notification instead of read back: its mark is the text that
    /// notifications are scanned for.
    NotifiedMeasurement,
    /// A measurementCollection of this many of those.
    NotifiedMeasurements(u32),
    /// One measurement with one reading, as short as possible.
    Reading,
    /// This many rows of the static set with the same content, each stored separately.
    StaticRows(u32),
    /// One object, as a row of the template set.
    CustomRow(ObjectKind),
}

impl ObjectKind {
    /// Returns the kind of post whose notification is awaited.
    pub(crate) fn notified_kind(self) -> Kind {
        match self {
            Self::Measurement => Kind::NotifiedMeasurement,
            other => other.kind(),
        }
    }

    /// Returns the first part of the channels for its notifications.
    pub(crate) fn channel(self) -> &'static str {
        self.kind().channel()
    }

    /// Returns the kind of post.
    pub(crate) fn kind(self) -> Kind {
        match self {
            Self::Alarm => Kind::Alarm,
            Self::Event => Kind::Event,
            Self::Measurement => Kind::Measurement,
        }
    }
}

impl Kind {
    /// Returns the path to which it is posted.
    pub(crate) fn path(self) -> &'static str {
        if self.is_csv() { csv::PATH } else { self.read_path() }
    }

    /// Returns the path from which it is read.
    pub(crate) fn read_path(self) -> &'static str {
        match self {
            Self::CustomRow(object) => object.kind().read_path(),
            Self::Alarm => "/alarm/alarms",
            Self::Event => "/event/events",
            Self::Measurement
            | Self::Measurements(_)
            | Self::NotifiedMeasurement
            | Self::NotifiedMeasurements(_)
            | Self::Reading
            | Self::StaticRows(_) => "/measurement/measurements",
            Self::Operation => operations::PATH,
        }
    }

    /// Returns the first part of the channels for its notifications.
    pub(crate) fn channel(self) -> &'static str {
        match self {
            Self::Alarm => "/alarms",
            Self::Event => "/events",
            Self::Operation => "/operations",
            _ => "/measurements",
        }
    }

    /// Returns whether it consists of CSV rows.
    pub(crate) fn is_csv(self) -> bool {
        matches!(self, Self::StaticRows(_) | Self::CustomRow(_))
    }

    /// Returns whether it is sent with the minimum of headers.
    pub(crate) fn is_bare(self) -> bool {
        self.is_csv() || self == Self::Reading
    }

    /// Returns the number of rows in a post.
    pub(crate) fn rows(self) -> u32 {
        match self {
            Self::Measurements(rows) | Self::NotifiedMeasurements(rows) | Self::StaticRows(rows) => rows,
            _ => 1,
        }
    }

    /// Returns the body of a post; `first` marks its first row, and the sequences of the others follow.
    pub(crate) fn body(self, source: &str, first: Mark) -> String {
        let now = OffsetDateTime::now_utc();
        let mut body = String::with_capacity(if self.is_csv() { 40 } else { 400 } * self.rows() as usize);
        match self {
            Self::Alarm => alarm(&mut body, source, first, &text(now)),
            Self::Event => event(&mut body, source, first, &text(now)),
            Self::Measurement => measurement(&mut body, source, first, &text(now)),
            Self::NotifiedMeasurement => notified_measurement(&mut body, source, first, &text(now)),
            Self::Operation => operation(&mut body, source, first),
            Self::Reading => rows::reading(&mut body, source, first, &text(now)),
            Self::StaticRows(rows) => rows::static_rows(&mut body, first, rows),
            Self::CustomRow(object) => rows::custom_row(&mut body, object, source, first),
            Self::Measurements(rows) => collection(&mut body, source, first, (rows, now), measurement),
            Self::NotifiedMeasurements(rows) => {
                collection(&mut body, source, first, (rows, now), notified_measurement);
            }
        }
        body
    }
}

/// Returns an own body, which is a JSON object, with what the run adds: the id of the device, the mark, and the time
/// unless the body has one.
pub(crate) fn marked(body: &str, kind: Kind, id: &str, mark: Mark, now: &str) -> String {
    let open = body.trim_end().strip_suffix('}').unwrap_or(body).trim_end();
    let comma = if open.ends_with('{') { "" } else { "," };
    let own = match kind {
        Kind::Operation => format!(r#""deviceId":"{id}""#),
        _ if body.contains(r#""time""#) => format!(r#""source":{{"id":"{id}"}}"#),
        _ => format!(r#""time":"{now}","source":{{"id":"{id}"}}"#),
    };
    format!(r#"{open}{comma}{own},"{FRAGMENT}":"{mark}"}}"#)
}

/// Formats a time to the millisecond.
fn text(time: OffsetDateTime) -> String {
    let time = time.replace_millisecond(time.millisecond()).unwrap_or(time);
    time.format(&Rfc3339).unwrap_or_default()
}

fn alarm(body: &mut String, source: &str, mark: Mark, time: &str) {
    let Mark { device, sequence, .. } = mark;
    write!(
        body,
        r#"{{"type":"loadtest_{device}_{sequence}","time":"{time}","text":"Raised by the load test","severity":"MAJOR","source":{{"id":"{source}"}},"{FRAGMENT}":"{mark}"}}"#
    )
    .ok();
}

fn event(body: &mut String, source: &str, mark: Mark, time: &str) {
    write!(
        body,
        r#"{{"type":"loadtest","time":"{time}","text":"Sent by the load test","source":{{"id":"{source}"}},"loadtest_Place":{{"lat":52.5{},"lng":13.4{}}},"{FRAGMENT}":"{mark}"}}"#,
        mark.sequence % 10,
        mark.device % 10,
    )
    .ok();
}

fn operation(body: &mut String, device: &str, mark: Mark) {
    write!(
        body,
        r#"{{"deviceId":"{device}","description":"Queued by the load test","plat_Restart":{{}},"{FRAGMENT}":"{mark}"}}"#
    )
    .ok();
}

/// The times are those of a device that buffered its rows: one a second, the last one now.
fn collection(
    body: &mut String,
    source: &str,
    first: Mark,
    (rows, now): (u32, OffsetDateTime),
    one: fn(&mut String, &str, Mark, &str),
) {
    body.push_str(r#"{"measurements":["#);
    for row in 0..rows {
        body.push_str(if row == 0 { "" } else { "," });
        let time = now - time::Duration::seconds(i64::from(rows - 1 - row));
        one(body, source, first.following(row), &text(time));
    }
    body.push_str("]}");
}

/// Four of the numbers look like readings: a few digits, different every time. The other two are the mark.
fn measurement(body: &mut String, source: &str, mark: Mark, time: &str) {
    let vary = |step: u32, span: u32| {
        f64::from(mark.sequence.wrapping_mul(step).wrapping_add(mark.device.wrapping_mul(31)) % span)
    };
    write!(
        body,
        r#"{{"type":"loadtest","time":"{time}","source":{{"id":"{source}"}},"lt_Air":{{"T":{{"value":{},"unit":"C"}},"H":{{"value":{},"unit":"%"}}}},"lt_Power":{{"U":{{"value":{},"unit":"V"}},"I":{{"value":{},"unit":"A"}}}},"{MARK}":{{"run":{{"value":{},"unit":"1"}},"n":{{"value":{},"unit":"1"}}}}}}"#,
        (1500.0 + vary(17, 1999)) / 100.0,
        (200.0 + vary(13, 599)) / 10.0,
        (2250.0 + vary(3, 99)) / 10.0,
        vary(101, 15_999) / 1000.0,
        mark.run,
        mark.number(),
    )
    .ok();
}

/// The body is about as long as that of an alarm, so that notifications of both have the same size.
fn notified_measurement(body: &mut String, source: &str, mark: Mark, time: &str) {
    write!(
        body,
        r#"{{"type":"loadtest","time":"{time}","lt_Air":{{"T":{{"value":21.{},"unit":"C"}}}},"source":{{"id":"{source}"}},"{FRAGMENT}":"{mark}"}}"#,
        mark.sequence % 10,
    )
    .ok();
}

/// A measurement that was read back, as far as its mark.
#[derive(Debug, Deserialize)]
pub(crate) struct Marked {
    #[serde(rename = "lt_Mark")]
    mark: Option<MarkReadings>,
}

#[derive(Debug, Deserialize)]
struct MarkReadings {
    run: Reading,
    n: Reading,
}

#[derive(Debug, Deserialize)]
struct Reading {
    value: f64,
}

impl Marked {
    /// Returns its mark, if it has one.
    pub(crate) fn mark(&self) -> Option<Mark> {
        let mark = self.mark.as_ref()?;
        Mark::of_readings(mark.run.value, mark.n.value)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    const FIRST: Mark = Mark { run: 4_000_000_000, device: 2, sequence: 3, due: 40_000_000 };

    fn body(kind: Kind) -> (String, Value) {
        let text = kind.body("208", FIRST);
        let json = serde_json::from_str(&text).unwrap();
        (text, json)
    }

    #[test]
    fn alarm_carries_its_mark_and_a_type_of_its_own() {
        let (text, alarm) = body(Kind::Alarm);
        assert_eq!(alarm["type"], "loadtest_2_3");
        assert_eq!(alarm["source"]["id"], "208");
        assert!(alarm["time"].as_str().unwrap().ends_with('Z'));
        assert_eq!(Mark::scan(text.as_bytes()).collect::<Vec<_>>(), [FIRST]);
    }

    #[test]
    fn event_carries_its_mark() {
        let (text, event) = body(Kind::Event);
        assert_eq!((&event["type"], &event["source"]["id"]), (&"loadtest".into(), &"208".into()));
        assert_eq!(Mark::scan(text.as_bytes()).collect::<Vec<_>>(), [FIRST]);
    }

    #[test]
    fn notified_measurement_carries_the_mark_that_notifications_are_scanned_for() {
        let (text, measurement) = body(Kind::NotifiedMeasurement);
        assert!(measurement["lt_Air"]["T"]["value"].is_number());
        assert_eq!(Mark::scan(text.as_bytes()).collect::<Vec<_>>(), [FIRST]);
    }

    #[test]
    fn collection_whose_rows_are_notified_marks_each_row() {
        let (text, collection) = body(Kind::NotifiedMeasurements(3));
        assert_eq!(collection["measurements"].as_array().unwrap().len(), 3);
        let sequences: Vec<u32> = Mark::scan(text.as_bytes()).map(|mark| mark.sequence).collect();
        assert_eq!(sequences, [3, 4, 5]);
    }

    #[test]
    fn own_bodies_get_device_time_and_mark() {
        for (text, kind, members) in [
            (r#"{"type":"a","text":"b"} "#, Kind::Alarm, ["source", "time", "type"]),
            (r#"{"type":"a","time":"x"}"#, Kind::Event, ["source", "time", "type"]),
            ("{}", Kind::Operation, ["deviceId", "deviceId", "deviceId"]),
        ] {
            let body = marked(text, kind, "208", FIRST, "2026-01-01T00:00:00Z");
            let json: Value = serde_json::from_str(&body).unwrap();
            assert!(members.iter().all(|member| !json[member].is_null()), "{body}");
            assert_eq!(body.matches("\"time\"").count(), usize::from(kind != Kind::Operation), "{body}");
            assert_eq!(Mark::scan(body.as_bytes()).collect::<Vec<_>>(), [FIRST]);
        }
    }

    #[test]
    fn operation_names_its_device_and_carries_its_mark() {
        let (text, operation) = body(Kind::Operation);
        assert_eq!(operation["deviceId"], "208");
        assert_eq!(Mark::scan(text.as_bytes()).collect::<Vec<_>>(), [FIRST]);
    }

    #[test]
    fn measurement_has_six_series_with_units_that_vary_and_about_330_bytes() {
        let (text, measurement) = body(Kind::Measurement);
        let series = ["lt_Air", "lt_Power", MARK].map(|name| measurement[name].as_object().unwrap());
        assert_eq!(series.iter().map(|fragment| fragment.len()).sum::<usize>(), 6);
        let readings = || series.iter().flat_map(|fragment| fragment.values());
        assert!(readings().all(|reading| reading["value"].is_number() && reading["unit"].is_string()));
        assert!((300..400).contains(&text.len()), "{} bytes", text.len());
        let marked: Marked = serde_json::from_str(&text).unwrap();
        assert_eq!(marked.mark(), Some(Mark { due: 0, ..FIRST }));
        let next = Kind::Measurement.body("208", FIRST.following(1));
        let next: Value = serde_json::from_str(&next).unwrap();
        assert_ne!(next["lt_Air"]["T"]["value"], measurement["lt_Air"]["T"]["value"]);
    }

    #[test]
    fn collection_marks_each_row_and_ends_now() {
        let (_, collection) = body(Kind::Measurements(3));
        let marked: Vec<Marked> = serde_json::from_value(collection["measurements"].clone()).unwrap();
        let sequences: Vec<_> = marked.iter().map(|marked| marked.mark().unwrap().sequence).collect();
        assert_eq!(sequences, [3, 4, 5]);
        let time = |row: usize| collection["measurements"][row]["time"].as_str().unwrap().to_owned();
        assert!(time(0) < time(1) && time(1) < time(2));
    }
}
