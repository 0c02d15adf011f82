//! What the server itself tells of managed objects: their open alarms (A-12), and of those that ask for it whether they
//! are heard (R-01 to R-06).
//!
//! None of it is stored with the object. It is put together when an object is read, so it cannot be out of step with the
//! alarms and messages it is made of.

use std::time::Duration;

use serde::Serialize;
use serde::ser::SerializeMap;
use serde_json::value::RawValue;

use crate::model::fragments::Fragments;
use crate::model::timestamp::Timestamp;
use crate::naming::naming;

/// `plat_ActiveAlarmsStatus`
pub const ACTIVE_ALARMS_STATUS: &str = "ActiveAlarmsStatus";
/// `plat_Availability`
pub const AVAILABILITY: &str = "Availability";
/// `plat_Connection`
pub const CONNECTION: &str = "Connection";
/// Fragments that the server writes, without their prefix; dropped from bodies (R-01, A-12).
pub const SERVER_FRAGMENTS: [&str; 3] = [ACTIVE_ALARMS_STATUS, AVAILABILITY, CONNECTION];
/// The fragment an object asks to be watched by, without its prefix.
const REQUIRED_AVAILABILITY: &str = "RequiredAvailability";
/// Its member: minutes.
const RESPONSE_INTERVAL: &str = "responseInterval";

/// How often a device must be heard, in minutes; zero and less means maintenance (R-02).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResponseInterval(pub(crate) i16);

impl ResponseInterval {
    /// Whether the device is being worked on.
    pub fn is_maintenance(self) -> bool {
        self.0 <= 0
    }

    /// How long a device may be silent; nothing in maintenance.
    pub fn duration(self) -> Duration {
        Duration::from_secs(60 * u64::from(self.0.max(0).unsigned_abs()))
    }

    /// What an object asks for; `None` when it does not, or by something that is no number: then it is not watched. Parts of
    /// a minute count as a whole one, and what is beyond 16 bits as their end (R-01).
    pub fn required_by(fragments: &Fragments) -> Option<Self> {
        Self::read(fragments.get(&naming().fragment(REQUIRED_AVAILABILITY))?).map(|(interval, _)| interval)
    }

    /// What a PUT makes of it: nothing when it does not speak of it, `Some(None)` when the object is watched no more.
    pub fn changed_by(patch: &Fragments) -> Option<Option<Self>> {
        let raw = patch.get(&naming().fragment(REQUIRED_AVAILABILITY))?;
        Some(Self::read(raw).map(|(interval, _)| interval))
    }

    /// The interval in a fragment, and whether the number was within bounds.
    fn read(raw: &RawValue) -> Option<(Self, bool)> {
        #[derive(serde::Deserialize)]
        struct Required<'a> {
            #[serde(borrow, rename = "responseInterval")]
            response_interval: Option<&'a RawValue>,
        }
        let required: Required<'_> = serde_json::from_str(raw.get()).ok()?;
        let number = required.response_interval?.get();
        // A JSON number and nothing else: `parse` would take "inf" too, which is none.
        if !number.starts_with(|c: char| c == '-' || c.is_ascii_digit()) {
            return None;
        }
        let minutes: f64 = number.parse().ok()?;
        let (least, most) = (f64::from(i16::MIN), f64::from(i16::MAX));
        let clamped = minutes.ceil().clamp(least, most);
        Some((Self(clamped as i16), (least..=most).contains(&minutes)))
    }
}

/// Makes a number of minutes beyond 16 bits their end, in what will be stored and shown (R-01).
pub(crate) fn clamp_response_interval(fragments: &mut Fragments) {
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

/// Names of the fragments that the server writes, as they are called here.
pub fn server_fragments() -> [String; 3] {
    SERVER_FRAGMENTS.map(|name| naming().fragment(name))
}

/// Open alarms of an object by severity: ACTIVE and ACKNOWLEDGED ones (A-12).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct OpenAlarms {
    /// CRITICAL ones.
    pub critical: i64,
    /// MAJOR ones.
    pub major: i64,
    /// MINOR ones.
    pub minor: i64,
    /// WARNING ones.
    pub warning: i64,
}

/// How a watched device is heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Availability {
    /// How often it must be heard.
    pub interval: ResponseInterval,
    /// When it was heard last, as far as it is written down; before its first message, when it began to be watched.
    pub last_message: Timestamp,
    /// Whether that is longer ago than the interval.
    pub overdue: bool,
    /// Whether an ACTIVE alarm of it is CRITICAL.
    pub critical: bool,
    /// Whether its user holds a real-time connection.
    pub connected: bool,
}

impl Availability {
    /// `plat_Availability.status` (R-02, R-04, R-05).
    pub fn status(&self) -> &'static str {
        match self {
            _ if self.interval.is_maintenance() => "MAINTENANCE",
            Self { overdue: true, .. } | Self { critical: true, .. } => "UNAVAILABLE",
            _ => "AVAILABLE",
        }
    }

    /// `plat_Connection.status`; `None` for a device without a connection that has not been silent for its interval: then
    /// the fragment is absent (R-06).
    pub fn connection(&self) -> Option<&'static str> {
        match self {
            _ if self.interval.is_maintenance() => Some("MAINTENANCE"),
            Self { connected: true, .. } => Some("CONNECTED"),
            Self { overdue: true, .. } => Some("DISCONNECTED"),
            _ => None,
        }
    }
}

/// What the server tells of one object beside what is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ServerFragments {
    /// Shown on devices, and on whatever has an open alarm.
    pub open_alarms: Option<OpenAlarms>,
    /// Shown on objects that must be heard.
    pub availability: Option<Availability>,
}

impl ServerFragments {
    /// Those of an object that is created this moment: without alarms, just heard.
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

    /// Writes the fragments as entries of an object that is being serialised.
    pub(crate) fn serialize_entries<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
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

/// Whether an object with these fragments is a device.
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
    fn only_numbers_beyond_16_bits_are_changed_in_what_is_shown() {
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
