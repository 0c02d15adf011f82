//! Series by buckets: the minimum and the maximum of each day, hour or minute (G-07).
//!
//! PostgreSQL reads the range by an index scan over the source and groups it by the bucket of the device's clock. A
//! parallel plan would not be faster and would take processors from the writers, so none is used. For a source with
//! rollups, days and hours are computed from its rollups ([`rollups`]) and the few measurements that are
//! not in them. Numbers are doubles here, also those that were sent with more digits than a double holds.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Instant;

use deadpool_postgres::Transaction;
use platform_model::data::measurement::{
    Aggregation, MinMax, SeriesFilter, SeriesValues, SlotKey, too_large,
};
use platform_model::error::{Error, Result};
use platform_model::id::TenantId;
use platform_model::limits::SERIES_CELLS;
use platform_model::timestamp::Timestamp;
use time::{OffsetDateTime, PrimitiveDateTime, UtcOffset};
use tokio_postgres::{IsolationLevel, Row};

use crate::Database;
use crate::data::measurements::rollups;
use crate::query::filter::Filtered;

/// The number of columns that one statement aggregates.
const COLUMNS_AT_ONCE: usize = 50;

/// A series in one of its units, and where its numbers are stored.
pub(crate) struct SeriesColumn {
    /// The index of the series in the result.
    pub(crate) series: usize,
    /// The unit of the numbers.
    pub(crate) unit: Option<Box<str>>,
    /// For each shape with this series: the shape, the index among its numbers from 0, and whether it has too many
    /// numbers for the index of sources.
    pub(crate) places: Vec<(i64, usize, bool)>,
}

/// The maximum number of buckets with several offsets that are read again one by one. More of them are read again
/// together.
const MIXED_ONE_BY_ONE: usize = 8;

/// Adds the minimum and the maximum of every bucket.
///
/// # Errors
/// `Invalid` when there are more buckets than a response may have; `Timeout`, `Unavailable` or `Database`.
pub(crate) async fn buckets(
    database: &Database,
    tenant: &TenantId,
    filter: &SeriesFilter,
    aggregation: Aggregation,
    columns: &[SeriesColumn],
    values: &mut SeriesValues,
) -> Result<()> {
    let most = SERIES_CELLS / columns.len().max(1);
    let deadline = Instant::now() + database.statement_timeout();
    let mut client = database.reader().await?;
    // One snapshot, because a mark describes the rollups of its own snapshot only.
    let moment = client.build_transaction().read_only(true).isolation_level(IsolationLevel::RepeatableRead);
    let moment = moment.start().await?;
    let is_wide = columns.iter().flat_map(|column| &column.places).any(|(.., is_wide)| *is_wide);
    let has_rollups = aggregation != Aggregation::Minutely && !is_wide;
    let rolled = if has_rollups { rollups::find_mark(&moment, tenant, filter.source).await? } else { None };
    let mut met = 0;
    for columns in columns.chunks(COLUMNS_AT_ONCE) {
        let read = BucketRead { moment: &moment, tenant, filter, aggregation, columns, most };
        met = met.max(match rolled {
            Some(rolled) => read.read_rollups(rolled, values).await?,
            None => read.read_measurements(values).await?,
        });
        if Instant::now() > deadline {
            return Err(Error::Timeout);
        }
    }
    moment.commit().await?;
    if has_rollups {
        rollups::roll_up_soon(database, tenant, filter.source, met);
    }
    Ok(())
}

/// Returns the ranges of time that contain the measurements of mixed buckets.
fn again(mixed: &[(PrimitiveDateTime, TimeRange)]) -> Vec<TimeRange> {
    let ranges = mixed.iter().map(|(_, range)| *range);
    if mixed.len() > MIXED_ONE_BY_ONE {
        ranges.reduce(|a, b| TimeRange(a.0.min(b.0), a.1.max(b.1))).into_iter().collect()
    } else {
        ranges.collect()
    }
}

/// The first and the last instant of a range.
#[derive(Clone, Copy)]
struct TimeRange(OffsetDateTime, OffsetDateTime);

/// The method by which the offset of a bucket is found.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OffsetSource {
    /// The first and the last measurements are compared, which is cheap: devices should use one offset.
    ///
    /// The first instant and the first local time differ by an offset, and so do the last ones. When both offsets are
    /// equal, this is the offset of the first measurement. Otherwise a later measurement would show an earlier local
    /// time than the first one, and the last instant and the last local time would have to be off by the same minutes;
    /// a clock would have to be changed back and forth within a bucket for that. When the two offsets are different,
    /// the offset is null.
    Assumed,
    /// Measurements are grouped by the offset as well, which computes an interval for each of them.
    Exact,
}

/// The measurements to read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MeasurementSubset {
    /// All measurements of a range.
    Whole,
    /// Measurements with this id or a greater one. They are few in the whole tenant, so they are found by their ids.
    SinceFew(i64),
    /// The same measurements when they are many, so they are searched among those of the source. The id is hidden
    /// from the planner: its statistics do not cover recent rows, so it would expect none and read those of the whole
    /// tenant.
    SinceMany(i64),
    /// Measurements before this id, of the hour in which the range begins.
    CutAtFrom(i64),
    /// Measurements before this id, of the hour in which the range ends.
    CutAtTo(i64),
}

/// The parameters of one read.
struct BucketRead<'a> {
    moment: &'a Transaction<'a>,
    tenant: &'a TenantId,
    filter: &'a SeriesFilter,
    aggregation: Aggregation,
    columns: &'a [SeriesColumn],
    most: usize,
}

impl BucketRead<'_> {
    fn range(&self) -> TimeRange {
        TimeRange(self.filter.date_from.instant(), self.filter.date_to.instant())
    }

    /// Adds the values of measurements and returns how many measurements were read.
    async fn read_measurements(&self, values: &mut SeriesValues) -> Result<i64> {
        let (mut mixed, mut met) = (Vec::new(), 0);
        for row in &self.measured(MeasurementSubset::Whole, OffsetSource::Assumed, self.range()).await? {
            let span = TimeRange(row.try_get(2)?, row.try_get(3)?);
            met += row.try_get::<_, i64>(4)?;
            match row.try_get(1)? {
                Some(zone) => add(row, zone, self.columns, self.filter, values)?,
                None => mixed.push((row.try_get(0)?, span)),
            }
        }
        for range in again(&mixed) {
            for row in &self.measured(MeasurementSubset::Whole, OffsetSource::Exact, range).await? {
                let bucket: PrimitiveDateTime = row.try_get(0)?;
                if mixed.iter().any(|(mixed, _)| *mixed == bucket) {
                    add(row, row.try_get(1)?, self.columns, self.filter, values)?;
                }
            }
        }
        Ok(met)
    }

    /// Adds the rollups of the hours that lie completely in the range, and the measurements of the other hours and
    /// those beyond the mark. Returns how many of the latter there are. The parts may overlap, because the minimum of
    /// minima is the overall minimum.
    async fn read_rollups(&self, rolled: i64, values: &mut SeriesValues) -> Result<i64> {
        let TimeRange(from, to) = self.range();
        let hour = time::Duration::HOUR;
        let mut met = 0;
        let since = if rollups::are_few_since(self.moment, self.tenant, rolled).await? {
            MeasurementSubset::SinceFew(rolled)
        } else {
            MeasurementSubset::SinceMany(rolled)
        };
        for row in &self.rolled_up().await? {
            add(row, row.try_get(1)?, self.columns, self.filter, values)?;
        }
        for (part, range) in [
            (since, TimeRange(from, to)),
            (MeasurementSubset::CutAtFrom(rolled), TimeRange(from, to.min(from.saturating_add(hour)))),
            (MeasurementSubset::CutAtTo(rolled), TimeRange(from.max(to.saturating_sub(hour)), to)),
        ] {
            for row in &self.measured(part, OffsetSource::Exact, range).await? {
                if part == since {
                    met += row.try_get::<_, i64>(4)?;
                }
                add(row, row.try_get(1)?, self.columns, self.filter, values)?;
            }
        }
        Ok(met)
    }

    async fn measured(
        &self,
        part: MeasurementSubset,
        offsets: OffsetSource,
        range: TimeRange,
    ) -> Result<Vec<Row>> {
        let mut filtered = Filtered::new("", "m.tenant", self.tenant.as_str());
        let statement = self.statement(part, offsets, range, &mut filtered);
        self.rows(&statement, &filtered).await
    }

    async fn rolled_up(&self) -> Result<Vec<Row>> {
        let mut filtered = Filtered::new("", "m.tenant", self.tenant.as_str());
        let statement = self.statement_of_rollups(&mut filtered);
        self.rows(&statement, &filtered).await
    }

    async fn rows(&self, statement: &str, filtered: &Filtered) -> Result<Vec<Row>> {
        let rows = self.moment.query(statement, &filtered.parameters()).await?;
        if rows.len() > self.most { Err(too_large(SERIES_CELLS)) } else { Ok(rows) }
    }

    fn stride(&self) -> &'static str {
        match self.aggregation {
            Aggregation::Daily => "1 day",
            Aggregation::Hourly => "1 hour",
            Aggregation::Minutely => "1 minute",
        }
    }

    /// Returns the condition on the shape, and the number of shapes.
    fn of_shapes(&self, filtered: &mut Filtered) -> (String, usize) {
        let mut shapes: Vec<i64> =
            self.columns.iter().flat_map(|column| column.places.iter().map(|(shape, ..)| *shape)).collect();
        shapes.sort_unstable();
        shapes.dedup();
        match *shapes {
            // An equality is cheaper than a search in a list.
            [shape] => (format!("m.shape = {}", filtered.parameter(shape)), 1),
            _ => {
                let count = shapes.len();
                (format!("m.shape = ANY({})", filtered.parameter(shapes)), count)
            }
        }
    }

    /// Buckets and offsets are computed in a subquery, and `OFFSET 0` keeps them there. So each number is extracted
    /// from its row once, instead of once for the minimum and once for the maximum.
    fn statement(
        &self,
        part: MeasurementSubset,
        offsets: OffsetSource,
        range: TimeRange,
        filtered: &mut Filtered,
    ) -> String {
        let stride = self.stride();
        let source = filtered.parameter(self.filter.source.0);
        let (from, to) = (filtered.parameter(range.0), filtered.parameter(range.1));
        let (of_shapes, count) = self.of_shapes(filtered);
        // The instant at which the hour of the device's clock began.
        let hour = "m.time - (m.local_time - date_bin('1 hour', m.local_time, '0001-01-01'))";
        let of_part = match part {
            MeasurementSubset::Whole => String::new(),
            MeasurementSubset::SinceFew(rolled) => format!(" AND m.id >= {}", filtered.parameter(rolled)),
            MeasurementSubset::SinceMany(rolled) => {
                format!(" AND m.id >= (SELECT {}::bigint)", filtered.parameter(rolled))
            }
            MeasurementSubset::CutAtFrom(rolled) => {
                format!(" AND m.id < {} AND {hour} < {from}", filtered.parameter(rolled))
            }
            MeasurementSubset::CutAtTo(rolled) => {
                format!(" AND m.id < {} AND {hour} > {to} - interval '1 hour'", filtered.parameter(rolled))
            }
        };
        let (mut numbers, mut pairs) = (String::new(), String::new());
        for (at, column) in self.columns.iter().enumerate() {
            let _ = write!(numbers, ", {} AS n{at}", number(column, count, "readings", filtered));
            let _ = write!(pairs, ", min(n{at}), max(n{at})");
        }
        let (below, zone, by) = match offsets {
            OffsetSource::Assumed => ("m.local_time", ASSUMED, "bucket"),
            OffsetSource::Exact => {
                ("m.local_time - (m.time AT TIME ZONE 'UTC') AS zone", "zone", "bucket, zone")
            }
        };
        let limit = filtered.parameter(self.most as i64 + 1);
        // No measurement is older than the year 1 (C-12b), so every bucket begins at or after the origin.
        format!(
            "SELECT bucket, (extract(epoch FROM {zone}) / 60)::smallint, min(time), max(time), count(*){pairs} FROM ( \
                SELECT date_bin('{stride}', m.local_time, '0001-01-01') AS bucket, m.time, {below}{numbers} \
                FROM measurements m \
                WHERE m.tenant = $1 AND m.source = {source} AND m.time >= {from}::timestamptz \
                    AND m.time <= {to}::timestamptz AND {of_shapes}{of_part} \
                OFFSET 0 \
             ) measured GROUP BY {by} LIMIT {limit}"
        )
    }

    /// Returns the same columns from the rollups of the hours that lie completely in the range.
    fn statement_of_rollups(&self, filtered: &mut Filtered) -> String {
        let stride = self.stride();
        let TimeRange(from, to) = self.range();
        // A bound has the offset of the request.
        let utc = |instant: OffsetDateTime| {
            let instant = instant.to_offset(UtcOffset::UTC);
            PrimitiveDateTime::new(instant.date(), instant.time())
        };
        let source = filtered.parameter(self.filter.source.0);
        let (from, to) = (filtered.parameter(utc(from)), filtered.parameter(utc(to)));
        let (of_shapes, count) = self.of_shapes(filtered);
        let mut pairs = String::new();
        for column in self.columns {
            let _ = write!(pairs, ", min({})", number(column, count, "least", filtered));
            let _ = write!(pairs, ", max({})", number(column, count, "greatest", filtered));
        }
        let limit = filtered.parameter(self.most as i64 + 1);
        let began = "m.hour - make_interval(mins => m.zone)";
        // No clock is further than 14 hours from UTC, so the index scan covers an additional day.
        format!(
            "SELECT date_bin('{stride}', m.hour, '0001-01-01') AS bucket, m.zone, min(m.first_time), \
                max(m.first_time), 0::bigint{pairs} \
             FROM measurement_rollups m \
             WHERE m.tenant = $1 AND m.source = {source} AND {of_shapes} \
                AND m.hour >= {from}::timestamp - interval '1 day' AND m.hour <= {to}::timestamp + interval '1 day' \
                AND {began} >= {from}::timestamp AND {began} <= {to}::timestamp - interval '1 hour' \
             GROUP BY bucket, m.zone LIMIT {limit}"
        )
    }
}

/// The offset of a bucket, or null when its two ends have different offsets.
const ASSUMED: &str = "CASE WHEN max(local_time) - min(local_time) = max(time) - min(time) \
    THEN min(local_time) - (min(time) AT TIME ZONE 'UTC') END";

/// Returns the number of a column from an array of a row, or null.
fn number(column: &SeriesColumn, shapes: usize, of: &str, filtered: &mut Filtered) -> String {
    let mut by_place: BTreeMap<(usize, bool), Vec<i64>> = BTreeMap::new();
    for (shape, at, is_wide) in &column.places {
        by_place.entry((*at, *is_wide)).or_default().push(*shape);
    }
    let element = |(at, is_wide): (usize, bool)| {
        if is_wide { format!("m.wide_{of}[{}]", at + 1) } else { format!("m.{of}[{}]", at + 1) }
    };
    if by_place.len() == 1 && column.places.len() == shapes {
        // It is at the same index in all rows that are read.
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
    columns: &[SeriesColumn],
    filter: &SeriesFilter,
    values: &mut SeriesValues,
) -> Result<()> {
    let (bucket, first): (PrimitiveDateTime, OffsetDateTime) = (row.try_get(0)?, row.try_get(2)?);
    let start = bucket.assume_utc();
    let place = SlotKey {
        slot: start.unix_timestamp(),
        // When two offsets share an instant, one of them must be first.
        first: (first.unix_timestamp_nanos(), zone.into()),
        // The clock of the device shows the start of the bucket at this instant.
        key: Timestamp::stored(start - time::Duration::minutes(zone.into()), zone),
    };
    for (at, column) in columns.iter().enumerate() {
        let (min, max): (Option<f64>, Option<f64>) = (row.try_get(5 + 2 * at)?, row.try_get(6 + 2 * at)?);
        if let (Some(min), Some(max)) = (min, max) {
            let conversion = filter.units.zip(column.unit.as_deref());
            let conversion = conversion.and_then(|(system, unit)| system.conversion(unit));
            let pair = MinMax { min: min.into(), max: max.into() };
            values.add(place, column.series, pair.converted(conversion));
        }
    }
    Ok(())
}
