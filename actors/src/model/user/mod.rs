//! Users of a tenant (docs/rules.md#users-groups-and-roles; U-05 to U-08, U-13, U-14).

mod authority;
mod change;
mod name;

use std::sync::Arc;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use time::OffsetDateTime;

pub use authority::{Administration, UserAuthority};
pub use change::{NewUser, UserPatch};
pub use name::{parse_member, parse_password, parse_user_name, parse_user_of_path};

use crate::model::access::DevicePermissions;
use crate::model::application::ApplicationUser;
use crate::model::fragments::Fragments;
use crate::model::group::{Group, GroupPlace, GroupReference, serialize_references};
use crate::model::id::TenantId;
use crate::model::links::{Linked, Links};
use crate::model::role::{self, Role, RoleHolder, RoleSet};
use crate::model::timestamp::Timestamp;

/// A user as authentication needs it.
#[derive(Debug, Clone)]
pub struct Account {
    /// Whose user it is.
    pub tenant: TenantId,
    /// Name and id, compared exactly (U-06).
    pub name: Arc<str>,
    /// Tagged hash; never leaves the server. `None`: nobody can log in as this user yet (U-07).
    pub password_hash: Option<String>,
    /// Disabled users are answered 401.
    pub enabled: bool,
    /// What the user may do: held directly and by groups.
    pub roles: RoleSet,
    /// What the user may do to single devices: held directly and by groups (U-12).
    pub permissions: DevicePermissions,
    /// Of a device that did not use its credentials yet: until when these are answered again (N-08).
    pub unused_until: Option<OffsetDateTime>,
    /// For the users of microservices: which one acts as this user, and what for.
    pub application: Option<ApplicationUser>,
}

/// A user as it is stored and returned; never with the password, not even hashed (U-16).
#[derive(Debug, Clone)]
pub struct User {
    /// Whose user it is.
    pub tenant: TenantId,
    /// Name and id (U-06).
    pub name: Arc<str>,
    /// What people know of the user.
    pub profile: Profile,
    /// Disabled users are answered 401.
    pub enabled: bool,
    /// The user whose sub-user this is.
    pub owner: Option<String>,
    /// Free members of a client.
    pub custom_properties: Fragments,
    /// Device permissions held directly (U-12).
    pub permissions: DevicePermissions,
    /// Roles held directly.
    pub roles: RoleSet,
    /// The groups the user is in, without their roles.
    pub groups: Vec<Group>,
    /// When the password was last set.
    pub last_password_change: Timestamp,
    /// How many users this user owns; only when asked for (`withSubusersCount`).
    pub subusers_count: Option<i64>,
}

/// What people know of a user; all of it optional.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Profile {
    /// Member `firstName`.
    pub first_name: Option<String>,
    /// Member `lastName`.
    pub last_name: Option<String>,
    /// Member `displayName` (U-07).
    pub display_name: Option<String>,
    /// Member `phone`, e.g. `+4915112345678`.
    pub phone: Option<String>,
    /// Member `email`.
    pub email: Option<String>,
}

impl User {
    /// A new user: enabled, in no group, with the roles every new user has (U-05).
    pub fn new(tenant: &TenantId, name: Arc<str>) -> Self {
        Self {
            tenant: tenant.clone(),
            name,
            profile: Profile::default(),
            enabled: true,
            owner: None,
            custom_properties: Fragments::default(),
            permissions: DevicePermissions::default(),
            roles: role::of_new_user(),
            groups: Vec::new(),
            last_password_change: Timestamp::now(),
            subusers_count: None,
        }
    }

    /// Writes the members `user` and `currentUser` have in common.
    fn serialize_common<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        let Profile { first_name, last_name, display_name, phone, email } = &self.profile;
        map.serialize_entry("id", &*self.name)?;
        map.serialize_entry("userName", &*self.name)?;
        for (name, value) in [
            ("firstName", first_name),
            ("lastName", last_name),
            ("displayName", display_name),
            ("phone", phone),
            ("email", email),
            ("owner", &self.owner),
        ] {
            if let Some(value) = value {
                map.serialize_entry(name, value)?;
            }
        }
        map.serialize_entry("enabled", &self.enabled)?;
        map.serialize_entry("shouldResetPassword", &false)?;
        map.serialize_entry("lastPasswordChange", &self.last_password_change)?;
        map.serialize_entry("devicePermissions", &self.permissions)
    }
}

impl Serialize for Linked<'_, User> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Linked { value: user, links } = *self;
        let link = links.user(&user.tenant, &user.name);
        let holder = RoleHolder::User(user.tenant.clone(), user.name.clone());
        let roles = role::references(&holder, &user.roles);
        let group = |group: &Group| GroupReference { user: user.name.clone(), group: group.clone() };
        let groups: Vec<_> = user.groups.iter().map(group).collect();
        let mut map = serializer.serialize_map(None)?;
        user.serialize_common(&mut map)?;
        map.serialize_entry("customProperties", &user.custom_properties)?;
        serialize_references(&mut map, "groups", format!("{link}/groups"), (&groups, links))?;
        serialize_references(&mut map, "roles", format!("{link}/roles"), (&roles, links))?;
        if let Some(count) = user.subusers_count {
            map.serialize_entry("subusersCount", &count)?;
        }
        map.serialize_entry("self", &link)?;
        map.end()
    }
}

/// A user as it sees itself: without groups, direct roles and custom properties, with all it may do (U-14).
#[derive(Debug, Clone)]
pub struct CurrentUser {
    /// The user.
    pub user: User,
    /// Roles held directly and by groups.
    pub effective_roles: RoleSet,
}

impl Serialize for Linked<'_, CurrentUser> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Roles<'a>(&'a RoleSet, &'a Links);
        impl Serialize for Roles<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let roles: Vec<Role> = self.0.names().map(|name| Role { name: name.into() }).collect();
                serializer.collect_seq(roles.iter().map(|value| Linked { value, links: self.1 }))
            }
        }
        let Linked { value: CurrentUser { user, effective_roles }, links } = *self;
        let mut map = serializer.serialize_map(None)?;
        user.serialize_common(&mut map)?;
        map.serialize_entry("effectiveRoles", &Roles(effective_roles, links))?;
        map.serialize_entry("self", &format!("{}/user/currentUser", links.base()))?;
        map.end()
    }
}

/// A member of a group: `{self, user}`.
#[derive(Debug, Clone)]
pub struct UserReference {
    /// The group.
    pub group: GroupPlace,
    /// The member.
    pub user: User,
}

impl Serialize for Linked<'_, UserReference> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Linked { value: UserReference { group, user }, links } = *self;
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("self", &links.group_member(&group.tenant, group.id, &user.name))?;
        map.serialize_entry("user", &Linked { value: user, links })?;
        map.end()
    }
}

/// Query parameters of the user collection. Absent ones do not filter.
#[derive(Debug, Clone, Default)]
pub struct UserFilter {
    /// How the name starts.
    pub name_prefix: Option<String>,
    /// In at least one of these groups.
    pub groups: Option<Vec<i64>>,
    /// Sub-users of this user.
    pub owner: Option<String>,
    /// For callers without ROLE_USER_MANAGEMENT_READ: sub-users of this user alone (U-04).
    pub visible_to: Option<String>,
    /// People, device users (`device_…`), or both.
    pub kind: UserKind,
    /// Whether sub-users are counted.
    pub subusers: SubusersCount,
}

/// Which users a collection holds; the members of a group are listed whatever they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UserKind {
    /// Those whose names do not start with `device_`.
    #[default]
    People,
    /// Those whose names do.
    Devices,
}

/// Whether `subusersCount` is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SubusersCount {
    /// With `withSubusersCount=true`.
    Told,
    /// Otherwise.
    #[default]
    Omitted,
}
