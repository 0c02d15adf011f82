//! The access rule, which decides on reads and writes (I-05, I-06, U-12).
//!
//! A role grants an interface on every object of the tenant. A caller without it has access to its own objects and to
//! those that its device permissions name. Both are decided by the *lineage* of an object: the object and all of its
//! ancestors. Ownership is inherited along childDevices links (the owner of a gateway owns the devices behind it).
//! Permissions are inherited along childAssets and childDevices links (a permission on a group applies to everything in
//! it).

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::error::{Error, Result};
use crate::fragments::Fragments;
use crate::id::ManagedObjectId;

/// The interface to which a device permission applies (U-12).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Api {
    /// Operations.
    Operation,
    /// Alarms.
    Alarm,
    /// Audit records.
    Audit,
    /// Events.
    Event,
    /// Managed objects, and reads of external ids (U-12).
    ManagedObject,
    /// Measurements.
    Measurement,
}

/// The access that a device permission grants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Permission {
    /// GET requests and subscriptions.
    Read,
    /// POST, PUT and DELETE requests.
    Admin,
}

const APIS: [(&str, Api); 6] = [
    ("OPERATION", Api::Operation),
    ("ALARM", Api::Alarm),
    ("AUDIT", Api::Audit),
    ("EVENT", Api::Event),
    ("MANAGED_OBJECT", Api::ManagedObject),
    ("MEASUREMENT", Api::Measurement),
];
const PERMISSIONS: [(&str, Permission); 2] = [("READ", Permission::Read), ("ADMIN", Permission::Admin)];
const ANY: &str = "*";
/// The maximum number of entries of one user or group.
const MAX_ENTRIES: usize = 10_000;

/// Device permissions of a user or a group: `{"<device id>": ["<API>:<fragment>:<permission>"]}`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DevicePermissions(Arc<[Entry]>);

/// One permission; `None` stands for `*`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    device: ManagedObjectId,
    api: Option<Api>,
    fragment: Option<Box<str>>,
    permission: Option<Permission>,
}

impl DevicePermissions {
    /// Reads the member `devicePermissions`.
    ///
    /// # Errors
    /// `Invalid` names a malformed entry (U-12) and what is allowed.
    pub fn parse(raw: &RawValue) -> Result<Self> {
        let allowed = "an object of device ids, each with a list of '<API>:<fragment>:<permission>'";
        let wrong = |given: &str| Error::invalid_value("devicePermissions", given, allowed);
        let devices: Fragments = serde_json::from_str(raw.get()).map_err(|_| wrong(raw.get()))?;
        let mut entries = Vec::new();
        for (device, list) in devices.iter() {
            let device = ManagedObjectId::parse(device).map_err(|_| wrong(device))?;
            let list: Vec<String> = serde_json::from_str(list.get()).map_err(|_| wrong(list.get()))?;
            for text in list {
                entries.push(Entry::parse(device, &text)?);
            }
            if entries.len() > MAX_ENTRIES {
                return Err(wrong(&format!("more than {MAX_ENTRIES} entries")));
            }
        }
        Ok(Self(entries.into()))
    }

    /// Merges the permissions of several holders (U-12).
    pub fn sum(parts: impl IntoIterator<Item = Self>) -> Self {
        Self(parts.into_iter().flat_map(|part| part.0.to_vec()).collect())
    }

    /// Returns whether a caller with the permissions `held`, and with the roles for which `has_role` is true, may grant
    /// all of these to another user: nobody grants more than they have (U-04).
    pub fn are_within(&self, held: &Self, has_role: impl Fn(Api, Permission) -> bool) -> bool {
        let mut of_device: HashMap<ManagedObjectId, Vec<&Entry>> = HashMap::new();
        held.0.iter().for_each(|entry| of_device.entry(entry.device).or_default().push(entry));
        self.0.iter().all(|entry| {
            let apis: Vec<Api> = match entry.api {
                Some(api) => vec![api],
                None => APIS.iter().map(|(_, api)| *api).collect(),
            };
            let permissions = match entry.permission {
                Some(permission) => vec![permission],
                None => vec![Permission::Read, Permission::Admin],
            };
            let by_roles =
                || apis.iter().all(|api| permissions.iter().all(|permission| has_role(*api, *permission)));
            by_roles()
                || of_device.get(&entry.device).is_some_and(|own| own.iter().any(|own| own.covers(entry)))
        })
    }

    /// Returns what they grant on one interface.
    pub fn grants(&self, api: Api, permission: Permission) -> Grants {
        let concerns = |entry: &&Entry| {
            entry.api.is_none_or(|of| of == api) && entry.permission.is_none_or(|of| of == permission)
        };
        let grants = self.0.iter().filter(concerns);
        Grants(grants.map(|entry| Grant { device: entry.device, fragment: entry.fragment.clone() }).collect())
    }
}

impl Entry {
    /// Returns whether the entry grants everything that another entry grants.
    fn covers(&self, other: &Self) -> bool {
        self.device == other.device
            && (self.api.is_none() || self.api == other.api)
            && (self.fragment.is_none() || self.fragment == other.fragment)
            && (self.permission.is_none() || self.permission == other.permission)
    }

    fn parse(device: ManagedObjectId, text: &str) -> Result<Self> {
        fn word<T: Copy>(words: &[(&str, T)], text: &str) -> Option<Option<T>> {
            let known = words.iter().find(|(word, _)| *word == text).map(|(_, value)| Some(*value));
            known.or((text == ANY).then_some(None))
        }
        let read = || {
            let (api, rest) = text.split_once(':')?;
            let (fragment, permission) = rest.rsplit_once(':')?;
            let fragment = Some(fragment).filter(|name| !name.is_empty() && name.len() <= 1024)?;
            Some(Self {
                device,
                api: word(&APIS, api)?,
                fragment: (fragment != ANY).then(|| fragment.into()),
                permission: word(&PERMISSIONS, permission)?,
            })
        };
        read().ok_or_else(|| {
            let allowed = "'<API>:<fragment>:<permission>' with API OPERATION, ALARM, AUDIT, EVENT, MANAGED_OBJECT, \
                MEASUREMENT or *, and permission ADMIN, READ or *";
            Error::invalid_value("devicePermissions", text, allowed)
        })
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let api = APIS.iter().find(|(_, api)| Some(*api) == self.api).map_or(ANY, |(word, _)| word);
        let permission = PERMISSIONS
            .iter()
            .find(|(_, permission)| Some(*permission) == self.permission)
            .map_or(ANY, |(word, _)| word);
        write!(f, "{api}:{}:{permission}", self.fragment.as_deref().unwrap_or(ANY))
    }
}

impl Serialize for DevicePermissions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for of_device in self.0.chunk_by(|a, b| a.device == b.device) {
            let list: Vec<String> = of_device.iter().map(ToString::to_string).collect();
            map.serialize_entry(&of_device[0].device.to_string(), &list)?;
        }
        map.end()
    }
}

/// The authority with which a caller reads or writes.
#[derive(Debug, Clone)]
pub enum Authority {
    /// A role grants access to every object of the tenant, or every requested object belongs to the caller.
    Role,
    /// Access only to the caller's own objects and to those that device permissions name.
    Limited(Grants),
}

/// The device permissions for one interface, for reading or for writing.
#[derive(Debug, Clone, Default)]
pub struct Grants(Arc<[Grant]>);

#[derive(Debug, Clone)]
struct Grant {
    device: ManagedObjectId,
    /// The fragment that the object must hold; `None` means any.
    fragment: Option<Box<str>>,
}

/// Whether ownership grants access, in addition to permissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ownership {
    /// The owner has access.
    Counts,
    /// The owner has no access by ownership; a role or a permission is needed.
    Ignored,
}

/// One object of a lineage, which includes the object itself.
#[derive(Debug, Clone)]
pub struct Ancestor {
    /// The id of the object.
    pub id: ManagedObjectId,
    /// The owner of the object.
    pub owner: String,
    /// Whether the path up to it consists of childDevices links only.
    pub by_devices: bool,
}

impl Grants {
    /// Returns whether there are no permissions. A request for a collection is rejected then, instead of filtered.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the devices and groups of the permissions, in the order of [`Grants::fragments`].
    pub fn devices(&self) -> Vec<i64> {
        self.0.iter().map(|grant| grant.device.0).collect()
    }

    /// Returns the fragments of the permissions; `None` means any.
    pub fn fragments(&self) -> Vec<Option<String>> {
        self.0.iter().map(|grant| grant.fragment.as_deref().map(ToOwned::to_owned)).collect()
    }
}

/// The caller of a read or write of data of a managed object, as far as the access rule needs it.
#[derive(Debug, Clone, Copy)]
pub struct Accessor<'a> {
    /// The authority for the interface of the data.
    pub authority: &'a Authority,
    /// The name of the user, which may own the object.
    pub user: &'a str,
    /// Whether ownership of the object gives access to the data.
    pub ownership: Ownership,
}

impl Authority {
    /// Returns whether a user has access, given the lineage of the source and the fragments of the data.
    pub fn permits(
        &self,
        user: &str,
        ownership: Ownership,
        lineage: &[Ancestor],
        has_fragment: impl Fn(&str) -> bool,
    ) -> bool {
        let Self::Limited(grants) = self else { return true };
        let owns = || lineage.iter().any(|above| above.by_devices && above.owner == user);
        let granted = || {
            grants.0.iter().any(|grant| {
                lineage.iter().any(|above| above.id == grant.device)
                    && grant.fragment.as_deref().is_none_or(&has_fragment)
            })
        };
        (ownership == Ownership::Counts && owns()) || granted()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permissions(json: &str) -> Result<DevicePermissions> {
        DevicePermissions::parse(&RawValue::from_string(json.into()).expect("valid JSON"))
    }

    fn above(id: i64, owner: &str, by_devices: bool) -> Ancestor {
        Ancestor { id: ManagedObjectId(id), owner: owner.into(), by_devices }
    }

    #[test]
    fn permissions_are_serialized_as_they_were_given() {
        let json = r#"{"10":["ALARM:*:READ","*:plat_Relay:*"],"7":["MANAGED_OBJECT:a:b:ADMIN"]}"#;
        let read = permissions(json).expect("well formed");
        assert_eq!(serde_json::to_string(&read).expect("JSON"), json);
    }

    #[test]
    fn malformed_entries_are_named_in_the_error() {
        for json in [
            "[]",
            r#"{"x":[]}"#,
            r#"{"1":"ALARM:*:READ"}"#,
            r#"{"1":["ALARM:*"]}"#,
            r#"{"1":["ALARM::READ"]}"#,
            r#"{"1":["alarm:*:READ"]}"#,
            r#"{"1":["ALARM:*:WRITE"]}"#,
            r#"{"1":[3]}"#,
        ] {
            let error = permissions(json).expect_err(json).to_string();
            assert!(error.contains("devicePermissions"), "{error}");
        }
    }

    #[test]
    fn permission_counts_for_its_interface_its_kind_and_its_fragment() {
        let held = permissions(r#"{"5":["ALARM:plat_Relay:READ"]}"#).expect("well formed");
        let line = [above(9, "x", true), above(5, "x", false)];
        let may = |api, permission, has: bool| {
            Authority::Limited(held.grants(api, permission)).permits("joe", Ownership::Counts, &line, |_| has)
        };
        assert!(may(Api::Alarm, Permission::Read, true));
        assert!(!may(Api::Alarm, Permission::Read, false));
        assert!(!may(Api::Alarm, Permission::Admin, true));
        assert!(!may(Api::Event, Permission::Read, true));
    }

    #[test]
    fn nobody_grants_more_permissions_than_they_have() {
        let held = permissions(r#"{"5":["ALARM:*:*","EVENT:a:READ"]}"#).expect("well formed");
        let reads_measurements = |api, permission| (api, permission) == (Api::Measurement, Permission::Read);
        for (given, may) in [
            (r#"{"5":["ALARM:a:READ","ALARM:*:*"]}"#, true),
            (r#"{"5":["EVENT:a:READ"]}"#, true),
            (r#"{"5":["EVENT:*:READ"]}"#, false),
            (r#"{"5":["*:a:READ"]}"#, false),
            (r#"{"6":["ALARM:a:READ"]}"#, false),
            (r#"{"6":["MEASUREMENT:*:READ"]}"#, true),
            (r#"{"6":["MEASUREMENT:*:*"]}"#, false),
        ] {
            let given_permissions = permissions(given).expect("well formed");
            assert_eq!(given_permissions.are_within(&held, reads_measurements), may, "{given}");
        }
    }

    #[test]
    fn ownership_is_inherited_along_child_devices_links_only() {
        let nothing = Authority::Limited(Grants::default());
        let may = |line: &[Ancestor], ownership| nothing.permits("joe", ownership, line, |_| false);
        assert!(may(&[above(9, "joe", true)], Ownership::Counts));
        assert!(may(&[above(9, "x", true), above(5, "joe", true)], Ownership::Counts));
        assert!(!may(&[above(9, "x", true), above(5, "joe", false)], Ownership::Counts));
        assert!(!may(&[above(9, "joe", true)], Ownership::Ignored));
        assert!(Authority::Role.permits("joe", Ownership::Ignored, &[], |_| false));
    }
}
