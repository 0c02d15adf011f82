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
const EXISTS: &str = include_str!("../../../../../sql/queries/tenant_transfer/fence_exists.sql");

/// The longest wait of others for a table that is locked for the fence.
const LOCK: &str = "SET LOCAL lock_timeout = '200ms'";
/// The time for which a table is tried that others have locked, and the pause between the attempts.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(50);

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

/// Accepts the writes of a tenant again.
///
/// # Errors
/// `Contended` if a table stays locked; `Unavailable` or `Database`. Parts of the fence may stand then.
pub(super) async fn lift(client: &mut Connection, tenant: &TenantId) -> Result<()> {
    for Table { name, .. } in list_tables(&**client).await? {
        let drop = |kind| format!("DROP TRIGGER IF EXISTS {} ON {name}", trigger(tenant, kind));
        patiently(client, &["insert", "update", "delete"].map(drop).join(";")).await?;
    }
    Ok(())
}

/// Returns whether a tenant has a fence, or a part of one.
///
/// # Errors
/// `Unavailable` or `Database`.
pub(super) async fn exists(client: &impl GenericClient, tenant: &TenantId) -> Result<bool> {
    let names = ["insert", "update", "delete"].map(|kind| trigger(tenant, kind).trim_matches('"').to_owned());
    let names = names.as_slice();
    Ok(client.query_one(EXISTS, &[&names]).await?.get(0))
}

/// Lists the tenants that have a fence although no command moves them: the command was killed.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn list_interrupted(database: &Database) -> Result<Vec<String>> {
    let rows = database.loader().await?.query(LIST_INTERRUPTED, &[]).await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// Returns the name of a trigger, quoted.
fn trigger(tenant: &TenantId, kind: &str) -> String {
    format!("\"moving_{kind}_{tenant}\"")
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
            "CREATE OR REPLACE TRIGGER {} BEFORE {kind} ON {name} FOR EACH ROW WHEN ({condition}) \
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
        let transaction = client.transaction().await?;
        transaction.batch_execute(LOCK).await?;
        let done = transaction.batch_execute(statements).await.map_err(Error::from);
        match done {
            Ok(()) => return Ok(transaction.commit().await?),
            Err(Error::Contended) if Instant::now() < until => drop(transaction),
            Err(error) => return Err(error),
        }
        sleep(PAUSE).await;
    }
}
