//! Audit records of changes and their authors (docs/rules.md#audit; A-11, Y-01 to Y-05).

use std::sync::Arc;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::body::{Body, MAX_SHORT_TEXT, missing, text};
use crate::error::{Error, Result};
use crate::fragments::{FragmentChange, Fragments};
use crate::id::{AuditRecordId, ManagedObjectId, TenantId};
use crate::links::Linked;
use crate::page::TimeOrder;
use crate::timestamp::Timestamp;

/// The maximum number of bytes of a record's text.
const MAX_TEXT: usize = 64 << 10;
/// The maximum number of bytes of a user name (U-08).
const MAX_USER: usize = 2000;
const SEVERITIES: [&str; 5] = ["critical", "major", "minor", "warning", "information"];
/// The members that only the server sets; they are ignored in bodies.
const SERVER_MEMBERS: [&str; 4] = ["id", "self", "creationTime", "changes"];

/// The types of records whose source is not a managed object, each with the path of its collection; `{tenant}` stands
/// for the tenant.
const OTHER_SOURCES: [(&str, &str); 15] = [
    ("Account", "/v2"),
    ("Alarm", "/alarm/alarms"),
    ("Application", "/application/applications"),
    ("BulkOperation", "/devicecontrol/bulkoperations"),
    ("CepModule", "/cep/modules"),
    ("Event", "/event/events"),
    ("Group", "/user/{tenant}/groups"),
    ("Operation", "/devicecontrol/operations"),
    ("Option", "/tenant/options"),
    ("RetentionRule", "/retention/retentions"),
    ("Session", "/tenant/sessions"),
    ("Tenant", "/tenant/tenants"),
    ("TokenClient", "/application/tokenClients"),
    ("TwoFactorAuthentication", "/user/{tenant}/users"),
    ("User", "/user/{tenant}/users"),
];

/// An audit record as it is stored and returned. It never changes (Y-02).
#[derive(Debug, Clone)]
pub struct AuditRecord {
    /// The tenant of the record, which links of users and groups contain.
    pub tenant: TenantId,
    /// The id; `None` for a record that was not stored (TRANSIENT, M-02).
    pub id: Option<AuditRecordId>,
    /// The time when the server stored the record.
    pub creation_time: Timestamp,
    /// The kind of object that was changed.
    pub type_: String,
    /// The time when the object was changed.
    pub time: Timestamp,
    /// A description of the change.
    pub text: String,
    /// The id of the changed object; its existence is not checked (Y-01).
    pub source: String,
    /// The user who made the change.
    pub user: String,
    /// The application that made the change.
    pub application: Option<String>,
    /// The name of the activity.
    pub activity: String,
    /// The severity in lower case.
    pub severity: String,
    /// The changes: a list of [`AttributeChange`]. Only the server sets it.
    pub changes: Box<RawValue>,
    /// All other members.
    pub fragments: Fragments,
}

impl AuditRecord {
    /// Parses the body of a POST, without storing the record. The default user and application are those of the request
    /// (Y-03).
    ///
    /// # Errors
    /// `Invalid` lists all missing members (E-05) or names the invalid one.
    pub fn parse(mut body: Body, tenant: &TenantId, caller: &str, application: Option<&str>) -> Result<Self> {
        let activity = body.take_text("activity", MAX_SHORT_TEXT)?;
        let type_ = body.take_text("type", MAX_SHORT_TEXT)?;
        let time = body.take_timestamp("time")?;
        let text = body.take_text("text", MAX_TEXT)?;
        let source = body.take("source").map(|raw| source_id(&raw)).transpose()?;
        let severity = body.take_text("severity", 64)?.map(|word| severity(&word)).transpose()?;
        let user = body.take_text("user", MAX_USER)?.unwrap_or_else(|| caller.to_owned());
        let application =
            body.take_text("application", MAX_SHORT_TEXT)?.or_else(|| application.map(ToOwned::to_owned));
        match (activity, type_, time, text, source, severity) {
            (Some(activity), Some(type_), Some(time), Some(text), Some(source), Some(severity)) => {
                body.ignore(&SERVER_MEMBERS);
                let mut fragments = body.into_fragments()?;
                fragments.drop_nulls();
                let (tenant, creation_time, changes) = (tenant.clone(), Timestamp::now(), no_changes());
                Ok(Self {
                    tenant,
                    id: None,
                    creation_time,
                    type_,
                    time,
                    text,
                    source,
                    user,
                    application,
                    activity,
                    severity,
                    changes,
                    fragments,
                })
            }
            (activity, type_, time, text, source, severity) => Err(missing(&[
                ("activity", activity.is_none()),
                ("type", type_.is_none()),
                ("time", time.is_none()),
                ("text", text.is_none()),
                ("source", source.is_none()),
                ("severity", severity.is_none()),
            ])),
        }
    }

    /// Returns the managed object that the record describes, or `None` when its type refers to another kind of object.
    pub fn object(&self) -> Option<ManagedObjectId> {
        if Self::other_types().any(|known| known == self.type_) {
            None
        } else {
            ManagedObjectId::parse(&self.source).ok()
        }
    }

    /// Returns the types of records that do not describe a managed object.
    pub fn other_types() -> impl Iterator<Item = &'static str> {
        OTHER_SOURCES.iter().map(|(type_, _)| *type_)
    }
}

impl Serialize for Linked<'_, AuditRecord> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct AuditSource<'a> {
            id: &'a str,
            #[serde(rename = "self")]
            link: String,
        }
        let Linked { value: record, links } = *self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("self", &links.audit_record(record.id))?;
        if let Some(id) = record.id {
            map.serialize_entry("id", &id)?;
        }
        map.serialize_entry("creationTime", &record.creation_time)?;
        map.serialize_entry("type", &record.type_)?;
        map.serialize_entry("time", &record.time)?;
        map.serialize_entry("text", &record.text)?;
        let path = OTHER_SOURCES.iter().find(|(type_, _)| *type_ == record.type_);
        let path = path.map_or("/inventory/managedObjects", |(_, path)| path);
        let path = path.replace("{tenant}", record.tenant.as_str());
        let link = links.item(&path, &record.source);
        map.serialize_entry("source", &AuditSource { id: &record.source, link })?;
        map.serialize_entry("user", &record.user)?;
        if let Some(application) = &record.application {
            map.serialize_entry("application", application)?;
        }
        map.serialize_entry("activity", &record.activity)?;
        map.serialize_entry("severity", &record.severity)?;
        map.serialize_entry("changes", &record.changes)?;
        record.fragments.serialize_entries(&mut map)?;
        map.end()
    }
}

/// The query parameters of the collection, for reading and deleting (Y-04). Absent parameters do not filter.
#[derive(Debug, Clone)]
pub struct AuditRecordFilter {
    /// The exact type.
    pub type_: Option<String>,
    /// Types to leave out, for callers who may only delete records about managed objects.
    pub except_types: Option<Vec<String>>,
    /// The exact user name.
    pub user: Option<String>,
    /// The exact name of an application.
    pub application: Option<String>,
    /// The exact id of the changed object.
    pub source: Option<String>,
    /// Records at or after this instant.
    pub date_from: Option<Timestamp>,
    /// Records at or before this instant.
    pub date_to: Option<Timestamp>,
    /// The order, oldest first unless reverted.
    pub order: TimeOrder,
}

impl AuditRecordFilter {
    /// Returns whether the records are sorted by their time.
    pub fn is_by_time(&self) -> bool {
        self.date_from.is_some() || self.date_to.is_some()
    }
}

/// Parses `source`: an object with an `id` that is a string or an integer (C-13).
fn source_id(raw: &RawValue) -> Result<String> {
    #[derive(serde::Deserialize)]
    struct AuditSourceBody<'a> {
        #[serde(borrow)]
        id: &'a RawValue,
    }
    let wrong = || Error::invalid_value("source", raw.get(), "an object with an id");
    let source: AuditSourceBody<'_> = serde_json::from_str(raw.get()).map_err(|_| wrong())?;
    let id = match source.id.get() {
        string if string.starts_with('"') => text("source.id", source.id, MAX_SHORT_TEXT)?,
        number if number.bytes().all(|b| b.is_ascii_digit()) => number.to_owned(),
        _ => return Err(wrong()),
    };
    if id.is_empty() { Err(wrong()) } else { Ok(id) }
}

/// Parses a severity in upper or lower case; it is stored in lower case (Y-01, C-18).
fn severity(word: &str) -> Result<String> {
    let lower = word.to_ascii_lowercase();
    if SEVERITIES.contains(&&*lower) {
        Ok(lower)
    } else {
        Err(Error::invalid_value("severity", word, &SEVERITIES.join(", ")))
    }
}

fn no_changes() -> Box<RawValue> {
    RawValue::from_string("[]".into()).expect("an empty list is valid JSON")
}

/// A record that the server writes itself, in the transaction of the change it describes.
#[derive(Debug, Clone)]
pub struct NewAuditRecord {
    /// `Alarm`, `Operation`, `User`, …
    pub type_: &'static str,
    /// `Alarm updated`, …
    pub activity: &'static str,
    /// The time of the change.
    pub time: Timestamp,
    /// A description of the change.
    pub text: String,
    /// The id of the changed object.
    pub source: String,
    /// The user who requested the change.
    pub user: String,
    /// The application that requested the change (C-05).
    pub application: Option<Arc<str>>,
    /// The severity in lower case.
    pub severity: String,
    /// The changed attributes.
    pub changes: Vec<AttributeChange>,
}

impl NewAuditRecord {
    /// Returns the record to store.
    pub fn recorded(&self, tenant: &TenantId, id: AuditRecordId) -> AuditRecord {
        AuditRecord {
            tenant: tenant.clone(),
            id: Some(id),
            creation_time: self.time,
            type_: self.type_.into(),
            time: self.time,
            text: self.text.clone(),
            source: self.source.clone(),
            user: self.user.clone(),
            application: self.application.as_deref().map(ToOwned::to_owned),
            activity: self.activity.into(),
            severity: self.severity.clone(),
            changes: serde_json::value::to_raw_value(&self.changes).expect("changes have string keys only"),
            fragments: Fragments::default(),
        }
    }
}

/// Returns the word for a change, given whether there was a value before and is one after it.
fn change_type(before: bool, after: bool) -> &'static str {
    match (before, after) {
        (false, _) => "ADDED",
        (_, false) => "REMOVED",
        _ => "REPLACED",
    }
}

/// The change of one attribute.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AttributeChange {
    attribute: String,
    #[serde(rename = "type")]
    type_: &'static str,
    previous_value: Value,
    new_value: Value,
    change_type: &'static str,
}

impl AttributeChange {
    /// Returns the length of the name and of both values, as JSON, in bytes.
    pub fn bytes(&self) -> usize {
        let length = |value: &Value| serde_json::to_vec(value).map_or(0, |text| text.len());
        self.attribute.len() + length(&self.previous_value) + length(&self.new_value)
    }

    /// Describes a text attribute that got another value.
    pub fn replaced(attribute: &str, previous: &str, new: &str) -> Self {
        Self {
            attribute: attribute.into(),
            type_: "String",
            previous_value: previous.into(),
            new_value: new.into(),
            change_type: "REPLACED",
        }
    }

    /// Describes a text attribute that was added, replaced or removed.
    pub fn text(attribute: &str, previous: Option<String>, new: Option<String>) -> Self {
        let change_type = change_type(previous.is_some(), new.is_some());
        let value = |text: Option<String>| text.map_or(Value::Null, Value::String);
        Self {
            attribute: attribute.into(),
            type_: "String",
            previous_value: value(previous),
            new_value: value(new),
            change_type,
        }
    }

    /// Describes a change of an attribute whose values are secret, given whether there was a value before and is one
    /// after it.
    pub fn concealed(attribute: &str, before: bool, after: bool) -> Self {
        Self {
            attribute: attribute.into(),
            type_: "String",
            previous_value: Value::Null,
            new_value: Value::Null,
            change_type: change_type(before, after),
        }
    }

    /// Describes an attribute with a list or an object that got another value.
    pub fn replaced_value(attribute: &str, previous: Value, new: Value) -> Self {
        let type_ = if new.is_array() { "Array" } else { "Object" };
        Self {
            attribute: attribute.into(),
            type_,
            previous_value: previous,
            new_value: new,
            change_type: "REPLACED",
        }
    }

    /// Describes a fragment that was added, replaced or removed.
    pub fn fragment(change: FragmentChange) -> Self {
        let change_type = change_type(change.previous.is_some(), change.new.is_some());
        let value = |raw: Option<Box<RawValue>>| {
            raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or(Value::Null)
        };
        Self {
            attribute: change.name,
            type_: "Object",
            previous_value: value(change.previous),
            new_value: value(change.new),
            change_type,
        }
    }
}
