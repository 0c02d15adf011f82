//! Series by buckets: the least and the greatest number of each day, hour or minute (G-07).
//!
//! PostgreSQL reads the range from the index of sources and groups it while it reads, by the bucket of the device's clock.
//! A plan for several processes is no faster and takes processors from the writers, so none is asked for. Numbers are doubles here, also those that were sent with more digits than a double holds.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Instant;

use deadpool_postgres::Client;
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

/// Buckets of several offsets that are read again one by one; more of them are read again together.
const MIXED_ONE_BY_ONE: usize = 8;

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
        let read = Read { tenant, filter, aggregation, columns, most };
        let client = database.reader().await?;
        let mut mixed = Vec::new();
        for row in &read.rows(&client, Offsets::Assumed, read.range()).await? {
            let span = Range(row.try_get(2)?, row.try_get(3)?);
            match row.try_get(1)? {
                Some(zone) => add(row, zone, columns, filter, values)?,
                None => mixed.push((row.try_get(0)?, span)),
            }
        }
        for range in again(&mixed) {
            for row in &read.rows(&client, Offsets::Exact, range).await? {
                let bucket: PrimitiveDateTime = row.try_get(0)?;
                if mixed.iter().any(|(mixed, _)| *mixed == bucket) {
                    add(row, row.try_get(1)?, columns, filter, values)?;
                }
            }
        }
        if Instant::now() > deadline {
            return Err(Error::Timeout);
        }
    }
    Ok(())
}

/// The instants between which the measurements of mixed buckets lie.
fn again(mixed: &[(PrimitiveDateTime, Range)]) -> Vec<Range> {
    let ranges = mixed.iter().map(|(_, range)| *range);
    match mixed.len() > MIXED_ONE_BY_ONE {
        true => ranges.reduce(|a, b| Range(a.0.min(b.0), a.1.max(b.1))).into_iter().collect(),
        false => ranges.collect(),
    }
}

/// From the first to the last instant.
#[derive(Clone, Copy)]
struct Range(OffsetDateTime, OffsetDateTime);

/// How the offset of a bucket is found.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Offsets {
    /// By what its first and its last measurements say, which costs little: devices should send one offset (document 2).
    ///
    /// The first instant and the first time the clock showed are an offset apart, the last ones too. Where both are the same
    /// offset, that is the one of the first measurement: were it another, then some later measurement would show an earlier
    /// time than the first, and the last instant and the last time shown would have to be off by the same minutes. No
    /// clock that is set once within a bucket does that: it would have to be set to and fro. Where they are not the same,
    /// the offset is null.
    Assumed,
    /// By grouping by it, which costs a third more.
    Exact,
}

/// What one statement reads.
struct Read<'a> {
    tenant: &'a TenantId,
    filter: &'a SeriesFilter,
    aggregation: Aggregation,
    columns: &'a [Column],
    most: usize,
}

impl Read<'_> {
    fn range(&self) -> Range {
        Range(self.filter.date_from.instant(), self.filter.date_to.instant())
    }

    async fn rows(&self, client: &Client, offsets: Offsets, range: Range) -> Result<Vec<Row>> {
        let mut filtered = Filtered::new("", "m.tenant", self.tenant.as_str());
        let statement = self.statement(offsets, range, &mut filtered);
        let rows = client.query(&statement, &filtered.parameters()).await?;
        match rows.len() > self.most {
            true => Err(too_large(SERIES_CELLS)),
            false => Ok(rows),
        }
    }

    /// Buckets and offsets are worked out below the grouping, and `OFFSET 0` keeps them there: each number is taken out of
    /// its row once, not once for the least and once for the greatest.
    fn statement(&self, offsets: Offsets, range: Range, filtered: &mut Filtered) -> String {
        let stride = match self.aggregation {
            Aggregation::Daily => "1 day",
            Aggregation::Hourly => "1 hour",
            Aggregation::Minutely => "1 minute",
        };
        let mut shapes: Vec<i64> =
            self.columns.iter().flat_map(|column| column.places.iter().map(|(shape, ..)| *shape)).collect();
        shapes.sort_unstable();
        shapes.dedup();
        let count = shapes.len();
        let source = filtered.parameter(self.filter.source.0);
        let (from, to) = (filtered.parameter(range.0), filtered.parameter(range.1));
        let of_shapes = match *shapes {
            // Compared at once, not looked for in a list.
            [shape] => format!("m.shape = {}", filtered.parameter(shape)),
            _ => format!("m.shape = ANY({})", filtered.parameter(shapes)),
        };
        let (mut numbers, mut pairs) = (String::new(), String::new());
        for (at, column) in self.columns.iter().enumerate() {
            let _ = write!(numbers, ", {} AS n{at}", number(column, count, filtered));
            let _ = write!(pairs, ", min(n{at}), max(n{at})");
        }
        let (below, zone, by) = match offsets {
            Offsets::Assumed => ("m.local_time", ASSUMED, "bucket"),
            Offsets::Exact => ("m.local_time - (m.time AT TIME ZONE 'UTC') AS zone", "zone", "bucket, zone"),
        };
        let limit = filtered.parameter(self.most as i64 + 1);
        // No measurement is older than 1970, so every bucket begins at or after the origin.
        format!(
            "SELECT bucket, (extract(epoch FROM {zone}) / 60)::smallint, min(time), max(time){pairs} FROM ( \
                SELECT date_bin('{stride}', m.local_time, '1970-01-01') AS bucket, m.time, {below}{numbers} \
                FROM measurements m \
                WHERE m.tenant = $1 AND m.source = {source} AND m.time >= {from} AND m.time <= {to} \
                    AND {of_shapes} \
                OFFSET 0 \
             ) measured GROUP BY {by} LIMIT {limit}"
        )
    }
}

/// The offset of a bucket, or null where its two ends do not agree.
const ASSUMED: &str = "CASE WHEN max(local_time) - min(local_time) = max(time) - min(time) \
    THEN min(local_time) - (min(time) AT TIME ZONE 'UTC') END";

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

/// Adds the bucket of a row.
fn add(
    row: &Row,
    zone: i16,
    columns: &[Column],
    filter: &SeriesFilter,
    values: &mut SeriesValues,
) -> Result<()> {
    let (bucket, first): (PrimitiveDateTime, OffsetDateTime) = (row.try_get(0)?, row.try_get(2)?);
    let start = bucket.assume_utc();
    let place = Place {
        slot: start.unix_timestamp(),
        // At one instant, one of two offsets must be first.
        first: (first.unix_timestamp_nanos(), zone.into()),
        // The clock of the device shows the bucket's start at this instant.
        key: Timestamp::stored(start - time::Duration::minutes(zone.into()), zone),
    };
    for (at, column) in columns.iter().enumerate() {
        let (min, max): (Option<f64>, Option<f64>) = (row.try_get(4 + 2 * at)?, row.try_get(5 + 2 * at)?);
        if let (Some(min), Some(max)) = (min, max) {
            let conversion = filter.units.zip(column.unit.as_deref());
            let conversion = conversion.and_then(|(system, unit)| system.conversion(unit));
            let pair = Pair { min: min.into(), max: max.into() };
            values.add(place, column.series, pair.converted(conversion));
        }
    }
    Ok(())
}
