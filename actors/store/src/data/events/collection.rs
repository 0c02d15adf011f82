//! The collection of events: filters, pages and bulk deletion (V-01, P-01 to P-07).

use platform_model::access::Authority;
use platform_model::data::event::{Event, EventFilter};
use platform_model::error::Result;
use platform_model::id::TenantId;
use platform_model::page::{Page, PageRequest, Position};

use crate::Database;
use crate::data::deletion::{Deletion, ListedIds};
use crate::data::events::{self, from_row};
use crate::query::filter::Filtered;
use crate::query::time_scan::{Descendants, Span, TimeScan, TimeTable};
use crate::realtime::publications::DeletionNotices;

const EVENTS: TimeTable = TimeTable {
    from: "events e",
    alias: "e",
    tenant: "e.tenant",
    // A subquery looks up the source of the returned events only, where a join would look up the sources of all.
    columns: "e.id, e.source, e.type, e.time, e.time_offset, e.text, e.created_at, e.revision, e.fragments, \
        (SELECT o.name FROM managed_objects o WHERE o.tenant = e.tenant AND o.id = e.source) AS source_name, \
        (SELECT o.type FROM managed_objects o WHERE o.tenant = e.tenant AND o.id = e.source) AS source_type",
    holds_fragment: "EXISTS (SELECT FROM unnest(reach.fragments) AS held (name) \
        WHERE e.fragments -> held.name IS NOT NULL)",
};
/// The number of events that one statement deletes, unless their files are so large that it takes too long.
const DELETED_AT_ONCE: i64 = 2_000;

/// Returns a page of events, newest first unless reverted (P-06). A caller without the role sees the events that its
/// device permissions grant, by the lineage of the source and a fragment of the event (P-07).
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
    let scan = TimeScan { table: &EVENTS, tenant, span: span(filter), conditions: &conditions };
    scan.page(database, authority, page, from_row).await
}

/// Starts a deletion of the events that match a filter, with their files.
#[expect(clippy::type_complexity, reason = "how to list and how to delete, which have no names")]
pub fn deletion<'a>(
    database: &'a Database,
    tenant: &'a TenantId,
    filter: &'a EventFilter,
    notices: &'a DeletionNotices,
) -> Deletion<
    impl AsyncFn(Option<Position>) -> ListedIds + use<'a>,
    impl AsyncFn(&[i64]) -> Result<usize> + use<'a>,
> {
    let list = async move |after| {
        let conditions = |filtered: &mut Filtered| conditions(filter, filtered);
        let scan = TimeScan { table: &EVENTS, tenant, span: span(filter), conditions: &conditions };
        let client = database.reader().await?;
        scan.ids(&client, after, DELETED_AT_ONCE).await
    };
    let delete =
        async move |ids: &[i64]| events::delete_events(database, tenant, ids, None, notices, None).await;
    Deletion::of(list, delete)
}

fn span(filter: &EventFilter) -> Span<'_> {
    Span {
        source: filter.source,
        below: Descendants::Links(&filter.with_descendants),
        date_from: filter.date_from,
        date_to: filter.date_to,
        order: filter.order,
    }
}

/// Returns the filters that no index covers.
fn conditions(filter: &EventFilter, filtered: &mut Filtered) -> Vec<String> {
    let mut conditions = Vec::new();
    if let Some(type_) = &filter.type_ {
        conditions.push(format!("e.type = {}", filtered.parameter(type_.clone())));
    }
    if let Some(name) = &filter.fragment_type {
        // The cast is needed because the operator for an array index has the same symbol.
        conditions.push(format!("e.fragments -> {}::text IS NOT NULL", filtered.parameter(name.clone())));
    }
    conditions
}
