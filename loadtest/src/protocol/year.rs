//! The year of measurements that `series-fill` sends and `series` reads: one a minute, a fragment with three
//! series, every number a function of its minute, so that both know the correct response.

use std::fmt::Write as _;

use time::format_description::well_known::Rfc3339;
use time::macros::datetime;
use time::{Duration, OffsetDateTime};

/// The type of the device that has the measurements.
pub(crate) const DEVICE_TYPE: &str = "loadtest_Series";
/// The series that is read.
pub(crate) const SERIES: &str = "lt_Climate.T";
/// The minutes of a year.
pub(crate) const MINUTES: u32 = 525_600;

const START: OffsetDateTime = datetime!(2025-01-01 00:00 UTC);

/// Formats a minute of the year as a timestamp.
pub(crate) fn time(minute: u32) -> String {
    (START + Duration::minutes(i64::from(minute))).format(&Rfc3339).unwrap_or_default()
}

/// Returns a measurementCollection of consecutive minutes.
pub(crate) fn collection(source: &str, first: u32, minutes: u32) -> String {
    let mut body = String::with_capacity(220 * minutes as usize);
    body.push_str(r#"{"measurements":["#);
    for minute in first..first + minutes {
        if minute > first {
            body.push(',');
        }
        let [t, h, p] = readings(minute);
        write!(
            body,
            r#"{{"type":"loadtest_Climate","time":"{}","source":{{"id":"{source}"}},"lt_Climate":{{"T":{{"value":{t},"unit":"C"}},"H":{{"value":{h},"unit":"%"}},"P":{{"value":{p},"unit":"hPa"}}}}}}"#,
            time(minute),
        )
        .ok();
    }
    body.push_str("]}");
    body
}

/// Returns the least and the greatest value of the series that is read, in the first `minutes` minutes.
pub(crate) fn range(minutes: u32) -> (f64, f64) {
    let values = || (0..minutes).map(|minute| readings(minute)[0]);
    (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max))
}

/// Returns the readings: warm at noon and in summer, in the format of a sensor.
fn readings(minute: u32) -> [f64; 3] {
    let turn = |period: f64| (f64::from(minute) / period * std::f64::consts::TAU).sin();
    let noise = f64::from(minute.wrapping_mul(2_654_435_761) % 1000) / 1000.0;
    let rounded = |reading: f64, steps: f64| (reading * steps).round() / steps;
    [
        rounded(12.0 + 8.0 * turn(1440.0) + 10.0 * turn(f64::from(MINUTES)) + noise, 100.0),
        rounded(60.0 - 20.0 * turn(1440.0) + noise, 10.0),
        rounded(1010.0 + 15.0 * turn(7200.0) + noise, 10.0),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn year_ends_where_the_next_begins() {
        assert_eq!((time(0), time(MINUTES)), ("2025-01-01T00:00:00Z".into(), "2026-01-01T00:00:00Z".into()));
    }

    #[test]
    fn collection_holds_its_minutes() {
        let collection: Value = serde_json::from_str(&collection("7", 60, 3)).unwrap();
        let measurements = collection["measurements"].as_array().unwrap();
        let times: Vec<_> = measurements.iter().map(|one| one["time"].as_str().unwrap()).collect();
        assert_eq!(times, ["2025-01-01T01:00:00Z", "2025-01-01T01:01:00Z", "2025-01-01T01:02:00Z"]);
        assert_eq!(measurements[0]["lt_Climate"].as_object().unwrap().len(), 3);
        assert!(measurements[1]["lt_Climate"]["T"]["value"].is_number());
    }
}
