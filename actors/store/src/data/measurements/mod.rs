//! Storing measurements and their shapes in PostgreSQL. Writes take the rows of one group commit and run inside the
//! writer's transaction.

pub(crate) mod buckets;
pub mod collection;
pub mod partitions;
pub(crate) mod rollups;
pub mod rows;
pub mod series;
pub(crate) mod shapes;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use deadpool_postgres::{GenericClient, Transaction};
use platform_model::data::measurement::Measurement;
use platform_model::error::Result;
use platform_model::id::{ManagedObjectId, TenantId};
use platform_model::idempotency::{FirstResponse, IdempotencyKey};
use tokio_postgres::types::ToSql;

use crate::query::prepared::PreparedQueries;
use crate::realtime::signatures::Signatures;
use crate::statistics::Counted;
use crate::write_kind::{Added, Rows, WriteKind};
use crate::{Database, until_uncontended};

const INSERT_SHAPES: &str = include_str!("../../../../../sql/queries/measurements/insert_shapes.sql");
const INSERT_SOURCE_SHAPES: &str =
    include_str!("../../../../../sql/queries/measurements/insert_source_shapes.sql");
const INSERT: &str = include_str!("../../../../../sql/queries/measurements/insert.sql");
const INSERT_COLLECTIONS: &str =
    include_str!("../../../../../sql/queries/measurements/insert_collections.sql");
const ARE_MANY: &str = include_str!("../../../../../sql/queries/measurements/are_many.sql");
const DELETE_REST: &str = include_str!("../../../../../sql/queries/measurements/delete_rest.sql");
const DELETE_OF_SOURCES: &str = include_str!("../../../../../sql/queries/measurements/delete_of_sources.sql");

/// The number of numbers that fit into an index entry besides its other columns.
pub(crate) const INDEXED_READINGS: i32 = 256;
/// The number of measurements of a deleted source that one transaction deletes.
const DELETED_AT_ONCE: i64 = 10_000;

/// Measurements of one request, of which all or none are stored (G-02).
#[derive(Debug, Clone)]
pub struct SentMeasurements {
    /// The measurements of the request.
    pub measurements: Vec<Arc<Measurement>>,
    /// The number of the shape of each measurement.
    pub shapes: Vec<i64>,
    /// Definitions of the shapes that a source is not known to send, each with its first measurement.
    pub unseen: Vec<UnseenShape>,
    /// The user who must own the sources, when the caller writes by ownership.
    pub owner: Option<Arc<str>>,
}

/// A shape that a source sends for the first time, as far as this process knows.
#[derive(Debug, Clone)]
pub struct UnseenShape {
    /// The source of the measurements.
    pub source: ManagedObjectId,
    /// The number of the shape.
    pub shape: i64,
    /// The names, types and units of the shape as JSON.
    pub definition: String,
    /// The first measurement with this shape.
    pub first: i64,
}

type SentRows<'a> = Rows<'a, InsertMeasurements>;

/// Stores measurements with their new shapes. A measurement is left out when its source, or that of another measurement
/// of the same request, does not exist or does not belong to the caller.
#[derive(Debug)]
pub(crate) struct InsertMeasurements;

impl WriteKind for InsertMeasurements {
    type Change = SentMeasurements;
    type Outcomes = HashSet<i64>;
    type Written = ();

    const STATEMENTS: &'static [&'static str] =
        &[INSERT_SHAPES, INSERT_SOURCE_SHAPES, INSERT, INSERT_COLLECTIONS];
    const COUNTED: Counted = Counted::MeasurementCreated;
    const ADDED: Added<'static> = Added::Data;

    /// Returns the ids of the stored measurements.
    async fn run(
        client: &impl GenericClient,
        _: &Signatures,
        rows: &mut Rows<'_, Self>,
    ) -> Result<Self::Outcomes> {
        // Sources are locked in one order, so that writers and deletions cannot deadlock.
        rows.sort_by_key(|(_, sent)| sent.measurements.first().map(|first| first.source));
        let (singles, collections): (Vec<_>, Vec<_>) =
            rows.iter().partition(|(_, sent)| sent.measurements.len() == 1);
        // Polled in this order, so sent in this order.
        let (shapes, sources, single, whole) = tokio::join!(
            biased;
            insert_shapes(client, rows),
            insert_source_shapes(client, rows),
            insert_rows(client, &singles, Atomicity::PerRow),
            insert_rows(client, &collections, Atomicity::PerRequest),
        );
        shapes?;
        sources?;
        let mut stored = single?;
        stored.extend(whole?);
        Ok(stored)
    }

    fn written(stored: &mut HashSet<i64>, sent: &SentMeasurements) -> Option<()> {
        let is_stored =
            |measurement: &Arc<Measurement>| measurement.id.is_some_and(|id| stored.contains(&id.0));
        sent.measurements.iter().all(is_stored).then_some(())
    }

    fn response(sent: &SentMeasurements, (): &(), key: &IdempotencyKey) -> Option<FirstResponse> {
        if let Some(name) = key.collection {
            return Some(FirstResponse::of_collection(name, &sent.measurements, &key.links));
        }
        let measurement = sent.measurements.first()?;
        Some(FirstResponse::of(key.links.measurement(measurement.id), &**measurement, &key.links))
    }

    fn sent(rows: &SentRows<'_>) -> usize {
        let any = |has: fn(&SentMeasurements) -> bool| usize::from(rows.iter().any(|(_, sent)| has(sent)));
        let shapes = any(|sent| !sent.unseen.is_empty());
        2 * shapes + any(|sent| sent.measurements.len() == 1) + any(|sent| sent.measurements.len() != 1)
    }

    fn counted(sent: &SentMeasurements, (): &()) -> (Counted, u64) {
        (Self::COUNTED, sent.measurements.len() as u64)
    }

    fn rows(sent: &SentMeasurements) -> usize {
        sent.measurements.len()
    }
}

async fn insert_shapes(client: &impl GenericClient, rows: &SentRows<'_>) -> Result<()> {
    // In one order, so that two batches with the same new shapes cannot deadlock.
    let mut unseen = BTreeMap::new();
    for (tenant, sent) in rows {
        for shape in &sent.unseen {
            unseen.insert((tenant.as_str(), shape.shape), &*shape.definition);
        }
    }
    if unseen.is_empty() {
        return Ok(());
    }
    let (keys, definitions): (Vec<_>, Vec<&str>) = unseen.into_iter().unzip();
    let (tenants, ids): (Vec<&str>, Vec<i64>) = keys.into_iter().unzip();
    client.run(INSERT_SHAPES, &[&tenants, &ids, &definitions]).await?;
    Ok(())
}

async fn insert_source_shapes(client: &impl GenericClient, rows: &SentRows<'_>) -> Result<()> {
    let mut unseen = BTreeMap::new();
    for (tenant, sent) in rows {
        for shape in &sent.unseen {
            unseen.entry((tenant.as_str(), shape.source.0, shape.shape)).or_insert(shape.first);
        }
    }
    if unseen.is_empty() {
        return Ok(());
    }
    let tenants: Vec<&str> = unseen.keys().map(|(tenant, ..)| *tenant).collect();
    let sources: Vec<i64> = unseen.keys().map(|(_, source, _)| *source).collect();
    let shapes: Vec<i64> = unseen.keys().map(|(.., shape)| *shape).collect();
    let firsts: Vec<i64> = unseen.values().copied().collect();
    client.run(INSERT_SOURCE_SHAPES, &[&tenants, &sources, &shapes, &firsts]).await?;
    Ok(())
}

/// Whether a request with several rows is stored only as a whole.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Atomicity {
    PerRow,
    PerRequest,
}

async fn insert_rows(
    client: &impl GenericClient,
    rows: &[&(&TenantId, &SentMeasurements)],
    atomicity: Atomicity,
) -> Result<HashSet<i64>> {
    if rows.is_empty() {
        return Ok(HashSet::new());
    }
    let columns = RowArrays::of(rows);
    let mut parameters: Vec<&(dyn ToSql + Sync)> = vec![
        &columns.tenants,
        &columns.ids,
        &columns.sources,
        &columns.times,
        &columns.local_times,
        &columns.shapes,
        &columns.firsts,
        &columns.counts,
        &columns.readings,
        &columns.verbatim,
        &columns.owners,
        &INDEXED_READINGS,
    ];
    let statement = match atomicity {
        Atomicity::PerRow => INSERT,
        Atomicity::PerRequest => {
            parameters.extend([&columns.collections as &(dyn ToSql + Sync), &columns.sizes]);
            INSERT_COLLECTIONS
        }
    };
    let stored = client.rows(statement, &parameters).await?;
    Ok(stored.iter().map(|row| row.get(0)).collect())
}

/// The rows as one array per column, in the form that `unnest` takes.
#[derive(Default)]
struct RowArrays<'a> {
    tenants: Vec<&'a str>,
    ids: Vec<i64>,
    sources: Vec<i64>,
    times: Vec<time::OffsetDateTime>,
    local_times: Vec<time::PrimitiveDateTime>,
    shapes: Vec<i64>,
    /// The index at which the numbers of a row begin in `readings`, counted from 1.
    firsts: Vec<i32>,
    counts: Vec<i32>,
    readings: Vec<f64>,
    verbatim: Vec<Option<String>>,
    owners: Vec<Option<&'a str>>,
    collections: Vec<i32>,
    sizes: Vec<i64>,
}

impl<'a> RowArrays<'a> {
    fn of(rows: &[&'a (&TenantId, &SentMeasurements)]) -> Self {
        let mut columns = Self::default();
        for (collection, (tenant, sent)) in rows.iter().enumerate() {
            for (measurement, shape) in sent.measurements.iter().zip(&sent.shapes) {
                columns.tenants.push(tenant.as_str());
                columns.ids.push(measurement.id.map_or(0, |id| id.0));
                columns.sources.push(measurement.source.0);
                columns.times.push(measurement.time.instant());
                columns.local_times.push(measurement.time.local());
                columns.shapes.push(*shape);
                columns.firsts.push(columns.readings.len() as i32 + 1);
                columns.counts.push(measurement.readings.len() as i32);
                columns.readings.extend(&measurement.readings);
                columns.verbatim.push(measurement.verbatim.as_ref().map(|fragments| fragments.to_json()));
                columns.owners.push(sent.owner.as_deref());
                columns.collections.push(collection as i32);
                columns.sizes.push(sent.measurements.len() as i64);
            }
        }
        columns
    }
}

/// Returns whether sources have more measurements than one transaction should delete.
///
/// # Errors
/// `Timeout`, `Unavailable` or `Database`.
pub(crate) async fn are_many(database: &Database, tenant: &TenantId, sources: &[i64]) -> Result<bool> {
    let client = database.loader().await?;
    Ok(client.row(ARE_MANY, &[&tenant.as_str(), &sources, &DELETED_AT_ONCE]).await?.get(0))
}

/// Deletes all measurements of sources that are about to be deleted, in parts, because a device may have millions.
///
/// # Errors
/// `Contended`, `Unavailable` or `Database`.
pub(crate) async fn delete_of_sources(
    database: &Database,
    tenant: &TenantId,
    sources: &[ManagedObjectId],
) -> Result<()> {
    let ids: Vec<i64> = sources.iter().map(|id| id.0).collect();
    let delete = async || {
        let mut client = database.loader().await?;
        let transaction = client.transaction().await?;
        rollups::forget(&transaction, tenant, &ids).await?;
        let gone = transaction.run(DELETE_OF_SOURCES, &[&tenant.as_str(), &ids, &DELETED_AT_ONCE]).await?;
        transaction.commit().await?;
        Ok(gone)
    };
    while until_uncontended(&delete).await? == DELETED_AT_ONCE as u64 {}
    Ok(())
}

/// Deletes the remaining measurements of sources, in the transaction that has locked and will delete these sources, and
/// with them their rollups.
///
/// # Errors
/// `Unavailable` or `Database`.
pub(crate) async fn delete_rest(
    transaction: &Transaction<'_>,
    tenant: &TenantId,
    sources: &[i64],
) -> Result<()> {
    transaction.run(DELETE_REST, &[&tenant.as_str(), &sources]).await?;
    Ok(())
}
