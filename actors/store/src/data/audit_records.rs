//! Audit records in PostgreSQL. A record that the server writes itself belongs to the transaction of the change it
//! describes.

use deadpool_postgres::GenericClient;
use platform_model::access::{Authority, Grants};
use platform_model::data::audit_record::{AuditRecord, AuditRecordFilter, NewAuditRecord};
use platform_model::error::{Error, Noun, Result};
use platform_model::id::{AuditRecordId, TenantId};
use platform_model::page::{Page, PageRequest, Position, TimeOrder};
use platform_model::timestamp::Timestamp;
use platform_model::users::user::OPERATOR;
use serde_json::value::RawValue;
use tokio_postgres::Row;
use tokio_postgres::types::{Json, ToSql};

use crate::Database;
use crate::query::filter::{Filtered, Order, page_of};
use crate::query::ordered_scan::{OrderedScan, ScanWindow, Visibility, limited_page};
use crate::query::prepared::PreparedQueries;
use crate::query::rows::fragments;

const INSERT: &str = include_str!("../../../../sql/queries/audit_records/insert.sql");
const OPERATORS_ID: &str = include_str!("../../../../sql/queries/audit_records/operators_id.sql");
const FIND: &str = include_str!("../../../../sql/queries/audit_records/find.sql");

/// The columns of a record, in the order [`from_row`] reads them.
const COLUMNS: &str = "r.id, r.type, r.activity, r.time, r.time_offset, r.text, r.source, r.user_name, \
    r.application, r.severity, r.changes, r.fragments, r.created_at";

/// The number of records that one statement deletes: large enough to be fast, small enough to stay far below the
/// statement timeout.
const DELETED_AT_ONCE: i64 = 5_000;

/// Inserts a record, as part of the caller's transaction.
///
/// # Errors
/// `Unavailable` or `Database`.
pub(crate) async fn insert_audit_record(
    client: &impl GenericClient,
    tenant: &TenantId,
    id: AuditRecordId,
    record: &NewAuditRecord,
) -> Result<()> {
    insert(client, &record.recorded(tenant, id)).await
}

/// Stores a record that a client sent, with a new id. One statement.
///
/// # Errors
/// `QuotaExceeded`; `Unavailable` or `Database`.
pub async fn insert_sent_audit_record(
    database: &Database,
    id: i64,
    record: AuditRecord,
) -> Result<AuditRecord> {
    database.ensure_stored_quota(&record.tenant)?;
    let record = AuditRecord { id: Some(AuditRecordId(id)), ..record };
    insert(&*database.reader().await?, &record).await?;
    Ok(record)
}

/// Returns an id for the audit record of a command of the operator, which holds no slot to generate ids with. It has
/// the slot that no server gets before all others are taken, and a random sequence.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn next_operators_id(database: &Database) -> Result<i64> {
    Ok(database.reader().await?.query_one(OPERATORS_ID, &[]).await?.get(0))
}

/// Records a command of the operator that changed something (Y-07), after its change. Two statements.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn insert_operators_record(
    database: &Database,
    tenant: &TenantId,
    type_: &'static str,
    activity: &'static str,
    source: &str,
) -> Result<()> {
    let id = AuditRecordId(next_operators_id(database).await?);
    let record = NewAuditRecord {
        type_,
        activity,
        time: Timestamp::now(),
        text: format!("{activity}: {source}"),
        source: source.to_owned(),
        user: OPERATOR.to_owned(),
        application: None,
        severity: "warning".into(),
        changes: Vec::new(),
    };
    insert_audit_record(&*database.reader().await?, tenant, id, &record).await
}

async fn insert(client: &impl GenericClient, record: &AuditRecord) -> Result<()> {
    let statement = client.prepare_cached(INSERT).await?;
    let parameters: [&(dyn ToSql + Sync); 14] = [
        &record.tenant.as_str(),
        &record.id.map_or(0, |id| id.0),
        &record.type_,
        &record.activity,
        &record.time.instant(),
        &record.time.offset_minutes(),
        &record.text,
        &record.source,
        &record.user,
        &record.application,
        &record.severity,
        &Json(&record.changes),
        &Json(&record.fragments),
        &record.creation_time.instant(),
    ];
    client.execute(&statement, &parameters).await?;
    Ok(())
}

/// Returns a record.
///
/// # Errors
/// `NotFound`, `Unavailable` or `Database`.
pub async fn get_audit_record(
    database: &Database,
    tenant: &TenantId,
    id: AuditRecordId,
) -> Result<AuditRecord> {
    let row = database.reader().await?.find(FIND, &[&tenant.as_str(), &id.0]).await?;
    from_row(tenant, &row.ok_or_else(|| Error::not_found(Noun::AuditRecord, id))?)
}

/// Returns a page of records: sorted by time when a time range is requested, else by id; oldest first unless reverted
/// (P-06, X-18). A caller without the role sees the records about managed objects that its device permissions grant, by
/// their lineage and their fragments (P-07, Y-06).
///
/// # Errors
/// `Timeout`, `Unavailable` or `Database`.
pub async fn list_audit_records(
    database: &Database,
    tenant: &TenantId,
    filter: &AuditRecordFilter,
    authority: &Authority,
    page: &PageRequest,
) -> Result<Page<AuditRecord>> {
    let client = database.reader().await?;
    if let Authority::Limited(grants) = authority {
        return list_limited(&client, tenant, filter, grants, page).await;
    }
    let mut filtered = filtered(tenant, filter);
    let count = filtered.total(&client, page.total).await?;
    let order = match (filter.is_by_time(), filter.order) {
        (false, TimeOrder::OldestFirst) => Order::Id("r.id"),
        (false, TimeOrder::NewestFirst) => Order::LastId("r.id"),
        (true, TimeOrder::OldestFirst) => Order::OldestFirst("r.time", "r.id"),
        (true, TimeOrder::NewestFirst) => Order::NewestFirst("r.time", "r.id"),
    };
    let rows = client.rows(&filtered.page(COLUMNS, order, page), &filtered.parameters()).await?;
    let records = rows.iter().map(|row| from_row(tenant, row)).collect::<Result<Vec<_>>>()?;
    let position =
        |record: &AuditRecord| Position { time: record.time.instant(), id: record.id.map_or(0, |id| id.0) };
    Ok(Page { count, ..page_of(records, page, position) })
}

/// Returns the page of a caller without the role.
async fn list_limited(
    client: &tokio_postgres::Client,
    tenant: &TenantId,
    filter: &AuditRecordFilter,
    grants: &Grants,
    page: &PageRequest,
) -> Result<Page<AuditRecord>> {
    let mut filtered = filtered(tenant, filter);
    let mut bounds = filtered.conditions().to_owned();
    let (than, direction) = match filter.order {
        TimeOrder::OldestFirst => ('>', ""),
        TimeOrder::NewestFirst => ('<', " DESC"),
    };
    if let Some(after) = page.position() {
        let id = filtered.parameter(after.id);
        bounds += &if filter.is_by_time() {
            format!(" AND (r.time, r.id) {than} ({}, {id})", filtered.parameter(after.time))
        } else {
            format!(" AND r.id {than} {id}")
        };
    }
    let by_time = if filter.is_by_time() { format!("r.time{direction}, ") } else { String::new() };
    let scan = OrderedScan {
        from: "audit_records r".into(),
        alias: "r",
        bounds,
        sort: format!("{by_time}r.id{direction}"),
        columns: COLUMNS.into(),
    };
    let others: Vec<&str> = AuditRecord::other_types().collect();
    let others = filtered.parameter(others);
    let visibility = Visibility {
        source: &format!(
            "(CASE WHEN r.source ~ '^[0-9]{{1,18}}$' AND r.type <> ALL({others}::text[]) THEN r.source::bigint END)"
        ),
        owner: None,
        grants,
        public: "false".into(),
        holds_fragment: "EXISTS (SELECT FROM managed_objects o \
            WHERE o.tenant = r.tenant AND o.id = reach.source AND o.fragment_names && reach.fragments)",
    };
    let offset = if page.position().is_some() { 0 } else { i64::from(page.current) - 1 };
    let window = ScanWindow::limited(offset, page);
    let statement = scan.limited_window("true", window, &visibility, &mut filtered);
    let rows = client.query(&statement, &filtered.parameters()).await?;
    let position = |row: &Row| Position { time: row.get(3), id: row.get(0) };
    limited_page(page, window, rows, position, |row| from_row(tenant, row))
}

/// Deletes the matching records, or all records without a filter (Y-04). It uses many short transactions, so that a
/// million records do not exceed the statement timeout. A request that is cancelled halfway has deleted a part and can
/// be repeated.
///
/// # Errors
/// `Unavailable` or `Database`; a part of the records may be deleted then.
pub async fn delete_audit_records(
    database: &Database,
    tenant: &TenantId,
    filter: &AuditRecordFilter,
) -> Result<()> {
    let mut filtered = filtered(tenant, filter);
    let delete = filtered.delete("audit_records", "r.id", DELETED_AT_ONCE);
    loop {
        let deleted = database.reader().await?.run(&delete, &filtered.parameters()).await?;
        if deleted < DELETED_AT_ONCE as u64 {
            return Ok(());
        }
    }
}

fn filtered(tenant: &TenantId, filter: &AuditRecordFilter) -> Filtered {
    let mut filtered = Filtered::new("audit_records r", "r.tenant", tenant.as_str());
    filtered.and_some("r.source = $", filter.source.clone());
    filtered.and_some("r.type = $", filter.type_.clone());
    filtered.and_some("r.type <> ALL($)", filter.except_types.clone());
    filtered.and_some("r.user_name = $", filter.user.clone());
    filtered.and_some("r.application = $", filter.application.clone());
    filtered.and_some("r.time >= $", filter.date_from.map(Timestamp::instant));
    filtered.and_some("r.time <= $", filter.date_to.map(Timestamp::instant));
    filtered
}

fn from_row(tenant: &TenantId, row: &Row) -> Result<AuditRecord> {
    Ok(AuditRecord {
        tenant: tenant.clone(),
        id: Some(AuditRecordId(row.get(0))),
        type_: row.get(1),
        activity: row.get(2),
        time: Timestamp::stored(row.get(3), row.get(4)),
        text: row.get(5),
        source: row.get(6),
        user: row.get(7),
        application: row.get(8),
        severity: row.get(9),
        changes: row.try_get::<_, Json<Box<RawValue>>>(10)?.0,
        fragments: fragments(row, 11)?,
        creation_time: Timestamp::stored(row.get(12), 0),
    })
}
