//! The rows that are posted, and the same content as JSON.

use std::fmt::Write as _;

use serde::Deserialize;

use super::template_set::{CREATE_ALARM, CREATE_EVENT, CREATE_MEASUREMENT};
use crate::ledger::mark::Mark;
use crate::protocol::object_kind::ObjectKind;

/// The type and fragment of a measurement from row 200.
const FRAGMENT: &str = "lt_Temperature";
/// The series of the measurement.
const SERIES: &str = "T";

/// Appends static rows of one device; the value of each is its sequence, as short as a reading would be. The
/// credentials identify the device, and the device identifies the run.
pub(crate) fn static_rows(body: &mut String, first: Mark, rows: u32) {
    for row in 0..rows {
        writeln!(body, "200,{FRAGMENT},{SERIES},{},C", first.sequence + row).ok();
    }
}

/// Appends the same content as a REST client posts it, which must include the time.
pub(crate) fn reading(body: &mut String, source: &str, mark: Mark, time: &str) {
    write!(
        body,
        r#"{{"type":"{FRAGMENT}","time":"{time}","source":{{"id":"{source}"}},"{FRAGMENT}":{{"{SERIES}":{{"value":{},"unit":"C"}}}}}}"#,
        mark.sequence
    )
    .ok();
}

/// Appends a row of the template set: an object that carries its mark. The type of each alarm is its own, so that none
/// is de-duplicated.
pub(crate) fn custom_row(body: &mut String, object: ObjectKind, source: &str, mark: Mark) {
    match object {
        ObjectKind::Alarm => writeln!(body, "{CREATE_ALARM},{source},loadtest_{mark},{mark}"),
        ObjectKind::Event => writeln!(body, "{CREATE_EVENT},{source},{mark}"),
        ObjectKind::Measurement => writeln!(body, "{CREATE_MEASUREMENT},{source},{mark}"),
    }
    .ok();
}

/// A measurement that was read back, as far as it came from a static row.
#[derive(Debug, Deserialize)]
pub(crate) struct FromRow {
    #[serde(rename = "lt_Temperature")]
    fragment: Option<Readings>,
}

#[derive(Debug, Deserialize)]
struct Readings {
    #[serde(rename = "T")]
    series: Reading,
}

#[derive(Debug, Deserialize)]
struct Reading {
    value: f64,
}

impl FromRow {
    /// Returns its sequence, if it has one. A value that no row had is a sequence that was never posted.
    pub(crate) fn sequence(&self) -> Option<u32> {
        let value = self.fragment.as_ref()?.series.value;
        let is_whole = value.fract() == 0.0 && (0.0..f64::from(u32::MAX)).contains(&value);
        Some(if is_whole { value as u32 } else { u32::MAX })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Mark = Mark { run: 1, device: 2, sequence: 8, due: 40 };

    fn sequence(measurement: &str) -> Option<u32> {
        serde_json::from_str::<FromRow>(measurement).unwrap().sequence()
    }

    #[test]
    fn static_rows_omit_the_time_and_equal_the_reading() {
        let mut rows = String::new();
        static_rows(&mut rows, FIRST, 3);
        assert_eq!(rows, "200,lt_Temperature,T,8,C\n200,lt_Temperature,T,9,C\n200,lt_Temperature,T,10,C\n");
        let mut json = String::new();
        reading(&mut json, "208", FIRST, "2026-01-02T03:04:05.678Z");
        assert_eq!(
            json,
            r#"{"type":"lt_Temperature","time":"2026-01-02T03:04:05.678Z","source":{"id":"208"},"lt_Temperature":{"T":{"value":8,"unit":"C"}}}"#
        );
        assert_eq!(sequence(&json), Some(8));
    }

    #[test]
    fn custom_row_names_its_device_and_its_mark() {
        for (object, expected) in [
            (ObjectKind::Alarm, "602,208,loadtest_1-2-8-40,1-2-8-40\n"),
            (ObjectKind::Event, "600,208,1-2-8-40\n"),
            (ObjectKind::Measurement, "603,208,1-2-8-40\n"),
        ] {
            let mut row = String::new();
            custom_row(&mut row, object, "208", FIRST);
            assert_eq!(row, expected);
        }
    }

    #[test]
    fn value_of_no_row_is_never_a_posted_sequence() {
        let measurement = |value| format!(r#"{{"lt_Temperature":{{"T":{{"value":{value},"unit":"C"}}}}}}"#);
        assert_eq!(sequence(&measurement("7.0")), Some(7));
        for value in ["7.5", "-1", "1e12"] {
            assert_eq!(sequence(&measurement(value)), Some(u32::MAX), "{value}");
        }
        assert_eq!(sequence(r#"{"lt_Air":{}}"#), None);
    }
}
