//! Bulk updates and deletions of alarms in PostgreSQL, step by step.
//!
//! A bulk update has a row until it is finished. A process holds it by a lease and a number, the fence. A process
//! that takes it over increments the fence, and each step checks the fence. So if two processes both act as the
//! holder, exactly one continues.
//!
//! Both operations visit the alarms from the oldest to the newest, up to the last one that existed at the beginning. An
//! alarm that is sent again meanwhile gets a newer time, so it is visited later and not missed.

use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{GenericClient, Transaction};
use platform_model::data::alarm::{Alarm, AlarmFilter, AlarmStatus, Severity};
use platform_model::devices::reference::LinkKind;
use platform_model::error::{Error, Result};
use platform_model::id::{AlarmId, IdGenerator, ManagedObjectId, TenantId};
use platform_model::links::Links;
use platform_model::page::{Position, TimeOrder};
use platform_model::realtime::change::PublishedChange;
use platform_model::realtime::publication::{Cause, Publication};
use platform_model::timestamp::Timestamp;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::data::alarms::collection::{AlarmRange, list_ids};
use crate::data::alarms::from_row;
use crate::leases::Hold;
use crate::query::prepared::PreparedQueries;
use crate::realtime::publications::{DeletionNotices, Ended};
use crate::statistics::Counted;
use crate::{Database, PATIENCE};

const INSERT: &str = include_str!("../../../../../sql/queries/bulk_alarm_updates/insert.sql");
const TAKE_OVER: &str = include_str!("../../../../../sql/queries/bulk_alarm_updates/take_over.sql");
/// Renews the leases of bulk updates; see [`leases`](crate::leases).
pub const RENEW: &str = include_str!("../../../../../sql/queries/bulk_alarm_updates/renew.sql");
const ADVANCE: &str = include_str!("../../../../../sql/queries/bulk_alarm_updates/advance.sql");
const DELETE: &str = include_str!("../../../../../sql/queries/bulk_alarm_updates/delete.sql");
const LIST_SOURCES: &str = include_str!("../../../../../sql/queries/alarms/list_sources.sql");
const UPDATE_STATUSES: &str = include_str!("../../../../../sql/queries/alarms/update_statuses.sql");
const DELETE_MANY: &str = include_str!("../../../../../sql/queries/alarms/delete_many.sql");
const LAST: &str = include_str!("../../../../../sql/queries/alarms/last.sql");

/// The maximum number of unfinished bulk updates of a tenant.
const MOST_UNFINISHED: i64 = 100;
/// The number of bulk updates that one query takes over.
const TAKEN_OVER_AT_ONCE: i64 = 20;

/// A bulk update as it was requested.
#[derive(Debug, Clone)]
pub struct NewBulkAlarmUpdate {
    /// The alarms to update.
    pub filter: AlarmFilter,
    /// The new status of the alarms.
    pub status: AlarmStatus,
    /// The user who requested the update, recorded with each change.
    pub user: Arc<str>,
    /// The application that requested the update.
    pub application: Option<String>,
    /// The address of the request; links in notifications start with it.
    pub links: Links,
}

/// A bulk update that this process holds.
#[derive(Debug, Clone)]
pub struct Held {
    /// The tenant whose alarms are updated.
    pub tenant: TenantId,
    /// The number of the bulk update.
    pub id: i64,
    /// The request.
    pub asked: NewBulkAlarmUpdate,
    /// The last alarm to update.
    last_alarm: i64,
    /// The position up to which the update is done; `None` at the beginning.
    place: Option<Position>,
    /// The fence of this process's lease.
    pub(crate) fence: i64,
}

impl Held {
    /// Returns the key by which the lease is renewed.
    pub fn hold(&self) -> Hold {
        Hold { tenant: self.tenant.clone(), id: self.id, fence: self.fence }
    }
}

/// The alarms of the next step.
#[derive(Debug)]
pub struct Step {
    ids: Vec<i64>,
    /// The devices that own the alarms.
    pub sources: Vec<ManagedObjectId>,
    /// The position at which the following step begins; `None` when this is the last one.
    next: Option<Position>,
}

/// The outcome of a step.
#[derive(Debug)]
pub enum Stepped {
    /// The alarms were changed, and there is more to do.
    On,
    /// The alarms were changed, and nothing is left to do.
    Finished,
    /// Another process has taken over, and nothing was changed.
    TakenOver,
}

/// Begins a bulk update, which this process holds. One statement.
///
/// # Errors
/// `Unavailable` when the tenant has too many unfinished bulk updates; `Database`.
pub async fn insert_bulk_alarm_update(
    database: &Database,
    tenant: &TenantId,
    id: i64,
    asked: NewBulkAlarmUpdate,
    lease: Duration,
) -> Result<Held> {
    let client = database.reader().await?;
    let filter = &asked.filter;
    let parameters: [&(dyn ToSql + Sync); 15] = [
        &tenant.as_str(),
        &id,
        &asked.status.as_str(),
        &statuses(filter),
        &severities(filter),
        &filter.types,
        &filter.source.map(|source| source.0),
        &filter.with_descendants.iter().map(|kind| kind.children()).collect::<Vec<_>>(),
        &filter.date_from.map(Timestamp::instant),
        &filter.date_to.map(Timestamp::instant),
        &&*asked.user,
        &asked.application,
        &asked.links.base(),
        &lease.as_secs_f64(),
        &MOST_UNFINISHED,
    ];
    let row = client.query_opt(INSERT, &parameters).await?;
    let row = row.ok_or_else(|| Error::unavailable("the tenant has too many unfinished bulk updates"))?;
    Ok(Held { tenant: tenant.clone(), id, asked, last_alarm: row.get(0), place: None, fence: 1 })
}

/// Takes over bulk updates of any tenant whose lease has expired. One statement.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn take_over(database: &Database, lease: Duration) -> Result<Vec<Held>> {
    let client = database.loader().await?;
    let rows = client.query(TAKE_OVER, &[&lease.as_secs_f64(), &TAKEN_OVER_AT_ONCE]).await?;
    rows.iter().map(held).collect()
}

/// Looks up the next step: at most `most` alarms that have another status. It changes nothing.
///
/// # Errors
/// `Timeout`, `Unavailable` or `Database`.
pub async fn find_step(database: &Database, held: &Held, most: i64) -> Result<Step> {
    let part =
        AlarmRange { last: held.last_alarm, except: Some(held.asked.status), after: held.place, limit: most };
    step(database, &held.tenant, &held.asked.filter, part).await
}

async fn step(
    database: &Database,
    tenant: &TenantId,
    filter: &AlarmFilter,
    part: AlarmRange,
) -> Result<Step> {
    let client = database.reader().await?;
    let (ids, next) = list_ids(&client, tenant, filter, part).await?;
    let rows = client.rows(LIST_SOURCES, &[&tenant.as_str(), &ids]).await?;
    Ok(Step { ids, sources: rows.iter().map(|row| ManagedObjectId(row.get(0))).collect(), next })
}

/// Runs a step: changes the alarms that still match the request, with an audit record each, stores the position
/// reached, and publishes the changes. An alarm is left out when reopening it would give its type a second open alarm.
/// One transaction.
///
/// # Errors
/// `Contended` when devices write the same alarms; a unique violation when one of them was just raised again. Nothing
/// was changed then, and the step can be retried. `Unavailable` or `Database`.
pub async fn make_step(
    database: &Database,
    ids: &IdGenerator,
    held: &mut Held,
    lease: Duration,
    step: &Step,
) -> Result<Stepped> {
    let of_holder = &*held;
    let attempt = async || {
        let mut client = database.reader().await?;
        let transaction = client.transaction().await?;
        transaction.batch_execute(PATIENCE).await?;
        if !holds(&transaction, of_holder, lease, step).await? {
            return Ok(Ended::Committed(None));
        }
        let changed = update_statuses(&transaction, ids, of_holder, step).await?;
        let count = Some(changed.len() as u64);
        let published = changed.into_iter().map(|alarm| Publication::Change {
            source: alarm.source,
            change: PublishedChange::AlarmUpdated(Arc::new(alarm)),
            cause: Cause::persistent(&of_holder.asked.links),
        });
        database.commit_published(transaction, &of_holder.tenant, count, published.collect()).await
    };
    let Some(count) = database.until_committed(attempt).await? else { return Ok(Stepped::TakenOver) };
    database.statistics.add(&held.tenant, Counted::AlarmUpdated, count);
    held.place = step.next;
    Ok(if step.next.is_some() { Stepped::On } else { Stepped::Finished })
}

/// Stores the position or the end, if no other process has taken over.
async fn holds(transaction: &Transaction<'_>, held: &Held, lease: Duration, step: &Step) -> Result<bool> {
    let (tenant, id, fence) = (&held.tenant.as_str(), &held.id, &held.fence);
    let noted = match step.next {
        Some(next) => {
            let lease = lease.as_secs_f64();
            transaction.run(ADVANCE, &[tenant, id, fence, &next.time, &next.id, &lease]).await?
        }
        None => transaction.execute(DELETE, &[tenant, id, fence]).await?,
    };
    Ok(noted == 1)
}

async fn update_statuses(
    transaction: &Transaction<'_>,
    ids: &IdGenerator,
    held: &Held,
    step: &Step,
) -> Result<Vec<Alarm>> {
    if step.ids.is_empty() {
        return Ok(Vec::new());
    }
    let audit_ids: Vec<i64> = step.ids.iter().map(|_| ids.next()).collect::<Result<_>>()?;
    let asked = &held.asked;
    let parameters: [&(dyn ToSql + Sync); 9] = [
        &held.tenant.as_str(),
        &step.ids,
        &audit_ids,
        &asked.status.as_str(),
        &statuses(&asked.filter),
        &severities(&asked.filter),
        &Timestamp::now().instant(),
        &&*asked.user,
        &asked.application,
    ];
    transaction.rows(UPDATE_STATUSES, &parameters).await?.iter().map(from_row).collect()
}

/// Returns the id of the last alarm. Alarms that are raised later have larger ids.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn last_alarm(database: &Database, tenant: &TenantId) -> Result<i64> {
    Ok(database.reader().await?.query_one(LAST, &[&tenant.as_str()]).await?.get(0))
}

/// A deletion of many alarms.
#[derive(Debug)]
pub struct Deletion<'a> {
    /// The tenant whose alarms are deleted.
    pub tenant: &'a TenantId,
    /// The alarms to delete.
    pub filter: &'a AlarmFilter,
    /// The last alarm to delete.
    pub last_alarm: i64,
    /// The position up to which the deletion is done; `None` at the beginning.
    pub place: Option<Position>,
}

/// Looks up the alarms to delete next. It changes nothing.
///
/// # Errors
/// `Timeout`, `Unavailable` or `Database`.
pub async fn find_deletion_step(database: &Database, deletion: &Deletion<'_>, most: i64) -> Result<Step> {
    let part = AlarmRange { last: deletion.last_alarm, except: None, after: deletion.place, limit: most };
    step(database, deletion.tenant, deletion.filter, part).await
}

/// Deletes the alarms of a step that still match the request, and publishes it. One transaction, which is retried when
/// devices write the same alarms. Returns `true` when it was the last step.
///
/// # Errors
/// `Contended` when all retries failed; `Unavailable` or `Database`.
pub async fn delete_step(
    database: &Database,
    deletion: &mut Deletion<'_>,
    step: &Step,
    notices: &DeletionNotices,
) -> Result<bool> {
    let (tenant, filter) = (deletion.tenant, deletion.filter);
    let attempt = async || {
        let mut client = database.reader().await?;
        let transaction = client.transaction().await?;
        transaction.batch_execute(PATIENCE).await?;
        let parameters: [&(dyn ToSql + Sync); 4] =
            [&tenant.as_str(), &step.ids, &statuses(filter), &severities(filter)];
        let rows = transaction.rows(DELETE_MANY, &parameters).await?;
        let gone: Vec<_> =
            rows.iter().map(|row| (AlarmId(row.get(0)), ManagedObjectId(row.get(1)))).collect();
        let publications = notices.describe(&gone, PublishedChange::AlarmDeleted);
        database.commit_published(transaction, tenant, gone.len(), publications).await
    };
    let gone = database.until_uncontended(attempt).await?;
    notices.committed(gone);
    deletion.place = step.next;
    Ok(step.next.is_none())
}

fn statuses(filter: &AlarmFilter) -> Vec<&'static str> {
    filter.statuses.iter().map(|status| status.as_str()).collect()
}

fn severities(filter: &AlarmFilter) -> Vec<&'static str> {
    filter.severities.iter().map(|severity| severity.as_str()).collect()
}

/// Reads the columns of `take_over.sql` in their order.
fn held(row: &Row) -> Result<Held> {
    let words = |column: usize| row.get::<_, Vec<&str>>(column).into_iter();
    let time = |column: usize| row.get::<_, Option<time::OffsetDateTime>>(column);
    let filter = AlarmFilter {
        statuses: words(3).map(AlarmStatus::parse).collect::<Result<_>>()?,
        severities: words(4).map(Severity::parse).collect::<Result<_>>()?,
        types: row.get(5),
        source: row.get::<_, Option<i64>>(6).map(ManagedObjectId),
        with_descendants: words(7).filter_map(LinkKind::of_children).collect(),
        date_from: time(8).map(|instant| Timestamp::stored(instant, 0)),
        date_to: time(9).map(|instant| Timestamp::stored(instant, 0)),
        order: TimeOrder::OldestFirst,
    };
    let asked = NewBulkAlarmUpdate {
        filter,
        status: AlarmStatus::parse(row.get(2))?,
        user: row.get::<_, &str>(11).into(),
        application: row.get(12),
        links: Links::new(row.get::<_, &str>(13)),
    };
    let place = time(14).zip(row.get::<_, Option<i64>>(15)).map(|(time, id)| Position { time, id });
    Ok(Held {
        tenant: TenantId::parse(row.get(0))?,
        id: row.get(1),
        asked,
        last_alarm: row.get(10),
        place,
        fence: row.get(16),
    })
}
