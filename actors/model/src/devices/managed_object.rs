//! Managed objects: devices, assets and everything else in the inventory (docs/rules.md#inventory; I-01 to I-16).

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::body::{Body, MAX_SHORT_TEXT, text};
use crate::devices::availability::{ServerFragments, clamp_response_interval, server_fragments};
use crate::devices::inventory_query::InventoryQuery;
use crate::devices::reference::References;
use crate::error::Result;
use crate::fragment_name::SERVER_MEMBERS;
use crate::fragments::Fragments;
use crate::id::ManagedObjectId;
use crate::links::Linked;
use crate::timestamp::Timestamp;

/// Returns whether a member is not a fragment of clients: the server sets it, or it is a fixed member.
pub fn is_server_member(name: &str) -> bool {
    SERVER_MEMBERS.contains(&name) || name == "owner" || server_fragments().iter().any(|known| known == name)
}

/// A managed object as it is stored and returned.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ManagedObject {
    /// The id; `None` for an object that was not stored (TRANSIENT, M-02).
    pub id: Option<ManagedObjectId>,
    /// The kind of device or asset.
    pub type_: Option<String>,
    /// The name for people.
    pub name: Option<String>,
    /// The user who owns the object and may write its alarms, events and measurements (I-06).
    pub owner: String,
    /// The time when the object was created.
    pub creation_time: Timestamp,
    /// The time when a PUT last changed the object.
    pub last_updated: Timestamp,
    /// The number of changes so far, which the `ETag` shows (C-23). Publications of earlier versions lack it.
    #[serde(default)]
    pub revision: i64,
    /// The references to other objects, filled if a read requests them.
    pub references: References,
    /// The fragments of the server, filled with the references.
    pub server_fragments: ServerFragments,
    /// All other members.
    pub fragments: Fragments,
}

impl Serialize for Linked<'_, ManagedObject> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Linked { value: object, links } = *self;
        let link = links.managed_object(object.id);
        let mut map = serializer.serialize_map(None)?;
        if let Some(id) = object.id {
            map.serialize_entry("id", &id)?;
        }
        for (name, value) in [("name", &object.name), ("type", &object.type_)] {
            if let Some(value) = value {
                map.serialize_entry(name, value)?;
            }
        }
        map.serialize_entry("owner", &object.owner)?;
        map.serialize_entry("creationTime", &object.creation_time)?;
        map.serialize_entry("lastUpdated", &object.last_updated)?;
        object.references.serialize_entries(&mut map, &link, links)?;
        map.serialize_entry("self", &link)?;
        object.fragments.serialize_entries(&mut map)?;
        object.server_fragments.serialize_entries(&mut map)?;
        map.end()
    }
}

/// The body of `POST /inventory/managedObjects`; all members are optional.
#[derive(Debug, Clone)]
pub struct NewManagedObject {
    /// See [`ManagedObject::type_`].
    pub type_: Option<String>,
    /// See [`ManagedObject::name`].
    pub name: Option<String>,
    /// All other members.
    pub fragments: Fragments,
}

impl NewManagedObject {
    /// Parses the body of a POST.
    ///
    /// # Errors
    /// `Invalid` names the invalid member.
    pub fn parse(mut body: Body) -> Result<Self> {
        let type_ = body.take_text("type", MAX_SHORT_TEXT)?;
        let name = body.take_text("name", MAX_SHORT_TEXT)?;
        body.ignore(&SERVER_MEMBERS);
        body.ignore(&["owner"]);
        body.ignore(&server_fragments().each_ref().map(String::as_str));
        let mut fragments = body.into_fragments()?;
        fragments.drop_nulls();
        clamp_response_interval(&mut fragments);
        Ok(Self { type_, name, fragments })
    }

    /// Returns a body that contains only a type.
    pub fn of_type(type_: String) -> Self {
        Self { type_: Some(type_), name: None, fragments: Fragments::default() }
    }

    /// Returns the object that this body creates for a user.
    pub fn created(&self, id: Option<ManagedObjectId>, owner: &str) -> ManagedObject {
        let now = Timestamp::now();
        ManagedObject {
            id,
            type_: self.type_.clone(),
            name: self.name.clone(),
            owner: owner.to_owned(),
            creation_time: now,
            last_updated: now,
            revision: 0,
            references: References::default(),
            server_fragments: ServerFragments::of_new(&self.fragments, now),
            fragments: self.fragments.clone(),
        }
    }
}

/// The body of `PUT /inventory/managedObjects/<id>`: it changes only the members it contains; `null` removes (C-10).
#[derive(Debug, Clone)]
pub struct ManagedObjectPatch {
    /// `Some(None)` removes the type.
    pub type_: Option<Option<String>>,
    /// `Some(None)` removes the name.
    pub name: Option<Option<String>>,
    /// The new owner; changing it needs ROLE_INVENTORY_ADMIN (I-01).
    pub owner: Option<String>,
    /// Fragments to replace, or to remove if they are `null`.
    pub fragments: Fragments,
}

impl ManagedObjectPatch {
    /// Parses the body of a PUT.
    ///
    /// # Errors
    /// `Invalid` names the invalid member.
    pub fn parse(mut body: Body) -> Result<Self> {
        let nullable = |name: &str, raw: Option<Box<RawValue>>| -> Result<Option<String>> {
            raw.map(|raw| text(name, &raw, MAX_SHORT_TEXT)).transpose()
        };
        let type_ = body.take_nullable("type").map(|raw| nullable("type", raw)).transpose()?;
        let name = body.take_nullable("name").map(|raw| nullable("name", raw)).transpose()?;
        let owner = body.take_text("owner", MAX_SHORT_TEXT)?;
        body.ignore(&SERVER_MEMBERS);
        body.ignore(&server_fragments().each_ref().map(String::as_str));
        let mut fragments = body.into_fragments()?;
        clamp_response_interval(&mut fragments);
        Ok(Self { type_, name, owner, fragments })
    }

    /// Returns whether the PUT contains no member. It is a heartbeat then: `lastUpdated` stays, and nobody is notified
    /// (I-15).
    pub fn is_empty(&self) -> bool {
        self.type_.is_none() && self.name.is_none() && self.owner.is_none() && self.fragments.is_empty()
    }

    /// Applies the patch to an object.
    pub fn apply(&self, object: &mut ManagedObject) {
        if let Some(type_) = &self.type_ {
            object.type_.clone_from(type_);
        }
        if let Some(name) = &self.name {
            object.name.clone_from(name);
        }
        if let Some(owner) = &self.owner {
            object.owner.clone_from(owner);
        }
        object.fragments.merge(&self.fragments);
    }
}

/// The objects that are deleted with an object (I-10).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Cascade {
    /// The subgroups of a group.
    #[default]
    Subgroups,
    /// `cascade=true`: child devices and child assets of devices and groups.
    DevicesAndGroups,
    /// `forceCascade=true`: child devices and child assets of any object.
    Everything,
}

impl Cascade {
    /// Returns the word that the SQL statement expects.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Subgroups => "groups",
            Self::DevicesAndGroups => "devices and groups",
            Self::Everything => "any",
        }
    }
}

/// The query parameters of the inventory collection (I-07). Absent parameters do not filter, and all given ones must
/// match.
#[derive(Debug, Clone, Default)]
pub struct ManagedObjectFilter {
    /// The exact type.
    pub type_: Option<String>,
    /// Objects with this top-level fragment.
    pub fragment_type: Option<String>,
    /// These objects, in this order; unknown ids are left out (I-07).
    pub ids: Option<Vec<ManagedObjectId>>,
    /// Objects in whose texts each word of this text is the start of some word, in any case.
    pub text: Option<String>,
    /// Objects of this owner.
    pub owner: Option<String>,
    /// The parents of this child device.
    pub child_device: Option<ManagedObjectId>,
    /// The parents of this child asset.
    pub child_asset: Option<ManagedObjectId>,
    /// The parents of this child addition.
    pub child_addition: Option<ManagedObjectId>,
    /// A query; type, fragment type and text are ignored then (I-07).
    pub query: Option<InventoryQuery>,
}
