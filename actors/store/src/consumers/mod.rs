//! Named consumers of notifications in PostgreSQL. A consumer is a row with a position in the journal of its tenant
//! ([`journal`](crate::realtime::journal)); [`reading`] moves it, and [`lapse`] ends backlogs that are too large or too
//! old.

pub mod lapse;
pub mod reading;
mod rows;

use deadpool_postgres::{GenericClient, Transaction};
use platform_model::data::audit_record::AttributeChange;
use platform_model::error::{Error, Noun, Result};
use platform_model::id::TenantId;
use platform_model::page::{After, Page, PageRequest};
use platform_model::realtime::consumer::{
    BacklogBounds, Consumer, ConsumerPatch, JournalPosition, NewConsumer, Start,
};
use platform_model::tenancy::tenant::TenantLimit;
use platform_model::users::user::Administration;
use rows::{COLUMNS, bounds, from_row, stored, text_of};
use time::OffsetDateTime;
use tokio_postgres::Row;

use crate::Database;
use crate::query::filter::{Filtered, Order, page_of};
use crate::query::prepared::PreparedQueries;
use crate::realtime::announcements::{Announcements, Change, change};
use crate::realtime::journal::Place;
use crate::users::audit::audit;

const INSERT: &str = include_str!("../../../../sql/queries/consumers/insert.sql");
const LOCK: &str = include_str!("../../../../sql/queries/consumers/lock.sql");
const MOVE: &str = include_str!("../../../../sql/queries/consumers/move.sql");
const UPDATE: &str = include_str!("../../../../sql/queries/consumers/update.sql");
const DELETE: &str = include_str!("../../../../sql/queries/consumers/delete.sql");
const COUNT: &str = include_str!("../../../../sql/queries/consumers/count.sql");
const LOCK_JOURNAL: &str = include_str!("../../../../sql/queries/journals/lock.sql");
const END_UNUSED: &str = include_str!("../../../../sql/queries/journals/end_unused.sql");
const LIST_UNUSED: &str = include_str!("../../../../sql/queries/journals/list_unused.sql");
const FIND_PLACE: &str = include_str!("../../../../sql/queries/journals/find_place.sql");

/// The tables of a consumer as it is shown. The reader counts only while its server lives.
const TABLES: &str = "consumers c \
    JOIN journals j ON j.tenant = c.tenant \
    LEFT JOIN servers s ON s.incarnation = c.reader_server AND s.leased_until > now() \
    LEFT JOIN LATERAL (\
        SELECT n.arrived_at FROM journal_notifications n \
        WHERE n.tenant = c.tenant AND n.position > c.position AND n.arrived_at >= c.position_at \
        ORDER BY n.position LIMIT 1) oldest ON true";
/// Creates a consumer with its owner, and begins the journal of the tenant with its first one. When this returns, every
/// write that is acknowledged later is delivered to it. The consumer is announced, and an audit record is stored.
///
/// # Errors
/// `Duplicate` for a name in use; `QuotaExceeded` when the tenant has as many as it may have (Z-20); `Invalid` for a
/// backlog that the tenant may not have; the errors of beginning a journal; `Unavailable` or `Database`.
pub async fn insert_consumer(
    database: &Database,
    administration: &Administration,
    owner: &str,
    new: &NewConsumer,
) -> Result<Consumer> {
    let tenant = &administration.tenant;
    ensure_bounds(database, tenant, new.bounds)?;
    loop {
        database.begin_journal(tenant).await?;
        let insert = async |transaction: &Transaction<'_>, _: &Announcements| {
            insert_in_journal(database, transaction, (administration, owner), new).await
        };
        match change(database, insert).await {
            Ok(true) => return get_consumer(database, tenant, &new.name).await,
            // The last consumer was deleted after the journal had begun, and ended it.
            Ok(false) => {}
            Err(error) => {
                end_unused_journal(database, tenant).await?;
                return Err(error);
            }
        }
    }
}

/// Stores a consumer and an audit record, as part of the caller's transaction. Returns `false` if the journal is not
/// written.
async fn insert_in_journal(
    database: &Database,
    transaction: &Transaction<'_>,
    (administration, owner): (&Administration, &str),
    new: &NewConsumer,
) -> Result<bool> {
    let tenant = &administration.tenant;
    let Some(journal) = lock_journal(transaction, tenant).await? else { return Ok(false) };
    let place = find_place(transaction, tenant, &journal, new.start).await?;
    ensure_room_for_another(database, transaction, tenant).await?;
    let channels: Vec<String> = new.channels.iter().map(ToString::to_string).collect();
    let (tenant, (age, bytes)) = (tenant.as_str(), stored(new.bounds));
    let Place { position, arrived, bytes: before } = place;
    let inserted = transaction
        .run(
            INSERT,
            &[
                &tenant,
                &new.name,
                &owner,
                &channels,
                &age,
                &bytes,
                &position,
                &arrived,
                &before,
                &text_of(&new.filter),
            ],
        )
        .await?;
    if inserted == 0 {
        return Err(Error::Duplicate { noun: Noun::Consumer, key: new.name.clone() });
    }
    let what = AttributeChange::replaced("channels", "", &channels.join(" "));
    audit(transaction, administration, "Consumer", "Consumer created", new.name.clone(), vec![what]).await?;
    Ok(true)
}

/// Changes the bounds or the filter of a consumer, or where it continues, and notifies its readers at all servers.
///
/// # Errors
/// `NotFound`; `Invalid` for a position that the journal does not have, and for a backlog that the tenant may not have;
/// `Unavailable` or `Database`.
pub async fn update_consumer(
    database: &Database,
    administration: &Administration,
    name: &str,
    patch: &ConsumerPatch,
) -> Result<Consumer> {
    let tenant = &administration.tenant;
    change(database, async |transaction, announcements| {
        let journal = lock_journal(transaction, tenant).await?;
        let row = transaction.find(LOCK, &[&tenant.as_str(), &name]).await?;
        let (Some(journal), Some(row)) = (journal, row) else { return Err(unknown(name)) };
        let mut changed = change_settings(database, transaction, (tenant, name), (&row, patch)).await?;
        if let Some(acknowledged) = patch.acknowledged.filter(|_| patch.seek.is_none()) {
            let position: JournalPosition = row.try_get(3)?;
            if acknowledged > position {
                let place = find_place(transaction, tenant, &journal, Start::After(acknowledged)).await?;
                move_to(transaction, tenant, name, place).await?;
            }
        }
        if let Some(start) = patch.seek {
            let place = find_place(transaction, tenant, &journal, start).await?;
            move_to(transaction, tenant, name, place).await?;
            let (from, to) = (row.try_get::<_, i64>(3)?.to_string(), place.position.to_string());
            changed.push(AttributeChange::replaced("position", &from, &to));
        }
        if !changed.is_empty() {
            // A reader begins anew with another filter, and at another position.
            announcements.add(Change::Consumer(tenant.clone(), name.into()));
            let activity = if patch.seek.is_some() { "Consumer moved" } else { "Consumer changed" };
            audit(transaction, administration, "Consumer", activity, name.to_owned(), changed).await?;
        }
        Ok(())
    })
    .await?;
    get_consumer(database, tenant, name).await
}

/// Changes the bounds and the filter of a consumer whose row is locked. Returns what changed.
async fn change_settings(
    database: &Database,
    transaction: &Transaction<'_>,
    (tenant, name): (&TenantId, &str),
    (row, patch): (&Row, &ConsumerPatch),
) -> Result<Vec<AttributeChange>> {
    let before = bounds(row.try_get(1)?, row.try_get(2)?);
    let after = patch.bounds(before);
    if after != before {
        ensure_bounds(database, tenant, after)?;
    }
    let (old, (age, bytes)) = (row.try_get::<_, Option<&str>>(6)?, stored(after));
    let filter = patch.filter.as_ref().map_or(old, text_of);
    if (after, filter) != (before, old) {
        transaction.run(UPDATE, &[&tenant.as_str(), &name, &age, &bytes, &filter]).await?;
    }
    let changed = [
        ("maxAge", before.max_age.to_string(), after.max_age.to_string()),
        ("maxBytes", before.max_bytes.to_string(), after.max_bytes.to_string()),
        ("filter", old.unwrap_or_default().to_owned(), filter.unwrap_or_default().to_owned()),
    ];
    let changed = changed.iter().filter(|(_, before, after)| before != after);
    Ok(changed.map(|(name, before, after)| AttributeChange::replaced(name, before, after)).collect())
}

/// Deletes a consumer and notifies its readers at all servers. The journal ends with the last one.
///
/// # Errors
/// `NotFound`, `Unavailable` or `Database`.
pub async fn delete_consumer(database: &Database, administration: &Administration, name: &str) -> Result<()> {
    let tenant = &administration.tenant;
    change(database, async |transaction, announcements| {
        // The journal is locked first, as by those who create one, so that it ends only without consumers.
        lock_journal(transaction, tenant).await?;
        if transaction.run(DELETE, &[&tenant.as_str(), &name]).await? == 0 {
            return Err(unknown(name));
        }
        transaction.run(END_UNUSED, &[&tenant.as_str()]).await?;
        announcements.add(Change::Consumer(tenant.clone(), name.into()));
        let what = AttributeChange::replaced("name", name, "");
        audit(transaction, administration, "Consumer", "Consumer deleted", name.to_owned(), vec![what]).await
    })
    .await
}

/// Returns a consumer of a tenant.
///
/// # Errors
/// `NotFound`, `Unavailable` or `Database`.
pub async fn get_consumer(database: &Database, tenant: &TenantId, name: &str) -> Result<Consumer> {
    let statement = format!("SELECT {COLUMNS} FROM {TABLES} WHERE c.tenant = $1 AND c.name = $2");
    let row = database.reader().await?.find(&statement, &[&tenant.as_str(), &name]).await?;
    from_row(&row.ok_or_else(|| unknown(name))?)
}

/// Returns a page of the consumers of a tenant, or of those of one owner, by name.
///
/// # Errors
/// `Timeout`, `Unavailable` or `Database`.
pub async fn list_consumers(
    database: &Database,
    tenant: &TenantId,
    owner: Option<&str>,
    page: &PageRequest,
) -> Result<Page<Consumer>> {
    let client = database.reader().await?;
    let mut filtered = Filtered::new(TABLES, "c.tenant", tenant.as_str());
    filtered.and_some("c.owner = $", owner.map(ToOwned::to_owned));
    let count = filtered.total(&client, page.total).await?;
    let rows =
        client.rows(&filtered.page(COLUMNS, Order::Name("c.name"), page), &filtered.parameters()).await?;
    let consumers = rows.iter().map(from_row).collect::<Result<Vec<_>>>()?;
    Ok(Page { count, ..page_of(consumers, page, |consumer| After::Name(consumer.name.as_str().into())) })
}

/// Returns how many consumers a tenant has. One statement.
///
/// # Errors
/// `Timeout`, `Unavailable` or `Database`.
pub async fn count(database: &Database, tenant: &TenantId) -> Result<i64> {
    Ok(database.reader().await?.row(COUNT, &[&tenant.as_str()]).await?.try_get(0)?)
}

/// The state of a journal whose row is locked.
struct Locked {
    /// The first position since it is written without a pause.
    first: JournalPosition,
    newest: Place,
}

async fn lock_journal(client: &impl GenericClient, tenant: &TenantId) -> Result<Option<Locked>> {
    let row = client.find(LOCK_JOURNAL, &[&tenant.as_str()]).await?;
    let locked = |row: Row| -> Result<Locked> {
        let newest = Place { position: row.try_get(1)?, arrived: row.try_get(2)?, bytes: row.try_get(3)? };
        Ok(Locked { first: row.try_get(0)?, newest })
    };
    row.map(locked).transpose()
}

/// Ends the journals of tenants without consumers, for example after the owner of the last one was deleted. One
/// transaction for each.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn end_unused_journals(database: &Database) -> Result<()> {
    let unused = database.loader().await?.rows(LIST_UNUSED, &[]).await?;
    for row in unused {
        end_unused_journal(database, &TenantId::parse(row.try_get(0)?)?).await?;
    }
    Ok(())
}

/// Ends the journal of a tenant unless it has consumers. One transaction. The journal is locked first, as by those who
/// create a consumer, so that the check sees their consumers.
///
/// # Errors
/// `Unavailable` or `Database`.
async fn end_unused_journal(database: &Database, tenant: &TenantId) -> Result<()> {
    let mut client = database.loader().await?;
    let transaction = client.transaction().await?;
    lock_journal(&transaction, tenant).await?;
    transaction.run(END_UNUSED, &[&tenant.as_str()]).await?;
    transaction.commit().await?;
    Ok(())
}

/// Returns the place after which a consumer continues that starts there.
async fn find_place(
    client: &impl GenericClient,
    tenant: &TenantId,
    journal: &Locked,
    start: Start,
) -> Result<Place> {
    let (least, since) = match start {
        Start::Now => return Ok(journal.newest),
        Start::Earliest => (journal.first, OffsetDateTime::UNIX_EPOCH),
        Start::Time(time) => (journal.first, time.instant()),
        Start::After(position) => ((position + 1).max(journal.first), OffsetDateTime::UNIX_EPOCH),
    };
    let row = client.find(FIND_PLACE, &[&tenant.as_str(), &least, &since]).await?;
    let place = match row {
        Some(row) => Place { position: row.try_get(0)?, arrived: row.try_get(1)?, bytes: row.try_get(2)? },
        None => journal.newest,
    };
    match start {
        Start::After(position) if position != place.position => {
            let oldest = place.position.min(journal.newest.position);
            let allowed = format!("a position from {oldest} to {}", journal.newest.position);
            Err(Error::invalid_value("position", position, &allowed))
        }
        _ => Ok(place),
    }
}

async fn move_to(client: &impl GenericClient, tenant: &TenantId, name: &str, place: Place) -> Result<()> {
    client.run(MOVE, &[&tenant.as_str(), &name, &place.position, &place.arrived, &place.bytes]).await?;
    Ok(())
}

/// Checks whether the tenant may have another consumer. The caller has locked the journal, so the limit is exact.
async fn ensure_room_for_another(
    database: &Database,
    client: &impl GenericClient,
    tenant: &TenantId,
) -> Result<()> {
    let limit = TenantLimit::Consumers;
    let Some(allowed) = database.tenant_limits().of(tenant).value(limit) else { return Ok(()) };
    let used: i64 = client.row(COUNT, &[&tenant.as_str()]).await?.try_get(0)?;
    let used = used.unsigned_abs();
    match used < allowed {
        true => Ok(()),
        false => Err(Error::QuotaExceeded { name: limit.as_str(), allowed, used }),
    }
}

fn ensure_bounds(database: &Database, tenant: &TenantId, bounds: BacklogBounds) -> Result<()> {
    match database.tenant_limits().of(tenant).value(TenantLimit::JournalBytes) {
        Some(most) if bounds.max_bytes > most => {
            let allowed = format!("at most {most} bytes, the limit {}", TenantLimit::JournalBytes.as_str());
            Err(Error::invalid_value("maxBytes", bounds.max_bytes, &allowed))
        }
        _ => Ok(()),
    }
}

fn unknown(name: &str) -> Error {
    Error::not_found(Noun::Consumer, name.chars().take(64).collect::<String>())
}
