//! The collection of operations: filters, pages and bulk deletion (O-06, O-07, O-08, P-01 to P-07).
//!
//! The most frequent query asks for the pending operations of one agent. It reads the queues of the agent's devices and
//! no other operations; see [`Queues`]. All other queries scan the collection by time.

use platform_model::access::Authority;
use platform_model::data::operation::{Operation, OperationFilter, OperationStatus};
use platform_model::error::Result;
use platform_model::id::TenantId;
use platform_model::naming::naming;
use platform_model::page::{Page, PageRequest, Position, TimeOrder};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::Database;
use crate::data::deletion::{Deletion, ListedIds};
use crate::data::operations::queues::Queues;
use crate::data::operations::{self, external_ids, from_row};
use crate::query::filter::{Filtered, page_of};
use crate::query::prepared::PreparedQueries;
use crate::query::time_scan::{Descendants, Span, TimeScan, TimeTable, devices_of_agent, position};
use crate::realtime::publications::DeletionNotices;

const COUNT_PLACES: &str = include_str!("../../../../../sql/queries/operations/count_places.sql");

/// The maximum number of queue positions of finished operations of an agent that are merged for one page. An agent
/// with more has so large a share of the collection that a scan by time fills the page quickly.
const MERGED_PLACES: i64 = 200_000;
/// The number of operations that one statement deletes.
const DELETED_AT_ONCE: i64 = 2_000;

/// A subquery looks up the name for the returned operations only, where a join would look up all names.
const COLUMNS: &str = "o.id, o.device, o.bulk_operation, o.created_at, o.status, o.failure_reason, o.revision, \
    o.fragments, (SELECT d.name FROM managed_objects d WHERE d.tenant = o.tenant AND d.id = o.device) AS \
    device_name, NULL::json[] AS external_ids";
/// The same columns with the external ids of the device, for requests of an agent (O-07).
const COLUMNS_OF_AGENT: &str = "o.id, o.device, o.bulk_operation, o.created_at, o.status, o.failure_reason, \
    o.revision, o.fragments, (SELECT d.name FROM managed_objects d WHERE d.tenant = o.tenant AND d.id = o.device) AS \
    device_name, ARRAY(SELECT json_build_array(e.type, e.value) FROM external_ids e WHERE e.tenant = o.tenant AND \
    e.object = o.device ORDER BY e.type, e.value) AS external_ids";

const OPERATIONS: TimeTable = TimeTable {
    from: "(SELECT o.*, o.device AS source, o.created_at AS time FROM operations o) o",
    alias: "o",
    tenant: "o.tenant",
    columns: COLUMNS,
    holds_fragment: "EXISTS (SELECT FROM unnest(reach.fragments) AS held (name) \
        WHERE o.fragments -> held.name IS NOT NULL)",
};

/// Returns a page of operations, oldest first unless reverted (O-06). A caller without the role sees the operations
/// that its device permissions grant, by the lineage of the device and a fragment of the operation (P-07).
///
/// # Errors
/// `Timeout`, `Unavailable` or `Database`.
pub async fn list_operations(
    database: &Database,
    tenant: &TenantId,
    filter: &OperationFilter,
    authority: &Authority,
    page: &PageRequest,
) -> Result<Page<Operation>> {
    let (table, conditions) = (table(filter), |filtered: &mut Filtered| conditions(filter, filtered));
    let scan = TimeScan { table: &table, tenant, span: span(filter), conditions: &conditions };
    if matches!(authority, Authority::Role)
        && let Some(queues) = queues(database, tenant, filter, Queues::places(page)).await?
    {
        let client = database.reader().await?;
        let count = scan.matching().total(&client, page.total).await?;
        let rows = queues.rows(&client, table.columns, page).await?;
        let page = page_of(rows, page, position);
        let members = page.members.iter().map(listed).collect::<Result<Vec<_>>>()?;
        return Ok(Page { members, next: page.next, count });
    }
    scan.page(database, authority, page, listed).await
}

/// Starts a deletion of the operations that match a filter. It begins with the newest ones, so operations that are
/// queued meanwhile stay; otherwise it might never end.
#[expect(clippy::type_complexity, reason = "how to list and how to delete, which have no names")]
pub fn deletion<'a>(
    database: &'a Database,
    tenant: &'a TenantId,
    filter: &OperationFilter,
    notices: &'a DeletionNotices,
) -> Deletion<
    impl AsyncFn(Option<Position>) -> ListedIds + use<'a>,
    impl AsyncFn(&[i64]) -> Result<usize> + use<'a>,
> {
    let (status, filter) =
        (filter.status, OperationFilter { order: TimeOrder::NewestFirst, ..filter.clone() });
    let list = async move |after| {
        let queues = queues(database, tenant, &filter, DELETED_AT_ONCE).await?;
        let client = database.reader().await?;
        if let Some(queues) = queues {
            return queues.ids(&client, after, DELETED_AT_ONCE).await;
        }
        let (table, conditions) = (table(&filter), |filtered: &mut Filtered| conditions(&filter, filtered));
        let scan = TimeScan { table: &table, tenant, span: span(&filter), conditions: &conditions };
        scan.ids(&client, after, DELETED_AT_ONCE).await
    };
    let delete =
        async move |ids: &[i64]| operations::delete_operations(database, tenant, ids, status, notices).await;
    Deletion::of(list, delete)
}

/// Returns the queues of a filter, if merging their first positions is cheaper than a scan of all operations.
async fn queues<'a>(
    database: &Database,
    tenant: &'a TenantId,
    filter: &'a OperationFilter,
    places: i64,
) -> Result<Option<Queues<'a>>> {
    let OperationFilter { agent, device, status, bulk_operation, .. } = filter;
    let queues = Some(Queues { tenant, filter });
    let Some(agent) = agent.filter(|_| device.is_none()) else {
        return Ok(queues.filter(|_| device.is_some() || bulk_operation.is_some()));
    };
    if status.is_some_and(OperationStatus::is_open) {
        return Ok(queues);
    }
    // Each queue may hold many finished operations.
    let marker = naming().model("Agent");
    let parameters: [&(dyn ToSql + Sync); 5] = [&tenant.as_str(), &agent.0, &places, &MERGED_PLACES, &marker];
    let merged: i64 = database.reader().await?.row(COUNT_PLACES, &parameters).await?.get(0);
    Ok(queues.filter(|_| merged <= MERGED_PLACES))
}

/// Returns the table to scan; with a filter by status, the operations of this status.
fn table(filter: &OperationFilter) -> TimeTable {
    let from = match filter.status {
        None => OPERATIONS.from,
        Some(OperationStatus::Pending) => {
            "(SELECT o.*, o.device AS source, o.created_at AS time FROM operations o WHERE o.status = 'PENDING') o"
        }
        Some(OperationStatus::Executing) => {
            "(SELECT o.*, o.device AS source, o.created_at AS time FROM operations o WHERE o.status = 'EXECUTING') o"
        }
        Some(OperationStatus::Successful) => {
            "(SELECT o.*, o.device AS source, o.created_at AS time FROM operations o WHERE o.status = 'SUCCESSFUL') o"
        }
        Some(OperationStatus::Failed) => {
            "(SELECT o.*, o.device AS source, o.created_at AS time FROM operations o WHERE o.status = 'FAILED') o"
        }
    };
    let columns = if filter.agent.is_some() { COLUMNS_OF_AGENT } else { COLUMNS };
    TimeTable { from, columns, ..OPERATIONS }
}

fn span(filter: &OperationFilter) -> Span<'_> {
    Span {
        source: filter.device.or(filter.agent),
        below: if filter.device.is_some() { Descendants::Links(&[]) } else { Descendants::Agent },
        date_from: filter.date_from,
        date_to: filter.date_to,
        order: filter.order,
    }
}

/// Returns the filters that the indexes by time do not cover.
fn conditions(filter: &OperationFilter, filtered: &mut Filtered) -> Vec<String> {
    let mut conditions = Vec::new();
    if let (Some(agent), Some(device)) = (filter.agent, filter.device) {
        let (device, devices) = (filtered.parameter(device.0), devices_of_agent(agent, filtered));
        conditions.push(format!("{device} IN (SELECT {devices})"));
    }
    conditions.extend(of_each(filter, filtered));
    conditions
}

/// Returns the filters that are tested for each operation.
pub(crate) fn of_each(filter: &OperationFilter, filtered: &mut Filtered) -> Vec<String> {
    let mut conditions = Vec::new();
    if let Some(bulk_operation) = filter.bulk_operation {
        conditions.push(format!("o.bulk_operation = {}", filtered.parameter(bulk_operation.0)));
    }
    if let Some(name) = &filter.fragment_type {
        // The cast is needed because the operator for an array index has the same symbol.
        conditions.push(format!("o.fragments -> {}::text IS NOT NULL", filtered.parameter(name.clone())));
    }
    conditions
}

fn listed(row: &Row) -> Result<Operation> {
    Ok(Operation { device_name: row.get(8), device_external_ids: external_ids(row, 9)?, ..from_row(row)? })
}
