//! The rows that a retention rule matches: counted for a preview, and deleted by a run.
//!
//! The age of a row is the time since it arrived, because devices may send any time. Ids begin with this time, so a
//! run walks along the primary key from the oldest row to the first one that is too young. Operations have ids from a
//! sequence and are found by the time of their creation.

use std::collections::BTreeMap;

use deadpool_postgres::{GenericClient, Transaction};
use platform_model::error::Result;
use platform_model::id::TenantId;
use platform_model::page::Count;
use platform_model::tenancy::retention::{
    AUDIT_TYPE, DataType, LEAST_DAYS_OF_OWN_RECORDS, Retention, RetentionPreview,
};
use platform_model::timestamp::Timestamp;

use tokio_postgres::types::ToSql;

use crate::data::measurements::rollups;
use crate::query::filter::Filtered;
use crate::{Database, until_uncontended};

/// The number of rows that one transaction examines, deleting those that match.
const AT_ONCE: i64 = 5_000;
/// The same number for events, whose files are deleted with them.
const EVENTS_AT_ONCE: i64 = 500;

/// The table of a kind of data. In conditions it is named `d`.
struct Table {
    name: &'static str,
    from: &'static str,
    source: &'static str,
    fragment: &'static str,
    type_: Option<&'static str>,
    /// The condition on rows that may be deleted by age.
    deletable: Option<&'static str>,
    at_once: i64,
}

const MEMBER: &str = "d.fragments -> $ IS NOT NULL";

fn table_of(kind: DataType) -> Table {
    let base = Table {
        name: "",
        from: "",
        source: "d.source = $",
        fragment: MEMBER,
        type_: Some("d.type = $"),
        deletable: None,
        at_once: AT_ONCE,
    };
    match kind {
        DataType::Alarm => {
            Table { name: "alarms", from: "alarms d", deletable: Some("d.status = 'CLEARED'"), ..base }
        }
        DataType::Audit => {
            Table { name: "audit_records", from: "audit_records d", source: "d.source = $::text", ..base }
        }
        DataType::Event => Table { name: "events", from: "events d", at_once: EVENTS_AT_ONCE, ..base },
        DataType::Measurement => Table {
            name: "measurements",
            from: "measurements d",
            fragment: "d.shape IN (SELECT s.id FROM measurement_shapes s WHERE s.tenant = d.tenant AND $ = \
                ANY(s.members))",
            type_: Some(
                "d.shape IN (SELECT s.id FROM measurement_shapes s WHERE s.tenant = d.tenant AND s.type = $)",
            ),
            ..base
        },
        DataType::Operation => Table {
            name: "operations",
            from: "operations d",
            source: "d.device = $",
            type_: None,
            deletable: Some("d.status IN ('SUCCESSFUL', 'FAILED')"),
            ..base
        },
    }
}

/// The deletion of one kind of data by a run, with its progress.
pub struct Sweep {
    kind: DataType,
    retention: Retention,
    /// The first id that is too young.
    before: i64,
    /// The greatest id that was examined.
    after: i64,
    /// The number of rows that the next step examines.
    at_once: i64,
}

impl Sweep {
    /// Prepares the deletion of the rows of one kind of data that a rule matches. One statement.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub async fn new(
        database: &Database,
        tenant: &TenantId,
        kind: DataType,
        retention: &Retention,
    ) -> Result<Self> {
        let client = database.loader().await?;
        let before = first_young(&*client, tenant, kind, retention.days_of(kind)).await?;
        Ok(Self { kind, retention: retention.clone(), before, after: 0, at_once: table_of(kind).at_once })
    }

    /// Examines the next rows and deletes those that match. Returns the number of deleted rows, or `None` at the end.
    /// One transaction, which sends no notifications.
    ///
    /// # Errors
    /// `Timeout`, `Contended`, `Unavailable` or `Database`.
    pub async fn step(&mut self, database: &Database, tenant: &TenantId) -> Result<Option<i64>> {
        let table = table_of(self.kind);
        let client = database.loader().await?;
        let last = format!(
            "SELECT max(id) FROM (SELECT id FROM {} WHERE tenant = $1 AND id > $2 AND id < $3 ORDER BY id LIMIT $4) \
             next",
            table.name
        );
        let bounds: [&(dyn ToSql + Sync); 4] = [&tenant.as_str(), &self.after, &self.before, &self.at_once];
        let Some(last) = client.query_one(&last, &bounds).await?.try_get(0)? else { return Ok(None) };
        drop(client);
        let deleted =
            until_uncontended(async || self.delete_up_to(database, tenant, &table, last).await).await?;
        self.after = last;
        Ok(Some(deleted))
    }

    /// Makes the next steps smaller, after one took too long. Returns `false` when a step examines one row already.
    pub fn shrink(&mut self) -> bool {
        let before = self.at_once;
        self.at_once = (before / 8).max(1);
        self.at_once < before
    }

    async fn delete_up_to(
        &self,
        database: &Database,
        tenant: &TenantId,
        table: &Table,
        last: i64,
    ) -> Result<i64> {
        let mut filtered = matching(table, tenant, &self.retention);
        filtered.and("d.id > $", self.after);
        filtered.and("d.id <= $", last);
        let mut client = database.loader().await?;
        let transaction = client.transaction().await?;
        if self.kind == DataType::Measurement {
            forget_rollups(&transaction, tenant, &filtered).await?;
        }
        let delete = format!("DELETE FROM {} WHERE {}", table.from, filtered.conditions());
        let deleted = transaction.execute(&delete, &filtered.parameters()).await?;
        transaction.commit().await?;
        Ok(deleted.cast_signed())
    }
}

/// Deletes the rollups of the sources whose measurements are about to be deleted.
async fn forget_rollups(transaction: &Transaction<'_>, tenant: &TenantId, filtered: &Filtered) -> Result<()> {
    let sources = format!("SELECT DISTINCT d.source FROM measurements d WHERE {}", filtered.conditions());
    let sources = transaction.query(&sources, &filtered.parameters()).await?;
    let sources: Vec<i64> = sources.iter().map(|row| row.get(0)).collect();
    rollups::forget(transaction, tenant, &sources).await
}

/// Counts the rows that a rule would delete now: exactly up to a million rows of each kind, estimated beyond.
///
/// # Errors
/// `Timeout`, `Unavailable` or `Database`.
pub async fn preview(
    database: &Database,
    tenant: &TenantId,
    retention: Retention,
) -> Result<RetentionPreview> {
    let client = database.reader().await?;
    let mut matching_rows = BTreeMap::new();
    for kind in retention.data_types() {
        let table = table_of(kind);
        let before = first_young(&*client, tenant, kind, retention.days_of(kind)).await?;
        let mut filtered = matching(&table, tenant, &retention);
        filtered.and("d.id < $", before);
        if let Count::Of(count) = filtered.counted(&client).await? {
            matching_rows.insert(kind, count);
        }
    }
    let before = "SELECT now() - make_interval(days => $1)";
    let before = client.query_one(before, &[&retention.maximum_age.cast_signed()]).await?;
    let before = Timestamp::stored(before.try_get(0)?, 0);
    Ok(RetentionPreview { retention, before, matching: matching_rows })
}

/// Returns the id below which the rows of a table are older than these days.
async fn first_young(
    client: &impl GenericClient,
    tenant: &TenantId,
    kind: DataType,
    days: u32,
) -> Result<i64> {
    let days = days.cast_signed();
    let row = if kind == DataType::Operation {
        let first = "SELECT coalesce((SELECT id + 1 FROM operations \
            WHERE tenant = $2 AND created_at < now() - make_interval(days => $1) \
            ORDER BY created_at DESC, id DESC LIMIT 1), 0)";
        client.query_one(first, &[&days, &tenant.as_str()]).await?
    } else {
        client.query_one("SELECT first_id(now() - make_interval(days => $1))", &[&days]).await?
    };
    Ok(row.try_get(0)?)
}

/// Returns the conditions on the rows of a table that a rule matches, whatever their age.
fn matching(table: &Table, tenant: &TenantId, retention: &Retention) -> Filtered {
    let mut filtered = Filtered::new(table.from, "d.tenant", tenant.as_str());
    if let Some(deletable) = table.deletable {
        filtered.only(deletable);
    }
    if let (Some(condition), Some(type_)) = (table.type_, &retention.type_) {
        filtered.and(condition, type_.clone());
    }
    match (&retention.source, table.name) {
        (Some(source), "audit_records") => filtered.and(table.source, source.to_string()),
        (Some(source), _) => filtered.and(table.source, source.0),
        (None, _) => {}
    }
    if table.name == "audit_records" {
        // A user who may write rules must not be able to erase who wrote them (Z-08a).
        let own = format!("(d.type <> '{AUDIT_TYPE}' OR d.id < first_id(now() - make_interval(days => $)))");
        filtered.and(&own, LEAST_DAYS_OF_OWN_RECORDS.cast_signed());
    }
    filtered.and_some(table.fragment, retention.fragment_type.clone());
    filtered
}
