//! Fragments that the server computes for managed objects: their open alarms (A-12) and, for watched objects, their
//! availability (R-01 to R-06).
//!
//! They are not stored with the object but computed when it is read, so they always match the alarms and messages of
//! the object.

use std::time::Duration;

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::fragments::Fragments;
use crate::naming::naming;
use crate::timestamp::Timestamp;

/// `plat_ActiveAlarmsStatus`
pub const ACTIVE_ALARMS_STATUS: &str = "ActiveAlarmsStatus";
/// `plat_Availability`
pub const AVAILABILITY: &str = "Availability";
/// `plat_Connection`
pub const CONNECTION: &str = "Connection";
/// The fragments that the server writes, without their prefix; they are removed from bodies (R-01, A-12).
pub const SERVER_FRAGMENTS: [&str; 3] = [ACTIVE_ALARMS_STATUS, AVAILABILITY, CONNECTION];
/// The fragment that makes an object watched, without its prefix.
const REQUIRED_AVAILABILITY: &str = "RequiredAvailability";
/// The member of that fragment with the interval in minutes.
const RESPONSE_INTERVAL: &str = "responseInterval";

/// The interval in minutes within which a device must send a message; zero or less means maintenance (R-02).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResponseInterval(pub i16);

impl ResponseInterval {
    /// Returns whether the device is in maintenance.
    pub fn is_maintenance(self) -> bool {
        self.0 <= 0
    }

    /// Returns how long a device may be silent; zero in maintenance.
    pub fn duration(self) -> Duration {
        Duration::from_secs(60 * u64::from(self.0.max(0).unsigned_abs()))
    }

    /// Returns the interval that an object requires. Returns `None` when it requires none or the value is not a number;
    /// the object is not watched then. Fractions of a minute are rounded up, and values are clamped to 16 bits (R-01).
    pub fn required_by(fragments: &Fragments) -> Option<Self> {
        Self::read(fragments.get(&naming().fragment(REQUIRED_AVAILABILITY))?).map(|(interval, _)| interval)
    }

    /// Returns the interval after a PUT: `None` when the PUT does not contain the fragment, `Some(None)` when it ends
    /// the watch.
    pub fn changed_by(patch: &Fragments) -> Option<Option<Self>> {
        let raw = patch.get(&naming().fragment(REQUIRED_AVAILABILITY))?;
        Some(Self::read(raw).map(|(interval, _)| interval))
    }

    /// Parses the interval in a fragment and returns whether the number was within bounds.
    fn read(raw: &RawValue) -> Option<(Self, bool)> {
        #[derive(serde::Deserialize)]
        struct Required<'a> {
            #[serde(borrow, rename = "responseInterval")]
            response_interval: Option<&'a RawValue>,
        }
        let required: Required<'_> = serde_json::from_str(raw.get()).ok()?;
        let number = required.response_interval?.get();
        // Only a JSON number is valid; `parse` would also accept "inf".
        if !number.starts_with(|c: char| c == '-' || c.is_ascii_digit()) {
            return None;
        }
        let minutes: f64 = number.parse().ok()?;
        let (least, most) = (f64::from(i16::MIN), f64::from(i16::MAX));
        let clamped = minutes.ceil().clamp(least, most);
        Some((Self(clamped as i16), (least..=most).contains(&minutes)))
    }
}

/// Clamps a number of minutes to 16 bits in the fragments that will be stored and shown (R-01).
pub fn clamp_response_interval(fragments: &mut Fragments) {
    let name = naming().fragment(REQUIRED_AVAILABILITY);
    let clamped = fragments.get(&name).and_then(|raw| {
        let (interval, false) = ResponseInterval::read(raw)? else { return None };
        let mut members: Fragments = serde_json::from_str(raw.get()).ok()?;
        members.set(RESPONSE_INTERVAL, RawValue::from_string(interval.0.to_string()).ok()?);
        RawValue::from_string(members.to_json()).ok()
    });
    if let Some(clamped) = clamped {
        fragments.set(&name, clamped);
    }
}

/// Returns the names of the fragments that the server writes, with the configured prefix.
pub fn server_fragments() -> [String; 3] {
    SERVER_FRAGMENTS.map(|name| naming().fragment(name))
}

/// The numbers of open alarms of an object by severity; open means ACTIVE or ACKNOWLEDGED (A-12).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct OpenAlarms {
    /// The number of CRITICAL alarms.
    pub critical: i64,
    /// The number of MAJOR alarms.
    pub major: i64,
    /// The number of MINOR alarms.
    pub minor: i64,
    /// The number of WARNING alarms.
    pub warning: i64,
}

/// The availability of a watched device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Availability {
    /// The interval within which it must send a message.
    pub interval: ResponseInterval,
    /// The time of its last stored message; before its first message, the time when its watch began.
    pub last_message: Timestamp,
    /// Whether that is longer ago than the interval.
    pub overdue: bool,
    /// Whether it has an ACTIVE alarm of severity CRITICAL.
    pub critical: bool,
    /// Whether its user has a real-time connection.
    pub connected: bool,
}

impl Availability {
    /// Returns `plat_Availability.status` (R-02, R-04, R-05).
    pub fn status(&self) -> &'static str {
        match self {
            _ if self.interval.is_maintenance() => "MAINTENANCE",
            Self { overdue: true, .. } | Self { critical: true, .. } => "UNAVAILABLE",
            _ => "AVAILABLE",
        }
    }

    /// Returns `plat_Connection.status`. Returns `None` for a device without a connection whose interval has not
    /// passed; the fragment is absent then (R-06).
    pub fn connection(&self) -> Option<&'static str> {
        match self {
            _ if self.interval.is_maintenance() => Some("MAINTENANCE"),
            Self { connected: true, .. } => Some("CONNECTED"),
            Self { overdue: true, .. } => Some("DISCONNECTED"),
            _ => None,
        }
    }
}

/// The fragments that the server adds to one object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ServerFragments {
    /// The open alarms, shown on devices and on every object with an open alarm.
    pub open_alarms: Option<OpenAlarms>,
    /// The availability, shown on watched objects.
    pub availability: Option<Availability>,
}

impl ServerFragments {
    /// Returns the fragments of a new object: it has no alarms, and its creation counts as a message.
    pub fn of_new(fragments: &Fragments, now: Timestamp) -> Self {
        let heard = |interval| Availability {
            interval,
            last_message: now,
            overdue: false,
            critical: false,
            connected: false,
        };
        Self {
            open_alarms: is_device(fragments).then(OpenAlarms::default),
            availability: ResponseInterval::required_by(fragments).map(heard),
        }
    }

    /// Writes the fragments as entries of an object that is being serialized.
    pub fn serialize_entries<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Status {
            #[serde(skip_serializing_if = "Option::is_none")]
            last_message: Option<Timestamp>,
            status: &'static str,
        }
        if let Some(alarms) = &self.open_alarms {
            map.serialize_entry(&naming().fragment(ACTIVE_ALARMS_STATUS), alarms)?;
        }
        let Some(availability) = &self.availability else { return Ok(()) };
        let last_message = Some(availability.last_message);
        let status = Status { last_message, status: availability.status() };
        map.serialize_entry(&naming().fragment(AVAILABILITY), &status)?;
        if let Some(status) = availability.connection() {
            let status = Status { last_message: None, status };
            map.serialize_entry(&naming().fragment(CONNECTION), &status)?;
        }
        Ok(())
    }
}

/// Returns whether an object with these fragments is a device.
pub fn is_device(fragments: &Fragments) -> bool {
    fragments.get(&naming().fragment("IsDevice")).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fragments(required: &str) -> Fragments {
        serde_json::from_str(&format!(r#"{{"plat_RequiredAvailability":{required}}}"#)).expect(required)
    }

    #[test]
    fn interval_is_a_number_of_whole_minutes_within_16_bits() {
        for (required, minutes) in [
            (r#"{"responseInterval":30}"#, Some(30)),
            (r#"{"responseInterval":0}"#, Some(0)),
            (r#"{"responseInterval":-5}"#, Some(-5)),
            (r#"{"responseInterval":0.5}"#, Some(1)),
            (r#"{"responseInterval":40000}"#, Some(32767)),
            (r#"{"responseInterval":-40000}"#, Some(-32768)),
            (r#"{"responseInterval":1e300}"#, Some(32767)),
            (r#"{"responseInterval":"30"}"#, None),
            (r#"{"responseInterval":null}"#, None),
            (r#"{"responseInterval":[1]}"#, None),
            (r#"{}"#, None),
            (r#"7"#, None),
            (r#"null"#, None),
        ] {
            let read = ResponseInterval::required_by(&fragments(required));
            assert_eq!(read.map(|interval| interval.0), minutes, "{required}");
        }
    }

    #[test]
    fn only_numbers_beyond_16_bits_are_shown_clamped() {
        for (required, stored) in [
            (r#"{"responseInterval":40000,"x":1.10}"#, r#"{"responseInterval":32767,"x":1.10}"#),
            (r#"{"responseInterval":-1e9}"#, r#"{"responseInterval":-32768}"#),
            (r#"{ "responseInterval": 1.5 }"#, r#"{ "responseInterval": 1.5 }"#),
            (r#"{"responseInterval":"40000"}"#, r#"{"responseInterval":"40000"}"#),
        ] {
            let mut fragments = fragments(required);
            clamp_response_interval(&mut fragments);
            let shown = fragments.get("plat_RequiredAvailability").expect("stays").get();
            assert_eq!(shown, stored);
        }
    }

    #[test]
    fn statuses_follow_from_interval_silence_alarms_and_connection() {
        let of = |interval, overdue, critical, connected| {
            let (interval, last_message) = (ResponseInterval(interval), Timestamp::now());
            let availability = Availability { interval, last_message, overdue, critical, connected };
            (availability.status(), availability.connection())
        };
        assert_eq!(of(0, true, true, true), ("MAINTENANCE", Some("MAINTENANCE")));
        assert_eq!(of(5, false, false, false), ("AVAILABLE", None));
        assert_eq!(of(5, false, false, true), ("AVAILABLE", Some("CONNECTED")));
        assert_eq!(of(5, false, true, true), ("UNAVAILABLE", Some("CONNECTED")));
        assert_eq!(of(5, true, false, false), ("UNAVAILABLE", Some("DISCONNECTED")));
        assert_eq!(of(5, true, false, true), ("UNAVAILABLE", Some("CONNECTED")));
    }
}
