//! The members of groups. A tenant never loses its last administrator who can log in (U-15).

use deadpool_postgres::GenericClient;
use platform_model::error::{Error, Noun, Result};
use platform_model::id::{GroupId, TenantId};
use platform_model::users::group::{ADMINS, Group};
use platform_model::users::user::{Administration, User};

use crate::Database;
use crate::realtime::announcements::{Announcements, RightsChange, change};
use crate::users::audit::{audit_user, changed};
use crate::users::changes::lock_user;
use crate::users::groups;

const INSERT: &str = include_str!("../../../../sql/queries/group_members/insert.sql");
pub(super) const DELETE: &str = include_str!("../../../../sql/queries/group_members/delete.sql");
const MAY_LOSE: &str = include_str!("../../../../sql/queries/group_members/may_lose.sql");
const INSERT_ALL_POWERFUL: &str =
    include_str!("../../../../sql/queries/group_members/insert_all_powerful.sql");
const LOCK_ADMINS: &str = include_str!("../../../../sql/queries/groups/lock_admins.sql");

/// Adds a user to a group and returns the user. Adding a member again has no effect. One transaction.
///
/// # Errors
/// `NotFound` for an unknown group; `Invalid` for an unknown user, because a body names it; `Forbidden` when the caller
/// has no authority over the user or lacks rights that the group grants.
pub async fn insert_member(
    database: &Database,
    administration: &Administration,
    group: GroupId,
    name: &str,
) -> Result<User> {
    let tenant = &administration.tenant;
    change(database, async |transaction, announcements| {
        let group = groups::keep_group(transaction, tenant, group).await?;
        let user = lock_user(transaction, tenant, name).await.map_err(|error| match error {
            Error::NotFound { .. } => Error::invalid_value("user", name, "a user of this tenant"),
            other => other,
        })?;
        administration.authority.reaches(user.owner.as_deref())?;
        administration.authority.may_give(group.roles.names())?;
        administration.authority.may_permit(&group.permissions)?;
        if user.groups.iter().any(|of| of.id == group.id) {
            return Ok(user);
        }
        insert(transaction, tenant, group.id, name).await?;
        let mut after = user.clone();
        after.groups.push(group);
        after.groups.sort_by_key(|group| group.id);
        audit_groups(transaction, announcements, administration, &user, &after.groups).await?;
        announcements.add_rights_of(tenant, name, RightsChange::Granted);
        Ok(after)
    })
    .await
}

/// Removes a user from a group. One transaction.
///
/// # Errors
/// `NotFound` for an unknown group and for a user who is not a member; `Forbidden` when the caller has no authority
/// over the user; `Refused` for the last administrator.
pub async fn delete_member(
    database: &Database,
    administration: &Administration,
    group: GroupId,
    name: &str,
) -> Result<()> {
    let tenant = &administration.tenant;
    change(database, async |transaction, announcements| {
        lock_admins(transaction, tenant).await?;
        let group = groups::keep_group(transaction, tenant, group).await?;
        let user = lock_user(transaction, tenant, name).await?;
        administration.authority.reaches(user.owner.as_deref())?;
        if !user.groups.iter().any(|of| of.id == group.id) {
            return Err(Error::not_found(Noun::User, name));
        }
        if group.name == ADMINS {
            ensure_may_lose(transaction, tenant, name).await?;
        }
        transaction.execute(DELETE, &[&tenant.as_str(), &group.id.0, &name]).await?;
        let after: Vec<Group> = user.groups.iter().filter(|of| of.id != group.id).cloned().collect();
        audit_groups(transaction, announcements, administration, &user, &after).await?;
        announcements.add_rights_of(tenant, name, RightsChange::Withdrawn);
        Ok(())
    })
    .await
}

/// Records a change of the groups of a user, as part of the caller's transaction (Y-05).
pub(super) async fn audit_groups(
    client: &impl GenericClient,
    announcements: &Announcements,
    administration: &Administration,
    before: &User,
    after: &[Group],
) -> Result<()> {
    let names = |groups: &[Group]| groups.iter().map(|group| group.name.clone()).collect::<Vec<_>>();
    let change = changed("groups", &names(&before.groups), &names(after));
    audit_user(client, announcements, administration, &before.name, change.into_iter().collect()).await
}

/// Inserts a member, as part of the caller's transaction.
pub(crate) async fn insert(
    client: &impl GenericClient,
    tenant: &TenantId,
    group: GroupId,
    name: &str,
) -> Result<()> {
    client.execute(INSERT, &[&tenant.as_str(), &group.0, &name]).await?;
    Ok(())
}

/// Adds every user who holds all these roles directly: the administrators from before groups existed.
pub(crate) async fn insert_all_powerful(
    client: &impl GenericClient,
    tenant: &TenantId,
    group: GroupId,
    roles: &[&str],
) -> Result<()> {
    client.execute(INSERT_ALL_POWERFUL, &[&tenant.as_str(), &group.0, &roles]).await?;
    Ok(())
}

/// Makes concurrent transactions that remove an administrator wait for each other.
pub(crate) async fn lock_admins(client: &impl GenericClient, tenant: &TenantId) -> Result<()> {
    client.query_opt(LOCK_ADMINS, &[&tenant.as_str()]).await?;
    Ok(())
}

/// Ensures that a tenant has another administrator who can log in, if this user is one (U-15).
///
/// # Errors
/// `Refused` when there is no other one.
pub(crate) async fn ensure_may_lose(
    client: &impl GenericClient,
    tenant: &TenantId,
    name: &str,
) -> Result<()> {
    if client.query_one(MAY_LOSE, &[&tenant.as_str(), &name]).await?.get(0) {
        Ok(())
    } else {
        Err(Error::Refused("group 'admins' must keep a member who can log in"))
    }
}
