//! Copies a tenant out.

use std::pin::pin;

use futures_util::TryStreamExt;
use platform_model::error::{Error, Noun, Result};
use platform_model::id::TenantId;
use tokio_postgres::{IsolationLevel, Row};

use super::{Content, FORMAT, ForeignApplication, Output, partitions, tables, unusable};
use crate::Database;

const LIST_APPLICATIONS: &str =
    include_str!("../../../../../sql/queries/tenant_transfer/list_applications.sql");

/// Copies all rows of a tenant to `output`, as they are at one moment, and returns the proof of them. It reads each
/// table in a stream. One transaction, which writes nothing and keeps no writer waiting.
///
/// # Errors
/// `NotFound`; `Invalid` if the output cannot be written; `Unavailable` or `Database`.
pub async fn export(database: &Database, tenant: &TenantId, output: &mut impl Output) -> Result<Content> {
    let mut client = database.patient_loader().await?;
    let moment = client.build_transaction().isolation_level(IsolationLevel::RepeatableRead).read_only(true);
    let transaction = moment.start().await?;
    transaction.batch_execute(FORMAT).await?;
    let found = "SELECT domain, status FROM tenants WHERE id = $1";
    let row = transaction.query_opt(found, &[&tenant.as_str()]).await?;
    let row = row.ok_or_else(|| Error::not_found(Noun::Tenant, tenant))?;
    let mut content = Content {
        tenant: tenant.to_string(),
        domain: row.get(0),
        status: row.get(1),
        tables: Vec::new(),
        applications: Vec::new(),
        partitions: partitions::list(&transaction, tenant).await?,
    };
    let applications = transaction.query(LIST_APPLICATIONS, &[&tenant.as_str()]).await?;
    content.applications = applications.iter().map(foreign_application).collect();
    for table in tables::list_tables(&transaction).await? {
        content.tables.push(table.content(&transaction, tenant).await?);
        output.begin(&table.name).map_err(|error| unusable(&error))?;
        let mut rows = pin!(transaction.copy_out(&table.copy_out(tenant)).await?);
        while let Some(part) = rows.try_next().await? {
            output.write(&part).map_err(|error| unusable(&error))?;
        }
    }
    transaction.commit().await?;
    Ok(content)
}

fn foreign_application(row: &Row) -> ForeignApplication {
    ForeignApplication { id: row.get(0), owner: row.get(1), name: row.get(2) }
}
