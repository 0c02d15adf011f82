//! Users whom the identity provider of their tenant identifies (C-25). The first token of a person creates the user,
//! and each further one adapts its groups.

use std::collections::BTreeSet;

use deadpool_postgres::GenericClient;
use platform_model::data::audit_record::AttributeChange;
use platform_model::error::{Error, Result};
use platform_model::id::TenantId;
use platform_model::tenancy::identity_provider::IdentifiedUser;
use platform_model::users::group::{ADMINS, Group};
use platform_model::users::user::{Administration, User};
use tokio_postgres::types::ToSql;

use crate::Database;
use crate::query::prepared::PreparedQueries;
use crate::realtime::announcements::{Announcements, RightsChange, change};
use crate::users::audit::{audit, audit_created, by_oneself};
use crate::users::changes::{insert, lock_user};
use crate::users::group_members::{self, audit_groups, ensure_may_lose, lock_admins};
use crate::users::groups::get_named;

const FIND: &str = include_str!("../../../../sql/queries/users/find_identified.sql");
const RENEW: &str = include_str!("../../../../sql/queries/users/renew_identified.sql");

/// A user before its token is admitted.
struct Known {
    /// The issuer of the tokens of the user; `None` for a user that was created otherwise.
    issuer: Option<String>,
    groups: BTreeSet<String>,
    /// Whether the token is newer than all others of the user.
    is_newest: bool,
}

/// Creates the user of a verified token, or adapts the groups of the user to those of the token. Returns whether the
/// user belongs to this issuer; one that was created otherwise does not. Groups that the tenant does not have are left
/// out, the last administrator who can log in stays one, and a token that is older than another of the user changes
/// nothing. The first use of each newer token has an audit record (Y-07).
///
/// # Errors
/// `QuotaExceeded`, `Unavailable` or `Database`.
pub async fn admit(
    database: &Database,
    tenant: &TenantId,
    issuer: &str,
    user: &IdentifiedUser,
) -> Result<bool> {
    let known = find(&*database.loader().await?, tenant, user).await?;
    let is_new = match known {
        Some(known) if known.issuer.as_deref() != Some(issuer) => return Ok(false),
        Some(known) if known.groups == user.groups && !known.is_newest => return Ok(true),
        known => known.is_none(),
    };
    let record = || by_oneself(database, tenant, &user.name);
    let (creation, log_in, adaption) = (record()?, record()?, record()?);
    if is_new {
        database.ensure_stored_quota(tenant)?;
    }
    let admitted = change(database, async |transaction, announcements| {
        lock_admins(transaction, tenant).await?;
        if is_new {
            create(transaction, announcements, &creation, user).await?;
        }
        let parameters: [&(dyn ToSql + Sync); 5] =
            [&tenant.as_str(), &&*user.name, &issuer, &user.issued, &is_new];
        if transaction.run(RENEW, &parameters).await? == 0 {
            // The token is older than another one, or the user was replaced since the look-up.
            let known = find(transaction, tenant, user).await?;
            return Ok(known.is_some_and(|known| known.issuer.as_deref() == Some(issuer)));
        }
        let issued = AttributeChange::text("identityProvider", None, Some(issuer.to_owned()));
        audit(transaction, &log_in, "User", "Log-in", user.name.to_string(), vec![issued]).await?;
        adapt(transaction, announcements, &adaption, user).await?;
        Ok(true)
    });
    match admitted.await {
        // Another request of the person has created the user meanwhile.
        Err(Error::Duplicate { .. }) => Box::pin(admit(database, tenant, issuer, user)).await,
        other => other,
    }
}

async fn find(
    client: &impl GenericClient,
    tenant: &TenantId,
    user: &IdentifiedUser,
) -> Result<Option<Known>> {
    let row = client.find(FIND, &[&tenant.as_str(), &&*user.name, &user.issued]).await?;
    Ok(row.map(|row| Known {
        issuer: row.get(0),
        groups: row.get::<_, Vec<String>>(1).into_iter().collect(),
        is_newest: row.get(2),
    }))
}

/// Creates the user, without groups.
async fn create(
    client: &impl GenericClient,
    announcements: &Announcements,
    by: &Administration,
    user: &IdentifiedUser,
) -> Result<()> {
    let user = User { profile: user.profile.clone(), ..User::new(&by.tenant, user.name.clone()) };
    insert(client, announcements, &user, None).await?;
    audit_created(client, announcements, Some(by), &user).await
}

/// Adds the user to the groups of its token, and removes it from all others.
async fn adapt(
    client: &impl GenericClient,
    announcements: &Announcements,
    by: &Administration,
    user: &IdentifiedUser,
) -> Result<()> {
    let (tenant, name) = (&by.tenant, &*user.name);
    let before = lock_user(client, tenant, name).await?;
    let entitled = get_named(client, tenant, &user.groups).await?;
    let is_entitled = |group: &Group| entitled.iter().any(|entitled| entitled.id == group.id);
    let mut after: Vec<Group> = Vec::new();
    for group in &before.groups {
        if is_entitled(group) || group.name == ADMINS && !may_lose(client, tenant, name).await? {
            after.push(group.clone());
        } else {
            client.run(group_members::DELETE, &[&tenant.as_str(), &group.id.0, &name]).await?;
            announcements.add_rights_of(tenant, name, RightsChange::Withdrawn);
        }
    }
    for group in entitled {
        if !after.iter().any(|member| member.id == group.id) {
            group_members::insert(client, tenant, group.id, name).await?;
            announcements.add_rights_of(tenant, name, RightsChange::Granted);
            after.push(group);
        }
    }
    after.sort_by_key(|group| group.id);
    audit_groups(client, announcements, by, &before, &after).await
}

/// Returns whether a tenant has another administrator who can log in (U-15).
async fn may_lose(client: &impl GenericClient, tenant: &TenantId, name: &str) -> Result<bool> {
    match ensure_may_lose(client, tenant, name).await {
        Err(Error::Refused(_)) => Ok(false),
        other => other.map(|()| true),
    }
}
