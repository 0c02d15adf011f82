//! Alarms (docs/rules.md#alarms; A-01 to A-13).

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};

use crate::body::{Body, MAX_SHORT_TEXT, missing, source_id};
use crate::data::audit_record::AttributeChange;
use crate::devices::reference::LinkKind;
use crate::error::{Error, Result};
use crate::fragments::Fragments;
use crate::id::{AlarmId, ManagedObjectId};
use crate::links::Linked;
use crate::page::TimeOrder;
use crate::timestamp::Timestamp;

/// The maximum number of bytes of an alarm's text.
const MAX_TEXT: usize = 64 << 10;
/// The members that only the server sets; they are ignored in bodies.
const SERVER_MEMBERS: [&str; 7] =
    ["id", "self", "creationTime", "lastUpdated", "count", "firstOccurrenceTime", "history"];

/// The status of an alarm. An alarm is *open* while it is ACTIVE or ACKNOWLEDGED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum AlarmStatus {
    /// The alarm was raised and is not acknowledged yet.
    Active,
    /// A user handles the alarm.
    Acknowledged,
    /// The alarm is over.
    Cleared,
}

impl AlarmStatus {
    /// Parses the upper-case word (A-04).
    ///
    /// # Errors
    /// `Invalid` names the value and what is allowed.
    pub fn parse(word: &str) -> Result<Self> {
        match word {
            "ACTIVE" => Ok(Self::Active),
            "ACKNOWLEDGED" => Ok(Self::Acknowledged),
            "CLEARED" => Ok(Self::Cleared),
            _ => Err(Error::invalid_value("status", word, "ACTIVE, ACKNOWLEDGED, CLEARED")),
        }
    }

    /// Returns the word that clients read and write.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "ACTIVE",
            Self::Acknowledged => "ACKNOWLEDGED",
            Self::Cleared => "CLEARED",
        }
    }

    /// Returns whether another alarm of the type increments the count instead of raising a new alarm.
    pub fn is_open(self) -> bool {
        self != Self::Cleared
    }
}

/// The severity of an alarm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Severity {
    /// The device is out of service.
    Critical,
    /// The device has problems that should be fixed.
    Major,
    /// The device has problems that may be fixed.
    Minor,
    /// The device shows something unusual.
    Warning,
}

impl Severity {
    /// Parses the upper-case word (A-04).
    ///
    /// # Errors
    /// `Invalid` names the value and what is allowed.
    pub fn parse(word: &str) -> Result<Self> {
        match word {
            "CRITICAL" => Ok(Self::Critical),
            "MAJOR" => Ok(Self::Major),
            "MINOR" => Ok(Self::Minor),
            "WARNING" => Ok(Self::Warning),
            _ => Err(Error::invalid_value("severity", word, "CRITICAL, MAJOR, MINOR, WARNING")),
        }
    }

    /// Returns the word that clients read and write.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Critical => "CRITICAL",
            Self::Major => "MAJOR",
            Self::Minor => "MINOR",
            Self::Warning => "WARNING",
        }
    }
}

/// An alarm as it is stored and returned.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Alarm {
    /// The id; `None` for an alarm that was not stored (TRANSIENT, M-02).
    pub id: Option<AlarmId>,
    /// The device that sent the alarm.
    pub source: ManagedObjectId,
    /// The device's name, shown in `source` (A-13).
    pub source_name: Option<String>,
    /// The type, which together with the source identifies duplicates.
    pub type_: String,
    /// The time when the alarm last occurred, by the device's clock.
    pub time: Timestamp,
    /// A description of what happened.
    pub text: String,
    /// The status of the alarm.
    pub status: AlarmStatus,
    /// The severity of the alarm.
    pub severity: Severity,
    /// The number of times that the alarm was sent.
    pub count: i64,
    /// The `time` of the first POST (A-06).
    pub first_occurrence_time: Timestamp,
    /// The time when the server stored the alarm.
    pub creation_time: Timestamp,
    /// The number of changes by PUT. A change succeeds only if this number is unchanged. It is not shown.
    pub revision: i64,
    /// All other members.
    pub fragments: Fragments,
}

impl Serialize for Linked<'_, Alarm> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct AlarmSource<'a> {
            id: ManagedObjectId,
            #[serde(rename = "self")]
            link: String,
            #[serde(skip_serializing_if = "Option::is_none")]
            name: Option<&'a str>,
        }
        #[derive(Serialize)]
        struct History {
            #[serde(rename = "auditRecords")]
            audit_records: [(); 0],
            #[serde(rename = "self")]
            link: String,
        }
        let Linked { value: alarm, links } = *self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("self", &links.alarm(alarm.id))?;
        if let Some(id) = alarm.id {
            map.serialize_entry("id", &id)?;
        }
        map.serialize_entry("creationTime", &alarm.creation_time)?;
        map.serialize_entry("type", &alarm.type_)?;
        map.serialize_entry("time", &alarm.time)?;
        map.serialize_entry("text", &alarm.text)?;
        let link = links.managed_object(Some(alarm.source));
        map.serialize_entry(
            "source",
            &AlarmSource { id: alarm.source, link, name: alarm.source_name.as_deref() },
        )?;
        map.serialize_entry("status", &alarm.status)?;
        map.serialize_entry("severity", &alarm.severity)?;
        map.serialize_entry("count", &alarm.count)?;
        map.serialize_entry("firstOccurrenceTime", &alarm.first_occurrence_time)?;
        map.serialize_entry("history", &History { audit_records: [], link: links.audit_records() })?;
        alarm.fragments.serialize_entries(&mut map)?;
        map.end()
    }
}

/// The body of `POST /alarm/alarms`.
#[derive(Debug, Clone)]
pub struct NewAlarm {
    /// See [`Alarm::source`].
    pub source: ManagedObjectId,
    /// See [`Alarm::type_`].
    pub type_: String,
    /// See [`Alarm::time`].
    pub time: Timestamp,
    /// See [`Alarm::text`].
    pub text: String,
    /// The status, ACTIVE unless the body has another one.
    pub status: AlarmStatus,
    /// See [`Alarm::severity`].
    pub severity: Severity,
    /// All other members.
    pub fragments: Fragments,
}

impl NewAlarm {
    /// Parses the body of a POST.
    ///
    /// # Errors
    /// `Invalid` lists all missing members (E-05) or names the invalid one.
    pub fn parse(mut body: Body) -> Result<Self> {
        let type_ = body.take_text("type", MAX_SHORT_TEXT)?;
        let time = body.take_timestamp("time")?;
        let text = body.take_text("text", MAX_TEXT)?;
        let severity = body.take_text("severity", 64)?.map(|word| Severity::parse(&word)).transpose()?;
        let source = body.take("source").map(|raw| source_id(&raw)).transpose()?;
        let status = body.take_text("status", 64)?.map(|word| AlarmStatus::parse(&word)).transpose()?;
        match (type_, time, text, severity, source) {
            (Some(type_), Some(time), Some(text), Some(severity), Some(source)) => {
                body.ignore(&SERVER_MEMBERS);
                let status = status.unwrap_or(AlarmStatus::Active);
                let mut fragments = body.into_fragments()?;
                fragments.drop_nulls();
                Ok(Self { source, type_, time, text, status, severity, fragments })
            }
            (type_, time, text, severity, source) => Err(missing(&[
                ("type", type_.is_none()),
                ("time", time.is_none()),
                ("text", text.is_none()),
                ("severity", severity.is_none()),
                ("source", source.is_none()),
            ])),
        }
    }

    /// Returns the response to a POST that raises no alarm, because the source is in maintenance (A-09) or the type is
    /// mapped to NONE (A-10). It shows the body without an id, so its link ends in `/null`.
    pub fn suppressed(&self, source_name: Option<&str>) -> Alarm {
        self.raised(None, source_name)
    }

    /// Returns the alarm to create when no alarm of this type is open.
    pub fn raised(&self, id: Option<AlarmId>, source_name: Option<&str>) -> Alarm {
        Alarm {
            id,
            source: self.source,
            source_name: source_name.map(ToOwned::to_owned),
            type_: self.type_.clone(),
            time: self.time,
            text: self.text.clone(),
            status: self.status,
            severity: self.severity,
            count: 1,
            first_occurrence_time: self.time,
            creation_time: Timestamp::now(),
            revision: 0,
            fragments: self.fragments.clone(),
        }
    }
}

/// The body of `PUT /alarm/alarms/<id>`: it changes text, status, severity and fragments; other members are ignored.
#[derive(Debug, Clone)]
pub struct AlarmPatch {
    /// The new text.
    pub text: Option<String>,
    /// The new status.
    pub status: Option<AlarmStatus>,
    /// The new severity.
    pub severity: Option<Severity>,
    /// Fragments to replace, or to remove if they are `null`.
    pub fragments: Fragments,
}

impl AlarmPatch {
    /// Parses the body of a PUT.
    ///
    /// # Errors
    /// `Invalid` names the invalid member.
    pub fn parse(mut body: Body) -> Result<Self> {
        let text = body.take_text("text", MAX_TEXT)?;
        let status = body.take_text("status", 64)?.map(|word| AlarmStatus::parse(&word)).transpose()?;
        let severity = body.take_text("severity", 64)?.map(|word| Severity::parse(&word)).transpose()?;
        body.ignore(&SERVER_MEMBERS);
        body.ignore(&["type", "time", "source"]);
        Ok(Self { text, status, severity, fragments: body.into_fragments()? })
    }

    /// Applies the patch and returns the attributes that changed. A PUT of the stored values changes nothing.
    pub fn apply(&self, alarm: &mut Alarm) -> Vec<AttributeChange> {
        let mut changes = Vec::new();
        if let Some(text) = self.text.as_ref().filter(|text| **text != alarm.text) {
            let previous = std::mem::replace(&mut alarm.text, text.clone());
            changes.push(AttributeChange::replaced("text", &previous, text));
        }
        if let Some(status) = self.status.filter(|status| *status != alarm.status) {
            changes.push(AttributeChange::replaced("status", alarm.status.as_str(), status.as_str()));
            alarm.status = status;
        }
        if let Some(severity) = self.severity.filter(|severity| *severity != alarm.severity) {
            changes.push(AttributeChange::replaced("severity", alarm.severity.as_str(), severity.as_str()));
            alarm.severity = severity;
        }
        changes.extend(alarm.fragments.merge(&self.fragments).into_iter().map(AttributeChange::fragment));
        changes
    }
}

/// Parses the body of a bulk PUT: a status and nothing else (A-02).
///
/// # Errors
/// `Invalid` when the status is missing or invalid, or when there is another member.
pub fn bulk_status(mut body: Body) -> Result<AlarmStatus> {
    let status = body.take_text("status", 64)?.map(|word| AlarmStatus::parse(&word)).transpose()?;
    if let Some((name, _)) = body.into_members().iter().next() {
        return Err(Error::invalid_value("body", name, "exactly the member 'status'"));
    }
    status.ok_or_else(|| missing(&[("status", true)]))
}

/// The query parameters of the alarm collection (A-01). Empty lists do not filter.
#[derive(Debug, Clone, Default)]
pub struct AlarmFilter {
    /// Alarms with any of these statuses; `resolved` is translated into them.
    pub statuses: Vec<AlarmStatus>,
    /// Alarms with any of these severities.
    pub severities: Vec<Severity>,
    /// Alarms of any of these types.
    pub types: Vec<String>,
    /// Alarms of this device.
    pub source: Option<ManagedObjectId>,
    /// Alarms of the descendants of the device by links of these kinds, too (A-01: `withSourceAssets`,
    /// `withSourceDevices`).
    pub with_descendants: Vec<LinkKind>,
    /// `time` at or after this.
    pub date_from: Option<Timestamp>,
    /// `time` at or before this.
    pub date_to: Option<Timestamp>,
    /// The order, newest first unless reverted.
    pub order: TimeOrder,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new_alarm(json: &str) -> Result<NewAlarm> {
        NewAlarm::parse(Body::parse(json.as_bytes())?)
    }

    const COMPLETE: &str = r#"{"type":"t","time":"2024-03-10T02:30:00Z","text":"x","severity":"MAJOR",
        "source":{"id":208},"plat_X":{"a":1},"id":"7","count":9}"#;

    #[test]
    fn body_makes_an_active_alarm_with_its_fragments_and_without_server_members() {
        let alarm = new_alarm(COMPLETE).expect("complete").raised(None, Some("pump"));
        assert_eq!(
            (alarm.status, alarm.count, alarm.source.to_string()),
            (AlarmStatus::Active, 1, "208".into())
        );
        assert_eq!(alarm.fragments.to_json(), r#"{"plat_X":{"a":1}}"#);
    }

    #[test]
    fn all_missing_members_are_listed_at_once() {
        let error = new_alarm(r#"{"text":"x"}"#).expect_err("incomplete").to_string();
        assert_eq!(error, "Following mandatory fields should be included: type,time,severity,source");
    }

    #[test]
    fn lower_case_enums_and_wrong_types_are_named_in_the_error() {
        for (from, to, named) in [
            ("MAJOR", "major", "'severity'"),
            (r#""text":"x""#, r#""text":5"#, "'text'"),
            (r#"{"id":208}"#, r#""208""#, "'source'"),
            (r#"{"id":208}"#, r#"{"id":"abc"}"#, "'source'"),
            ("2024-03-10T02:30:00Z", "yesterday", "'time'"),
        ] {
            let error = new_alarm(&COMPLETE.replace(from, to)).expect_err(to).to_string();
            assert!(error.contains(named), "{error}");
        }
    }

    #[test]
    fn identical_patch_changes_nothing() {
        let mut alarm = new_alarm(COMPLETE).expect("complete").raised(None, None);
        let patch = r#"{"text":"x","status":"ACTIVE","severity":"MAJOR","plat_X":{"a":1},"type":"other"}"#;
        let patch = AlarmPatch::parse(Body::parse(patch.as_bytes()).expect("json")).expect("valid");
        assert!(patch.apply(&mut alarm).is_empty());
        assert_eq!(alarm.type_, "t");
    }
}
