//! Walks: reading a collection in its order, through the index that has this order, a window at a time.
//!
//! A filter of unknown selectivity and `ORDER BY … LIMIT` make a planner gamble: it walks a million rows for five, or
//! fetches half a table to sort it. So the rows of a window are read first, whatever the filter, and filtered then: a
//! filter that matches much fills the page from one window. What does not is the caller's business.

use tokio_postgres::Row;

use super::filter::Filtered;
use crate::error::Result;
use crate::model::access::Grants;
use crate::model::page::{Count, Page, PageRequest, Position};

/// Rows of the first window.
pub(super) const WINDOW: i64 = 2000;

/// The way through a collection. Each part is SQL of ours; parameters are numbered already.
pub(super) struct Walk {
    /// The table with its alias, or a sub-select with one.
    pub(super) from: String,
    /// The alias.
    pub(super) alias: &'static str,
    /// Where the walk starts, and what it stays within: what the index bounds, nothing else.
    pub(super) bounds: String,
    /// The order of the index.
    pub(super) sort: String,
    /// What the rows are read for.
    pub(super) columns: String,
}

/// Which rows of a walk are read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window {
    /// Rows left out at the start, whether they match or not.
    pub(super) offset: i64,
    /// Rows looked at.
    pub(super) rows: i64,
    /// Matching rows left out. Then the end of the window is not told.
    pub(super) skipped: i64,
    /// Matching rows given at most.
    pub(super) limit: i64,
}

/// Which rows a caller without the role sees; the source of a row is the managed object whose lineage counts.
pub(super) struct Sight<'a> {
    /// The column with the id of the source.
    pub(super) source: &'a str,
    /// The user, where ownership of the source opens the door.
    pub(super) owner: Option<&'a str>,
    /// Device permissions.
    pub(super) grants: &'a Grants,
    /// When a row is seen by everybody.
    pub(super) public: String,
    /// When a row holds one of the fragments `reach.fragments`.
    pub(super) holds_fragment: &'static str,
}

/// What a window held.
pub(super) struct Stretch {
    /// The rows that matched, in order, at most as many as the window's limit.
    pub(super) rows: Vec<Row>,
    /// The last row looked at, when the window ended before the collection and before its limit.
    pub(super) end: Option<Row>,
}

impl Walk {
    /// The statement that reads a window: [`Walk::columns`], `place` and `seen`; the last row of the window is given also
    /// when it does not match.
    pub(super) fn window(&self, conditions: &str, window: Window, filtered: &mut Filtered) -> String {
        let walked = self.walked(conditions, window, filtered);
        let (skipped, limit) = (filtered.parameter(window.skipped), filtered.parameter(window.limit));
        let Self { alias, columns, sort, .. } = self;
        format!(
            "SELECT {columns}, {alias}.place, {alias}.matched AS seen FROM ({walked}) {alias} \
             ORDER BY {sort} LIMIT {limit} OFFSET {skipped}"
        )
    }

    /// The same for a caller who sees only part of the rows.
    ///
    /// The lineages of all sources are looked up together, each link and each owner by its key: `OFFSET 0` keeps the planner
    /// from joining whole tables because a recursion might find anything.
    pub(super) fn limited_window(
        &self,
        conditions: &str,
        window: Window,
        sight: &Sight<'_>,
        filtered: &mut Filtered,
    ) -> String {
        let walked = self.walked(conditions, window, filtered);
        let owned = sight.owner.map_or_else(String::new, |user| {
            let user = filtered.parameter(user.to_owned());
            format!(
                "SELECT line.source, NULL::text FROM line CROSS JOIN LATERAL (SELECT FROM managed_objects above \
                    WHERE above.tenant = $1 AND above.id = line.id AND above.owner = {user} OFFSET 0) owned \
                 WHERE line.by_devices UNION "
            )
        });
        let devices = filtered.parameter(sight.grants.devices());
        let fragments = filtered.parameter(sight.grants.fragments());
        let (end, limit) = (filtered.parameter(window.end()), filtered.parameter(window.limit));
        let Self { alias, columns, .. } = self;
        let Sight { source, public, holds_fragment, .. } = sight;
        format!(
            "WITH RECURSIVE walked AS MATERIALIZED ({walked}), \
             line (source, id, by_devices) AS ( \
                SELECT DISTINCT {source}, {source}, true FROM walked {alias} WHERE {alias}.matched \
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
                FROM walked {alias} LEFT JOIN reach ON reach.source = {source}) {alias} \
             WHERE {alias}.seen OR {alias}.place = {end} \
             ORDER BY {alias}.place LIMIT {limit}"
        )
    }

    /// `OFFSET 0` keeps the conditions from being evaluated twice, or before the window is cut.
    fn walked(&self, conditions: &str, window: Window, filtered: &mut Filtered) -> String {
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

impl Window {
    /// The rows that are looked at for a caller who sees only part of them: of those seen a page and one more, and the last
    /// row of the window.
    pub(super) fn limited(offset: i64, page: &PageRequest) -> Self {
        Self { offset, rows: page.scan_budget().into(), skipped: 0, limit: i64::from(page.size) + 2 }
    }

    /// Rows from the start of the walk, until as many match as are wanted.
    pub(super) fn first(rows: i64, limit: i64) -> Self {
        Self { offset: 0, rows, skipped: 0, limit }
    }

    fn end(self) -> i64 {
        self.offset.saturating_add(self.rows)
    }

    /// Takes the rows of a window apart.
    pub(super) fn stretch(self, rows: Vec<Row>) -> Stretch {
        let mut stretch = Stretch { rows: Vec::with_capacity(rows.len()), end: None };
        for row in rows {
            let at_end = self.skipped == 0 && row.get::<_, i64>("place") == self.end();
            if row.get("seen") {
                stretch.rows.push(row.clone());
            }
            if at_end {
                stretch.end = Some(row);
            }
        }
        stretch
    }
}

/// The page of a caller who sees only part of a collection (P-07): so many rows are looked at, and what is seen of
/// them is given, maybe less than a page, maybe nothing.
///
/// # Errors
/// What `read` cannot read.
pub(super) fn limited_page<T>(
    request: &PageRequest,
    window: Window,
    rows: Vec<Row>,
    position: impl Fn(&Row) -> Position,
    read: impl Fn(&Row) -> Result<T>,
) -> Result<Page<T>> {
    let Stretch { mut rows, end } = window.stretch(rows);
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
