//! Brings the rows of a tenant that arrives up to a later moment of the source.
//!
//! The rows that were written since are copied into temporary tables. Keys that are gone are deleted before any row is
//! changed, and rows are changed before others are added, because unique keys may have passed from one row to another.

use platform_model::error::Result;

use super::arrival::Arrival;
use super::snapshot::{Mark, Snapshot};
use super::tables::{Table, list};

/// The temporary table of the keys that the source has.
const KEYS: &str = "moving_keys";

/// Brings all tables up to the moment of `snapshot`; the rows here are those of an earlier moment, `since`. Returns the
/// number of rows that were written since, or shortly before.
pub(super) async fn catch_up(arrival: &Arrival<'_>, snapshot: &Snapshot<'_>, since: &Mark) -> Result<u64> {
    let mut written = 0;
    for table in &arrival.tables {
        written += load(arrival, snapshot, table, since).await?;
    }
    for table in arrival.tables.iter().rev() {
        if has_gone_rows(arrival, snapshot, table).await? {
            delete_gone_rows(arrival, snapshot, table).await?;
        }
    }
    for table in &arrival.tables {
        merge(arrival, table).await?;
    }
    Ok(written)
}

/// Returns the name of the temporary table of a table.
fn loaded(table: &Table) -> String {
    format!("moving_{}", table.name)
}

/// Returns the condition that two rows have the same key.
fn same_key(table: &Table, one: &str, other: &str) -> String {
    let equal = |column: &String| format!("{one}.\"{column}\" = {other}.\"{column}\"");
    table.key_columns.iter().map(equal).collect::<Vec<_>>().join(" AND ")
}

/// Copies the rows that were written since a moment into a temporary table, and returns their number.
async fn load(arrival: &Arrival<'_>, snapshot: &Snapshot<'_>, table: &Table, since: &Mark) -> Result<u64> {
    let (name, into) = (&table.name, loaded(table));
    let create = format!(
        "CREATE TEMPORARY TABLE {into} ON COMMIT DROP AS SELECT {} FROM {name} LIMIT 0",
        table.all_columns()
    );
    arrival.transaction.batch_execute(&create).await?;
    arrival.copy(table, &into, &mut snapshot.rows(table, Some(since)).await?).await
}

/// Returns whether there are rows here whose keys the source does not have any more.
async fn has_gone_rows(arrival: &Arrival<'_>, snapshot: &Snapshot<'_>, table: &Table) -> Result<bool> {
    let Table { name, .. } = table;
    let tenant = &arrival.target.tenant;
    let here = format!(
        "SELECT (SELECT count(*) FROM {name} WHERE {key} = $1) + (SELECT count(*) FROM {loaded} d \
            WHERE NOT EXISTS (SELECT FROM {name} t WHERE {same_key}))",
        key = table.key(),
        loaded = loaded(table),
        same_key = same_key(table, "t", "d"),
    );
    let here = arrival.transaction.query_one(&here, &[&tenant.as_str()]).await?.get::<_, i64>(0);
    Ok(here != snapshot.count(table).await?)
}

async fn delete_gone_rows(arrival: &Arrival<'_>, snapshot: &Snapshot<'_>, table: &Table) -> Result<()> {
    let Table { name, key_columns, .. } = table;
    let keys = list(key_columns);
    let create = format!("CREATE TEMPORARY TABLE {KEYS} ON COMMIT DROP AS SELECT {keys} FROM {name} LIMIT 0");
    arrival.transaction.batch_execute(&create).await?;
    arrival.copy_keys(table, KEYS, &mut snapshot.keys(table).await?).await?;
    let delete = format!(
        "DELETE FROM {name} t WHERE t.{} = $1 AND NOT EXISTS (SELECT FROM {KEYS} k WHERE {})",
        table.key(),
        same_key(table, "t", "k"),
    );
    arrival.transaction.execute(&delete, &[&arrival.target.tenant.as_str()]).await?;
    Ok(arrival.transaction.batch_execute(&format!("DROP TABLE {KEYS}")).await?)
}

/// Changes and adds the rows of the temporary table of a table.
async fn merge(arrival: &Arrival<'_>, table: &Table) -> Result<()> {
    let (Table { name, numbered, key_columns, columns, .. }, loaded) = (table, loaded(table));
    let same_key = same_key(table, "t", "d");
    let mut statements = Vec::new();
    // A row with the same key and another number is another row: it was deleted and created again.
    for column in numbered {
        statements.push(format!(
            "DELETE FROM {name} t USING {loaded} d WHERE {same_key} AND t.\"{column}\" <> d.\"{column}\""
        ));
    }
    let is_set = |column: &&String| !key_columns.contains(*column) && !numbered.contains(*column);
    let set = |column: &String| format!("\"{column}\" = d.\"{column}\"");
    let set: Vec<_> = columns.iter().filter(is_set).map(set).collect();
    if !set.is_empty() {
        statements.push(format!("UPDATE {name} t SET {} FROM {loaded} d WHERE {same_key}", set.join(", ")));
    }
    let all = table.all_columns();
    statements.push(format!(
        "INSERT INTO {name} ({all}) OVERRIDING SYSTEM VALUE SELECT {all} FROM {loaded} d \
        WHERE NOT EXISTS (SELECT FROM {name} t WHERE {same_key})"
    ));
    statements.push(format!("DROP TABLE {loaded}"));
    Ok(arrival.transaction.batch_execute(&statements.join(";")).await?)
}
