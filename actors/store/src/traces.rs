//! Traces in PostgreSQL (B-37): which of them run, so that all servers record them, and the objects that they are
//! about.

use std::time::Duration;

use platform_model::data::audit_record::AttributeChange;
use platform_model::error::{Error, Noun, Result};
use platform_model::id::{ManagedObjectId, TenantId, TraceId};
use platform_model::realtime::trace::diagnosis::StoredObject;
use platform_model::realtime::trace::{NewTrace, Trace, TraceSubject};
use platform_model::timestamp::Timestamp;
use platform_model::users::user::Administration;
use tokio_postgres::Row;

use crate::Database;
use crate::query::prepared::PreparedQueries;
use crate::realtime::announcements::{Change, change};
use crate::users::audit::audit;

const INSERT: &str = include_str!("../../../sql/queries/traces/insert.sql");
const DELETE: &str = include_str!("../../../sql/queries/traces/delete.sql");
const DELETE_ENDED: &str = include_str!("../../../sql/queries/traces/delete_ended.sql");
const FIND: &str = include_str!("../../../sql/queries/traces/find.sql");
const LIST_RUNNING: &str = include_str!("../../../sql/queries/traces/list_running.sql");
const FIND_OBJECT: &str = include_str!("../../../sql/queries/traces/find_object.sql");

/// The most traces of a tenant at a time.
const TRACES_PER_TENANT: i64 = 50;
/// The time for which the records of a trace can be read after it has ended by itself, so that those of its last moment
/// reach a client that follows it.
const READABLE: Duration = Duration::from_secs(10);
/// The kinds of objects that are found by their ids.
const KINDS: [&str; 5] = ["managed object", "alarm", "event", "operation", "measurement"];

/// Begins a trace and stores an audit record. All servers are notified; this one records when this returns.
///
/// # Errors
/// `Invalid` when the tenant has 50 traces already; `Unavailable` or `Database`.
pub async fn insert_trace(
    database: &Database,
    administration: &Administration,
    (id, owner): (i64, &str),
    new: &NewTrace,
) -> Result<Trace> {
    let tenant = &administration.tenant;
    change(database, async |transaction, announcements| {
        let (device, user, session) = new.subject.parts();
        let device = device.map(|device| device.0);
        let seconds = new.duration.as_secs_f64();
        let row = transaction
            .find(
                INSERT,
                &[&tenant.as_str(), &id, &device, &user, &session, &owner, &seconds, &TRACES_PER_TENANT],
            )
            .await?;
        let row = row.ok_or_else(|| {
            Error::Invalid(format!("The tenant has {TRACES_PER_TENANT} traces, which is the maximum"))
        })?;
        announcements.add(Change::Traces(tenant.clone()));
        let what = AttributeChange::replaced("subject", "", &new.subject.in_words());
        audit(transaction, administration, "Trace", "Trace began", id.to_string(), vec![what]).await?;
        from_row(&row)
    })
    .await
}

/// Ends a trace and stores an audit record.
///
/// # Errors
/// `NotFound` for an unknown trace and for one that has ended; `Unavailable` or `Database`.
pub async fn delete_trace(database: &Database, administration: &Administration, id: TraceId) -> Result<()> {
    let tenant = &administration.tenant;
    change(database, async |transaction, announcements| {
        let row = transaction.find(DELETE, &[&tenant.as_str(), &id.0]).await?;
        let ended = from_row(&row.ok_or_else(|| Error::not_found(Noun::Trace, id.to_string()))?)?;
        announcements.add(Change::Traces(tenant.clone()));
        let what = AttributeChange::replaced("subject", &ended.subject.in_words(), "");
        audit(transaction, administration, "Trace", "Trace ended", id.to_string(), vec![what]).await
    })
    .await
}

/// Deletes the traces whose records cannot be read any more. Servers notice the end of a trace by themselves.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn delete_ended(database: &Database) -> Result<()> {
    database.loader().await?.run(DELETE_ENDED, &[&READABLE.as_secs_f64()]).await?;
    Ok(())
}

/// Returns a trace that runs, or that has ended by itself at most 10 seconds ago.
///
/// # Errors
/// `NotFound`, `Unavailable` or `Database`.
pub async fn find_readable(database: &Database, tenant: &TenantId, id: TraceId) -> Result<Trace> {
    let client = database.loader().await?;
    let row = client.find(FIND, &[&tenant.as_str(), &id.0, &READABLE.as_secs_f64()]).await?;
    from_row(&row.ok_or_else(|| Error::not_found(Noun::Trace, id.to_string()))?)
}

/// Returns the running traces of a tenant, or of all tenants, by tenant.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn list_running(database: &Database, tenant: Option<&TenantId>) -> Result<Vec<(TenantId, Trace)>> {
    let client = database.loader().await?;
    let rows = client.rows(LIST_RUNNING, &[&tenant.map(TenantId::as_str)]).await?;
    rows.iter().map(|row| Ok((TenantId::parse(row.try_get(7)?)?, from_row(row)?))).collect()
}

/// Returns the object of a tenant with an id: a managed object, alarm, event, operation or measurement.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn find_object(database: &Database, tenant: &TenantId, id: i64) -> Result<Option<StoredObject>> {
    let client = database.loader().await?;
    let Some(row) = client.find(FIND_OBJECT, &[&tenant.as_str(), &id]).await? else { return Ok(None) };
    let kind: &str = row.try_get(0)?;
    let kind = KINDS.into_iter().find(|known| *known == kind).unwrap_or_default();
    Ok(Some(StoredObject { kind, source: ManagedObjectId(row.try_get(1)?) }))
}

fn from_row(row: &Row) -> Result<Trace> {
    let (device, user, session): (Option<i64>, _, _) = (row.try_get(1)?, row.try_get(2)?, row.try_get(3)?);
    Ok(Trace {
        id: TraceId(row.try_get(0)?),
        subject: TraceSubject::of_parts(device.map(ManagedObjectId), user, session),
        owner: row.try_get(4)?,
        began: Timestamp::stored(row.try_get(5)?, 0),
        ends: Timestamp::stored(row.try_get(6)?, 0),
    })
}
