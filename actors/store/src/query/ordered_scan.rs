//! Ordered scans of a collection: its rows are read through the index that has the order, one window at a time.
//!
//! For a filter of unknown selectivity with `ORDER BY … LIMIT`, a planner has to guess: it may scan a million rows
//! for five matches, or fetch half a table to sort it. So the rows of a window are read first, regardless of the
//! filter, and filtered then. A filter that matches many rows fills the page from one window. When it does not, the
//! caller decides how to continue.

use platform_model::access::Grants;
use platform_model::error::Result;
use platform_model::page::{Count, Page, PageRequest, Position};
use tokio_postgres::Row;

use crate::query::filter::Filtered;

/// The rows of the first window.
pub(crate) const WINDOW: i64 = 2000;

/// The scan of a collection. Each part is SQL text from the code; the parameters are numbered already.
pub(crate) struct OrderedScan {
    /// The table with its alias, or a subselect with one.
    pub(crate) from: String,
    /// The alias.
    pub(crate) alias: &'static str,
    /// The bounds of the scan, which may use only columns of the index.
    pub(crate) bounds: String,
    /// The order of the index.
    pub(crate) sort: String,
    /// The columns to read.
    pub(crate) columns: String,
}

/// A window of a scan.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScanWindow {
    /// The number of rows to skip at the start, whether they match or not.
    pub(crate) offset: i64,
    /// The number of rows to read.
    pub(crate) rows: i64,
    /// The number of matching rows to skip. If it is not 0, the end of the window is not returned.
    pub(crate) skipped: i64,
    /// The maximum number of matching rows to return.
    pub(crate) limit: i64,
}

/// The rows that a caller without the role sees. Access to a row is decided by the lineage of its source, a managed
/// object.
pub(crate) struct Visibility<'a> {
    /// The column with the id of the source.
    pub(crate) source: &'a str,
    /// The user, if ownership of the source grants access.
    pub(crate) owner: Option<&'a str>,
    /// Device permissions.
    pub(crate) grants: &'a Grants,
    /// The condition that everybody sees a row.
    pub(crate) public: String,
    /// The condition that a row holds one of the fragments `reach.fragments`.
    pub(crate) holds_fragment: &'static str,
}

/// The result of reading a window.
pub(crate) struct WindowRows {
    /// The matching rows in order, limited by the window.
    pub(crate) rows: Vec<Row>,
    /// The last row that was read, if the window ended before the collection and before its limit.
    pub(crate) end: Option<Row>,
}

impl OrderedScan {
    /// Returns the statement that reads a window: the columns [`OrderedScan::columns`], `place` and `seen`. The last
    /// row of the window is also returned when it does not match.
    pub(crate) fn window(&self, conditions: &str, window: ScanWindow, filtered: &mut Filtered) -> String {
        let scanned = self.scanned(conditions, window, filtered);
        let (skipped, limit) = (filtered.parameter(window.skipped), filtered.parameter(window.limit));
        let Self { alias, columns, sort, .. } = self;
        format!(
            "SELECT {columns}, {alias}.place, {alias}.matched AS seen FROM ({scanned}) {alias} \
             ORDER BY {sort} LIMIT {limit} OFFSET {skipped}"
        )
    }

    /// Returns the same statement for a caller who sees only part of the rows.
    ///
    /// The lineages of all sources are looked up together, each link and each owner by its key. `OFFSET 0` keeps the
    /// planner from joining whole tables, which it would do because it cannot estimate the size of a recursion.
    pub(crate) fn limited_window(
        &self,
        conditions: &str,
        window: ScanWindow,
        visibility: &Visibility<'_>,
        filtered: &mut Filtered,
    ) -> String {
        let scanned = self.scanned(conditions, window, filtered);
        let owned = visibility.owner.map_or_else(String::new, |user| {
            let user = filtered.parameter(user.to_owned());
            format!(
                "SELECT line.source, NULL::text FROM line CROSS JOIN LATERAL (SELECT FROM managed_objects above \
                    WHERE above.tenant = $1 AND above.id = line.id AND above.owner = {user} OFFSET 0) owned \
                 WHERE line.by_devices UNION "
            )
        });
        let devices = filtered.parameter(visibility.grants.devices());
        let fragments = filtered.parameter(visibility.grants.fragments());
        let (end, limit) = (filtered.parameter(window.end()), filtered.parameter(window.limit));
        let Self { alias, columns, .. } = self;
        let Visibility { source, public, holds_fragment, .. } = visibility;
        format!(
            "WITH RECURSIVE scanned AS MATERIALIZED ({scanned}), \
             line (source, id, by_devices) AS ( \
                SELECT DISTINCT {source}, {source}, true FROM scanned {alias} WHERE {alias}.matched \
                UNION \
                SELECT line.source, link.parent, line.by_devices AND link.kind = 'childDevices' \
                FROM line CROSS JOIN LATERAL (SELECT l.parent, l.kind FROM links l \
                    WHERE l.tenant = $1 AND l.child = line.id AND l.kind IN ('childDevices', 'childAssets') \
                    OFFSET 0) link), \
             reaching (source, fragment) AS ( \
                {owned} SELECT line.source, granted.fragment FROM line \
                JOIN unnest({devices}::bigint[], {fragments}::text[]) AS granted (device, fragment) \
                    ON granted.device = line.id), \
             reach AS ( \
                SELECT source, bool_or(fragment IS NULL) AS whole, \
                    array_agg(fragment) FILTER (WHERE fragment IS NOT NULL) AS fragments \
                FROM reaching GROUP BY source) \
             SELECT {columns}, {alias}.place, {alias}.seen FROM ( \
                SELECT {alias}.*, ({alias}.matched AND ({public} OR reach.whole OR {holds_fragment})) IS TRUE AS seen \
                FROM scanned {alias} LEFT JOIN reach ON reach.source = {source}) {alias} \
             WHERE {alias}.seen OR {alias}.place = {end} \
             ORDER BY {alias}.place LIMIT {limit}"
        )
    }

    /// `OFFSET 0` keeps the conditions from being evaluated twice, or before the window is cut.
    fn scanned(&self, conditions: &str, window: ScanWindow, filtered: &mut Filtered) -> String {
        let (offset, rows) = (filtered.parameter(window.offset), filtered.parameter(window.rows));
        let end = match window.skipped {
            0 => format!("OR {}.place = {}", self.alias, filtered.parameter(window.end())),
            _ => String::new(),
        };
        let Self { from, alias, bounds, sort, .. } = self;
        format!(
            "SELECT {alias}.* FROM (SELECT {alias}.*, ({conditions}) IS TRUE AS matched FROM ( \
                SELECT {alias}.*, row_number() OVER (ORDER BY {sort}) AS place \
                FROM {from} WHERE {bounds} ORDER BY {sort} LIMIT {rows} OFFSET {offset} \
             ) {alias} OFFSET 0) {alias} WHERE {alias}.matched {end}"
        )
    }
}

impl ScanWindow {
    /// Returns the window for a caller who sees only part of the rows. It returns the visible rows of a page, one more,
    /// and the last row of the window.
    pub(crate) fn limited(offset: i64, page: &PageRequest) -> Self {
        Self { offset, rows: page.scan_budget().into(), skipped: 0, limit: i64::from(page.size) + 2 }
    }

    /// Returns a window at the start of the scan that ends when `limit` rows match.
    pub(crate) fn first(rows: i64, limit: i64) -> Self {
        Self { offset: 0, rows, skipped: 0, limit }
    }

    fn end(self) -> i64 {
        self.offset.saturating_add(self.rows)
    }

    /// Separates the matching rows of a window from its end.
    pub(crate) fn split_end(self, rows: Vec<Row>) -> WindowRows {
        let mut found = WindowRows { rows: Vec::with_capacity(rows.len()), end: None };
        for row in rows {
            let at_end = self.skipped == 0 && row.get::<_, i64>("place") == self.end();
            if row.get("seen") {
                found.rows.push(row.clone());
            }
            if at_end {
                found.end = Some(row);
            }
        }
        found
    }
}

/// Returns the page of a caller who sees only part of a collection (P-07). A limited number of rows is read, and the
/// visible ones among them are returned, which may be less than a page or none.
///
/// # Errors
/// The errors of `read`.
pub(crate) fn limited_page<T>(
    request: &PageRequest,
    window: ScanWindow,
    rows: Vec<Row>,
    position: impl Fn(&Row) -> Position,
    read: impl Fn(&Row) -> Result<T>,
) -> Result<Page<T>> {
    let WindowRows { mut rows, end } = window.split_end(rows);
    let more = rows.len() > request.size as usize;
    rows.truncate(request.size as usize);
    let stop = if more { rows.last() } else { end.as_ref() };
    let scanned = stop.map_or(window.rows, |row| row.get::<_, i64>("place") - window.offset);
    Ok(Page {
        members: rows.iter().map(read).collect::<Result<_>>()?,
        next: stop.map(|row| position(row).into()),
        count: Count::Withheld { scanned: scanned.try_into().unwrap_or(u32::MAX) },
    })
}
