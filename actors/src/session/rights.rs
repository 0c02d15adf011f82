//! The channels that a user may receive. They are checked when a client subscribes, and again when the user loses
//! rights (B-01, B-18b).

use std::collections::HashMap;
use std::sync::Arc;

use actix::prelude::*;
use platform_model::access::{Ancestor, Authority, DevicePermissions, Ownership, Permission};
use platform_model::error::Result;
use platform_model::id::{ManagedObjectId, TenantId};
use platform_model::realtime::bayeux::Pattern;
use platform_model::role::RoleSet;
use platform_store::{Database, access};

use super::SessionActor;

/// Asks for the patterns that a session subscribed to. Sent when its user lost rights. A session that arrives responds
/// when it has arrived.
#[derive(Debug, Message)]
#[rtype(result = "Box<[Pattern]>")]
pub(crate) struct ListSubscriptions;

/// The roles and device permissions of a user.
#[derive(Debug, Clone, Copy)]
pub struct Rights<'u> {
    /// The user's name, which is compared with the owner of an object.
    pub user: &'u str,
    /// The roles that the user holds directly or through groups.
    pub roles: &'u RoleSet,
    /// The device permissions that the user holds directly or through groups.
    pub permissions: &'u DevicePermissions,
}

/// Whether a user may receive the notifications of a set of channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// The user may receive all of them.
    Allowed,
    /// One channel is about an object that does not exist, so nothing is published there.
    Absent,
    /// The user may not receive all of them.
    Denied,
}

/// Returns for each user whether they may receive all of their channels. A channel needs the role for its resource,
/// or ownership of or permission for its one object, whatever the object's fragments (B-01).
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
    let mut objects: Vec<ManagedObjectId> = without_role.map(|(object, _)| object).collect();
    objects.sort_unstable();
    objects.dedup();
    let lineages = if objects.is_empty() {
        HashMap::new()
    } else {
        access::list_ancestors(database, tenant, &objects).await?
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
        if authority.permits(self.user, Ownership::Counts, lineage, |_| false) {
            Verdict::Allowed
        } else {
            Verdict::Denied
        }
    }
}

impl Handler<ListSubscriptions> for SessionActor {
    type Result = MessageResult<ListSubscriptions>;

    fn handle(&mut self, _: ListSubscriptions, _: &mut Self::Context) -> Self::Result {
        MessageResult(self.patterns())
    }
}

/// Asks for the owner of the session. Sent by the HTTP layer when a socket without credentials names the session
/// (B-18a). The reply is `None` if the session is not here.
#[derive(Debug, Message)]
#[rtype(result = "Option<Owner>")]
pub struct FindOwner;

/// The owner of a session.
#[derive(Debug, MessageResponse)]
pub struct Owner {
    /// The name of the user.
    pub user: Arc<str>,
    /// The time at which the user's token expires; `None` for a password.
    pub expires: Option<std::time::Instant>,
}

impl Handler<FindOwner> for SessionActor {
    type Result = Option<Owner>;

    fn handle(&mut self, _: FindOwner, _: &mut Self::Context) -> Option<Owner> {
        let owner = || Owner { user: self.user.clone(), expires: self.expires.as_deref().copied() };
        (!self.is_missed()).then(owner)
    }
}
