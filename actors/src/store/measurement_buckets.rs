//! Series by buckets: the least and the greatest number of each day, hour or minute (G-07).
//!
//! PostgreSQL reads the range from the index of sources and groups it while it reads, by the bucket of the device's clock and
//! by its offset. Numbers are doubles here, also those that were sent with more digits than a double holds.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Instant;

use time::{OffsetDateTime, PrimitiveDateTime};
use tokio_postgres::Row;

use super::Database;
use super::filter::Filtered;
use crate::error::{Error, Result};
use crate::limits::SERIES_CELLS;
use crate::model::id::TenantId;
use crate::model::measurement::{Aggregation, Pair, Place, SeriesFilter, SeriesValues, too_large};
use crate::model::timestamp::Timestamp;

/// Columns that one statement aggregates.
const COLUMNS_AT_ONCE: usize = 50;

/// A series in one of its units, and where the numbers are.
pub(super) struct Column {
    /// Its place in the result.
    pub(super) series: usize,
    /// Its unit.
    pub(super) unit: Option<Box<str>>,
    /// For each shape that has it: the shape, the place among its numbers from 0, and whether those are too many for the
    /// index.
    pub(super) places: Vec<(i64, usize, bool)>,
}

/// Adds the pair of every bucket.
///
/// # Errors
/// `Invalid` when there are more than can be answered; `Timeout`, `Unavailable` or `Database`.
pub(super) async fn buckets(
    database: &Database,
    tenant: &TenantId,
    filter: &SeriesFilter,
    aggregation: Aggregation,
    columns: &[Column],
    values: &mut SeriesValues,
) -> Result<()> {
    let most = SERIES_CELLS / columns.len().max(1);
    let deadline = Instant::now() + database.statement_timeout();
    for columns in columns.chunks(COLUMNS_AT_ONCE) {
        let mut filtered = Filtered::new("", "m.tenant", tenant.as_str());
        let statement = statement(filter, aggregation, columns, most as i64 + 1, &mut filtered);
        let client = database.reader().await?;
        let rows = client.query(&statement, &filtered.parameters()).await?;
        if rows.len() > most {
            return Err(too_large(SERIES_CELLS));
        }
        if Instant::now() > deadline {
            return Err(Error::Timeout);
        }
        for row in &rows {
            add(row, columns, filter, values)?;
        }
    }
    Ok(())
}

/// Buckets and offsets are worked out below the grouping, and `OFFSET 0` keeps them there: each number is taken out of its
/// row once, not once for the least and once for the greatest.
fn statement(
    filter: &SeriesFilter,
    aggregation: Aggregation,
    columns: &[Column],
    limit: i64,
    filtered: &mut Filtered,
) -> String {
    let stride = match aggregation {
        Aggregation::Daily => "1 day",
        Aggregation::Hourly => "1 hour",
        Aggregation::Minutely => "1 minute",
    };
    let mut shapes: Vec<i64> =
        columns.iter().flat_map(|column| column.places.iter().map(|(shape, ..)| *shape)).collect();
    shapes.sort_unstable();
    shapes.dedup();
    let count = shapes.len();
    let source = filtered.parameter(filter.source.0);
    let from = filtered.parameter(filter.date_from.instant());
    let to = filtered.parameter(filter.date_to.instant());
    let shapes = filtered.parameter(shapes);
    let (mut numbers, mut pairs) = (String::new(), String::new());
    for (at, column) in columns.iter().enumerate() {
        let _ = write!(numbers, ", {} AS n{at}", number(column, count, filtered));
        let _ = write!(pairs, ", min(n{at}), max(n{at})");
    }
    let limit = filtered.parameter(limit);
    // No measurement is older than 1970, so every bucket begins at or after the origin.
    format!(
        "SELECT bucket, (extract(epoch FROM zone) / 60)::smallint, min(time){pairs} FROM ( \
            SELECT date_bin('{stride}', m.local_time, '1970-01-01') AS bucket, \
                m.local_time - (m.time AT TIME ZONE interval '0') AS zone, m.time{numbers} \
            FROM measurements m \
            WHERE m.tenant = $1 AND m.source = {source} AND m.time >= {from} AND m.time <= {to} \
                AND m.shape = ANY({shapes}) \
            OFFSET 0 \
         ) measured GROUP BY bucket, zone LIMIT {limit}"
    )
}

/// The number of a column in a row, or null.
fn number(column: &Column, shapes: usize, filtered: &mut Filtered) -> String {
    let mut by_place: BTreeMap<(usize, bool), Vec<i64>> = BTreeMap::new();
    for (shape, at, is_wide) in &column.places {
        by_place.entry((*at, *is_wide)).or_default().push(*shape);
    }
    let element = |(at, is_wide): (usize, bool)| match is_wide {
        true => format!("m.wide_readings[{}]", at + 1),
        false => format!("m.readings[{}]", at + 1),
    };
    if by_place.len() == 1 && column.places.len() == shapes {
        // All rows that are read have it in one place.
        return by_place.into_keys().map(element).collect();
    }
    let mut case = String::from("CASE");
    for (place, shapes) in by_place {
        let _ = write!(case, " WHEN m.shape = ANY({}) THEN {}", filtered.parameter(shapes), element(place));
    }
    case + " END"
}

fn add(row: &Row, columns: &[Column], filter: &SeriesFilter, values: &mut SeriesValues) -> Result<()> {
    let (bucket, zone): (PrimitiveDateTime, i16) = (row.try_get(0)?, row.try_get(1)?);
    let first: OffsetDateTime = row.try_get(2)?;
    let start = bucket.assume_utc();
    let place = Place {
        slot: start.unix_timestamp(),
        // At one instant, one of two offsets must be first.
        first: (first.unix_timestamp_nanos(), zone.into()),
        // The clock of the device shows the bucket's start at this instant.
        key: Timestamp::stored(start - time::Duration::minutes(zone.into()), zone),
    };
    for (at, column) in columns.iter().enumerate() {
        let (min, max): (Option<f64>, Option<f64>) = (row.try_get(3 + 2 * at)?, row.try_get(4 + 2 * at)?);
        if let (Some(min), Some(max)) = (min, max) {
            let conversion = filter.units.zip(column.unit.as_deref());
            let conversion = conversion.and_then(|(system, unit)| system.conversion(unit));
            let pair = Pair { min: min.into(), max: max.into() };
            values.add(place, column.series, pair.converted(conversion));
        }
    }
    Ok(())
}
