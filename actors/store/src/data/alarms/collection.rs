//! The collection of alarms: filters and pages (A-01, P-01 to P-07).

use std::time::Instant;

use platform_model::access::Authority;
use platform_model::data::alarm::{Alarm, AlarmFilter, AlarmStatus};
use platform_model::error::{Error, Result};
use platform_model::id::TenantId;
use platform_model::limits::MAX_PAGE_SIZE;
use platform_model::page::{Count, Page, PageRequest, Position, TimeOrder, TotalPages};
use tokio_postgres::Client;

use crate::Database;
use crate::data::alarms::from_row;
use crate::query::filter::Filtered;
use crate::query::time_scan::{Descendants, Span, TimeScan, TimeTable};

const ALARMS: TimeTable = TimeTable {
    from: "alarms a",
    alias: "a",
    tenant: "a.tenant",
    // A subquery looks up the source of the returned alarms only, where a join would look up the sources of all.
    columns: "a.id, a.source, a.type, a.time, a.time_offset, a.text, a.status, a.severity, a.count, \
        a.first_time, a.first_offset, a.created_at, a.revision, a.fragments, \
        (SELECT o.name FROM managed_objects o WHERE o.tenant = a.tenant AND o.id = a.source) AS name",
    holds_fragment: "EXISTS (SELECT FROM unnest(reach.fragments) AS held (name) \
        WHERE a.fragments -> held.name IS NOT NULL)",
};

/// The alarms that are not cleared. They have an index of their own, because they would be hard to find among millions
/// of cleared ones.
const OPEN_ALARMS: TimeTable =
    TimeTable { from: "(SELECT * FROM alarms WHERE status <> 'CLEARED') a", ..ALARMS };

/// Returns a page of alarms, newest first unless reverted (P-06). A caller without the role sees the alarms that its
/// device permissions grant, by the lineage of the source and a fragment of the alarm (P-07).
///
/// # Errors
/// `Timeout`, `Unavailable` or `Database`.
pub async fn list_alarms(
    database: &Database,
    tenant: &TenantId,
    filter: &AlarmFilter,
    authority: &Authority,
    page: &PageRequest,
) -> Result<Page<Alarm>> {
    let conditions = |filtered: &mut Filtered| conditions(filter, filtered);
    let scan = TimeScan { table: table(filter), tenant, span: span(filter), conditions: &conditions };
    scan.page(database, authority, page, from_row).await
}

/// Returns how many alarms match (C-18): exact up to a million, an estimate beyond (P-03). For a caller without the
/// role it counts the alarms that all pages of [`list_alarms`] would return together.
///
/// # Errors
/// `Timeout`, `Unavailable` or `Database`.
pub async fn count_alarms(
    database: &Database,
    tenant: &TenantId,
    filter: &AlarmFilter,
    authority: &Authority,
) -> Result<i64> {
    let deadline = Instant::now() + database.statement_timeout();
    let mut request = PageRequest { size: 1, current: 1, after: None, total: TotalPages::Counted };
    if matches!(authority, Authority::Limited(_)) {
        request.size = MAX_PAGE_SIZE;
    }
    let mut seen = 0;
    loop {
        let page = list_alarms(database, tenant, filter, authority, &request).await?;
        if let Count::Of(count) = page.count {
            return Ok(count);
        }
        seen += page.members.len() as i64;
        if page.next.is_none() {
            return Ok(seen);
        }
        request.after = page.next;
        if Instant::now() > deadline {
            return Err(Error::Timeout);
        }
    }
}

/// A part of the alarms that match a filter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AlarmRange {
    /// The greatest id.
    pub(crate) last: i64,
    /// The status of alarms to leave out.
    pub(crate) except: Option<AlarmStatus>,
    /// The position after which the part begins.
    pub(crate) after: Option<Position>,
    /// The maximum number of alarms.
    pub(crate) limit: i64,
}

/// Returns the ids of matching alarms, the oldest first, and the position to continue from, which is `None` at the end.
///
/// # Errors
/// `Timeout`, `Unavailable` or `Database`.
pub(crate) async fn list_ids(
    client: &Client,
    tenant: &TenantId,
    filter: &AlarmFilter,
    part: AlarmRange,
) -> Result<(Vec<i64>, Option<Position>)> {
    let conditions = |filtered: &mut Filtered| {
        let mut conditions = conditions(filter, filtered);
        conditions.push(format!("a.id <= {}", filtered.parameter(part.last)));
        if let Some(status) = part.except {
            conditions.push(format!("a.status <> {}", filtered.parameter(status.as_str())));
        }
        conditions
    };
    let span = Span { order: TimeOrder::OldestFirst, ..span(filter) };
    let scan = TimeScan { table: table(filter), tenant, span, conditions: &conditions };
    scan.ids(client, part.after, part.limit).await
}

/// Returns the table to scan. The alarms of one source have an index of their own already.
fn table(filter: &AlarmFilter) -> &'static TimeTable {
    let open = !filter.statuses.is_empty() && filter.statuses.iter().all(|status| status.is_open());
    let one_source = filter.source.is_some() && filter.with_descendants.is_empty();
    if open && !one_source { &OPEN_ALARMS } else { &ALARMS }
}

fn span(filter: &AlarmFilter) -> Span<'_> {
    Span {
        source: filter.source,
        below: Descendants::Links(&filter.with_descendants),
        date_from: filter.date_from,
        date_to: filter.date_to,
        order: filter.order,
    }
}

/// Returns the filters that no index covers.
fn conditions(filter: &AlarmFilter, filtered: &mut Filtered) -> Vec<String> {
    let mut conditions = Vec::new();
    for (column, words) in [
        ("status", filter.statuses.iter().map(|status| status.as_str()).collect::<Vec<_>>()),
        ("severity", filter.severities.iter().map(|severity| severity.as_str()).collect()),
        ("type", filter.types.iter().map(|type_| &**type_).collect()),
    ] {
        if !words.is_empty() {
            let words: Vec<String> = words.into_iter().map(ToOwned::to_owned).collect();
            conditions.push(format!("a.{column} = ANY({})", filtered.parameter(words)));
        }
    }
    conditions
}
