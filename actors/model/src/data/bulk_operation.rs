//! Bulk operations: one operation for each device of a group, one after the other (docs/rules.md#bulk-operations; K-01
//! to K-11).

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::body::{Body, id_text, missing, text};
use crate::data::operation;
use crate::error::{Error, Result};
use crate::fragments::Fragments;
use crate::id::{BulkOperationId, ManagedObjectId};
use crate::links::Linked;
use crate::timestamp::Timestamp;

/// The members that clients set.
const MEMBERS: [&str; 5] = ["groupId", "failedParentId", "startDate", "creationRamp", "operationPrototype"];
/// The members that only the server sets, here or on similar platforms; they are ignored in bodies.
const SERVER_MEMBERS: [&str; 5] = ["id", "self", "status", "generalStatus", "progress"];

/// The seconds of the longest ramp, about thirty years; later times are beyond the range of timestamps.
const LONGEST_RAMP: f64 = 1e9;

/// The status of a bulk operation (K-06).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum BulkOperationStatus {
    /// It waits for its start or creates operations.
    Active,
    /// All operations are created.
    Completed,
    /// It creates no more operations; those it created stay (K-07).
    Deleted,
}

impl BulkOperationStatus {
    /// Parses the word that clients write.
    ///
    /// # Errors
    /// `Invalid` names the value and what is allowed.
    pub fn parse(word: &str) -> Result<Self> {
        match word {
            "ACTIVE" => Ok(Self::Active),
            "COMPLETED" => Ok(Self::Completed),
            "DELETED" => Ok(Self::Deleted),
            _ => Err(Error::invalid_value("status", word, "ACTIVE, COMPLETED, DELETED")),
        }
    }

    /// Returns the word that clients read and write.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "ACTIVE",
            Self::Completed => "COMPLETED",
            Self::Deleted => "DELETED",
        }
    }
}

/// The time between two operations in seconds (K-01).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CreationRamp(pub f64);

impl CreationRamp {
    /// Returns the seconds, which are finite and not negative.
    pub fn seconds(self) -> f64 {
        self.0
    }

    fn parse(raw: &RawValue) -> Result<Self> {
        let seconds = raw.get().parse().ok().filter(|seconds| (0.0..=LONGEST_RAMP).contains(seconds));
        // A negative zero is shown as zero.
        seconds.map(|seconds: f64| Self(seconds.abs())).ok_or_else(|| {
            Error::invalid_value("creationRamp", raw.get(), "a number of seconds from 0 to 1000000000")
        })
    }
}

impl Serialize for CreationRamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.fract() == 0.0 {
            serializer.serialize_u64(self.0 as u64)
        } else {
            serializer.serialize_f64(self.0)
        }
    }
}

/// The numbers of operations by status (K-05).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Progress {
    /// Operations that were created and not received.
    pub pending: i64,
    /// Operations that failed, and devices that were deleted before their turn.
    pub failed: i64,
    /// Operations that a device executes.
    pub executing: i64,
    /// Operations that were executed successfully.
    pub successful: i64,
    /// The number of devices.
    pub all: i64,
}

/// A bulk operation as it is stored and returned.
#[derive(Debug, Clone)]
pub struct BulkOperation {
    /// The id; `None` for a bulk operation that was not stored (TRANSIENT, M-02).
    pub id: Option<BulkOperationId>,
    /// The group, or the group of the parent when it repeats failures (K-04).
    pub group: ManagedObjectId,
    /// The bulk operation whose failed operations it repeats.
    pub failed_parent: Option<BulkOperationId>,
    /// The time when the first operation is created.
    pub start_date: Timestamp,
    /// The time between two operations.
    pub ramp: CreationRamp,
    /// The fragments of each operation.
    pub prototype: Fragments,
    /// The status of the bulk operation.
    pub status: BulkOperationStatus,
    /// The progress of its operations.
    pub progress: Progress,
}

impl Serialize for Linked<'_, BulkOperation> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Linked { value: bulk, links } = *self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("self", &links.bulk_operation(bulk.id))?;
        if let Some(id) = bulk.id {
            map.serialize_entry("id", &id)?;
        }
        map.serialize_entry("groupId", &bulk.group)?;
        if let Some(parent) = &bulk.failed_parent {
            map.serialize_entry("failedParentId", parent)?;
        }
        map.serialize_entry("startDate", &bulk.start_date)?;
        map.serialize_entry("creationRamp", &bulk.ramp)?;
        map.serialize_entry("operationPrototype", &bulk.prototype)?;
        map.serialize_entry("status", &bulk.status)?;
        map.serialize_entry("progress", &bulk.progress)?;
        map.end()
    }
}

/// The devices of a bulk operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Targets {
    /// The devices of a group (K-03).
    Group(ManagedObjectId),
    /// The devices whose operation of an earlier bulk operation FAILED (K-04).
    FailuresOf(BulkOperationId),
}

/// The body of `POST /devicecontrol/bulkoperations`.
#[derive(Debug, Clone)]
pub struct NewBulkOperation {
    /// The devices.
    pub targets: Targets,
    /// See [`BulkOperation::start_date`]; a time in the past means at once (K-02).
    pub start_date: Timestamp,
    /// See [`BulkOperation::ramp`].
    pub ramp: CreationRamp,
    /// See [`BulkOperation::prototype`].
    pub prototype: Fragments,
}

impl NewBulkOperation {
    /// Parses the body of a POST. Members that the server sets are ignored.
    ///
    /// # Errors
    /// `Invalid` names an unknown member (C-19a), lists all missing members, names the invalid one, and rejects a body
    /// with both a group and a parent (K-03).
    pub fn parse(mut body: Body) -> Result<Self> {
        body.only(&MEMBERS, &SERVER_MEMBERS)?;
        let [start_date, ramp, prototype] =
            ["startDate", "creationRamp", "operationPrototype"].map(|name| body.take(name));
        let targets = (body.take("groupId"), body.take("failedParentId"));
        let absent = [
            ("startDate", start_date.is_none()),
            ("creationRamp", ramp.is_none()),
            ("operationPrototype", prototype.is_none()),
            ("groupId or failedParentId", targets.0.is_none() && targets.1.is_none()),
        ];
        let (Some(start_date), Some(ramp), Some(prototype)) = (start_date, ramp, prototype) else {
            return Err(missing(&absent));
        };
        let targets = match targets {
            (None, None) => return Err(missing(&absent)),
            (Some(group), None) => Targets::Group(group_id(&group)?),
            (None, Some(parent)) => Targets::FailuresOf(parent_id(&parent)?),
            (Some(_), Some(parent)) => {
                let allowed = "either 'groupId' or 'failedParentId'";
                return Err(Error::invalid_value("failedParentId", parent.get(), allowed));
            }
        };
        Ok(Self {
            targets,
            start_date: self::start_date(&start_date)?,
            ramp: CreationRamp::parse(&ramp)?,
            prototype: self::prototype(&prototype)?,
        })
    }
}

/// The body of `PUT /devicecontrol/bulkoperations/<id>`: absent members stay unchanged, and the devices cannot be
/// changed (K-08).
#[derive(Debug, Clone)]
pub struct BulkOperationPatch {
    /// The new start.
    pub start_date: Option<Timestamp>,
    /// The new ramp.
    pub ramp: Option<CreationRamp>,
    /// The new prototype, as a whole.
    pub prototype: Option<Fragments>,
}

impl BulkOperationPatch {
    /// Parses the body of a PUT.
    ///
    /// # Errors
    /// `Invalid` names an unknown member (C-19a) or the invalid one.
    pub fn parse(mut body: Body) -> Result<Self> {
        body.only(&MEMBERS, &SERVER_MEMBERS)?;
        Ok(Self {
            start_date: body.take("startDate").map(|raw| start_date(&raw)).transpose()?,
            ramp: body.take("creationRamp").map(|raw| CreationRamp::parse(&raw)).transpose()?,
            prototype: body.take("operationPrototype").map(|raw| prototype(&raw)).transpose()?,
        })
    }

    /// Replaces the old settings with the new ones.
    pub fn apply(&self, bulk: &mut BulkOperation) {
        bulk.start_date = self.start_date.unwrap_or(bulk.start_date);
        bulk.ramp = self.ramp.unwrap_or(bulk.ramp);
        if let Some(prototype) = &self.prototype {
            bulk.prototype = prototype.clone();
        }
    }
}

/// Whether the list includes deleted bulk operations (K-07).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeletedOnes {
    /// `withDeleted=true`
    Shown,
    /// The default.
    Hidden,
}

fn start_date(raw: &RawValue) -> Result<Timestamp> {
    let given = Timestamp::parse_or_utc("startDate", &text("startDate", raw, 64)?)?;
    // It is shown in UTC, like all actions of the server's own clock (C-11). The first hours of the year 1 east of
    // Greenwich have no year there.
    Ok(Timestamp::stored(given.instant(), 0).max(Timestamp::FIRST))
}

fn prototype(raw: &RawValue) -> Result<Fragments> {
    operation::prototype(Body::of_member("operationPrototype", raw)?)
}

fn group_id(raw: &RawValue) -> Result<ManagedObjectId> {
    let id = id_text("groupId", raw)?;
    ManagedObjectId::parse(&id).map_err(|_| unknown_group(id))
}

fn parent_id(raw: &RawValue) -> Result<BulkOperationId> {
    let id = id_text("failedParentId", raw)?;
    BulkOperationId::parse(&id).map_err(|_| unknown_parent(id))
}

/// Returns the error for a group that does not exist (K-03: 422).
pub fn unknown_group(id: impl std::fmt::Display) -> Error {
    Error::invalid_value("groupId", id, "the id of a group")
}

/// Returns the error for a parent that does not exist (K-04: 422).
pub fn unknown_parent(id: impl std::fmt::Display) -> Error {
    Error::invalid_value("failedParentId", id, "the id of a bulk operation")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::links::{Links, encode};

    const FULL: &str = r#"{"groupId":"7","startDate":"2024-03-10T02:30:00","creationRamp":1.5,"operationPrototype":{"plat_Restart":{}}}"#;

    fn body(json: &str) -> Body {
        Body::parse(json.as_bytes()).expect("json")
    }

    fn refusal(json: &str) -> String {
        NewBulkOperation::parse(body(json)).expect_err(json).to_string()
    }

    #[test]
    fn all_missing_members_are_listed() {
        assert_eq!(
            refusal("{}"),
            "Following mandatory fields should be included: \
                startDate,creationRamp,operationPrototype,groupId or failedParentId"
        );
        let missing = refusal(&FULL.replace(r#""groupId":"7","#, r#""startDate":null,"groupId":null,"#));
        assert_eq!(missing, "Following mandatory fields should be included: groupId or failedParentId");
    }

    #[test]
    fn invalid_members_are_named_with_the_allowed_values() {
        for (from, to, named) in [
            ("1.5", "-0.5", "creationRamp"),
            ("1.5", "1e300", "creationRamp"),
            ("1.5", "\"1.5\"", "creationRamp"),
            ("1.5", "true", "creationRamp"),
            ("{\"plat_Restart\":{}}", "[]", "operationPrototype"),
            ("{\"plat_Restart\":{}}", "{\"a.b\":1}", "fragment name"),
            ("2024-03-10T02:30:00", "soon", "startDate"),
            ("\"7\"", "\"seven\"", "groupId"),
            ("\"7\"", "{}", "groupId"),
            ("\"7\"", "7,\"failedParentId\":8", "either"),
        ] {
            let message = refusal(&FULL.replace(from, to));
            assert!(message.contains(named) && message.contains("allowed"), "{message}");
        }
    }

    #[test]
    fn times_without_a_zone_and_numeric_ids_are_accepted() {
        let new = NewBulkOperation::parse(body(&FULL.replace("\"7\"", "7"))).expect("valid");
        assert_eq!(new.targets, Targets::Group(ManagedObjectId(7)));
        assert_eq!(new.start_date.to_string(), "2024-03-10T02:30:00.000Z");
    }

    #[test]
    fn ramp_is_shown_as_short_as_it_was_given() {
        for (given, shown) in [("15", "15"), ("0.25", "0.25"), ("1.50", "1.5"), ("-0", "0"), ("1e1", "10")] {
            let new = NewBulkOperation::parse(body(&FULL.replace("1.5", given))).expect(given);
            assert_eq!(serde_json::to_string(&new.ramp).expect("a number"), shown);
        }
    }

    #[test]
    fn bulk_operation_is_shown_with_its_ids_as_texts() {
        let new = NewBulkOperation::parse(body(FULL)).expect("valid");
        let bulk = BulkOperation {
            id: Some(BulkOperationId(3)),
            group: ManagedObjectId(7),
            failed_parent: Some(BulkOperationId(2)),
            start_date: new.start_date,
            ramp: new.ramp,
            prototype: new.prototype,
            status: BulkOperationStatus::Active,
            progress: Progress { pending: 1, failed: 2, executing: 3, successful: 4, all: 10 },
        };
        let shown = encode(&bulk, &Links::new("http://h"));
        assert_eq!(
            String::from_utf8(shown).expect("text"),
            r#"{"self":"http://h/devicecontrol/bulkoperations/3","id":"3","groupId":"7","failedParentId":"2","startDate":"2024-03-10T02:30:00.000Z","creationRamp":1.5,"operationPrototype":{"plat_Restart":{}},"status":"ACTIVE","progress":{"pending":1,"failed":2,"executing":3,"successful":4,"all":10}}"#
        );
    }

    #[test]
    fn unknown_member_is_refused_and_the_near_ones_named() {
        let misspelt = FULL.replace("creationRamp", "creationramp");
        assert!(refusal(&misspelt).contains("is 'creationRamp' meant?"), "{}", refusal(&misspelt));
        let misspelt = FULL.replacen('{', r#"{"groupid":"8","#, 1);
        assert!(refusal(&misspelt).starts_with("Unknown member 'groupid'; is 'groupId' meant?"));
        let misspelt = BulkOperationPatch::parse(body(r#"{"startdate":"2024-03-10T02:30:00Z"}"#));
        assert!(misspelt.expect_err("misspelt").to_string().contains("is 'startDate' meant?"));
        let read = FULL.replacen('{', r#"{"self":"http://h/3","id":"3","status":"ACTIVE","progress":{},"#, 1);
        assert!(NewBulkOperation::parse(body(&read)).is_ok(), "it may be sent back as it was read");
    }

    #[test]
    fn put_keeps_absent_members_and_the_devices() {
        let patch =
            r#"{"creationRamp":2,"groupId":"9","failedParentId":"9","status":"COMPLETED","startDate":null}"#;
        let patch = BulkOperationPatch::parse(body(patch)).expect("valid");
        assert_eq!(patch.ramp, Some(CreationRamp(2.0)));
        assert!(patch.start_date.is_none() && patch.prototype.is_none());
    }
}
