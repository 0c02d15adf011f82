//! Audit records: who changed what (document 2, Audit; A-11, Y-05).

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::model::fragments::FragmentChange;
use crate::model::timestamp::Timestamp;

/// A record the server writes by itself, in the transaction of the change it tells of.
#[derive(Debug, Clone)]
pub struct NewAuditRecord {
    /// `Alarm`, `Operation`, `User`, …
    pub type_: &'static str,
    /// `Alarm updated`, …
    pub activity: &'static str,
    /// When.
    pub time: Timestamp,
    /// In words.
    pub text: String,
    /// Id of the thing that was changed.
    pub source: String,
    /// Who asked for it.
    pub user: String,
    /// Lower-case severity.
    pub severity: String,
    /// What changed.
    pub changes: Vec<AttributeChange>,
}

/// One attribute of a change.
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
    /// A text attribute took another value.
    pub fn replaced(attribute: &str, previous: &str, new: &str) -> Self {
        Self {
            attribute: attribute.into(),
            type_: "String",
            previous_value: previous.into(),
            new_value: new.into(),
            change_type: "REPLACED",
        }
    }

    /// An attribute that is a list or an object took another value.
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

    /// A fragment was added, replaced or removed.
    pub fn fragment(change: FragmentChange) -> Self {
        let change_type = match (&change.previous, &change.new) {
            (None, _) => "ADDED",
            (_, None) => "REMOVED",
            _ => "REPLACED",
        };
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
