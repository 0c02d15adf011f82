//! Changing users in PostgreSQL. Every server process is notified of each change; it drops what it has cached about the
//! user and ends sessions that depend on lost rights (B-18b). Changes of rights are audited in the same transaction
//! (Y-05).

use deadpool_postgres::GenericClient;
use platform_model::access::DevicePermissions;
use platform_model::data::audit_record::AttributeChange;
use platform_model::error::{Error, Noun, Result};
use platform_model::id::TenantId;
use platform_model::role::{self, Role, RoleSet};
use platform_model::users::group::ADMINS;
use platform_model::users::user::{Administration, User, UserPatch};
use tokio_postgres::types::{Json, ToSql};

use crate::Database;
use crate::applications::roles;
use crate::realtime::announcements::{Announcements, RightsChange, change};
use crate::users;
use crate::users::audit::{audit_created, audit_user, changed, changed_text, record};
use crate::users::group_members;
use crate::users::groups;
use crate::users::read_user;

const INSERT: &str = include_str!("../../../../sql/queries/users/insert.sql");
const UPDATE: &str = include_str!("../../../../sql/queries/users/update.sql");
const UPDATE_PASSWORD: &str = include_str!("../../../../sql/queries/users/update_password.sql");
const END_STORED_SESSIONS: &str = include_str!("../../../../sql/queries/session_moves/end_stored.sql");
const UPDATE_ROLES: &str = include_str!("../../../../sql/queries/users/update_roles.sql");
const LOCK: &str = include_str!("../../../../sql/queries/users/lock.sql");
const KEEP: &str = include_str!("../../../../sql/queries/users/keep.sql");
const DELETE: &str = include_str!("../../../../sql/queries/users/delete.sql");
const INHERIT_SUBUSERS: &str = include_str!("../../../../sql/queries/users/inherit_subusers.sql");

/// Creates a user. One transaction. Without an administration, as at the first start, it is not audited (Y-07).
///
/// # Errors
/// `Duplicate` when the name is in use, `NotFound` when the tenant does not exist, `Invalid` for an unknown owner;
/// `QuotaExceeded`.
pub async fn insert_user(
    database: &Database,
    administration: Option<&Administration>,
    user: &User,
    password_hash: Option<&str>,
) -> Result<User> {
    database.ensure_stored_quota(&user.tenant)?;
    change(database, async |transaction, announcements| {
        insert(transaction, announcements, user, password_hash).await?;
        audit_created(transaction, announcements, administration, user).await?;
        read_user(transaction, &user.tenant, &user.name).await
    })
    .await
}

/// Creates an administrator of a tenant: a member of `admins` (U-10). One transaction.
///
/// # Errors
/// The errors of [`insert_user`]; `NotFound` when the tenant has no such group.
pub async fn insert_administrator(
    database: &Database,
    administration: Option<&Administration>,
    user: &User,
    password_hash: &str,
) -> Result<()> {
    change(database, async |transaction, announcements| {
        enter_administrator(transaction, announcements, user, Some(password_hash)).await?;
        audit_created(transaction, announcements, administration, user).await
    })
    .await
}

/// Creates a user as a member of `admins`, as part of the caller's transaction, such as the one that creates the
/// tenant.
pub(crate) async fn enter_administrator(
    client: &impl GenericClient,
    announcements: &Announcements,
    user: &User,
    password_hash: Option<&str>,
) -> Result<()> {
    insert(client, announcements, user, password_hash).await?;
    let admins = groups::find_id(client, &user.tenant, ADMINS).await?;
    group_members::insert(client, &user.tenant, admins, &user.name).await
}

/// Creates a user, as part of the caller's transaction. Servers drop a cached rejection of this name.
pub(super) async fn insert(
    client: &impl GenericClient,
    announcements: &Announcements,
    user: &User,
    password_hash: Option<&str>,
) -> Result<()> {
    announcements.add_rights_of(&user.tenant, &user.name, RightsChange::Granted);
    ensure_owner(client, user).await?;
    let roles: Vec<&str> = user.roles.names().collect();
    let profile = &user.profile;
    let parameters: [&(dyn ToSql + Sync); 13] = [
        &user.tenant.as_str(),
        &&*user.name,
        &password_hash,
        &user.enabled,
        &roles,
        &profile.first_name,
        &profile.last_name,
        &profile.display_name,
        &profile.phone,
        &profile.email,
        &user.owner,
        &Json(&user.custom_properties),
        &Json(&user.permissions),
    ];
    match client.execute(INSERT, &parameters).await.map_err(Error::from) {
        Err(error) if error.is_unique_violation() => {
            Err(Error::Duplicate { noun: Noun::User, key: format!("{}/{}", user.tenant, user.name) })
        }
        Err(error) if error.is_foreign_key_violation() => Err(Error::not_found(Noun::Tenant, &user.tenant)),
        other => other.map(drop),
    }
}

/// Replaces a password hash and notifies every server process, and ends sessions that no server has. One transaction.
///
/// # Errors
/// `NotFound`, `Unavailable` or `Database`.
pub async fn update_password(
    database: &Database,
    administration: &Administration,
    name: &str,
    hash: &str,
) -> Result<()> {
    let tenant = &administration.tenant;
    change(database, async |transaction, announcements| {
        let changed = transaction.execute(UPDATE_PASSWORD, &[&tenant.as_str(), &name, &hash]).await?;
        if changed == 0 {
            return Err(Error::not_found(Noun::User, name));
        }
        // No server may be running to end them.
        transaction.execute(END_STORED_SESSIONS, &[&tenant.as_str(), &name]).await?;
        announcements.add_user(tenant, name);
        let change = AttributeChange::concealed("password", true, true);
        audit_user(transaction, announcements, administration, name, vec![change]).await
    })
    .await
}

/// Changes a user. One transaction. All sessions of the user end when the password or `enabled` changes; when device
/// permissions are removed, the sessions that depend on them end.
///
/// # Errors
/// `NotFound`; `Forbidden` when the caller has no authority over the user or lacks a permission it grants; `Refused`
/// when the last administrator would be disabled; `Invalid` for an unknown owner; `QuotaExceeded` (Z-20).
pub async fn update_user(
    database: &Database,
    administration: &Administration,
    name: &str,
    patch: &UserPatch,
    password_hash: Option<&str>,
) -> Result<User> {
    let tenant = &administration.tenant;
    change(database, async |transaction, announcements| {
        if patch.enabled == Some(false) {
            group_members::lock_admins(transaction, tenant).await?;
        }
        let before = lock_user(transaction, tenant, name).await?;
        let mut user = before.clone();
        patch.apply(&mut user);
        check_change(administration, &before, &user)?;
        if password_hash.is_some() {
            check_take_over(transaction, administration, name).await?;
        }
        if before.enabled && !user.enabled {
            group_members::ensure_may_lose(transaction, tenant, name).await?;
        }
        if user.owner != before.owner {
            ensure_owner(transaction, &user).await?;
        }
        let changes = [
            changed("devicePermissions", &before.permissions, &user.permissions),
            password_hash.map(|_| AttributeChange::concealed("password", true, true)),
            changed_text("enabled", Some(before.enabled), Some(user.enabled)),
            changed_text("owner", before.owner.as_ref(), user.owner.as_ref()),
        ];
        let changes: Vec<_> = changes.into_iter().flatten().collect();
        let [old, new] = [&before, &user].map(|user| user.custom_properties.bytes());
        database.ensure_recorded_growth(tenant, old, new, &changes)?;
        update(transaction, &user, password_hash).await?;
        audit_user(transaction, announcements, administration, name, changes).await?;
        if password_hash.is_some() || user.enabled != before.enabled {
            announcements.add_user(tenant, name);
        }
        if user.permissions != before.permissions {
            announcements.add_rights_of(tenant, name, shift(&before.permissions, &user.permissions));
        }
        read_user(transaction, tenant, name).await
    })
    .await
}

/// Returns whether device permissions were removed or only added.
pub(crate) fn shift(before: &DevicePermissions, after: &DevicePermissions) -> RightsChange {
    RightsChange::unless_lost(before.are_within(after, |_, _| false))
}

/// Checks that a caller has the authority for a change.
fn check_change(administration: &Administration, before: &User, after: &User) -> Result<()> {
    let authority = &administration.authority;
    authority.reaches(before.owner.as_deref())?;
    // The new owner must be under the caller's authority too.
    authority.reaches(after.owner.as_deref())?;
    if after.permissions == before.permissions { Ok(()) } else { authority.may_permit(&after.permissions) }
}

/// Checks that a caller may set the password of a user. The caller can then log in as that user, so the caller must
/// be able to grant all rights of the user: an administrator may have given a sub-user more rights than its owner
/// has.
pub(super) async fn check_take_over(
    client: &impl GenericClient,
    administration: &Administration,
    name: &str,
) -> Result<()> {
    let Some((account, _)) = users::find_account(client, &administration.tenant, name).await? else {
        return Ok(());
    };
    let of_new_user = role::of_new_user();
    administration.authority.may_give(account.roles.names().filter(|held| !of_new_user.has(held)))?;
    administration.authority.may_permit(&account.permissions)
}

async fn update(client: &impl GenericClient, user: &User, password_hash: Option<&str>) -> Result<()> {
    let profile = &user.profile;
    let parameters: [&(dyn ToSql + Sync); 12] = [
        &user.tenant.as_str(),
        &&*user.name,
        &password_hash,
        &user.enabled,
        &profile.first_name,
        &profile.last_name,
        &profile.display_name,
        &profile.phone,
        &profile.email,
        &user.owner,
        &Json(&user.custom_properties),
        &Json(&user.permissions),
    ];
    client.execute(UPDATE, &parameters).await?;
    Ok(())
}

/// Deletes a user. Its sessions end, and its sub-users get its owner. One transaction.
///
/// # Errors
/// `NotFound`; `Forbidden` when the caller has no authority over the user; `Refused` for the last administrator (U-15).
pub async fn delete_user(database: &Database, administration: &Administration, name: &str) -> Result<()> {
    let tenant = &administration.tenant;
    change(database, async |transaction, announcements| {
        group_members::lock_admins(transaction, tenant).await?;
        let user = lock_user(transaction, tenant, name).await?;
        administration.authority.reaches(user.owner.as_deref())?;
        group_members::ensure_may_lose(transaction, tenant, name).await?;
        transaction.execute(DELETE, &[&tenant.as_str(), &name]).await?;
        transaction.execute(INHERIT_SUBUSERS, &[&tenant.as_str(), &name, &user.owner]).await?;
        announcements.add_user(tenant, name);
        let changes = [
            changed("roles", &user.roles, &RoleSet::default()),
            changed("devicePermissions", &user.permissions, &DevicePermissions::default()),
        ];
        let changes = changes.into_iter().flatten().collect();
        record(transaction, announcements, administration, ("User", "User deleted", name), changes).await
    })
    .await
}

/// Assigns a role to a user. Assigning it again has no effect. One transaction.
///
/// # Errors
/// `NotFound`; `Forbidden` when the caller has no authority over the user or lacks the role; `Invalid` for a role that
/// no microservice of the tenant defines.
pub async fn assign_role(
    database: &Database,
    administration: &Administration,
    name: &str,
    role: &Role,
) -> Result<()> {
    let permitted = |user: &User| {
        administration.authority.reaches(user.owner.as_deref())?;
        administration.authority.may_give([&*role.name].into_iter())?;
        Ok(user.roles.with(&role.name))
    };
    change_roles(database, administration, name, Some(role), permitted).await
}

/// Withdraws a role from a user. One transaction.
///
/// # Errors
/// `NotFound` for an unknown user and for a role it does not hold directly; `Forbidden` when the caller has no
/// authority over the user.
pub async fn withdraw_role(
    database: &Database,
    administration: &Administration,
    name: &str,
    role: &str,
) -> Result<()> {
    let permitted = |user: &User| {
        administration.authority.reaches(user.owner.as_deref())?;
        if user.roles.has(role) {
            Ok(user.roles.without(role))
        } else {
            Err(Error::not_found(Noun::Role, role))
        }
    };
    change_roles(database, administration, name, None, permitted).await
}

async fn change_roles(
    database: &Database,
    administration: &Administration,
    name: &str,
    given: Option<&Role>,
    decide: impl Fn(&User) -> Result<RoleSet>,
) -> Result<()> {
    let tenant = &administration.tenant;
    change(database, async |transaction, announcements| {
        if let Some(role) = given {
            roles::keep_assignable(transaction, tenant, role).await?;
        }
        let user = lock_user(transaction, tenant, name).await?;
        let roles = decide(&user)?;
        let Some(change) = changed("roles", &user.roles, &roles) else { return Ok(()) };
        let names: Vec<&str> = roles.names().collect();
        transaction.execute(UPDATE_ROLES, &[&tenant.as_str(), &name, &names]).await?;
        audit_user(transaction, announcements, administration, name, vec![change]).await?;
        announcements.add_rights_of(tenant, name, RightsChange::unless_lost(given.is_some()));
        Ok(())
    })
    .await
}

/// Returns a user and locks it until the transaction ends.
///
/// # Errors
/// `NotFound`; `Refused` for a user of a microservice, whose properties follow from its application (W-10, W-11).
pub(crate) async fn lock_user(client: &impl GenericClient, tenant: &TenantId, name: &str) -> Result<User> {
    let locked = client.query_opt(LOCK, &[&tenant.as_str(), &name]).await?;
    if locked.is_some_and(|row| row.get(0)) {
        return Err(Error::Refused(
            "a user of a microservice cannot be changed, because it follows its application",
        ));
    }
    read_user(client, tenant, name).await
}

/// Ensures that the owner of a user is another user of the tenant, and locks it against deletion until the transaction
/// ends.
async fn ensure_owner(client: &impl GenericClient, user: &User) -> Result<()> {
    let Some(owner) = &user.owner else { return Ok(()) };
    let known =
        *owner != *user.name && client.query_opt(KEEP, &[&user.tenant.as_str(), owner]).await?.is_some();
    if known { Ok(()) } else { Err(Error::invalid_value("owner", owner, "another user of this tenant")) }
}
