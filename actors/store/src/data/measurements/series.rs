//! Series of one source (G-06 to G-08), read from the index of sources.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use platform_model::access::{Accessor, Authority, Ownership};
use platform_model::data::measurement::{
    Measurement, MinMax, Reading, SeriesFilter, SeriesHead, SeriesName, SeriesValues, Shape, SlotKey,
};
use platform_model::error::{Error, Result};
use platform_model::id::TenantId;
use platform_model::limits::{SERIES_CELLS, SERIES_VALUES};
use platform_model::page::{PageRequest, TotalPages};

use crate::Database;
use crate::access::{SourceObject, find_source};
use crate::data::measurements::INDEXED_READINGS;
use crate::data::measurements::buckets::{SeriesColumn, buckets};
use crate::data::measurements::collection::MEASUREMENTS;
use crate::data::measurements::rows::{completed, indexed};
use crate::query::filter::Filtered;
use crate::query::prepared::PreparedQueries;
use crate::query::time_scan::{Descendants, Span, TimeScan};

const LIST_SOURCE_SHAPES: &str =
    include_str!("../../../../../sql/queries/measurements/list_source_shapes.sql");

/// Returns the series of a source: as they were measured, with at most 5000 values, or by buckets. A caller without the
/// role sees the shapes that its device permissions grant (U-12).
///
/// # Errors
/// `Forbidden`; `Invalid` when there are too many buckets; `Timeout`, `Unavailable` or `Database`.
pub async fn get_series(
    database: &Database,
    tenant: &TenantId,
    filter: &SeriesFilter,
    authority: &Authority,
    user: &str,
) -> Result<SeriesValues> {
    let mut shapes = shapes_of_source(database, tenant, filter).await?;
    if matches!(authority, Authority::Limited(_)) {
        shapes = permitted(database, tenant, filter, authority, user, shapes).await?;
    }
    let selection = SeriesSelection::of(filter, shapes);
    let mut values = SeriesValues::of(selection.heads(filter));
    match filter.aggregation {
        Some(aggregation) => {
            let columns = selection.columns();
            buckets(database, tenant, filter, aggregation, &columns, &mut values).await?;
        }
        None => measured(database, tenant, filter, &selection, &mut values).await?,
    }
    if filter.series.is_empty() {
        values.drop_empty_series();
    }
    values.within(SERIES_CELLS)
}

/// A shape with its number.
pub(crate) type NumberedShape = (i64, Arc<Shape>);

/// Returns the shapes that a source has sent, in the order of their first use.
async fn shapes_of_source(
    database: &Database,
    tenant: &TenantId,
    filter: &SeriesFilter,
) -> Result<Vec<NumberedShape>> {
    let client = database.reader().await?;
    let rows = client.rows(LIST_SOURCE_SHAPES, &[&tenant.as_str(), &filter.source.0]).await?;
    let ids: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
    let definitions = database.shapes().definitions(&client, tenant, ids.iter().copied()).await?;
    Ok(ids.into_iter().filter_map(|id| Some((id, definitions.get(&id)?.clone()))).collect())
}

/// Returns those shapes that the device permissions of a caller without the role allow it to read.
async fn permitted(
    database: &Database,
    tenant: &TenantId,
    filter: &SeriesFilter,
    authority: &Authority,
    user: &str,
    mut shapes: Vec<NumberedShape>,
) -> Result<Vec<NumberedShape>> {
    let client = database.reader().await?;
    let Some(source) = find_source(&*client, tenant, filter.source).await? else {
        // An object that does not exist has sent nothing.
        return Ok(Vec::new());
    };
    let accessor = Accessor { authority, user, ownership: Ownership::Ignored };
    let may = |shape: &Shape| {
        source.permits(accessor, |_: &SourceObject, name: &str| shape.members().contains(&name))
    };
    let on_anything = source.permits(accessor, |_, _| true);
    shapes.retain(|(_, shape)| may(shape));
    if on_anything { Ok(shapes) } else { Err(Error::Forbidden) }
}

/// The requested series, and where each shape has them.
struct SeriesSelection {
    series: Vec<SeriesName>,
    shapes: Vec<SelectedShape>,
    /// Whether some shapes have none of these series.
    is_part: bool,
}

struct SelectedShape {
    id: i64,
    shape: Arc<Shape>,
    /// Pairs of the index among the numbers of a measurement and the index among the series.
    positions: Vec<(usize, usize)>,
}

impl SeriesSelection {
    fn of(filter: &SeriesFilter, shapes: Vec<NumberedShape>) -> Self {
        let mut series = Vec::new();
        let mut places: HashMap<SeriesName, usize> = HashMap::new();
        let mut enter = |name: SeriesName| {
            let next = places.len();
            *places.entry(name.clone()).or_insert_with(|| {
                series.push(name);
                next
            })
        };
        for name in &filter.series {
            enter(name.clone());
        }
        let name =
            |fragment: &str, series: &str| SeriesName { fragment: fragment.into(), series: series.into() };
        if filter.series.is_empty() {
            for (_, shape) in &shapes {
                for (fragment, series) in shape.series() {
                    enter(name(fragment, &series.name));
                }
            }
        }
        let count = shapes.len();
        let selected = |(id, shape): NumberedShape| {
            let place = |(at, (of, series)): (usize, (&str, &platform_model::data::measurement::Series))| {
                Some((at, *places.get(&name(of, &series.name))?))
            };
            let positions: Vec<_> = shape.series().enumerate().filter_map(place).collect();
            (!positions.is_empty()).then_some(SelectedShape { id, shape, positions })
        };
        let shapes: Vec<SelectedShape> = shapes.into_iter().filter_map(selected).collect();
        Self { series, is_part: shapes.len() < count, shapes }
    }

    /// Returns the head of each series, with the first unit the source ever sent for it.
    fn heads(&self, filter: &SeriesFilter) -> Vec<SeriesHead> {
        let head = |name: &SeriesName| SeriesHead {
            unit: None,
            name: name.series.clone(),
            fragment: name.fragment.clone(),
        };
        let mut heads: Vec<SeriesHead> = self.series.iter().map(head).collect();
        for SelectedShape { shape, positions, .. } in &self.shapes {
            let units: Vec<Option<&str>> = shape.series().map(|(_, series)| series.unit.as_deref()).collect();
            for (at, series) in positions {
                if let (None, Some(unit)) = (&heads[*series].unit, units[*at]) {
                    let conversion = filter.units.and_then(|system| system.conversion(unit));
                    heads[*series].unit = Some(conversion.map_or(unit, |conversion| conversion.unit).into());
                }
            }
        }
        heads
    }

    /// Returns the columns of a statement: one for each series in each of its units.
    fn columns(&self) -> Vec<SeriesColumn> {
        let mut columns: Vec<SeriesColumn> = Vec::new();
        let mut places: HashMap<(usize, Option<Box<str>>), usize> = HashMap::new();
        for SelectedShape { id, shape, positions } in &self.shapes {
            let units: Vec<Option<Box<str>>> = shape.series().map(|(_, s)| s.unit.clone()).collect();
            for (at, series) in positions {
                let unit = units[*at].clone();
                let place = *places.entry((*series, unit.clone())).or_insert_with(|| {
                    columns.push(SeriesColumn { series: *series, unit, places: Vec::new() });
                    columns.len() - 1
                });
                columns[place].places.push((*id, *at, shape.is_wide(INDEXED_READINGS as usize)));
            }
        }
        columns
    }
}

/// Reads measurements until the result is complete.
async fn measured(
    database: &Database,
    tenant: &TenantId,
    filter: &SeriesFilter,
    selection: &SeriesSelection,
    values: &mut SeriesValues,
) -> Result<()> {
    let Some(widest) = selection.shapes.iter().map(|shape| shape.positions.len()).max() else {
        return Ok(());
    };
    let ids: Vec<i64> = selection.shapes.iter().map(|shape| shape.id).collect();
    let conditions = |filtered: &mut Filtered| {
        if selection.is_part {
            vec![format!("m.shape = ANY({})", filtered.parameter(ids.clone()))]
        } else {
            Vec::new()
        }
    };
    let span = Span {
        source: Some(filter.source),
        below: Descendants::Links(&[]),
        date_from: Some(filter.date_from),
        date_to: Some(filter.date_to),
        order: filter.order,
    };
    let scan = TimeScan { table: &MEASUREMENTS, tenant, span, conditions: &conditions };
    // One more than the limit shows that there are more.
    let size = (SERIES_VALUES / widest + 1) as u32;
    let mut page = PageRequest { size, current: 1, after: None, total: TotalPages::Omitted };
    let deadline = Instant::now() + database.statement_timeout();
    loop {
        let found = scan.page(database, &Authority::Role, &page, indexed).await?;
        for measurement in completed(database, tenant, found.members).await? {
            // Most shapes are the same allocation, and pointers are compared first.
            let selected = selection.shapes.iter().find(|selected| selected.shape == measurement.shape);
            if let Some(selected) = selected {
                add(&measurement, &selected.positions, filter, values);
            }
        }
        page.after = found.next;
        if page.after.is_none() || values.count() > SERIES_VALUES {
            values.truncate(SERIES_VALUES, filter.order);
            return Ok(());
        }
        // Many measurements of one instant are one value.
        if Instant::now() > deadline {
            return Err(Error::Timeout);
        }
    }
}

fn add(
    measurement: &Measurement,
    positions: &[(usize, usize)],
    filter: &SeriesFilter,
    values: &mut SeriesValues,
) {
    let nanos = measurement.time.instant().unix_timestamp_nanos();
    let place = SlotKey {
        // Times are shown in milliseconds, so equal milliseconds are the same time.
        slot: nanos.div_euclid(1_000_000) as i64,
        first: (nanos, measurement.id.map_or(0, |id| id.0)),
        key: measurement.time,
    };
    let readings: Vec<Reading> = measurement.exact_readings();
    let conversions: Vec<_> = match filter.units {
        Some(system) => measurement.shape.conversions(system).collect(),
        None => vec![None; readings.len()],
    };
    for (at, series) in positions {
        if let (Some(reading), Some(conversion)) = (readings.get(*at), conversions.get(*at)) {
            let pair = MinMax { min: reading.clone(), max: reading.clone() };
            values.add(place, *series, pair.converted(*conversion));
        }
    }
}
