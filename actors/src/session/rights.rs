//! What a user may receive: asked when a client subscribes, and again of all its channels when rights were taken away (B-01, B-18b).

use std::collections::HashMap;

use actix::prelude::*;

use super::SessionActor;
use crate::bayeux::Pattern;
use crate::error::Result;
use crate::model::access::{Ancestor, Authority, DevicePermissions, Ownership, Permission};
use crate::model::id::{ManagedObjectId, TenantId};
use crate::model::role::RoleSet;
use crate::store::{Database, access};

/// Asks what a session listens to. Sent when rights of its user were taken away.
#[derive(Debug, Message)]
#[rtype(result = "Box<[Pattern]>")]
pub(crate) struct ListSubscriptions;

/// The roles and device permissions of a user.
#[derive(Debug, Clone, Copy)]
pub struct Rights<'u> {
    /// The user's name; ownership is checked by it.
    pub user: &'u str,
    /// Roles, held directly and by groups.
    pub roles: &'u RoleSet,
    /// Device permissions, held directly and by groups.
    pub permissions: &'u DevicePermissions,
}

/// Whether a user may receive what is published on some channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// On all of them.
    Allowed,
    /// One is about an object that there is not, or not any more; nothing is published there.
    Absent,
    /// Not on all of them.
    Denied,
}

/// Says of each user whether it may receive on all these channels. For each the role is asked; or the one object it is about is the
/// user's, or permitted whatever its fragments (B-01). At most one statement, however many there are.
///
/// # Errors
/// `Unavailable` or `Database` when ownership cannot be looked up.
pub async fn may_receive(
    database: &Database,
    tenant: &TenantId,
    asked: &[(Rights<'_>, &[Pattern])],
) -> Result<Vec<Verdict>> {
    let without_role = asked.iter().flat_map(|(rights, patterns)| {
        patterns.iter().filter(|pattern| !rights.roles.has(pattern.role())).filter_map(Pattern::object)
    });
    let mut objects: Vec<i64> = without_role.map(|(object, _)| object.0).collect();
    objects.sort_unstable();
    objects.dedup();
    let lineages = match objects.is_empty() {
        true => HashMap::new(),
        false => access::list_ancestors(database, tenant, &objects).await?,
    };
    let verdict = |(rights, patterns): &(Rights<'_>, &[Pattern])| {
        let verdicts = patterns.iter().map(|pattern| rights.reach(pattern, &lineages));
        verdicts.max().unwrap_or(Verdict::Allowed)
    };
    Ok(asked.iter().map(verdict).collect())
}

impl Rights<'_> {
    fn reach(&self, pattern: &Pattern, lineages: &HashMap<ManagedObjectId, Vec<Ancestor>>) -> Verdict {
        if self.roles.has(pattern.role()) {
            return Verdict::Allowed;
        }
        let Some((object, api)) = pattern.object() else { return Verdict::Denied };
        let Some(lineage) = lineages.get(&object) else { return Verdict::Absent };
        let authority = Authority::Limited(self.permissions.grants(api, Permission::Read));
        match authority.permits(self.user, Ownership::Counts, lineage, |_| false) {
            true => Verdict::Allowed,
            false => Verdict::Denied,
        }
    }
}

impl Handler<ListSubscriptions> for SessionActor {
    type Result = MessageResult<ListSubscriptions>;

    fn handle(&mut self, _: ListSubscriptions, _: &mut Self::Context) -> Self::Result {
        MessageResult(self.patterns.clone())
    }
}
