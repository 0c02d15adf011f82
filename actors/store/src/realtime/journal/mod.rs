//! The journal of a tenant: the notifications that named consumers read, numbered in the order of the commits
//! (B-27, B-28).
//!
//! A transaction that publishes changes of a tenant with consumers appends them as its last statement. That statement
//! locks the row of the journal until the commit, so the positions follow the order of the commits, and none is left
//! out when a transaction fails. A write fails or waits because of other commits of its tenant at most, never because
//! of a consumer.
//!
//! An entry holds the notification as clients receive it, so every later version of the server can read it.

pub mod partitions;

use deadpool_postgres::GenericClient;
use platform_model::error::{Error, Result};
use platform_model::id::{ManagedObjectId, TenantId};
use platform_model::realtime::bayeux::Resource;
use platform_model::realtime::consumer::JournalPosition;
use platform_model::realtime::publication::Publication;
use time::OffsetDateTime;
use tokio_postgres::{Row, Statement};

use crate::Database;
use crate::query::prepared::PreparedQueries;

pub(crate) const APPEND: &str = include_str!("../../../../../sql/queries/journals/append.sql");
const FIND_ABOUT: &str = include_str!("../../../../../sql/queries/journals/find_about.sql");
const READ: &str = include_str!("../../../../../sql/queries/journals/read.sql");

/// The columns of entries that a transaction appends, in the order of the publications.
#[derive(Default)]
pub(crate) struct Entries<'a> {
    tenants: Vec<&'a str>,
    resources: Vec<i16>,
    sources: Vec<i64>,
    contents: Vec<String>,
}

impl<'a> Entries<'a> {
    /// Creates the entries of publications. Modules, and channels that nothing stores, have none.
    pub(crate) fn of(by_tenant: impl Iterator<Item = (&'a TenantId, &'a [Publication])>) -> Self {
        let mut entries = Self::default();
        for (tenant, publications) in by_tenant {
            for (resource, source, content) in publications.iter().filter_map(Publication::journal_entry) {
                entries.tenants.push(tenant.as_str());
                entries.resources.push(resource.number());
                entries.sources.push(source.0);
                entries.contents.push(content);
            }
        }
        entries
    }

    /// Appends the entries. It is part of the caller's transaction.
    pub(crate) async fn append(&self, client: &impl GenericClient, statement: &Statement) -> Result<()> {
        if !self.tenants.is_empty() {
            client
                .execute(statement, &[&self.tenants, &self.resources, &self.sources, &self.contents])
                .await?;
            crate::metrics::JOURNALED.increment(self.tenants.len() as u64);
        }
        Ok(())
    }
}

/// A place in a journal: a position with the time at which it arrived, and the size of everything up to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The position.
    pub position: JournalPosition,
    /// When it arrived; later positions did not arrive earlier.
    pub arrived: OffsetDateTime,
    /// The bytes of all notifications up to it.
    pub bytes: i64,
}

/// A notification in a journal.
#[derive(Debug)]
pub struct JournalEntry {
    /// Its place.
    pub place: Place,
    /// The kind of its channel.
    pub resource: Resource,
    /// The object of its channel.
    pub source: ManagedObjectId,
    /// The member `data` of its message, a JSON object.
    pub content: Box<str>,
}

/// Returns the next notifications after a place, at most `count`. One statement.
///
/// # Errors
/// `Timeout`, `Unavailable` or `Database`.
pub async fn read(
    database: &Database,
    tenant: &TenantId,
    after: Place,
    count: i64,
) -> Result<Vec<JournalEntry>> {
    let client = database.loader().await?;
    let rows = client.rows(READ, &[&tenant.as_str(), &after.position, &after.arrived, &count]).await?;
    rows.iter().map(from_row).collect()
}

/// The most entries that a search looks at, and the most that it returns.
const SEARCHED: (i64, i64) = (100_000, 50);

/// Returns the newest notifications since a moment about an object: those on its channels, and those about an object
/// with this id. It looks at the newest 100 000 of the journal and returns at most 50. One statement.
///
/// # Errors
/// `Timeout`, `Unavailable` or `Database`.
pub async fn find_about(
    database: &Database,
    tenant: &TenantId,
    since: OffsetDateTime,
    id: i64,
) -> Result<Vec<JournalEntry>> {
    let client = database.loader().await?;
    let (content, (searched, most)) = (format!("%\"id\":\"{id}\"%"), SEARCHED);
    let rows = client.rows(FIND_ABOUT, &[&tenant.as_str(), &since, &id, &content, &searched, &most]).await?;
    rows.iter().map(from_row).collect()
}

fn from_row(row: &Row) -> Result<JournalEntry> {
    let resource: i16 = row.try_get(3)?;
    let resource = Resource::of_number(resource).ok_or_else(|| {
        Error::unavailable(format!("the journal has an entry of an unknown kind {resource}"))
    })?;
    Ok(JournalEntry {
        place: Place { position: row.try_get(0)?, arrived: row.try_get(1)?, bytes: row.try_get(2)? },
        resource,
        source: ManagedObjectId(row.try_get(4)?),
        content: row.try_get::<_, String>(5)?.into(),
    })
}
