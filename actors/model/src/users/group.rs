//! Groups of users: members have the roles and device permissions of the group (U-02, U-10).

use std::sync::Arc;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::access::DevicePermissions;
use crate::body::{Body, MAX_SHORT_TEXT, text};
use crate::error::{Error, Result};
use crate::id::{GroupId, TenantId};
use crate::links::{Linked, Links};
use crate::role::{self, RoleHolder, RoleSet};
use crate::users::second_factor::SecondFactorRule;

/// The group of the administrators of a tenant, which always has a member who can log in (U-15).
pub const ADMINS: &str = "admins";
/// The group of device users.
pub const DEVICES: &str = "devices";
/// The maximum number of characters of a group's name (U-02).
const MAX_NAME: usize = 254;
/// The members that only the server sets or that have endpoints of their own; they are ignored in bodies.
const SERVER_MEMBERS: [&str; 4] = ["id", "self", "roles", "users"];

/// A group as it is stored and returned.
#[derive(Debug, Clone)]
pub struct Group {
    /// The tenant of the group.
    pub tenant: TenantId,
    /// The number of the group.
    pub id: GroupId,
    /// The name, unique in the tenant.
    pub name: String,
    /// A description for people.
    pub description: Option<String>,
    /// The roles of members.
    pub roles: RoleSet,
    /// The device permissions of members (U-12).
    pub permissions: DevicePermissions,
    /// Whether members need a second factor (C-27).
    pub second_factor: SecondFactorRule,
    /// The first members by name; `None` in collections, whose references stay empty (U-02).
    pub users: Option<Vec<Arc<str>>>,
}

/// References as a part of another resource.
struct References<'a, T> {
    link: String,
    references: Vec<Linked<'a, T>>,
}

impl<'a, T> Serialize for References<'a, T>
where
    Linked<'a, T>: Serialize,
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("self", &self.link)?;
        map.serialize_entry("references", &self.references)?;
        map.end()
    }
}

/// Writes an entry `{self, references: […]}`.
pub fn serialize_references<M: SerializeMap, T>(
    map: &mut M,
    name: &str,
    link: String,
    values: &[T],
    links: &Links,
) -> Result<(), M::Error>
where
    for<'l> Linked<'l, T>: Serialize,
{
    let references = values.iter().map(|value| Linked { value, links }).collect();
    map.serialize_entry(name, &References { link, references })
}

impl Serialize for Linked<'_, Group> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Linked { value: group, links } = *self;
        let link = links.group(&group.tenant, group.id);
        let holder = RoleHolder::Group(group.tenant.clone(), group.id);
        let roles: Vec<_> = match &group.users {
            Some(_) => role::references(&holder, &group.roles),
            None => Vec::new(),
        };
        let member = |user: &Arc<str>| MemberName { group: group.place(), user: user.clone() };
        let users: Vec<_> = group.users.iter().flatten().map(member).collect();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", &group.id)?;
        map.serialize_entry("name", &group.name)?;
        if let Some(description) = &group.description {
            map.serialize_entry("description", description)?;
        }
        serialize_references(&mut map, "roles", format!("{link}/roles"), &roles, links)?;
        serialize_references(&mut map, "users", format!("{link}/users"), &users, links)?;
        map.serialize_entry("devicePermissions", &group.permissions)?;
        // Other groups look as clients of the field know them.
        if group.second_factor.is_required() {
            map.serialize_entry("secondFactor", &group.second_factor.to_string())?;
        }
        // Groups have no applications, but some clients fail without the list.
        map.serialize_entry("applications", &[(); 0])?;
        map.serialize_entry("self", &link)?;
        map.end()
    }
}

impl Group {
    /// Returns tenant and number of the group, for links.
    pub fn place(&self) -> GroupPlace {
        GroupPlace { tenant: self.tenant.clone(), id: self.id }
    }
}

/// The tenant and the number of a group.
#[derive(Debug, Clone)]
pub struct GroupPlace {
    /// The tenant of the group.
    pub tenant: TenantId,
    /// The number of the group.
    pub id: GroupId,
}

/// A member as a part of its group: `{self, user: {id, userName, self}}`.
struct MemberName {
    group: GroupPlace,
    user: Arc<str>,
}

impl Serialize for Linked<'_, MemberName> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Short<'a> {
            id: &'a str,
            user_name: &'a str,
            #[serde(rename = "self")]
            link: String,
        }
        let Linked { value: MemberName { group, user }, links } = *self;
        let link = links.user(&group.tenant, user);
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("self", &links.group_member(&group.tenant, group.id, user))?;
        map.serialize_entry("user", &Short { id: user, user_name: user, link })?;
        map.end()
    }
}

/// A group of a user: `{self, group}`.
#[derive(Debug, Clone)]
pub struct GroupReference {
    /// The member.
    pub user: Arc<str>,
    /// The group.
    pub group: Group,
}

impl Serialize for Linked<'_, GroupReference> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Linked { value: GroupReference { user, group }, links } = *self;
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("self", &links.group_member(&group.tenant, group.id, user))?;
        map.serialize_entry("group", &Linked { value: group, links })?;
        map.end()
    }
}

/// The body of `POST /user/<tenant>/groups`.
#[derive(Debug, Clone)]
pub struct NewGroup {
    /// See [`Group::name`].
    pub name: String,
    /// See [`Group::description`].
    pub description: Option<String>,
    /// See [`Group::permissions`].
    pub permissions: DevicePermissions,
    /// See [`Group::second_factor`].
    pub second_factor: SecondFactorRule,
}

impl NewGroup {
    /// Parses the body of a POST.
    ///
    /// # Errors
    /// `Invalid` names the invalid or absent member.
    pub fn parse(mut body: Body) -> Result<Self> {
        let GroupPatch { name, description, permissions, second_factor } = GroupPatch::take_from(&mut body)?;
        let name = name.ok_or_else(|| {
            Error::Invalid("Following mandatory fields should be included: name".to_owned())
        })?;
        let permissions = permissions.unwrap_or_default();
        let second_factor = second_factor.unwrap_or_default();
        Ok(Self { name, description: description.flatten(), permissions, second_factor })
    }
}

/// The body of `PUT /user/<tenant>/groups/<id>`: it changes only the members it contains.
#[derive(Debug, Clone, Default)]
pub struct GroupPatch {
    /// The new name.
    pub name: Option<String>,
    /// `Some(None)` removes the description.
    pub description: Option<Option<String>>,
    /// The new device permissions; `null` removes all of them.
    pub permissions: Option<DevicePermissions>,
    /// Whether members need a second factor; `null` means that they do not.
    pub second_factor: Option<SecondFactorRule>,
}

impl GroupPatch {
    /// Parses the body of a PUT.
    ///
    /// # Errors
    /// `Invalid` names the invalid member.
    pub fn parse(mut body: Body) -> Result<Self> {
        Self::take_from(&mut body)
    }

    fn take_from(body: &mut Body) -> Result<Self> {
        let name = body.take_text("name", MAX_SHORT_TEXT)?.map(|name| parse_name(&name)).transpose()?;
        let description = body
            .take_nullable("description")
            .map(|raw| raw.map(|raw| text("description", &raw, MAX_SHORT_TEXT)).transpose());
        let permissions = body.take_nullable("devicePermissions").map(|raw| match raw {
            Some(raw) => DevicePermissions::parse(&raw),
            None => Ok(DevicePermissions::default()),
        });
        let second_factor = body.take_nullable("secondFactor").map(|raw| match raw {
            Some(raw) => SecondFactorRule::parse(&text("secondFactor", &raw, MAX_SHORT_TEXT)?),
            None => Ok(SecondFactorRule::Optional),
        });
        body.ignore(&SERVER_MEMBERS);
        Ok(Self {
            name,
            description: description.transpose()?,
            permissions: permissions.transpose()?,
            second_factor: second_factor.transpose()?,
        })
    }
}

/// Checks the name of a group: 1 to 254 characters, not blank, no control characters.
fn parse_name(text: &str) -> Result<String> {
    let valid = !text.trim().is_empty()
        && text.chars().count() <= MAX_NAME
        && !text.contains(|c: char| c.is_control());
    if valid {
        Ok(text.to_owned())
    } else {
        Err(Error::invalid_value("name", text, "1 to 254 characters, not blank"))
    }
}

/// Returns the groups of a new tenant, in the order of their numbers (U-10).
pub fn default_groups() -> Vec<(&'static str, RoleSet)> {
    use role::*;
    let own = [USER_MANAGEMENT_OWN_READ, USER_MANAGEMENT_OWN_ADMIN];
    let reads = [
        INVENTORY_READ,
        IDENTITY_READ,
        ALARM_READ,
        EVENT_READ,
        MEASUREMENT_READ,
        AUDIT_READ,
        DEVICE_CONTROL_READ,
    ];
    let writes =
        [INVENTORY_ADMIN, IDENTITY_ADMIN, ALARM_ADMIN, EVENT_ADMIN, MEASUREMENT_ADMIN, DEVICE_CONTROL_ADMIN];
    let bulk = [BULK_OPERATION_READ, BULK_OPERATION_ADMIN];
    let set = |parts: &[&[&'static str]]| parts.concat().into_iter().collect::<RoleSet>();
    // A device gets its other rights by ownership, because a role would grant access to all other devices (U-10a).
    let device = [INVENTORY_CREATE, INVENTORY_READ, IDENTITY_READ, NOTIFICATION_READ];
    let cep = [CEP_MANAGEMENT_READ, CEP_MANAGEMENT_ADMIN, SMARTRULE_READ, SMARTRULE_ADMIN, NOTIFICATION_READ];
    let users = [USER_MANAGEMENT_READ, USER_MANAGEMENT_ADMIN, USER_MANAGEMENT_CREATE];
    let tenant = [
        APPLICATION_MANAGEMENT_READ,
        APPLICATION_MANAGEMENT_ADMIN,
        OPTION_MANAGEMENT_READ,
        OPTION_MANAGEMENT_ADMIN,
        RETENTION_RULE_READ,
        RETENTION_RULE_ADMIN,
        DATA_BROKER_READ,
        DATA_BROKER_ADMIN,
        TENANT_STATISTICS_READ,
    ];
    vec![
        (ADMINS, administrator()),
        (DEVICES, set(&[&device, &own])),
        ("business", set(&[&reads, &writes, &[NOTIFICATION_READ]])),
        ("readers", ALL.into_iter().filter(|role| role.ends_with("_READ")).collect()),
        ("CEP Manager", set(&[&cep])),
        ("Cockpit User", set(&[&[APPLICATION_MANAGEMENT_READ], &own])),
        ("Device management User", set(&[&[APPLICATION_MANAGEMENT_READ, SIMULATOR_ADMIN], &own, &bulk])),
        ("Global Manager", set(&[&reads, &writes, &bulk, &[AUDIT_ADMIN]])),
        ("Global Reader", set(&[&reads, &[BULK_OPERATION_READ]])),
        ("Global User Manager", set(&[&users])),
        ("Shared User Manager", set(&[&[USER_MANAGEMENT_CREATE], &own])),
        ("Tenant Manager", set(&[&tenant])),
    ]
}

/// Returns whether a group can be neither renamed nor deleted (U-02).
pub fn is_protected(name: &str) -> bool {
    [ADMINS, DEVICES].contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(json: &str) -> Body {
        Body::parse(json.as_bytes()).expect("an object")
    }

    #[test]
    fn default_groups_hold_no_internal_roles() {
        let groups = default_groups();
        assert_eq!(groups.len(), 12);
        for (name, roles) in &groups {
            assert!(!roles.has(role::SYSTEM) && !roles.has(role::DEVICE_BOOTSTRAP), "{name}");
            assert!(roles.names().all(|held| role::ALL.contains(&held)), "{name}");
        }
        let devices = &groups[1].1;
        assert!(devices.has(role::INVENTORY_CREATE) && !devices.has(role::ALARM_ADMIN));
        assert!(!devices.has(role::IDENTITY_ADMIN) && !devices.has(role::DEVICE_CONTROL_READ));
    }

    #[test]
    fn names_are_1_to_254_characters_and_not_blank() {
        for name in ["", " ", "\\n", &"x".repeat(255)] {
            assert!(NewGroup::parse(body(&format!(r#"{{"name":"{name}"}}"#))).is_err(), "{name:?}");
        }
        let longest = "ä".repeat(254);
        assert_eq!(
            NewGroup::parse(body(&format!(r#"{{"name":"{longest}"}}"#))).expect("valid").name,
            longest
        );
        let error = NewGroup::parse(body("{}")).expect_err("no name").to_string();
        assert_eq!(error, "Following mandatory fields should be included: name");
    }
}
