//! Applications in PostgreSQL: what creates, changes and deletes them. Each change is told to every server process.

use deadpool_postgres::GenericClient;
use tokio_postgres::types::ToSql;

use super::announcements::Announcements;
use super::application_users::{UserSecret, dismiss_all, enter_bootstrap_user, follow};
use super::applications::{SeenApplication, change, seen_from_row};
use super::{Database, application_versions};
use crate::error::{Error, Noun, Result};
use crate::model::application::{Application, ApplicationPatch, Availability};
use crate::model::id::{ApplicationId, TenantId};

const INSERT: &str = include_str!("../../../sql/queries/applications/insert.sql");
const LOCK: &str = include_str!("../../../sql/queries/applications/lock.sql");
const UPDATE: &str = include_str!("../../../sql/queries/applications/update.sql");
const IS_SUBSCRIBED: &str = include_str!("../../../sql/queries/applications/is_subscribed.sql");
const DELETE: &str = include_str!("../../../sql/queries/applications/delete.sql");
const FIND_SECRETS: &str = include_str!("../../../sql/queries/applications/find_secrets.sql");

/// An application's key as it is stored.
#[derive(Debug, Clone)]
pub struct StoredKey {
    /// What it is looked up by.
    pub hash: String,
    /// Ciphertext, for its owner.
    pub sealed: String,
}

/// The secrets of a new application as they are stored.
#[derive(Debug, Clone)]
pub struct StoredSecrets {
    /// Its key.
    pub key: StoredKey,
    /// Ciphertext of the password of `resourcesUrl`.
    pub resources_password: Option<String>,
    /// Of a microservice the password of its bootstrap user (W-10).
    pub bootstrap: Option<UserSecret>,
}

/// The secrets of an application that change, as they are stored.
#[derive(Debug, Clone, Default)]
pub struct ChangedSecrets {
    /// The new key.
    pub key: Option<StoredKey>,
    /// Ciphertext of the new password of `resourcesUrl`; an inner `None` removes it.
    pub resources_password: Option<Option<String>>,
}

/// Creates an application, with the bootstrap user of a microservice. One transaction.
///
/// # Errors
/// `Duplicate` names what is taken: the name in its tenant, the key or the context path in the deployment (W-04).
pub async fn insert_application(
    database: &Database,
    application: &Application,
    secrets: &StoredSecrets,
) -> Result<()> {
    change(database, &application.owner, async |transaction, announcements| {
        insert(transaction, announcements, application, secrets).await
    })
    .await
}

/// Creates the clone of an application of the same tenant, with a copy of what is in use of it (W-09). One transaction.
///
/// # Errors
/// As [`insert_application`]; `NotFound` when the original went meanwhile.
pub async fn clone_application(
    database: &Database,
    original: ApplicationId,
    clone: &Application,
    secrets: &StoredSecrets,
) -> Result<SeenApplication> {
    change(database, &clone.owner, async |transaction, announcements| {
        let original = lock(transaction, &clone.owner, original).await?.application;
        insert(transaction, announcements, clone, secrets).await?;
        application_versions::copy(transaction, &original, clone).await?;
        lock(transaction, &clone.owner, clone.id).await
    })
    .await
}

/// Changes an application of a tenant. Its service users hold the roles it requires from then on (W-11). One transaction.
///
/// # Errors
/// `NotFound`; `Invalid` for what its type does not allow; `Duplicate` names what is taken.
pub async fn update_application(
    database: &Database,
    tenant: &TenantId,
    id: ApplicationId,
    (patch, secrets): (&ApplicationPatch, &ChangedSecrets),
) -> Result<SeenApplication> {
    change(database, tenant, async |transaction, announcements| {
        let mut seen = lock(transaction, tenant, id).await?;
        let before = (seen.application.required_roles.clone(), seen.application.roles.clone());
        patch.apply(&mut seen.application)?;
        update(transaction, &seen.application, secrets).await?;
        if (&before.0, &before.1) != (&seen.application.required_roles, &seen.application.roles) {
            follow(transaction, announcements, &seen.application).await?;
        }
        if let Some(key) = &secrets.key {
            seen.sealed_key = Some(key.sealed.clone());
        }
        Ok(seen)
    })
    .await
}

/// Deletes an application of a tenant with its users, its subscriptions and what was uploaded for it. One transaction.
///
/// # Errors
/// `NotFound`; `Conflict` for one of the market that somebody subscribes to.
pub async fn delete_application(database: &Database, tenant: &TenantId, id: ApplicationId) -> Result<()> {
    change(database, tenant, async |transaction, announcements| {
        // A subscription waits for this lock and finds nothing to subscribe to.
        let application = lock(transaction, tenant, id).await?.application;
        let is_subscribed: bool = transaction.query_one(IS_SUBSCRIBED, &[&id.0]).await?.get(0);
        if application.availability == Availability::Market && is_subscribed {
            let message = format!(
                "application '{}' is of availability MARKET and tenants subscribe to it; \
                 it can be deleted when they do not any more, or when it is PRIVATE",
                application.name
            );
            return Err(Error::Conflict { noun: Noun::Application, message });
        }
        dismiss_all(transaction, announcements, id).await?;
        transaction.execute(DELETE, &[&tenant.as_str(), &id.0]).await?;
        Ok(())
    })
    .await
}

/// The key and the password of `resourcesUrl` of an application of a tenant, sealed.
///
/// # Errors
/// `NotFound`, `Unavailable` or `Database`.
pub async fn find_secrets(
    database: &Database,
    tenant: &TenantId,
    id: ApplicationId,
) -> Result<(String, Option<String>)> {
    let client = database.reader().await?;
    let row = client.query_opt(FIND_SECRETS, &[&tenant.as_str(), &id.0]).await?;
    let row = row.ok_or_else(|| Error::not_found(Noun::Application, id))?;
    Ok((row.get(0), row.get(1)))
}

/// An application of its owner, locked until the transaction ends.
async fn lock(client: &impl GenericClient, tenant: &TenantId, id: ApplicationId) -> Result<SeenApplication> {
    let row = client.query_opt(LOCK, &[&tenant.as_str(), &id.0]).await?;
    seen_from_row(&row.ok_or_else(|| Error::not_found(Noun::Application, id))?)
}

async fn update(
    client: &impl GenericClient,
    application: &Application,
    secrets: &ChangedSecrets,
) -> Result<()> {
    let parameters: [&(dyn ToSql + Sync); 14] = [
        &application.owner.as_str(),
        &application.id.0,
        &application.name,
        &application.availability.as_str(),
        &secrets.key.as_ref().map(|key| &key.hash),
        &secrets.key.as_ref().map(|key| &key.sealed),
        &application.context_path,
        &application.resources_url,
        &application.resources_username,
        &secrets.resources_password.is_some(),
        &secrets.resources_password.as_ref().and_then(Option::as_ref),
        &application.external_url,
        &application.required_roles,
        &application.roles,
    ];
    let updated = client.execute(UPDATE, &parameters).await.map_err(Error::from);
    updated.map(drop).map_err(|error| named_duplicate(error, application))
}

/// Creates an application as part of the caller's transaction.
pub(super) async fn insert(
    client: &impl GenericClient,
    announcements: &Announcements,
    application: &Application,
    secrets: &StoredSecrets,
) -> Result<()> {
    let parameters: [&(dyn ToSql + Sync); 14] = [
        &application.owner.as_str(),
        &application.id.0,
        &application.name,
        &application.kind.as_str(),
        &application.availability.as_str(),
        &secrets.key.hash,
        &secrets.key.sealed,
        &application.context_path,
        &application.resources_url,
        &application.resources_username,
        &secrets.resources_password,
        &application.external_url,
        &application.required_roles,
        &application.roles,
    ];
    let inserted = client.execute(INSERT, &parameters).await.map_err(Error::from);
    inserted.map_err(|error| named_duplicate(error, application))?;
    match &secrets.bootstrap {
        Some(secret) => enter_bootstrap_user(client, announcements, application, secret).await,
        None => Ok(()),
    }
}

/// Says what is taken; never by the value of a key, which may be somebody else's.
fn named_duplicate(error: Error, application: &Application) -> Error {
    let key = match error.constraint() {
        Some("applications_tenant_name_key") => format!("name '{}'", application.name),
        Some("applications_by_key") => "this key".into(),
        Some("applications_by_context_path") => {
            format!("contextPath '{}'", application.context_path.as_deref().unwrap_or_default())
        }
        _ if error.is_foreign_key_violation() => return Error::not_found(Noun::Tenant, &application.owner),
        _ => return error,
    };
    Error::Duplicate { noun: Noun::Application, key }
}
