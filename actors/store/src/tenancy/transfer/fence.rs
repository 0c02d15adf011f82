//! The fence of a tenant that moves: PostgreSQL rejects every write of its rows, whichever server or job sends it
//! (Z-22).
//!
//! Each table has triggers that are about this tenant. To create one PostgreSQL waits for the transactions that write
//! the table, and others wait for the trigger. So once the fence is complete, no write of the tenant is open, and none
//! can begin. Writes of other tenants are not affected, except that each table is locked for a moment.

use deadpool_postgres::GenericClient;
use platform_model::error::{Error, Result};
use platform_model::id::TenantId;
use tokio::time::{Duration, Instant, sleep};

use super::tables::{Table, list_tables};
use crate::{Connection, Database};

const LIST_INTERRUPTED: &str =
    include_str!("../../../../../sql/queries/tenant_transfer/list_interrupted.sql");
const LIST_TRIGGERS: &str = include_str!("../../../../../sql/queries/tenant_transfer/list_triggers.sql");
const EXISTS: &str = include_str!("../../../../../sql/queries/tenant_transfer/fence_exists.sql");

/// The longest wait of others for a table that is locked for the fence.
const LOCK: &str = "SET LOCAL lock_timeout = '200ms'";
/// The time for which a table is tried that others have locked, and the pause between the attempts.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(50);

/// The writes that have triggers.
const KINDS: [&str; 3] = ["insert", "update", "delete"];
/// The tables that servers write for many tenants at once: their rows are skipped, so that others are counted.
const SKIPPED: [&str; 1] = ["tenant_statistics"];

/// Rejects the writes of a tenant from now on. When this returns, all earlier ones have ended.
///
/// # Errors
/// `Contended` if a table stays locked; `Unavailable` or `Database`. Parts of the fence may stand then.
pub(super) async fn raise(client: &mut Connection, tenant: &TenantId) -> Result<()> {
    for table in list_tables(&**client).await? {
        patiently(client, &creation(&table, tenant)).await?;
    }
    Ok(())
}

/// Accepts the writes of a tenant again. Disabling a trigger waits for writers alone. Dropping it waits for readers,
/// too, such as a backup, so a trigger that is in use stays, disabled.
///
/// # Errors
/// `Contended` if a table stays locked; `Unavailable` or `Database`. Parts of the fence may stand then.
pub(super) async fn lift(client: &mut Connection, tenant: &TenantId) -> Result<()> {
    let names = KINDS.map(|kind| trigger(tenant, kind));
    let triggers = client.query(LIST_TRIGGERS, &[&names.as_slice()]).await?;
    let triggers: Vec<(&str, &str)> = triggers.iter().map(|row| (row.get(0), row.get(1))).collect();
    for (table, trigger) in &triggers {
        patiently(client, &format!("ALTER TABLE {table} DISABLE TRIGGER \"{trigger}\"")).await?;
    }
    for (table, trigger) in &triggers {
        match once(client, &format!("DROP TRIGGER \"{trigger}\" ON {table}")).await {
            Ok(()) | Err(Error::Contended) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Returns whether a tenant has a fence, or a part of one.
///
/// # Errors
/// `Unavailable` or `Database`.
pub(super) async fn exists(client: &impl GenericClient, tenant: &TenantId) -> Result<bool> {
    let names = KINDS.map(|kind| trigger(tenant, kind));
    Ok(client.query_one(EXISTS, &[&names.as_slice()]).await?.get(0))
}

/// Lists the tenants that have a fence although no command moves them: the command was killed.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn list_interrupted(database: &Database) -> Result<Vec<String>> {
    let rows = database.loader().await?.query(LIST_INTERRUPTED, &[]).await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// Returns the name of a trigger.
fn trigger(tenant: &TenantId, kind: &str) -> String {
    format!("moving_{kind}_{tenant}")
}

/// Returns the statements that create the triggers of a table. Only a change of the mark that the tenant has moved is
/// accepted. The id of a tenant has no character that a quoted text would need to escape.
fn creation(table: &Table, tenant: &TenantId) -> String {
    let Table { name, .. } = table;
    let key = table.key();
    let then = if SKIPPED.contains(&name.as_str()) { "skip" } else { "reject" };
    let is_mark = if key == "id" { " AND NEW.moved_at IS NOT DISTINCT FROM OLD.moved_at" } else { "" };
    let create = |kind: &str, condition: String| {
        format!(
            "CREATE OR REPLACE TRIGGER \"{}\" BEFORE {kind} ON {name} FOR EACH ROW WHEN ({condition}) \
            EXECUTE FUNCTION reject_moving_tenant('{tenant}', '{then}')",
            trigger(tenant, kind)
        )
    };
    [
        create("insert", format!("NEW.{key} = '{tenant}'")),
        create("update", format!("NEW.{key} = '{tenant}'{is_mark}")),
        create("delete", format!("OLD.{key} = '{tenant}'")),
    ]
    .join(";")
}

/// Runs statements in a transaction, repeatedly while others lock the table.
async fn patiently(client: &mut Connection, statements: &str) -> Result<()> {
    let until = Instant::now() + PATIENCE;
    loop {
        match once(client, statements).await {
            Err(Error::Contended) if Instant::now() < until => sleep(PAUSE).await,
            outcome => return outcome,
        }
    }
}

/// Runs statements in a transaction, unless others lock the table.
async fn once(client: &mut Connection, statements: &str) -> Result<()> {
    let transaction = client.transaction().await?;
    transaction.batch_execute(LOCK).await?;
    transaction.batch_execute(statements).await?;
    Ok(transaction.commit().await?)
}
