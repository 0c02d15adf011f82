//! Operations: commands for devices (docs/rules.md#operations; O-01 to O-10).

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::body::{Body, id_text, missing};
use crate::data::audit_record::AttributeChange;
use crate::devices::external_id::NewExternalId;
use crate::error::{Error, Result};
use crate::fragments::Fragments;
use crate::id::{BulkOperationId, ManagedObjectId, OperationId};
use crate::links::Linked;
use crate::page::TimeOrder;
use crate::timestamp::Timestamp;

/// The maximum number of bytes of a failure reason.
const MAX_FAILURE_REASON: usize = 64 << 10;
/// The members that only the server sets; they are ignored in bodies.
const SERVER_MEMBERS: [&str; 6] =
    ["id", "self", "creationTime", "deviceExternalIDs", "deviceName", "bulkOperationId"];

/// The status of an operation. An operation is *open* while it is PENDING or EXECUTING.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum OperationStatus {
    /// The device has not received it yet.
    Pending,
    /// The device executes it.
    Executing,
    /// The device has executed it.
    Successful,
    /// The device failed to execute it.
    Failed,
}

impl OperationStatus {
    /// Parses the upper-case word (O-02, X-06).
    ///
    /// # Errors
    /// `Invalid` names the value and what is allowed.
    pub fn parse(word: &str) -> Result<Self> {
        match word {
            "PENDING" => Ok(Self::Pending),
            "EXECUTING" => Ok(Self::Executing),
            "SUCCESSFUL" => Ok(Self::Successful),
            "FAILED" => Ok(Self::Failed),
            _ => Err(Error::invalid_value("status", word, "PENDING, EXECUTING, SUCCESSFUL, FAILED")),
        }
    }

    /// Returns the word that clients read and write.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Executing => "EXECUTING",
            Self::Successful => "SUCCESSFUL",
            Self::Failed => "FAILED",
        }
    }

    /// Returns whether a device still has to execute it or is executing it.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Pending | Self::Executing)
    }
}

/// An operation as it is stored and returned.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Operation {
    /// The id; `None` for an operation that was not stored (TRANSIENT, M-02).
    pub id: Option<OperationId>,
    /// The device that executes it.
    pub device: ManagedObjectId,
    /// The name of the device, shown in collections and to agents.
    pub device_name: Option<String>,
    /// The external ids of the device, shown to agents (O-07, B-04).
    pub device_external_ids: Option<Vec<NewExternalId>>,
    /// The bulk operation that created it.
    pub bulk_operation: Option<BulkOperationId>,
    /// The time when it was queued.
    pub creation_time: Timestamp,
    /// The status of the operation.
    pub status: OperationStatus,
    /// The reason of the failure, only while it is FAILED (O-03).
    pub failure_reason: Option<String>,
    /// The number of changes by PUT. A change succeeds only if this number is unchanged. It is not shown.
    pub revision: i64,
    /// The command and its results.
    pub fragments: Fragments,
}

impl Operation {
    /// Returns the operation without name and external ids of its device, which only collections and agents are shown.
    pub fn alone(self) -> Self {
        Self { device_name: None, device_external_ids: None, ..self }
    }
}

impl Serialize for Linked<'_, Operation> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct ExternalIds<'a> {
            #[serde(rename = "self")]
            link: String,
            external_ids: Vec<ExternalId<'a>>,
        }
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct ExternalId<'a> {
            #[serde(rename = "type")]
            type_: &'a str,
            external_id: &'a str,
        }
        let Linked { value: operation, links } = *self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("self", &links.operation(operation.id))?;
        if let Some(id) = operation.id {
            map.serialize_entry("id", &id)?;
        }
        map.serialize_entry("creationTime", &operation.creation_time)?;
        map.serialize_entry("deviceId", &operation.device)?;
        if let Some(name) = &operation.device_name {
            map.serialize_entry("deviceName", name)?;
        }
        if let Some(pairs) = &operation.device_external_ids {
            let external_ids = pairs
                .iter()
                .map(|pair| ExternalId { type_: &pair.type_, external_id: &pair.value })
                .collect();
            let link = links.external_ids(operation.device);
            map.serialize_entry("deviceExternalIDs", &ExternalIds { link, external_ids })?;
        }
        if let Some(bulk_operation) = &operation.bulk_operation {
            map.serialize_entry("bulkOperationId", bulk_operation)?;
        }
        map.serialize_entry("status", &operation.status)?;
        if let Some(reason) = &operation.failure_reason {
            map.serialize_entry("failureReason", reason)?;
        }
        operation.fragments.serialize_entries(&mut map)?;
        map.end()
    }
}

/// The body of `POST /devicecontrol/operations`.
#[derive(Debug, Clone)]
pub struct NewOperation {
    /// See [`Operation::device`].
    pub device: ManagedObjectId,
    /// The command; it may be empty (O-04).
    pub fragments: Fragments,
}

impl NewOperation {
    /// Parses the body of a POST. A status is ignored, because a new operation is always PENDING (O-04).
    ///
    /// # Errors
    /// `Invalid` when `deviceId` is missing or invalid.
    pub fn parse(mut body: Body) -> Result<Self> {
        let device = body.take("deviceId").ok_or_else(|| missing(&[("deviceId", true)]))?;
        let device = device_id(&device)?;
        Ok(Self { device, fragments: prototype(body)? })
    }

    /// Returns the operation that this body would create, without storing it (M-02).
    pub fn queued(&self) -> Operation {
        Operation {
            id: None,
            device: self.device,
            device_name: None,
            device_external_ids: None,
            bulk_operation: None,
            creation_time: Timestamp::now(),
            status: OperationStatus::Pending,
            failure_reason: None,
            revision: 0,
            fragments: self.fragments.clone(),
        }
    }
}

/// Returns the fragments of an operation that is not created yet: a body without the members that the server sets.
///
/// # Errors
/// `Invalid` for an invalid name of a fragment (I-13).
pub fn prototype(mut body: Body) -> Result<Fragments> {
    body.ignore(&SERVER_MEMBERS);
    body.ignore(&["deviceId", "status", "failureReason"]);
    let mut fragments = body.into_fragments()?;
    fragments.drop_nulls();
    Ok(fragments)
}

/// Parses `deviceId`, a string or a number (C-13).
fn device_id(raw: &RawValue) -> Result<ManagedObjectId> {
    let id = id_text("deviceId", raw)?;
    ManagedObjectId::parse(&id).map_err(|_| unknown_device(id))
}

/// Returns the error for a device that does not exist (O-01: 422).
pub fn unknown_device(id: impl std::fmt::Display) -> Error {
    Error::Invalid(format!("Invalid value of 'deviceId': no managed object with id '{id}'"))
}

/// The body of `PUT /devicecontrol/operations/<id>`: it changes status, failure reason and fragments; other members are
/// ignored (O-05).
#[derive(Debug, Clone)]
pub struct OperationPatch {
    /// The new status.
    pub status: Option<OperationStatus>,
    /// The new failure reason; an empty text removes it (O-03).
    pub failure_reason: Option<String>,
    /// Fragments to replace, or to remove if they are `null`.
    pub fragments: Fragments,
}

impl OperationPatch {
    /// Parses the body of a PUT.
    ///
    /// # Errors
    /// `Invalid` names the invalid member.
    pub fn parse(mut body: Body) -> Result<Self> {
        let status = body.take_text("status", 64)?.map(|word| OperationStatus::parse(&word)).transpose()?;
        let failure_reason = body.take_text("failureReason", MAX_FAILURE_REASON)?;
        body.ignore(&SERVER_MEMBERS);
        body.ignore(&["deviceId"]);
        Ok(Self { status, failure_reason, fragments: body.into_fragments()? })
    }

    /// Applies the patch and returns the attributes that changed. A PUT of the stored values changes nothing.
    pub fn apply(&self, operation: &mut Operation) -> Vec<AttributeChange> {
        let mut changes = Vec::new();
        if let Some(status) = self.status.filter(|status| *status != operation.status) {
            changes.push(AttributeChange::replaced("status", operation.status.as_str(), status.as_str()));
            operation.status = status;
        }
        let given = self.failure_reason.clone().or_else(|| operation.failure_reason.clone());
        let reason = given.filter(|reason| operation.status == OperationStatus::Failed && !reason.is_empty());
        if reason != operation.failure_reason {
            let shown = |reason: &Option<String>| reason.clone().unwrap_or_default();
            let (previous, new) = (shown(&operation.failure_reason), shown(&reason));
            changes.push(AttributeChange::replaced("failureReason", &previous, &new));
            operation.failure_reason = reason;
        }
        changes.extend(operation.fragments.merge(&self.fragments).into_iter().map(AttributeChange::fragment));
        changes
    }
}

/// The query parameters of the operation collection (O-06).
#[derive(Debug, Clone)]
pub struct OperationFilter {
    /// Operations of this agent and of its descendants by childDevices links.
    pub agent: Option<ManagedObjectId>,
    /// Operations of this device.
    pub device: Option<ManagedObjectId>,
    /// Operations with this status.
    pub status: Option<OperationStatus>,
    /// Operations that this bulk operation created.
    pub bulk_operation: Option<BulkOperationId>,
    /// Operations with this fragment.
    pub fragment_type: Option<String>,
    /// Operations queued at or after this.
    pub date_from: Option<Timestamp>,
    /// Operations queued at or before this.
    pub date_to: Option<Timestamp>,
    /// The order, oldest first unless reverted.
    pub order: TimeOrder,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(json: &str) -> Body {
        Body::parse(json.as_bytes()).expect("json")
    }

    fn operation() -> Operation {
        Operation {
            id: Some(OperationId(1)),
            device: ManagedObjectId(208),
            device_name: None,
            device_external_ids: None,
            bulk_operation: None,
            creation_time: Timestamp::now(),
            status: OperationStatus::Pending,
            failure_reason: None,
            revision: 0,
            fragments: Fragments::default(),
        }
    }

    /// Applies a PUT and returns the number of changed attributes.
    fn put(operation: &mut Operation, json: &str) -> usize {
        OperationPatch::parse(body(json)).expect("valid").apply(operation).len()
    }

    #[test]
    fn post_keeps_fragments_and_nothing_the_server_sets() {
        let new = r#"{"deviceId":208,"status":"FAILED","failureReason":"x","id":"7","plat_Restart":{},"note":null}"#;
        let new = NewOperation::parse(body(new)).expect("valid");
        assert_eq!(
            (new.device, new.fragments.to_json().as_str()),
            (ManagedObjectId(208), r#"{"plat_Restart":{}}"#)
        );
    }

    #[test]
    fn post_without_a_device_or_with_an_invalid_one_is_rejected() {
        for (json, named) in
            [("{}", "deviceId"), (r#"{"deviceId":"x"}"#, "'x'"), (r#"{"deviceId":{}}"#, "{}")]
        {
            let error = NewOperation::parse(body(json)).expect_err(json).to_string();
            assert!(error.contains(named), "{error}");
        }
    }

    #[test]
    fn reason_is_kept_while_failed_only() {
        let mut operation = operation();
        assert_eq!(put(&mut operation, r#"{"failureReason":"early"}"#), 0);
        assert_eq!(put(&mut operation, r#"{"status":"FAILED","failureReason":"no power"}"#), 2);
        assert_eq!(put(&mut operation, r#"{"status":"FAILED","failureReason":null}"#), 0);
        assert_eq!(operation.failure_reason.as_deref(), Some("no power"));
        assert_eq!(put(&mut operation, r#"{"failureReason":""}"#), 1);
        assert_eq!(operation.failure_reason, None);
        put(&mut operation, r#"{"failureReason":"again"}"#);
        assert_eq!(put(&mut operation, r#"{"status":"PENDING"}"#), 2);
        assert_eq!(operation.failure_reason, None);
    }

    #[test]
    fn unknown_status_is_named_in_the_error() {
        for word in ["SUCCESS", "pending", ""] {
            let error = OperationPatch::parse(body(&format!(r#"{{"status":"{word}"}}"#))).expect_err(word);
            assert!(error.to_string().contains("PENDING, EXECUTING, SUCCESSFUL, FAILED"), "{error}");
        }
    }
}
