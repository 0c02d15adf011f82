//! The usage of tenants (Z-07): read here, and [measured](measurement) in the background by one server at a time.

pub mod measurement;

use platform_model::error::Result;
use platform_model::id::TenantId;
use platform_model::tenancy::usage::{
    DatabaseGrowth, DeploymentStorage, TablePart, TableSize, TenantStorage, TenantUsage,
};
use platform_model::timestamp::Timestamp;
use serde_json::Value;
use tokio_postgres::Row;
use tokio_postgres::types::Json;

use crate::Database;

const FIND: &str = include_str!("../../../../../sql/queries/usage/find.sql");
const LIST: &str = include_str!("../../../../../sql/queries/usage/list.sql");
const LIST_BELOW: &str = include_str!("../../../../../sql/queries/usage/list_below.sql");
const FIND_GROWTH: &str = include_str!("../../../../../sql/queries/usage/find_growth.sql");
const LIST_SIZES: &str = include_str!("../../../../../sql/queries/usage/list_sizes.sql");

/// Returns the last measured usage of every tenant. A tenant that is newer than the last measurement has none. One
/// statement.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn list_usage(database: &Database) -> Result<Vec<TenantUsage>> {
    let client = database.loader().await?;
    client.query(LIST, &[]).await?.iter().map(from_row).collect()
}

/// Returns the usage of the tenants that a tenant manages. One statement.
///
/// # Errors
/// `Timeout`, `Unavailable` or `Database`.
pub async fn list_usage_below(database: &Database, caller: &TenantId) -> Result<Vec<TenantUsage>> {
    let client = database.reader().await?;
    client.query(LIST_BELOW, &[&caller.as_str()]).await?.iter().map(from_row).collect()
}

/// Returns the stored data of a tenant by table; empty if the tenant is newer than the last measurement. One
/// statement.
///
/// # Errors
/// `Timeout`, `Unavailable` or `Database`.
pub async fn find_storage(database: &Database, tenant: &TenantId) -> Result<TenantStorage> {
    let client = database.reader().await?;
    let Some(row) = client.query_opt(FIND, &[&tenant.as_str()]).await? else {
        let (tenant, measured) = (tenant.clone(), None);
        let usage = TenantUsage { tenant, measured, devices: 0, devices_with_children: 0, stored_bytes: 0 };
        return Ok(TenantStorage { usage, growth_per_day: None, tables: Vec::new() });
    };
    let usage = TenantUsage {
        tenant: tenant.clone(),
        measured: Some(Timestamp::stored(row.try_get(0)?, 0)),
        devices: row.try_get(1)?,
        devices_with_children: row.try_get(2)?,
        stored_bytes: row.try_get(3)?,
    };
    let mut tables = parts(&row.try_get::<_, Json<Value>>(4)?.0);
    tables.sort_by(|one, other| other.bytes.cmp(&one.bytes).then_with(|| one.name.cmp(&other.name)));
    Ok(TenantStorage { usage, growth_per_day: row.try_get(5)?, tables })
}

/// Returns the size of the database and its growth; `None` before the first measurement. One statement.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn find_growth(database: &Database) -> Result<Option<DatabaseGrowth>> {
    let client = database.loader().await?;
    let Some(row) = client.query_opt(FIND_GROWTH, &[]).await? else { return Ok(None) };
    let measured = Timestamp::stored(row.try_get(1)?, 0);
    Ok(Some(DatabaseGrowth { bytes: row.try_get(0)?, measured, per_day: row.try_get(2)? }))
}

/// Returns the stored data of the whole deployment. Two statements.
///
/// # Errors
/// `Timeout`, `Unavailable` or `Database`.
pub async fn deployment_storage(database: &Database) -> Result<DeploymentStorage> {
    let growth = find_growth(database).await?;
    let client = database.reader().await?;
    let tables = client.query(LIST_SIZES, &[]).await?;
    let size = |row: &Row| {
        let whole = TablePart { name: row.try_get(0)?, rows: row.try_get(1)?, bytes: row.try_get(2)? };
        Ok(TableSize { whole, sampled: row.try_get(3)? })
    };
    let tables = tables.iter().map(size).collect::<Result<_>>()?;
    Ok(DeploymentStorage { growth, free_bytes: database.free_bytes(growth), tables })
}

fn from_row(row: &Row) -> Result<TenantUsage> {
    Ok(TenantUsage {
        tenant: TenantId::parse(row.try_get(0)?)?,
        measured: Some(Timestamp::stored(row.try_get(1)?, 0)),
        devices: row.try_get(2)?,
        devices_with_children: row.try_get(3)?,
        stored_bytes: row.try_get(4)?,
    })
}

/// Reads the tables of a tenant: `{"<name>": [<rows>, <bytes>]}`.
fn parts(stored: &Value) -> Vec<TablePart> {
    let members = stored.as_object().into_iter().flatten();
    let part = |(name, pair): (&String, &Value)| {
        Some(TablePart { name: name.clone(), rows: pair[0].as_i64()?, bytes: pair[1].as_i64()? })
    };
    members.filter_map(part).collect()
}
