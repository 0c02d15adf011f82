//! Retention rules, which select the data of a tenant that is deleted by age (Z-08).

use std::collections::BTreeMap;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::body::{Body, MAX_SHORT_TEXT, id_text, missing, text};
use crate::error::{Error, Result};
use crate::fragment_name;
use crate::id::{ManagedObjectId, RetentionRuleId};
use crate::links::{Linked, Links};
use crate::timestamp::Timestamp;

/// The least number of days for which audit records are kept (Z-08a).
pub const LEAST_DAYS_OF_AUDIT: u32 = 30;
/// The least number of days for which audit records of changes of retention rules are kept (Z-08a).
pub const LEAST_DAYS_OF_OWN_RECORDS: u32 = 90;
/// The type of the audit records of changes of retention rules.
pub const AUDIT_TYPE: &str = "RetentionRule";
/// The longest age of a rule in days: a hundred years.
const MAX_AGE: u32 = 36_525;
/// The value of a filter that matches everything.
const ANY: &str = "*";

/// The members of a rule that clients set.
const MEMBERS: [&str; 5] = ["dataType", "fragmentType", "type", "source", "maximumAge"];
/// The members that only the server sets; they are ignored in bodies.
const SERVER_MEMBERS: [&str; 3] = ["id", "self", "editable"];

/// A kind of data that has an age.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DataType {
    /// Cleared alarms. Open ones are never deleted by age.
    Alarm,
    /// Audit records.
    Audit,
    /// Events and their files.
    Event,
    /// Measurements.
    Measurement,
    /// Operations that succeeded or failed. Others are never deleted by age.
    Operation,
}

impl DataType {
    /// All kinds, in the order in which a run deletes them.
    pub const ALL: [Self; 5] = [Self::Alarm, Self::Audit, Self::Event, Self::Measurement, Self::Operation];

    /// Returns the name in the API and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Alarm => "ALARM",
            Self::Audit => "AUDIT",
            Self::Event => "EVENT",
            Self::Measurement => "MEASUREMENT",
            Self::Operation => "OPERATION",
        }
    }

    /// Finds the kind with this name.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

/// The data that a rule deletes. A filter that is `None` matches everything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retention {
    /// The kind of data.
    pub data_type: Option<DataType>,
    /// The name of a fragment that the data has.
    pub fragment_type: Option<String>,
    /// The type of the data.
    pub type_: Option<String>,
    /// The managed object that the data belongs to.
    pub source: Option<ManagedObjectId>,
    /// The days for which data is kept after it was created.
    pub maximum_age: u32,
}

/// The data whose retention a caller may change (Z-08a).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// All kinds of data.
    Everything,
    /// All kinds but audit records, because the caller lacks ROLE_AUDIT_ADMIN.
    AllButAudit,
}

impl Reach {
    /// Checks that the caller may create, change or delete a rule.
    ///
    /// # Errors
    /// `Refused` for a rule that covers audit records (Z-08a).
    pub fn admit(self, retention: &Retention) -> Result<()> {
        if self == Self::AllButAudit && retention.data_types().any(|kind| kind == DataType::Audit) {
            return Err(Error::Refused("rules that cover audit records also require ROLE_AUDIT_ADMIN"));
        }
        Ok(())
    }
}

/// A rule as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetentionRule {
    /// The id of the rule.
    pub id: RetentionRuleId,
    /// The data that it deletes.
    pub retention: Retention,
}

impl Retention {
    /// Parses the body of a POST. Absent filters match everything.
    ///
    /// # Errors
    /// `Invalid` names the member, the value and what is allowed.
    pub fn parse(body: Body) -> Result<Self> {
        let changes = RetentionPatch::parse(body)?;
        let Some(maximum_age) = changes.maximum_age else { return Err(missing(&[("maximumAge", true)])) };
        changes.apply(&Self { data_type: None, fragment_type: None, type_: None, source: None, maximum_age })
    }

    /// Returns the kinds of data that the rule deletes. Operations have no type.
    pub fn data_types(&self) -> impl Iterator<Item = DataType> {
        let has_type = self.type_.is_some();
        let of_rule = |kind: &DataType| self.data_type.is_none_or(|only| only == *kind);
        DataType::ALL
            .into_iter()
            .filter(of_rule)
            .filter(move |kind| !(has_type && *kind == DataType::Operation))
    }

    /// Returns for how many days the rule keeps a kind of data. Audit records are kept for at least 30 days, also by
    /// rules that are older than this bound (Z-08a).
    pub fn days_of(&self, kind: DataType) -> u32 {
        match kind {
            DataType::Audit => self.maximum_age.max(LEAST_DAYS_OF_AUDIT),
            _ => self.maximum_age,
        }
    }

    fn ensure_audit_stays(self) -> Result<Self> {
        let covers_audit = self.data_types().any(|kind| kind == DataType::Audit);
        if covers_audit && self.maximum_age < LEAST_DAYS_OF_AUDIT {
            let allowed = format!(
                "at least {LEAST_DAYS_OF_AUDIT} days for a rule that covers audit records, such as one of dataType *"
            );
            return Err(Error::invalid_value("maximumAge", self.maximum_age, &allowed));
        }
        Ok(self)
    }

    fn serialize_into<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        let source = self.source.map(|source| source.to_string());
        map.serialize_entry("dataType", self.data_type.map_or(ANY, DataType::as_str))?;
        map.serialize_entry("fragmentType", self.fragment_type.as_deref().unwrap_or(ANY))?;
        map.serialize_entry("type", self.type_.as_deref().unwrap_or(ANY))?;
        map.serialize_entry("source", source.as_deref().unwrap_or(ANY))?;
        map.serialize_entry("maximumAge", &self.maximum_age)
    }
}

impl Links {
    /// Returns the link of a retention rule.
    pub fn retention_rule(&self, id: RetentionRuleId) -> String {
        self.item("/retention/retentions", &id.to_string())
    }
}

impl Serialize for Linked<'_, RetentionRule> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Linked { value: rule, links } = *self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("self", &links.retention_rule(rule.id))?;
        map.serialize_entry("id", &rule.id)?;
        rule.retention.serialize_into(&mut map)?;
        // The tenant of a rule may change all of its rules.
        map.serialize_entry("editable", &true)?;
        map.end()
    }
}

/// The body of a PUT. `None` leaves a member as it is; `Some(None)` is a filter that matches everything.
#[derive(Debug, Clone, Default)]
pub struct RetentionPatch {
    data_type: Option<Option<DataType>>,
    fragment_type: Option<Option<String>>,
    type_: Option<Option<String>>,
    source: Option<Option<ManagedObjectId>>,
    maximum_age: Option<u32>,
}

impl RetentionPatch {
    /// Parses a body.
    ///
    /// # Errors
    /// `Invalid` names an unknown member (C-19a), or the member, the value and what is allowed.
    pub fn parse(mut body: Body) -> Result<Self> {
        body.only(&MEMBERS, &SERVER_MEMBERS)?;
        let data_type = filter(&mut body, "dataType", short, |name| {
            let names: Vec<&str> = DataType::ALL.into_iter().map(DataType::as_str).collect();
            let unknown = || Error::invalid_value("dataType", name, &format!("{} or *", names.join(", ")));
            DataType::find(name).ok_or_else(unknown)
        })?;
        let fragment_type = filter(&mut body, "fragmentType", short, |name| {
            fragment_name::parse_filter("fragmentType", name)
        })?;
        let type_ = filter(&mut body, "type", short, name("type"))?;
        let source = filter(&mut body, "source", id_text, |id| {
            ManagedObjectId::parse(id)
                .map_err(|_| Error::invalid_value("source", id, "the id of a managed object or *"))
        })?;
        let maximum_age = body.take("maximumAge").map(|raw| days(&raw)).transpose()?;
        Ok(Self { data_type, fragment_type, type_, source, maximum_age })
    }

    /// Returns the rule with these changes.
    ///
    /// # Errors
    /// `Invalid` for a type of operations, which have none, and for audit records that would be kept for fewer than 30
    /// days (Z-08a).
    pub fn apply(self, before: &Retention) -> Result<Retention> {
        let retention = Retention {
            data_type: self.data_type.unwrap_or(before.data_type),
            fragment_type: self.fragment_type.unwrap_or_else(|| before.fragment_type.clone()),
            type_: self.type_.unwrap_or_else(|| before.type_.clone()),
            source: self.source.unwrap_or(before.source),
            maximum_age: self.maximum_age.unwrap_or(before.maximum_age),
        };
        match &retention.type_ {
            Some(type_) if retention.data_type == Some(DataType::Operation) => {
                Err(Error::invalid_value("type", type_, "* for operations, which have no type"))
            }
            _ => retention.ensure_audit_stays(),
        }
    }
}

/// Takes a filter from a body. `null` and `*` match everything.
fn filter<T>(
    body: &mut Body,
    member: &str,
    read: impl FnOnce(&str, &RawValue) -> Result<String>,
    parse: impl FnOnce(&str) -> Result<T>,
) -> Result<Option<Option<T>>> {
    let Some(raw) = body.take_nullable(member) else { return Ok(None) };
    let text = raw.map(|raw| read(member, &raw)).transpose()?;
    text.filter(|text| text != ANY).map(|text| parse(&text)).transpose().map(Some)
}

fn short(member: &str, raw: &RawValue) -> Result<String> {
    text(member, raw, MAX_SHORT_TEXT)
}

fn name(member: &str) -> impl Fn(&str) -> Result<String> {
    move |text| {
        if text.is_empty() {
            return Err(Error::invalid_value(member, text, "a name, or *"));
        }
        Ok(text.to_owned())
    }
}

/// Parses a number of days, which may be a string, like other members of this API.
fn days(raw: &RawValue) -> Result<u32> {
    let days = raw.get().trim_matches('"').parse();
    let days: Option<u32> = days.ok().filter(|days| (1..=MAX_AGE).contains(days));
    days.ok_or_else(|| Error::invalid_value("maximumAge", raw.get(), &format!("1 to {MAX_AGE} days")))
}

/// The preview of a rule: the amount of data of each kind that it would delete now.
#[derive(Debug, Clone)]
pub struct RetentionPreview {
    /// The rule.
    pub retention: Retention,
    /// The time before which data is old enough to be deleted.
    pub before: Timestamp,
    /// The number of rows of each kind: exact up to a million, an estimate beyond.
    pub matching: BTreeMap<DataType, i64>,
}

impl Serialize for Linked<'_, RetentionPreview> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let preview = self.value;
        let mut map = serializer.serialize_map(None)?;
        preview.retention.serialize_into(&mut map)?;
        map.serialize_entry("before", &preview.before)?;
        map.serialize_entry("matching", &Counts(&preview.matching))?;
        map.end()
    }
}

/// The daily run of a tenant.
#[derive(Debug, Clone)]
pub struct RetentionRun {
    /// The time when it was due.
    pub due: Timestamp,
    /// The time when it began.
    pub begun: Timestamp,
    /// The time when it ended; `None` while it is running.
    pub ended: Option<Timestamp>,
    /// The number of deleted rows of each kind.
    pub deleted: BTreeMap<DataType, i64>,
}

impl Serialize for Linked<'_, RetentionRun> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let run = self.value;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("dueTime", &run.due)?;
        map.serialize_entry("startTime", &run.begun)?;
        if let Some(ended) = &run.ended {
            map.serialize_entry("endTime", ended)?;
        }
        map.serialize_entry("status", if run.ended.is_some() { "COMPLETED" } else { "RUNNING" })?;
        map.serialize_entry("deleted", &Counts(&run.deleted))?;
        map.end()
    }
}

/// Numbers by the names of the kinds of data.
#[derive(Debug)]
pub struct Counts<'c>(pub &'c BTreeMap<DataType, i64>);

impl Serialize for Counts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(kind, count)| (kind.as_str(), count)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(json: &str) -> Result<Retention> {
        Retention::parse(Body::parse(json.as_bytes())?)
    }

    #[test]
    fn absent_filters_match_everything() {
        let rule = parse(r#"{"maximumAge": 30}"#).expect("a rule");

        assert_eq!(rule.data_types().collect::<Vec<_>>(), DataType::ALL);
        let same = parse(r#"{"maximumAge": "30", "dataType": "*", "type": "*", "source": null}"#);
        assert_eq!(rule, same.expect("the same rule"));
    }

    #[test]
    fn unknown_member_is_refused_and_the_near_ones_named() {
        for (json, told) in [
            (r#"{"maximumAge": 30, "sorce": "4711"}"#, "Unknown member 'sorce'; is 'source' meant?"),
            (r#"{"maximumAge": 30, "datatype": "ALARM"}"#, "Unknown member 'datatype'; is 'dataType' meant?"),
            (r#"{"maxAge": 30}"#, "is 'maximumAge' meant?"),
            (r#"{"maximumAge": 30, "fragmenttype": null}"#, "is 'fragmentType' meant?"),
            (r#"{"maximumAge": 30, "colour": 1}"#, "Unknown member 'colour'. Known members: dataType, "),
        ] {
            let error = parse(json).expect_err(json).to_string();
            assert!(error.contains(told), "{error}");
        }
        let read = r#"{"self": "http://h/x", "id": "1", "editable": true, "type": "*", "maximumAge": 30}"#;
        assert!(parse(read).is_ok(), "a rule may be sent back as it was read");
    }

    #[test]
    fn name_that_no_fragment_can_have_is_refused() {
        for name in ["", " ", "$type", "=type", "a b", "a.b"] {
            let json = format!(r#"{{"maximumAge": 30, "fragmentType": "{name}"}}"#);
            assert!(parse(&json).expect_err(&json).to_string().contains("'fragmentType'"), "{json}");
        }
    }

    #[test]
    fn rule_with_a_type_does_not_apply_to_operations() {
        let rule = parse(r#"{"maximumAge": 30, "type": "hot"}"#).expect("a rule");
        assert!(!rule.data_types().any(|kind| kind == DataType::Operation));
        assert!(parse(r#"{"maximumAge": 1, "type": "hot", "dataType": "OPERATION"}"#).is_err());
    }

    #[test]
    fn errors_name_member_value_and_what_is_allowed() {
        for (json, member, value) in [
            (r#"{"maximumAge": 0}"#, "maximumAge", "0"),
            (r#"{"maximumAge": -1}"#, "maximumAge", "-1"),
            (r#"{"maximumAge": 36526}"#, "maximumAge", "36526"),
            (r#"{"maximumAge": 29, "dataType": "AUDIT"}"#, "maximumAge", "29"),
            (r#"{"maximumAge": 29}"#, "maximumAge", "at least 30 days"),
            (r#"{"maximumAge": 1, "dataType": "alarm"}"#, "dataType", "alarm"),
            (r#"{"maximumAge": 1, "source": "pump"}"#, "source", "pump"),
            (r#"{"maximumAge": 1, "type": ""}"#, "type", ""),
            (r"{}", "maximumAge", ""),
        ] {
            let error = parse(json).expect_err(json).to_string();
            assert!(error.contains(member) && error.contains(value), "{error}");
        }
    }
}
