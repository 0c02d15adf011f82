//! The collection of events: filters, pages, deletion of many (V-01, P-01 to P-07).

use super::Database;
use super::events::{self, from_row};
use super::filter::Filtered;
use super::time_walk::{Span, Table, TimeWalk};
use super::until_uncontended;
use crate::error::{Error, Result};
use crate::model::access::Authority;
use crate::model::event::{Event, EventFilter};
use crate::model::id::{EventId, ManagedObjectId, TenantId};
use crate::model::page::{Page, PageRequest, Position};

const EVENTS: Table = Table {
    from: "events e",
    alias: "e",
    tenant: "e.tenant",
    // The source is looked up for the events that are given, not joined with all.
    columns: "e.id, e.source, e.type, e.time, e.time_offset, e.text, e.created_at, e.revision, e.fragments, \
        (SELECT o.name FROM managed_objects o WHERE o.tenant = e.tenant AND o.id = e.source) AS source_name, \
        (SELECT o.type FROM managed_objects o WHERE o.tenant = e.tenant AND o.id = e.source) AS source_type",
    holds_fragment: "EXISTS (SELECT FROM unnest(reach.fragments) AS held (name) \
        WHERE e.fragments -> held.name IS NOT NULL)",
};
/// Events that one statement deletes, unless their files are so large that it takes too long.
const DELETED_AT_ONCE: i64 = 2_000;

/// A page of events, newest first unless reverted (P-06). Who lacks the role sees those that device permissions name: the
/// source by its lineage, and a fragment of the event (P-07).
///
/// # Errors
/// `Timeout`, `Unavailable` or `Database`.
pub async fn list_events(
    database: &Database,
    tenant: &TenantId,
    filter: &EventFilter,
    authority: &Authority,
    page: &PageRequest,
) -> Result<Page<Event>> {
    let conditions = |filtered: &mut Filtered| conditions(filter, filtered);
    let walk = TimeWalk { table: &EVENTS, tenant, span: span(filter), conditions: &conditions };
    walk.page(database, authority, page, from_row).await
}

/// A deletion of what a filter finds, with its files. Each step is a transaction; the collection is walked once, so that
/// what is left over costs no step anything.
pub(crate) struct Deletion<'a> {
    database: &'a Database,
    tenant: &'a TenantId,
    filter: &'a EventFilter,
    after: Option<Position>,
    ended: bool,
}

impl<'a> Deletion<'a> {
    pub(crate) fn of(database: &'a Database, tenant: &'a TenantId, filter: &'a EventFilter) -> Self {
        Self { database, tenant, filter, after: None, ended: false }
    }

    /// Deletes the next events and gives them with their sources; `None` when there are no more.
    ///
    /// # Errors
    /// `Timeout`, `Unavailable` or `Database`; then part of them may be gone.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<(EventId, ManagedObjectId)>>> {
        if self.ended {
            return Ok(None);
        }
        let conditions = |filtered: &mut Filtered| conditions(self.filter, filtered);
        let span = span(self.filter);
        let walk = TimeWalk { table: &EVENTS, tenant: self.tenant, span, conditions: &conditions };
        let (ids, next) = {
            let client = self.database.reader().await?;
            walk.ids(&client, self.after, DELETED_AT_ONCE).await?
        };
        let mut gone = Vec::with_capacity(ids.len());
        let (mut rest, mut size) = (&ids[..], ids.len().max(1));
        while !rest.is_empty() {
            let (some, others) = rest.split_at(size.min(rest.len()));
            let deleted =
                until_uncontended(async || events::delete_events(self.database, self.tenant, some).await);
            match deleted.await {
                Ok(deleted) => {
                    gone.extend(deleted);
                    rest = others;
                }
                // Events with large files take long: fewer at once.
                Err(Error::Timeout) if size > 1 => size = size.div_ceil(8),
                Err(error) => return Err(error),
            }
        }
        (self.after, self.ended) = (next, next.is_none());
        Ok(Some(gone))
    }
}

fn span(filter: &EventFilter) -> Span<'_> {
    Span {
        source: filter.source,
        with_descendants: &filter.with_descendants,
        date_from: filter.date_from,
        date_to: filter.date_to,
        order: filter.order,
    }
}

/// The filters that no index knows.
fn conditions(filter: &EventFilter, filtered: &mut Filtered) -> Vec<String> {
    let mut conditions = Vec::new();
    if let Some(type_) = &filter.type_ {
        conditions.push(format!("e.type = {}", filtered.parameter(type_.clone())));
    }
    if let Some(name) = &filter.fragment_type {
        // With a cast: an operator for the position in an array has the same sign.
        conditions.push(format!("e.fragments -> {}::text IS NOT NULL", filtered.parameter(name.clone())));
    }
    conditions
}
