//! Creating, changing and deleting applications in PostgreSQL. Every server process is notified of each change.

use deadpool_postgres::GenericClient;
use platform_model::applications::application::{Application, ApplicationPatch, Availability};
use platform_model::error::{Error, Noun, Result};
use platform_model::id::{ApplicationId, TenantId};
use tokio_postgres::types::ToSql;

use crate::Database;
use crate::applications::users::{UserSecret, dismiss_all, enter_bootstrap_user, follow};
use crate::applications::versions;
use crate::applications::{SeenApplication, change, seen_from_row};
use crate::realtime::announcements::Announcements;

const INSERT: &str = include_str!("../../../../sql/queries/applications/insert.sql");
const LOCK: &str = include_str!("../../../../sql/queries/applications/lock.sql");
const UPDATE: &str = include_str!("../../../../sql/queries/applications/update.sql");
const IS_SUBSCRIBED: &str = include_str!("../../../../sql/queries/applications/is_subscribed.sql");
const DELETE: &str = include_str!("../../../../sql/queries/applications/delete.sql");
const FIND_SECRETS: &str = include_str!("../../../../sql/queries/applications/find_secrets.sql");

/// The key of an application as it is stored.
#[derive(Debug, Clone)]
pub struct StoredKey {
    /// The hash by which the key is looked up.
    pub hash: String,
    /// The encrypted key, which only its owner may read.
    pub sealed: String,
}

/// The secrets of a new application as they are stored.
#[derive(Debug, Clone)]
pub struct StoredSecrets {
    /// The key of the application.
    pub key: StoredKey,
    /// The encrypted password of `resourcesUrl`.
    pub resources_password: Option<String>,
    /// The password of the bootstrap user, for a microservice only (W-10).
    pub bootstrap: Option<UserSecret>,
}

/// The secrets of an application that change, as they are stored.
#[derive(Debug, Clone, Default)]
pub struct ChangedSecrets {
    /// The new key.
    pub key: Option<StoredKey>,
    /// The new encrypted password of `resourcesUrl`; an inner `None` removes it.
    pub resources_password: Option<Option<String>>,
}

/// Creates an application and, for a microservice, its bootstrap user. One transaction.
///
/// # Errors
/// `Duplicate` names the conflicting value: the name in its tenant, the key or the context path in the deployment
/// (W-04).
pub async fn insert_application(
    database: &Database,
    application: &Application,
    secrets: &StoredSecrets,
) -> Result<()> {
    database.ensure_stored_quota(&application.owner)?;
    change(database, &application.owner, async |transaction, announcements| {
        insert(transaction, announcements, application, secrets).await
    })
    .await
}

/// Creates a clone of an application of the same tenant, with a copy of its active version (W-09). One transaction.
///
/// # Errors
/// The errors of [`insert_application`]; `NotFound` when the original was deleted meanwhile.
pub async fn clone_application(
    database: &Database,
    original: ApplicationId,
    clone: &Application,
    secrets: &StoredSecrets,
) -> Result<SeenApplication> {
    database.ensure_stored_quota(&clone.owner)?;
    change(database, &clone.owner, async |transaction, announcements| {
        let original = lock(transaction, &clone.owner, original).await?.application;
        insert(transaction, announcements, clone, secrets).await?;
        versions::copy(transaction, &original, clone).await?;
        lock(transaction, &clone.owner, clone.id).await
    })
    .await
}

/// Changes an application of a tenant. Its service users hold the roles it requires from then on (W-11). One
/// transaction.
///
/// # Errors
/// `NotFound`; `Invalid` for a value its type does not allow; `Duplicate` names the conflicting value.
pub async fn update_application(
    database: &Database,
    tenant: &TenantId,
    id: ApplicationId,
    patch: &ApplicationPatch,
    secrets: &ChangedSecrets,
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

/// Deletes an application of a tenant with its users, its subscriptions and its uploaded versions. One transaction.
///
/// # Errors
/// `NotFound`; `Conflict` for an application of the market that some tenant subscribes to.
pub async fn delete_application(database: &Database, tenant: &TenantId, id: ApplicationId) -> Result<()> {
    change(database, tenant, async |transaction, announcements| {
        // A concurrent subscription waits for this lock and then finds no application.
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

/// Returns the encrypted key and the encrypted password of `resourcesUrl` of an application of a tenant.
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

/// Returns an application that the tenant owns and locks it until the transaction ends.
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
pub(crate) async fn insert(
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

/// Names the value that is in use already, but never the value of a key, which may belong to another tenant.
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
