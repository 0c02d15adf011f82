//! The collection of measurements: filters, pages and deletion (G-01, G-04, G-05, P-01 to P-07).
//!
//! The shape of a measurement holds its type and the names of its fragments and series. Filters on these select among
//! the few shapes of a tenant, and measurements are then found by the number of their shape.

use platform_model::access::Authority;
use platform_model::data::measurement::{Measurement, MeasurementFilter};
use platform_model::error::Result;
use platform_model::id::{ManagedObjectId, MeasurementId, TenantId};
use platform_model::page::{Page, PageRequest, Position};
use platform_model::realtime::change::PublishedChange;
use tokio_postgres::types::ToSql;

use crate::Database;
use crate::data::measurements::rollups;
use crate::data::measurements::rows::{INDEXED, completed, indexed};
use crate::leases::module_leases;
use crate::query::filter::Filtered;
use crate::query::ordered_scan::ScanWindow;
use crate::query::prepared::PreparedQueries;
use crate::query::time_scan::{Descendants, Span, TimeScan, TimeTable};
use crate::realtime::publications::{DeletionNotices, Ended};

const LIST_SHAPES: &str = include_str!("../../../../../sql/queries/measurements/list_shapes.sql");
const LIST_SOURCES: &str = include_str!("../../../../../sql/queries/measurements/list_sources.sql");
const DELETE_MANY: &str = include_str!("../../../../../sql/queries/measurements/delete_many.sql");

/// The number of measurements that one transaction deletes.
const DELETED_AT_ONCE: i64 = 5_000;

pub(crate) const MEASUREMENTS: TimeTable = TimeTable {
    from: "measurements m",
    alias: "m",
    tenant: "m.tenant",
    columns: INDEXED,
    holds_fragment: "EXISTS (SELECT FROM measurement_shapes s \
        WHERE s.tenant = $1 AND s.id = m.shape AND s.members && reach.fragments)",
};

/// Returns a page of measurements, oldest first unless reverted (G-05). A caller without the role sees the measurements
/// that its device permissions grant, by the lineage of the source and a fragment of the measurement (P-07).
///
/// # Errors
/// `Timeout`, `Unavailable` or `Database`.
pub async fn list_measurements(
    database: &Database,
    tenant: &TenantId,
    filter: &MeasurementFilter,
    authority: &Authority,
    page: &PageRequest,
) -> Result<Page<Measurement>> {
    let shapes = shapes(database, tenant, filter).await?;
    if shapes.as_ref().is_some_and(Vec::is_empty) && matches!(authority, Authority::Role) {
        return Ok(page.empty());
    }
    let conditions = |filtered: &mut Filtered| conditions(shapes.as_deref(), None, filtered);
    let scan = TimeScan { table: &MEASUREMENTS, tenant, span: span(filter), conditions: &conditions };
    let Page { members, next, count } = scan.page(database, authority, page, indexed).await?;
    Ok(Page { members: completed(database, tenant, members).await?, next, count })
}

/// The filter and the progress of a deletion of measurements.
pub struct Deletion {
    filter: MeasurementFilter,
    shapes: Option<Vec<i64>>,
    /// Measurements with this id or a greater one stay; otherwise the deletion might never end.
    before: i64,
    after: Option<Position>,
    is_over: bool,
}

/// Begins to delete matching measurements with ids below `before`.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn begin_deletion(
    database: &Database,
    tenant: &TenantId,
    filter: MeasurementFilter,
    before: i64,
) -> Result<Deletion> {
    let shapes = shapes(database, tenant, &filter).await?;
    let is_over = shapes.as_ref().is_some_and(Vec::is_empty);
    Ok(Deletion { filter, shapes, before, after: None, is_over })
}

/// Deletes the next measurements in a transaction of its own, and publishes it. Returns `false` at the end.
///
/// # Errors
/// `Timeout`, `Unavailable` or `Database`.
pub async fn delete_next(
    database: &Database,
    tenant: &TenantId,
    deletion: &mut Deletion,
    notices: &DeletionNotices,
) -> Result<bool> {
    if deletion.is_over {
        return Ok(false);
    }
    let (ids, next) = {
        let client = database.reader().await?;
        let conditions =
            |filtered: &mut Filtered| conditions(deletion.shapes.as_deref(), Some(deletion.before), filtered);
        let span = span(&deletion.filter);
        let scan = TimeScan { table: &MEASUREMENTS, tenant, span, conditions: &conditions };
        match deletion.shapes {
            Some(_) => scan.ids(&client, deletion.after, DELETED_AT_ONCE).await?,
            // When all rows match, only those to delete need to be read.
            None => {
                let window = ScanWindow::first(DELETED_AT_ONCE, DELETED_AT_ONCE);
                scan.ids_in(&client, deletion.after, window).await?
            }
        }
    };
    (deletion.after, deletion.is_over) = (next, next.is_none());
    delete_measurements(database, tenant, &ids, None, notices).await?;
    Ok(true)
}

/// Deletes a measurement, publishes it, and returns whether it existed. With a fence it succeeds only while this
/// process [holds](module_leases::hold) the modules.
///
/// # Errors
/// `Conflict`, `Unavailable` or `Database`.
pub async fn delete_measurement(
    database: &Database,
    tenant: &TenantId,
    id: MeasurementId,
    fence: Option<i64>,
    notices: &DeletionNotices,
) -> Result<bool> {
    Ok(delete_measurements(database, tenant, &[id.0], fence, notices).await? > 0)
}

/// Deletes measurements, and the rollups of their sources in the same transaction, and returns their number.
async fn delete_measurements(
    database: &Database,
    tenant: &TenantId,
    ids: &[i64],
    fence: Option<i64>,
    notices: &DeletionNotices,
) -> Result<usize> {
    if ids.is_empty() {
        return Ok(0);
    }
    let delete = async || delete_many(database, tenant, ids, fence, notices).await;
    let gone = database.until_committed(delete).await?;
    notices.committed(gone);
    Ok(gone)
}

async fn delete_many(
    database: &Database,
    tenant: &TenantId,
    ids: &[i64],
    fence: Option<i64>,
    notices: &DeletionNotices,
) -> Result<Ended<usize>> {
    let mut client = database.reader().await?;
    let transaction = client.transaction().await?;
    module_leases::hold_one(&transaction, tenant, fence).await?;
    let sources = transaction.rows(LIST_SOURCES, &[&tenant.as_str(), &ids]).await?;
    let sources: Vec<i64> = sources.iter().map(|row| row.get(0)).collect();
    rollups::forget(&transaction, tenant, &sources).await?;
    let gone = transaction.rows(DELETE_MANY, &[&tenant.as_str(), &ids]).await?;
    let gone: Vec<_> =
        gone.iter().map(|row| (MeasurementId(row.get(0)), ManagedObjectId(row.get(1)))).collect();
    let publications = notices.describe(&gone, PublishedChange::MeasurementDeleted);
    database.commit_published(transaction, tenant, gone.len(), publications).await
}

/// Returns the shapes that the filters select; `None` when they do not restrict the shape.
async fn shapes(
    database: &Database,
    tenant: &TenantId,
    filter: &MeasurementFilter,
) -> Result<Option<Vec<i64>>> {
    if !filter.filters_by_shape() {
        return Ok(None);
    }
    let client = database.reader().await?;
    let statement = client.prepare_cached(LIST_SHAPES).await?;
    let source = filter.source.map(|source| source.0);
    let MeasurementFilter { type_, fragment_type, value_fragment_type, .. } = filter;
    let (series, lone_series) = (filter.value_series(), filter.lone_series());
    let parameters: [&(dyn ToSql + Sync); 7] =
        [&tenant.as_str(), type_, fragment_type, value_fragment_type, &series, &lone_series, &source];
    let rows = client.query(&statement, &parameters).await?;
    Ok(Some(rows.iter().map(|row| row.get(0)).collect()))
}

fn span(filter: &MeasurementFilter) -> Span<'_> {
    Span {
        source: filter.source,
        below: Descendants::Links(&[]),
        date_from: filter.date_from,
        date_to: filter.date_to,
        order: filter.order,
    }
}

/// Returns the filters that the order of the indexes does not cover.
fn conditions(shapes: Option<&[i64]>, before: Option<i64>, filtered: &mut Filtered) -> Vec<String> {
    let mut conditions = Vec::new();
    if let Some(shapes) = shapes {
        conditions.push(format!("m.shape = ANY({})", filtered.parameter(shapes.to_vec())));
    }
    if let Some(before) = before {
        conditions.push(format!("m.id < {}", filtered.parameter(before)));
    }
    conditions
}
