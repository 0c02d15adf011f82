//! Applications in PostgreSQL: what creates, changes and deletes them. Each change is told to every server process.

use deadpool_postgres::GenericClient;
use tokio_postgres::types::ToSql;

use super::application_users::{UserSecret, enter_bootstrap_user};
use super::applications::announce;
use super::{Database, until_uncontended};
use crate::error::{Error, Noun, Result};
use crate::model::application::Application;

const INSERT: &str = include_str!("../../../sql/queries/applications/insert.sql");

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

/// Creates an application, with the bootstrap user of a microservice. One transaction.
///
/// # Errors
/// `Duplicate` names what is taken: the name in its tenant, the key or the context path in the deployment (W-04).
pub async fn insert_application(
    database: &Database,
    application: &Application,
    secrets: &StoredSecrets,
) -> Result<()> {
    until_uncontended(async || {
        let mut client = database.reader().await?;
        let transaction = client.transaction().await?;
        insert(&transaction, application, secrets).await?;
        announce(&transaction, &application.owner).await?;
        Ok(transaction.commit().await?)
    })
    .await?;
    database.applications_changed();
    Ok(())
}

/// Creates an application as part of the caller's transaction.
async fn insert(
    client: &impl GenericClient,
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
        Some(secret) => enter_bootstrap_user(client, application, secret).await,
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
