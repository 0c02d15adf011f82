//! Users of a tenant (docs/rules.md#users-groups-and-roles; U-05 to U-08, U-13, U-14).

mod authority;
mod change;
mod name;

use std::sync::Arc;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use time::OffsetDateTime;

pub use authority::{Administration, OPERATOR, UserAuthority};
pub use change::{NewUser, UserPatch};
pub use name::{parse_member, parse_password, parse_user_name, parse_user_of_path};

use crate::access::DevicePermissions;
use crate::applications::application::ApplicationUser;
use crate::fragments::Fragments;
use crate::id::TenantId;
use crate::links::{Linked, Links};
use crate::role::{self, Role, RoleHolder, RoleSet};
use crate::timestamp::Timestamp;
use crate::users::group::{Group, GroupPlace, GroupReference, serialize_references};
use crate::users::second_factor::SecondFactor;

/// The data of a user that authentication needs.
#[derive(Debug, Clone)]
pub struct Account {
    /// The tenant of the user.
    pub tenant: TenantId,
    /// The name, which is also the id; it is compared exactly (U-06).
    pub name: Arc<str>,
    /// The tagged hash of the password, which never leaves the server. `None` means that nobody can log in as this user
    /// yet (U-07).
    pub password_hash: Option<String>,
    /// Whether the user is enabled; requests of a disabled user get 401.
    pub enabled: bool,
    /// The roles of the user, held directly and through groups.
    pub roles: RoleSet,
    /// The device permissions of the user, held directly and through groups (U-12).
    pub permissions: DevicePermissions,
    /// For a device that has not used its credentials yet: the time until which they are returned again (N-08).
    pub unused_until: Option<OffsetDateTime>,
    /// For the user of a microservice: the microservice and the purpose of the user.
    pub application: Option<ApplicationUser>,
    /// The second factor of the user (C-27).
    pub second_factor: SecondFactor,
}

/// A user as it is stored and returned, without the password and its hash (U-16).
#[derive(Debug, Clone)]
pub struct User {
    /// The tenant of the user.
    pub tenant: TenantId,
    /// The name, which is also the id (U-06).
    pub name: Arc<str>,
    /// The personal data of the user.
    pub profile: Profile,
    /// Whether the user is enabled; requests of a disabled user get 401.
    pub enabled: bool,
    /// The owner, if this is a sub-user.
    pub owner: Option<String>,
    /// Free-form members for clients.
    pub custom_properties: Fragments,
    /// Device permissions held directly (U-12).
    pub permissions: DevicePermissions,
    /// Roles held directly.
    pub roles: RoleSet,
    /// The groups the user is in, without their roles.
    pub groups: Vec<Group>,
    /// The time when the password was last changed.
    pub last_password_change: Timestamp,
    /// Whether the user has a second factor (C-27).
    pub has_second_factor: bool,
    /// The number of sub-users, if it is requested (`withSubusersCount`).
    pub subusers_count: Option<i64>,
}

/// The personal data of a user; all of it is optional.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Profile {
    /// Member `firstName`.
    pub first_name: Option<String>,
    /// Member `lastName`.
    pub last_name: Option<String>,
    /// Member `displayName` (U-07).
    pub display_name: Option<String>,
    /// Member `phone`, for example `+4915112345678`.
    pub phone: Option<String>,
    /// Member `email`.
    pub email: Option<String>,
}

impl User {
    /// Creates a new user: enabled, without groups, with the roles of every new user (U-05).
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
            has_second_factor: false,
            subusers_count: None,
        }
    }

    /// Writes the members that `user` and `currentUser` have in common.
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
        map.serialize_entry("twoFactorAuthenticationEnabled", &user.has_second_factor)?;
        map.serialize_entry("customProperties", &user.custom_properties)?;
        serialize_references(&mut map, "groups", format!("{link}/groups"), &groups, links)?;
        serialize_references(&mut map, "roles", format!("{link}/roles"), &roles, links)?;
        if let Some(count) = user.subusers_count {
            map.serialize_entry("subusersCount", &count)?;
        }
        map.serialize_entry("self", &link)?;
        map.end()
    }
}

/// The caller's own user: without groups, direct roles and custom properties, but with all effective roles (U-14).
#[derive(Debug, Clone)]
pub struct CurrentUser {
    /// The user.
    pub user: User,
    /// The roles held directly and through groups.
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

/// The query parameters of the user collection. Absent parameters do not filter.
#[derive(Debug, Clone, Default)]
pub struct UserFilter {
    /// The prefix of the name.
    pub name_prefix: Option<String>,
    /// Users in at least one of these groups.
    pub groups: Option<Vec<i64>>,
    /// The sub-users of this user.
    pub owner: Option<String>,
    /// The sub-users of this user only, for callers without ROLE_USER_MANAGEMENT_READ (U-04).
    pub visible_to: Option<String>,
    /// People, device users (`device_…`), or both.
    pub kind: UserKind,
    /// Whether the number of sub-users is requested.
    pub subusers: SubusersCount,
}

/// The kinds of users in a collection. The members of a group are listed whatever their kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UserKind {
    /// Users whose names do not start with `device_`.
    #[default]
    People,
    /// Users whose names start with `device_`.
    Devices,
}

/// Whether `subusersCount` is requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SubusersCount {
    /// It is requested by `withSubusersCount=true`.
    Told,
    /// It is not requested.
    #[default]
    Omitted,
}
