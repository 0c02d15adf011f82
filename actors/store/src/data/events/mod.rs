//! Events in PostgreSQL. Writes take the rows of one group commit and run inside the writer's transaction. A change of
//! an event's file is a transaction of its own, in which the event and its file change together.

pub mod collection;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use deadpool_postgres::{GenericClient, Transaction};
use platform_model::data::binary::Binary;
use platform_model::data::event::Event;
use platform_model::data::event_binary::{AttachedUpload, Content};
use platform_model::error::{Error, Noun, Result};
use platform_model::id::{BinaryId, EventId, ManagedObjectId, TenantId};
use platform_model::idempotency::{FirstResponse, IdempotencyKey};
use platform_model::realtime::change::PublishedChange;
use platform_model::realtime::publication::{Cause, Publication};
use platform_model::timestamp::Timestamp;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::Database;
use crate::data::binaries;
use crate::query::prepared::PreparedQueries;
use crate::query::rows::fragments;
use crate::realtime::publications::{DeletionNotices, Ended, Write};
use crate::realtime::signatures::Signatures;
use crate::statistics::Counted;
use crate::write_kind::{Added, Rows, WriteKind};

const INSERT: &str = include_str!("../../../../../sql/queries/events/insert.sql");
const UPDATE: &str = include_str!("../../../../../sql/queries/events/update.sql");
const FIND: &str = include_str!("../../../../../sql/queries/events/find.sql");
const FIND_WITH_BINARY: &str = include_str!("../../../../../sql/queries/events/find_with_binary.sql");
const DELETE_SOME: &str = include_str!("../../../../../sql/queries/events/delete_some.sql");
const DELETE: &str = include_str!("../../../../../sql/queries/events/delete.sql");

/// The number of events that one statement deletes before their source is deleted.
const DELETED_AHEAD: i64 = 10_000;

/// An event that a client sent.
#[derive(Debug, Clone)]
pub struct SentEvent {
    /// The event.
    pub event: Event,
    /// The user who must own the source, when the caller writes by ownership.
    pub owner: Option<Arc<str>>,
}

/// An event whose file changes, as it is after the change.
#[derive(Debug, Clone)]
pub struct ChangedEvent {
    /// The event.
    pub event: Arc<Event>,
    /// The cause of the change.
    pub cause: Cause,
}

/// The properties of a source that its events show.
#[derive(Debug, Clone, Default)]
pub struct ShownSource {
    /// The name of the source.
    pub name: Option<String>,
    /// The type of the source.
    pub type_: Option<String>,
}

impl ShownSource {
    /// Returns an event of this source with these properties.
    pub fn of(self, event: Event) -> Event {
        Event { source_name: self.name, source_type: self.type_, ..event }
    }
}

/// Stores events and returns their sources by the ids of the events. An event is left out when its source does not
/// exist or does not belong to the caller.
#[derive(Debug)]
pub(crate) struct InsertEvent;

impl WriteKind for InsertEvent {
    type Change = SentEvent;
    type Outcomes = HashMap<i64, ShownSource>;
    type Written = ShownSource;

    const STATEMENTS: &'static [&'static str] = &[INSERT];
    const COUNTED: Counted = Counted::EventCreated;
    const ADDED: Added<'static> = Added::Data;

    async fn run(
        client: &impl GenericClient,
        _: &Signatures,
        rows: &mut Rows<'_, Self>,
    ) -> Result<Self::Outcomes> {
        let events = || rows.iter().map(|(_, sent)| &sent.event);
        let tenants: Vec<&str> = rows.iter().map(|(tenant, _)| tenant.as_str()).collect();
        let ids: Vec<i64> = events().map(|event| event.id.map_or(0, |id| id.0)).collect();
        let sources: Vec<i64> = events().map(|event| event.source.0).collect();
        let types: Vec<&str> = events().map(|event| &*event.type_).collect();
        let times: Vec<_> = events().map(|event| event.time.instant()).collect();
        let offsets: Vec<i16> = events().map(|event| event.time.offset_minutes()).collect();
        let texts: Vec<&str> = events().map(|event| &*event.text).collect();
        let created: Vec<_> = events().map(|event| event.creation_time.instant()).collect();
        let fragments: Vec<String> = events().map(|event| event.fragments.to_json()).collect();
        let owners: Vec<Option<&str>> = rows.iter().map(|(_, sent)| sent.owner.as_deref()).collect();
        let parameters: [&(dyn ToSql + Sync); 10] =
            [&tenants, &ids, &sources, &types, &times, &offsets, &texts, &created, &fragments, &owners];
        let stored = client.rows(INSERT, &parameters).await?;
        Ok(stored
            .iter()
            .map(|row| (row.get(0), ShownSource { name: row.get(1), type_: row.get(2) }))
            .collect())
    }

    fn written(outcomes: &mut Self::Outcomes, sent: &Self::Change) -> Option<Self::Written> {
        outcomes.remove(&sent.event.id?.0)
    }

    fn response(sent: &SentEvent, source: &ShownSource, key: &IdempotencyKey) -> Option<FirstResponse> {
        let event = source.clone().of(sent.event.clone());
        Some(FirstResponse::of(key.links.event(event.id), &event, &key.links))
    }
}

/// Updates text and fragments of events. Events that were changed or deleted since they were read are left out.
#[derive(Debug)]
pub(crate) struct UpdateEvent;

impl WriteKind for UpdateEvent {
    type Change = Event;
    type Outcomes = HashSet<i64>;
    type Written = ();

    const STATEMENTS: &'static [&'static str] = &[UPDATE];
    const COUNTED: Counted = Counted::EventUpdated;
    const ADDED: Added<'static> = Added::Nothing;

    async fn run(
        client: &impl GenericClient,
        _: &Signatures,
        rows: &mut Rows<'_, Self>,
    ) -> Result<Self::Outcomes> {
        let tenants: Vec<&str> = rows.iter().map(|(tenant, _)| tenant.as_str()).collect();
        let ids: Vec<i64> = rows.iter().map(|(_, event)| event.id.map_or(0, |id| id.0)).collect();
        let revisions: Vec<i64> = rows.iter().map(|(_, event)| event.revision).collect();
        let texts: Vec<&str> = rows.iter().map(|(_, event)| &*event.text).collect();
        let fragments: Vec<String> = rows.iter().map(|(_, event)| event.fragments.to_json()).collect();
        let parameters: [&(dyn ToSql + Sync); 5] = [&tenants, &ids, &revisions, &texts, &fragments];
        Ok(client.rows(UPDATE, &parameters).await?.iter().map(|row| row.get(0)).collect())
    }

    fn written(outcomes: &mut Self::Outcomes, event: &Self::Change) -> Option<Self::Written> {
        outcomes.contains(&event.id?.0).then_some(())
    }
}

/// Returns an event with the shown properties of its source.
///
/// # Errors
/// `NotFound`, `Unavailable` or `Database`.
pub async fn get_event(database: &Database, tenant: &TenantId, id: EventId) -> Result<Event> {
    let row = database.reader().await?.find(FIND, &[&tenant.as_str(), &id.0]).await?;
    from_row(&row.ok_or_else(|| Error::not_found(Noun::Event, id))?)
}

/// Returns an event with its file, complete or not, both read in one snapshot.
///
/// # Errors
/// `NotFound` when there is no such event, `Unavailable` or `Database`.
pub async fn get_event_with_binary(
    database: &Database,
    tenant: &TenantId,
    id: EventId,
) -> Result<(Event, Option<Content>)> {
    let row = database.reader().await?.find(FIND_WITH_BINARY, &[&tenant.as_str(), &id.0]).await?;
    let row = row.ok_or_else(|| Error::not_found(Noun::Event, id))?;
    let content = row.get::<_, Option<i64>>(11).map(|binary| {
        let binary = Binary {
            id: BinaryId(binary),
            name: row.get(12),
            content_type: row.get(13),
            length: row.get(14),
        };
        if row.get(15) { Content::Incomplete(binary) } else { Content::Complete(binary) }
    });
    Ok((from_row(&row)?, content))
}

/// Deletes events with their files, publishes it, and returns the number of deleted ones. One statement; with a fence
/// it succeeds only while this process [holds](crate::leases::module_leases::hold) the modules. With a revision, only
/// events that have it are deleted.
///
/// # Errors
/// `Timeout`, `Contended`, `Conflict`, `Unavailable` or `Database`.
pub async fn delete_events(
    database: &Database,
    tenant: &TenantId,
    ids: &[i64],
    fence: Option<i64>,
    notices: &DeletionNotices,
    revision: Option<i64>,
) -> Result<usize> {
    let parameters: [&(dyn ToSql + Sync); 3] = [&tenant.as_str(), &ids, &revision];
    let change = |id| PublishedChange::EventDeleted(EventId(id));
    let delete = async || {
        let mut client = database.reader().await?;
        let statement = &client.prepare_cached(DELETE).await?;
        let write = Write { tenant, fence, statement, parameters: &parameters };
        database.delete_published(&mut client, write, notices, change).await
    };
    database.until_committed(delete).await
}

/// Deletes events of sources that are about to be deleted, when these have too many for one statement. Each step is a
/// transaction. Fewer than [`DELETED_AHEAD`] events stay.
///
/// # Errors
/// `Timeout`, `Unavailable` or `Database`; a part of the events may be deleted then.
pub(crate) async fn delete_ahead(database: &Database, tenant: &TenantId, sources: &[i64]) -> Result<()> {
    loop {
        let client = database.loader().await?;
        let parameters: [&(dyn ToSql + Sync); 3] = [&tenant.as_str(), &sources, &DELETED_AHEAD];
        if client.run(DELETE_SOME, &parameters).await? == 0 {
            return Ok(());
        }
    }
}

/// Attaches an upload to an event, as its file or as the next bytes of it, and updates the event. One transaction,
/// which locks the event first and publishes its change. Returns `false` when the event was changed or deleted since it
/// was read; nothing is changed then.
///
/// # Errors
/// `Unavailable`, also for an upload that was swept away; `Contended` or `Database`.
pub async fn place_binary(
    database: &Database,
    tenant: &TenantId,
    changed: &ChangedEvent,
    placed: &AttachedUpload,
    upload: BinaryId,
) -> Result<bool> {
    change_binary(database, tenant, changed, async |transaction, id| match placed {
        AttachedUpload::Alone(content) => {
            binaries::delete_of_event(transaction, tenant, id).await?;
            binaries::attach_to_event(transaction, tenant, id, content).await
        }
        AttachedUpload::Behind(content) => binaries::append(transaction, tenant, content, upload).await,
    })
    .await
}

/// Deletes the file of an event and publishes it. One transaction. Returns `false` as [`place_binary`] does.
///
/// # Errors
/// `Unavailable`, `Contended` or `Database`.
pub async fn delete_binary(database: &Database, tenant: &TenantId, changed: &ChangedEvent) -> Result<bool> {
    let delete =
        async |transaction: &Transaction<'_>, id| binaries::delete_of_event(transaction, tenant, id).await;
    change_binary(database, tenant, changed, delete).await
}

/// Updates an event, changes its file, and publishes the event. Returns `false` as [`place_binary`] does.
async fn change_binary(
    database: &Database,
    tenant: &TenantId,
    ChangedEvent { event, cause }: &ChangedEvent,
    change: impl AsyncFn(&Transaction<'_>, EventId) -> Result<()>,
) -> Result<bool> {
    let Some(id) = event.id else { return Ok(false) };
    let transaction = async || {
        let mut client = database.loader().await?;
        let transaction = client.transaction().await?;
        if !update_event(&transaction, &database.signatures, tenant, event).await? {
            return Ok(Ended::Committed(false));
        }
        change(&transaction, id).await?;
        let change = PublishedChange::EventUpdated(event.clone());
        let published = Publication::Change { source: event.source, change, cause: cause.clone() };
        database.commit_published(transaction, tenant, true, vec![published]).await
    };
    let is_done = database.until_committed(transaction).await?;
    if is_done {
        database.statistics.add(tenant, Counted::EventUpdated, 1);
    }
    Ok(is_done)
}

/// Updates an event within a transaction, if it still has the revision that was read.
async fn update_event(
    transaction: &Transaction<'_>,
    signatures: &Signatures,
    tenant: &TenantId,
    event: &Event,
) -> Result<bool> {
    Ok(!UpdateEvent::run(transaction, signatures, &mut [(tenant, event)]).await?.is_empty())
}

/// Reads the columns of `find.sql` in their order.
pub(crate) fn from_row(row: &Row) -> Result<Event> {
    Ok(Event {
        id: Some(EventId(row.get(0))),
        source: ManagedObjectId(row.get(1)),
        type_: row.get(2),
        time: Timestamp::stored(row.get(3), row.get(4)),
        text: row.get(5),
        creation_time: Timestamp::stored(row.get(6), 0),
        revision: row.get(7),
        fragments: fragments(row, 8)?,
        source_name: row.get(9),
        source_type: row.get(10),
    })
}
