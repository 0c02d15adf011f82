//! Users in PostgreSQL. Each change is told to every server process, which drops what it remembers of the user.

use serde_json::value::RawValue;
use tokio_postgres::types::Json;

use super::{Database, watch};
use crate::error::{Error, Noun, Result};
use crate::model::access::DevicePermissions;
use crate::model::id::TenantId;
use crate::model::role::RoleSet;
use crate::model::tenant::TenantStatus;
use crate::model::user::Account;

const FIND: &str = include_str!("../../../sql/queries/users/find.sql");
const INSERT: &str = include_str!("../../../sql/queries/users/insert.sql");
const UPDATE_PASSWORD: &str = include_str!("../../../sql/queries/users/update_password.sql");

/// A user and whether its tenant is served; `None` when tenant or user is unknown.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn find_user(
    database: &Database,
    tenant: &TenantId,
    name: &str,
) -> Result<Option<(Account, TenantStatus)>> {
    let client = database.loader().await?;
    let statement = client.prepare_cached(FIND).await?;
    let row = client.query_opt(&statement, &[&tenant.as_str(), &name]).await?;
    let Some(row) = row else { return Ok(None) };
    let permissions: Vec<Json<Box<RawValue>>> = row.get(5);
    let permissions = permissions.iter().map(|held| DevicePermissions::parse(&held.0));
    let user = Account {
        tenant: tenant.clone(),
        name: row.get::<_, &str>(0).into(),
        password_hash: row.get(1),
        enabled: row.get(2),
        roles: row.get::<_, Vec<String>>(4).into_iter().collect::<RoleSet>(),
        permissions: DevicePermissions::sum(permissions.collect::<Result<Vec<_>>>()?),
    };
    let suspended = row.get::<_, &str>(3) == TenantStatus::Suspended.as_str();
    Ok(Some((user, if suspended { TenantStatus::Suspended } else { TenantStatus::Active })))
}

/// Creates a user. One transaction.
///
/// # Errors
/// `Duplicate` when the name is taken, `NotFound` when the tenant does not exist.
pub async fn insert_user(database: &Database, user: &Account) -> Result<()> {
    let client = database.reader().await?;
    let roles: Vec<&str> = user.roles.names().collect();
    let inserted = client
        .execute(INSERT, &[&user.tenant.as_str(), &&*user.name, &user.password_hash, &user.enabled, &roles])
        .await;
    match inserted.map_err(Error::from) {
        Err(error) if error.is_unique_violation() => {
            Err(Error::Duplicate { noun: Noun::User, key: format!("{}/{}", user.tenant, user.name) })
        }
        Err(error) if error.is_foreign_key_violation() => Err(Error::not_found(Noun::Tenant, &user.tenant)),
        other => other.map(drop),
    }
}

/// Replaces a password hash and tells every server process. One transaction.
///
/// # Errors
/// `NotFound`, `Unavailable` or `Database`.
pub async fn update_password(database: &Database, tenant: &TenantId, name: &str, hash: &str) -> Result<()> {
    let mut client = database.reader().await?;
    let transaction = client.transaction().await?;
    let changed = transaction.execute(UPDATE_PASSWORD, &[&tenant.as_str(), &name, &hash]).await?;
    if changed == 0 {
        return Err(Error::not_found(Noun::User, name));
    }
    watch::announce(&transaction, tenant, name).await?;
    Ok(transaction.commit().await?)
}
