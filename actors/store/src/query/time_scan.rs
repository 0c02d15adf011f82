//! Collections by time: alarms, events and other collections with a source and a `time` (P-01 to P-07).
//!
//! Two indexes have such a collection in order: (tenant, time, id) and, for a request with one source, (tenant, source,
//! time, id). They cover no other filter. So the collection is scanned by time, in windows that grow until the page is
//! full; see [`ordered_scan`](crate::query::ordered_scan).

use std::time::Instant;

use platform_model::access::{Authority, Grants};
use platform_model::devices::reference::LinkKind;
use platform_model::error::{Error, Result};
use platform_model::id::{ManagedObjectId, TenantId};
use platform_model::naming::naming;
use platform_model::page::{Count, Page, PageRequest, Position, TimeOrder, TotalPages};
use platform_model::timestamp::Timestamp;
use tokio_postgres::{Client, Row};

use crate::Database;
use crate::query::filter::{Filtered, page_of};
use crate::query::ordered_scan::{OrderedScan, ScanWindow, Visibility, WINDOW, WindowRows, limited_page};

/// The factor by which the next window is larger after a window with too few matches.
const GROWTH: i64 = 8;
/// The rows of the largest window.
const LARGEST_WINDOW: i64 = 128_000;

/// A table whose rows have the columns `tenant, id, source, time`, with the two indexes. Each part is a constant SQL
/// text.
pub(crate) struct TimeTable {
    /// The table with its alias, for example `alarms a`.
    pub(crate) from: &'static str,
    /// The alias.
    pub(crate) alias: &'static str,
    /// The column of the tenant, with the alias.
    pub(crate) tenant: &'static str,
    /// The columns to read, the id first.
    pub(crate) columns: &'static str,
    /// The condition that a row holds one of the fragments `reach.fragments` that a device permission names.
    pub(crate) holds_fragment: &'static str,
}

/// The filters that the indexes cover, and the order.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span<'a> {
    /// The source of the rows.
    pub(crate) source: Option<ManagedObjectId>,
    /// The descendants of the source whose rows are included.
    pub(crate) below: Descendants<'a>,
    /// `time` at or after this.
    pub(crate) date_from: Option<Timestamp>,
    /// `time` at or before this.
    pub(crate) date_to: Option<Timestamp>,
    /// The order of the rows.
    pub(crate) order: TimeOrder,
}

/// The descendants of a source whose rows are included.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Descendants<'a> {
    /// All descendants by links of these kinds; none if the list is empty.
    Links(&'a [LinkKind]),
    /// The devices whose nearest agent the source is (O-06a).
    Agent,
}

/// A collection with its filters.
pub(crate) struct TimeScan<'a> {
    /// The table to scan.
    pub(crate) table: &'a TimeTable,
    /// The tenant of the rows.
    pub(crate) tenant: &'a TenantId,
    /// The start and the end of the scan.
    pub(crate) span: Span<'a>,
    /// Returns all other filters as conditions and adds their parameters.
    pub(crate) conditions: &'a (dyn Fn(&mut Filtered) -> Vec<String> + Sync),
}

impl TimeScan<'_> {
    /// Returns a page. A caller without the role sees the rows that its device permissions grant, by the lineage of the
    /// source and a fragment of the row (P-07).
    ///
    /// # Errors
    /// `Timeout`, `Unavailable` or `Database`; the errors of `read`.
    pub(crate) async fn page<T>(
        &self,
        database: &Database,
        authority: &Authority,
        page: &PageRequest,
        read: impl Fn(&Row) -> Result<T>,
    ) -> Result<Page<T>> {
        let client = database.reader().await?;
        if let Authority::Limited(grants) = authority {
            return self.limited(&client, grants, page, read).await;
        }
        let count = match page.total {
            TotalPages::Counted => self.matching().counted(&client).await?,
            TotalPages::Omitted => Count::Omitted,
        };
        let rows = self.rows(&client, page, Instant::now() + database.statement_timeout()).await?;
        let page = page_of(rows, page, position);
        let members = page.members.iter().map(read).collect::<Result<Vec<_>>>()?;
        Ok(Page { members, next: page.next, count })
    }

    /// Returns the ids of matching rows after a position, and the position to continue from, which is `None` at the
    /// end. It serves bulk work on a collection, which scans it once, whatever its filters.
    ///
    /// # Errors
    /// `Timeout`, `Unavailable` or `Database`.
    pub(crate) async fn ids(
        &self,
        client: &Client,
        after: Option<Position>,
        limit: i64,
    ) -> Result<(Vec<i64>, Option<Position>)> {
        self.ids_in(client, after, ScanWindow::first(LARGEST_WINDOW, limit)).await
    }

    /// Does the same with a first window of another size.
    ///
    /// # Errors
    /// `Timeout`, `Unavailable` or `Database`.
    pub(crate) async fn ids_in(
        &self,
        client: &Client,
        after: Option<Position>,
        window: ScanWindow,
    ) -> Result<(Vec<i64>, Option<Position>)> {
        let columns = self.places();
        let found = self.window(client, &columns, after, window).await?;
        let next =
            if found.rows.len() as i64 >= window.limit { found.rows.last() } else { found.end.as_ref() };
        Ok((found.rows.iter().map(|row| row.get(0)).collect(), next.map(position)))
    }

    /// Returns all filters, without a page.
    pub(crate) fn matching(&self) -> Filtered {
        let TimeTable { from, alias, tenant, .. } = self.table;
        let mut filtered = Filtered::new(from, tenant, self.tenant.as_str());
        filtered.and_some(&format!("{alias}.source = $"), self.lone_source().map(|id| id.0));
        filtered.and_some(&format!("{alias}.time >= $"), self.span.date_from.map(Timestamp::instant));
        filtered.and_some(&format!("{alias}.time <= $"), self.span.date_to.map(Timestamp::instant));
        if let Some(descendants) = self.descendants(&mut filtered) {
            filtered.and_clause(&format!("{alias}.source = ANY(ARRAY({descendants}))"));
        }
        for condition in (self.conditions)(&mut filtered) {
            filtered.and_clause(&condition);
        }
        filtered
    }

    /// Returns the rows of a page and one more.
    async fn rows(&self, client: &Client, page: &PageRequest, deadline: Instant) -> Result<Vec<Row>> {
        let wanted = i64::from(page.size) + 1;
        let skipped = match page.position() {
            Some(_) => 0,
            None => i64::from(page.current - 1) * i64::from(page.size),
        };
        if self.unindexed(&mut Filtered::new("", self.table.tenant, "")).is_none() {
            // Every row matches, so those of the previous pages need not be read.
            let window = ScanWindow { offset: skipped, rows: wanted, skipped: 0, limit: wanted };
            return Ok(self.window(client, &self.columns(), page.position(), window).await?.rows);
        }
        match self.skip(client, page.position(), skipped, deadline).await? {
            Some(after) => self.matching_rows(client, after, wanted, deadline).await,
            None => Ok(Vec::new()),
        }
    }

    /// Skips matching rows and returns the position to continue from, which is `None` at the end. It reads only
    /// positions, because the rows to skip may be very many.
    async fn skip(
        &self,
        client: &Client,
        mut after: Option<Position>,
        mut skipped: i64,
        deadline: Instant,
    ) -> Result<Option<Option<Position>>> {
        let (columns, mut size) = (self.places(), WINDOW);
        while skipped > 0 {
            let window = ScanWindow::first(size, skipped.saturating_add(1));
            let found = self.window(client, &columns, after, window).await?;
            let rows = found.rows.len() as i64;
            after = match (rows >= skipped, found.end) {
                (true, _) => found.rows.get(skipped as usize - 1).map(position),
                (false, Some(end)) => Some(position(&end)),
                (false, None) => return Ok(None),
            };
            skipped -= rows;
            size = grown(size, deadline)?;
        }
        Ok(Some(after))
    }

    /// Returns the first matching rows after a position.
    async fn matching_rows(
        &self,
        client: &Client,
        mut after: Option<Position>,
        wanted: i64,
        deadline: Instant,
    ) -> Result<Vec<Row>> {
        let (columns, mut rows, mut size) = (self.columns(), Vec::new(), WINDOW);
        loop {
            let missing = wanted - rows.len() as i64;
            // One row more than missing, because the last row of the window is returned even if it does not match.
            let found = self.window(client, &columns, after, ScanWindow::first(size, missing + 1)).await?;
            rows.extend(found.rows);
            let Some(end) = found.end.filter(|_| (rows.len() as i64) < wanted) else {
                rows.truncate(wanted as usize);
                return Ok(rows);
            };
            after = Some(position(&end));
            size = grown(size, deadline)?;
        }
    }

    async fn window(
        &self,
        client: &Client,
        columns: &str,
        after: Option<Position>,
        window: ScanWindow,
    ) -> Result<WindowRows> {
        let mut filtered = Filtered::new("", self.table.tenant, self.tenant.as_str());
        let scan = self.scan(columns, after, &mut filtered);
        let conditions = self.unindexed(&mut filtered).unwrap_or_else(|| "true".into());
        let statement = scan.window(&conditions, window, &mut filtered);
        Ok(window.split_end(client.query(&statement, &filtered.parameters()).await?))
    }

    /// Returns the page of a caller without the role.
    async fn limited<T>(
        &self,
        client: &Client,
        grants: &Grants,
        page: &PageRequest,
        read: impl Fn(&Row) -> Result<T>,
    ) -> Result<Page<T>> {
        let mut filtered = Filtered::new("", self.table.tenant, self.tenant.as_str());
        let scan = self.scan(&self.columns(), page.position(), &mut filtered);
        let conditions = self.unindexed(&mut filtered).unwrap_or_else(|| "true".into());
        let visibility = Visibility {
            source: &format!("{}.source", self.table.alias),
            owner: None,
            grants,
            public: "false".into(),
            holds_fragment: self.table.holds_fragment,
        };
        let offset = if page.position().is_some() { 0 } else { i64::from(page.current) - 1 };
        let window = ScanWindow::limited(offset, page);
        let statement = scan.limited_window(&conditions, window, &visibility, &mut filtered);
        let rows = client.query(&statement, &filtered.parameters()).await?;
        limited_page(page, window, rows, position, read)
    }

    /// Builds the scan of the collection, or of the rows of the source, from a position on.
    fn scan(&self, columns: &str, after: Option<Position>, filtered: &mut Filtered) -> OrderedScan {
        let TimeTable { from, alias, tenant, .. } = self.table;
        let (than, direction) = match self.span.order {
            TimeOrder::NewestFirst => ('<', " DESC"),
            TimeOrder::OldestFirst => ('>', ""),
        };
        let mut bounds = format!("{tenant} = $1");
        let (mut place, mut sort) = (vec![format!("{alias}.time"), format!("{alias}.id")], String::new());
        let mut at = Vec::new();
        if let Some(source) = self.lone_source() {
            // Written as a range, so that only the index of sources has the order.
            let source = filtered.parameter(source.0);
            bounds += &format!(" AND {alias}.source >= {source} AND {alias}.source <= {source}");
            sort = format!("{alias}.source{direction}, ");
            place.insert(0, format!("{alias}.source"));
            at.push(source);
        }
        for (sign, time) in [(">=", self.span.date_from), ("<=", self.span.date_to)] {
            if let Some(time) = time.map(Timestamp::instant) {
                bounds += &format!(" AND {alias}.time {sign} {}", filtered.parameter(time));
            }
        }
        if let Some(after) = after {
            at.extend([filtered.parameter(after.time), filtered.parameter(after.id)]);
            bounds += &format!(" AND ({}) {than} ({})", place.join(", "), at.join(", "));
        }
        OrderedScan {
            from: (*from).into(),
            alias,
            bounds,
            sort: format!("{sort}{alias}.time{direction}, {alias}.id{direction}"),
            columns: columns.into(),
        }
    }

    /// Returns the columns of a row and its position.
    fn columns(&self) -> String {
        let TimeTable { alias, columns, .. } = self.table;
        format!("{columns}, {alias}.time AS position")
    }

    /// Returns the columns of the position of a row.
    fn places(&self) -> String {
        let alias = self.table.alias;
        format!("{alias}.id, {alias}.time AS position")
    }

    /// Returns the source, if its descendants are not included; an index has its rows in order then.
    fn lone_source(&self) -> Option<ManagedObjectId> {
        self.span.source.filter(|_| matches!(self.span.below, Descendants::Links([])))
    }

    /// Returns the statement that selects the source and its descendants, if these are included.
    fn descendants(&self, filtered: &mut Filtered) -> Option<String> {
        let source = self.span.source?;
        match self.span.below {
            Descendants::Links([]) => None,
            Descendants::Links(kinds) => {
                let kinds: Vec<&str> = kinds.iter().map(|kind| kind.children()).collect();
                let (source, kinds) = (filtered.parameter(source.0), filtered.parameter(kinds));
                Some(format!("SELECT descendants($1, {source}, {kinds})"))
            }
            Descendants::Agent => Some(format!("SELECT {}", devices_of_agent(source, filtered))),
        }
    }

    /// Returns the filters that no index covers; `None` when there are none.
    fn unindexed(&self, filtered: &mut Filtered) -> Option<String> {
        let mut conditions = Vec::new();
        if let Some(descendants) = self.descendants(filtered) {
            // Evaluated for each row of a window: a look-up in a hash table, where an array would be searched linearly.
            conditions.push(format!("{}.source IN ({descendants})", self.table.alias));
        }
        conditions.extend((self.conditions)(filtered));
        (!conditions.is_empty()).then(|| conditions.join(" AND "))
    }
}

/// Returns the SQL call that selects an agent and the devices whose nearest agent it is (O-06a).
pub(crate) fn devices_of_agent(agent: ManagedObjectId, filtered: &mut Filtered) -> String {
    let (agent, marker) = (filtered.parameter(agent.0), filtered.parameter(naming().model("Agent")));
    format!("devices_of_agent($1, {agent}, {marker})")
}

/// Returns the size of the next window. All windows of a request together share the timeout of one statement.
fn grown(size: i64, deadline: Instant) -> Result<i64> {
    if Instant::now() > deadline { Err(Error::Timeout) } else { Ok((size * GROWTH).min(LARGEST_WINDOW)) }
}

/// Reads the position of a row, whose first column is its id.
pub(crate) fn position(row: &Row) -> Position {
    Position { time: row.get("position"), id: row.get(0) }
}
