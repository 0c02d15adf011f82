//! Reading measurements: first the columns in the index, then the row if it holds more.
//!
//! The measurements of a source are scattered over the table, a disk page each, while the index of sources stores them
//! side by side. So a row itself is read only when its shape says that it holds more than the index.

use std::collections::HashMap;

use deadpool_postgres::Client;
use platform_model::data::measurement::Measurement;
use platform_model::error::{Error, Noun, Result};
use platform_model::fragments::Fragments;
use platform_model::id::{ManagedObjectId, MeasurementId, TenantId};
use platform_model::timestamp::Timestamp;
use tokio_postgres::Row;
use tokio_postgres::types::Json;

use crate::Database;
use crate::data::measurements::INDEXED_READINGS;
use crate::query::prepared::PreparedQueries;

const FIND: &str = include_str!("../../../../../sql/queries/measurements/find.sql");
const FIND_REST: &str = include_str!("../../../../../sql/queries/measurements/find_rest.sql");

/// The columns of [`indexed`] in their order; the alias is `m`.
pub(crate) const INDEXED: &str = "m.id, m.source, m.time, m.local_time, m.shape, m.readings";

/// The columns of a measurement that the index of sources holds.
pub(crate) struct Indexed {
    id: i64,
    source: i64,
    time: Timestamp,
    shape: i64,
    readings: Option<Vec<f64>>,
}

/// Reads the columns [`INDEXED`].
pub(crate) fn indexed(row: &Row) -> Result<Indexed> {
    Ok(Indexed {
        id: row.try_get(0)?,
        source: row.try_get(1)?,
        time: Timestamp::of_local(row.try_get(2)?, row.try_get(3)?),
        shape: row.try_get(4)?,
        readings: row.try_get(5)?,
    })
}

/// The columns that no index holds.
struct UnindexedColumns {
    wide_readings: Option<Vec<f64>>,
    verbatim: Option<Fragments>,
}

/// Returns complete measurements, in order. A measurement that was deleted since it was found is left out.
pub(crate) async fn completed(
    database: &Database,
    tenant: &TenantId,
    rows: Vec<Indexed>,
) -> Result<Vec<Measurement>> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let client = database.reader().await?;
    let shapes = database.shapes().definitions(&client, tenant, rows.iter().map(|row| row.shape)).await?;
    let is_more = |row: &&Indexed| {
        let shape = shapes.get(&row.shape);
        shape.is_some_and(|shape| shape.verbatim || shape.is_wide(INDEXED_READINGS as usize))
    };
    let more: Vec<i64> = rows.iter().filter(is_more).map(|row| row.id).collect();
    let mut rest = rest(&client, tenant, &more).await?;
    let complete = |row: Indexed| {
        let shape = shapes.get(&row.shape)?.clone();
        let UnindexedColumns { wide_readings, verbatim } = if is_more(&&row) {
            rest.remove(&row.id)?
        } else {
            UnindexedColumns { wide_readings: None, verbatim: None }
        };
        Some(Measurement {
            id: Some(MeasurementId(row.id)),
            source: ManagedObjectId(row.source),
            time: row.time,
            shape,
            readings: row.readings.or(wide_readings).unwrap_or_default(),
            verbatim,
        })
    };
    Ok(rows.into_iter().filter_map(complete).collect())
}

async fn rest(client: &Client, tenant: &TenantId, ids: &[i64]) -> Result<HashMap<i64, UnindexedColumns>> {
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let rows = client.rows(FIND_REST, &[&tenant.as_str(), &ids]).await?;
    let read = |row: &Row| {
        let verbatim: Option<Json<Fragments>> = row.try_get(2)?;
        let rest = UnindexedColumns { wide_readings: row.try_get(1)?, verbatim: verbatim.map(|json| json.0) };
        Ok((row.try_get(0)?, rest))
    };
    rows.iter().map(read).collect()
}

/// Returns a measurement.
///
/// # Errors
/// `NotFound`, `Unavailable` or `Database`.
pub async fn get_measurement(
    database: &Database,
    tenant: &TenantId,
    id: MeasurementId,
) -> Result<Measurement> {
    let found = { database.reader().await?.find(FIND, &[&tenant.as_str(), &id.0]).await? };
    let found = found.as_ref().map(indexed).transpose()?;
    let whole = completed(database, tenant, found.into_iter().collect()).await?;
    whole.into_iter().next().ok_or_else(|| Error::not_found(Noun::Measurement, id))
}
