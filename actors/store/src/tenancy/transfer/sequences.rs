//! The sequences that number rows of several tenants. A tenant that arrives brings numbers of its own, so the sequences
//! go on beyond them.

use deadpool_postgres::GenericClient;
use platform_model::error::Result;
use platform_model::id::TenantId;

use super::TableContent;

const LIST_NUMBERS: &str = include_str!("../../../../../sql/queries/tenant_transfer/list_numbers.sql");

/// The columns that a sequence numbers by a statement: table, column and sequence. Identity columns are found in the
/// catalog.
pub const NUMBERED: [(&str, &str, &str); 2] =
    [("operations", "id", "operation_ids"), ("bulk_operations", "id", "bulk_operation_ids")];

/// Sets each sequence beyond the greatest number of the tenant. One part of the transaction of an import.
pub(super) async fn advance(
    client: &impl GenericClient,
    tenant: &TenantId,
    tables: &[TableContent],
) -> Result<()> {
    let names: Vec<_> = tables.iter().map(|table| table.table.as_str()).collect();
    for row in client.query(LIST_NUMBERS, &[&names]).await? {
        advance_one(client, tenant, (row.get(0), row.get(1), row.get(2))).await?;
    }
    for numbered in NUMBERED {
        advance_one(client, tenant, numbered).await?;
    }
    Ok(())
}

async fn advance_one(
    client: &impl GenericClient,
    tenant: &TenantId,
    (table, column, sequence): (&str, &str, &str),
) -> Result<()> {
    let missing = format!(
        "SELECT greatest.number FROM {sequence}, \
        (SELECT max({column}) AS number FROM {table} WHERE tenant = $1) greatest WHERE greatest.number >= last_value"
    );
    if client.query_opt(&missing, &[&tenant.as_str()]).await?.is_none() {
        return Ok(());
    }
    // This changes nothing. It keeps others from drawing numbers until the end of the transaction, so that the second
    // look decides, and none is drawn twice.
    client.batch_execute(&format!("ALTER SEQUENCE {sequence} INCREMENT BY 1")).await?;
    if let Some(row) = client.query_opt(&missing, &[&tenant.as_str()]).await? {
        let next = row.get::<_, i64>(0) + 1;
        client.batch_execute(&format!("ALTER SEQUENCE {sequence} RESTART WITH {next}")).await?;
    }
    Ok(())
}
