//! Roles that users and groups hold, and their assignment (U-01, U-03).

use std::sync::Arc;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::{Role, may_be_defined};
use crate::body::{Body, MAX_SHORT_TEXT, text};
use crate::error::{Error, Result};
use crate::id::{GroupId, TenantId};
use crate::links::{Linked, Links};

/// The roles of one user.
#[derive(Default, Debug, Clone, PartialEq, Eq)]
pub struct RoleSet(Arc<[Box<str>]>);

impl RoleSet {
    /// Returns whether the role is held, literally.
    pub fn has(&self, role: &str) -> bool {
        self.0.binary_search_by(|held| (**held).cmp(role)).is_ok()
    }

    /// Returns the roles, sorted by name.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|role| &**role)
    }

    /// Returns the roles with one added.
    pub fn with(&self, role: &str) -> Self {
        self.names().chain([role]).collect()
    }

    /// Returns the roles without one.
    pub fn without(&self, role: &str) -> Self {
        self.names().filter(|held| *held != role).collect()
    }
}

/// Serializes the roles as a list of names.
impl Serialize for RoleSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.names())
    }
}

impl<S: Into<Box<str>>> FromIterator<S> for RoleSet {
    fn from_iter<I: IntoIterator<Item = S>>(roles: I) -> Self {
        let mut roles: Vec<Box<str>> = roles.into_iter().map(Into::into).collect();
        roles.sort_unstable();
        roles.dedup();
        Self(roles.into())
    }
}

/// The user or group that holds a role directly.
#[derive(Debug, Clone)]
pub enum RoleHolder {
    /// A user of a tenant.
    User(TenantId, Arc<str>),
    /// A group of a tenant; its members hold the role through it.
    Group(TenantId, GroupId),
}

/// A role that a user or a group holds: `{self, role}`.
#[derive(Debug, Clone)]
pub struct RoleReference {
    /// The holder.
    pub holder: RoleHolder,
    /// The role.
    pub role: Role,
}

impl RoleReference {
    /// Returns the link of the role below its holder.
    pub fn link(&self, links: &Links) -> String {
        let holder = match &self.holder {
            RoleHolder::User(tenant, name) => links.user(tenant, name),
            RoleHolder::Group(tenant, id) => links.group(tenant, *id),
        };
        format!("{holder}/roles/{}", self.role.name)
    }
}

impl Serialize for Linked<'_, RoleReference> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Linked { value: reference @ RoleReference { role, .. }, links } = *self;
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("self", &reference.link(links))?;
        map.serialize_entry("role", &Linked { value: role, links })?;
        map.end()
    }
}

/// Returns the references to all roles of a holder, sorted by name.
pub fn references(holder: &RoleHolder, roles: &RoleSet) -> Vec<RoleReference> {
    let role = |name: &str| RoleReference { holder: holder.clone(), role: Role { name: name.into() } };
    roles.names().map(role).collect()
}

impl Role {
    /// Parses the body of an assignment: `{role: {self}}`, `{role: {id}}` or `{role: {name}}` (U-01). A name that a
    /// microservice may define is accepted; whether the role exists depends on the tenant's subscriptions.
    ///
    /// # Errors
    /// `Invalid` for a name that cannot be a role, and for the two roles that nobody can be assigned: the internal one
    /// and that of the bootstrap user.
    pub fn parse_assignment(mut body: Body) -> Result<Self> {
        let name = referred(&mut body, "role", &["self", "id", "name"])?;
        // Role names need no encoding in a link, so its last segment is the name.
        let name = name.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        if may_be_defined(name) { Ok(Self { name: name.into() }) } else { Self::assignable(name) }
    }
}

/// Takes the reference from a body like `{role: {self}}`: the first of `members` that is present.
///
/// # Errors
/// `Invalid` when the member is absent, or not an object with one of `members` as a text.
pub fn referred(body: &mut Body, name: &str, members: &[&str]) -> Result<String> {
    let raw = body
        .take(name)
        .ok_or_else(|| Error::Invalid(format!("Following mandatory fields should be included: {name}")))?;
    let allowed = format!("an object with one of {}", members.join(", "));
    let wrong = || Error::invalid_value(name, raw.get(), &allowed);
    let mut object = Body::parse(raw.get().as_bytes()).map_err(|_| wrong())?;
    let given = members.iter().find_map(|member| Some((*member, object.take(member)?)));
    let (member, value) = given.ok_or_else(wrong)?;
    text(&format!("{name}.{member}"), &value, 4 * MAX_SHORT_TEXT)
}

#[cfg(test)]
mod tests {
    use super::super::ALARM_READ;
    use super::*;

    fn assignment(json: &str) -> Result<Role> {
        Role::parse_assignment(Body::parse(json.as_bytes()).expect("an object"))
    }

    #[test]
    fn roles_are_referred_to_by_self_id_or_name() {
        for json in [
            r#"{"role":{"self":"http://127.0.0.1:8080/user/roles/ROLE_ALARM_READ"}}"#,
            r#"{"role":{"self":"/user/roles/ROLE_ALARM_READ/"}}"#,
            r#"{"role":{"id":"ROLE_ALARM_READ"}}"#,
            r#"{"role":{"self":null,"name":"ROLE_ALARM_READ"}}"#,
        ] {
            assert_eq!(&*assignment(json).expect(json).name, ALARM_READ);
        }
    }

    #[test]
    fn unknown_internal_and_malformed_roles_are_rejected() {
        for json in [
            "{}",
            r#"{"role":null}"#,
            r#"{"role":"ROLE_ALARM_READ"}"#,
            r#"{"role":{}}"#,
            r#"{"role":{"id":7}}"#,
            r#"{"role":{"id":"ROLE_KING"}}"#,
            r#"{"role":{"id":"ROLE__READ"}}"#,
            r#"{"role":{"id":"ROLE_MÉTER_READ"}}"#,
            r#"{"role":{"id":"role_alarm_read"}}"#,
            r#"{"role":{"id":"ROLE_SYSTEM"}}"#,
            r#"{"role":{"self":"/user/roles/ROLE_DEVICE_BOOTSTRAP"}}"#,
        ] {
            assert!(matches!(assignment(json), Err(Error::Invalid(_))), "{json}");
        }
    }
}
