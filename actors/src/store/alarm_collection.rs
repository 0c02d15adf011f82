//! The collection of alarms: filters and pages (A-01, P-01 to P-07).

use std::time::Instant;

use tokio_postgres::Row;

use super::Database;
use super::alarms::from_row;
use super::filter::{Filtered, page_of};
use super::walk::{Sight, Stretch, WINDOW, Walk, Window, limited_page};
use crate::error::{Error, Result};
use crate::model::access::{Authority, Grants};
use crate::model::alarm::{Alarm, AlarmFilter, TimeOrder};
use crate::model::id::{ManagedObjectId, TenantId};
use crate::model::page::{Count, Page, PageRequest, Position, TotalPages};
use crate::model::timestamp::Timestamp;

/// The columns of an alarm. The source is looked up for the alarms that are given, not joined with all.
const COLUMNS: &str = "a.id, a.source, a.type, a.time, a.time_offset, a.text, a.status, a.severity, a.count, \
    a.first_time, a.first_offset, a.created_at, a.revision, a.fragments, \
    (SELECT o.name FROM managed_objects o WHERE o.tenant = a.tenant AND o.id = a.source) AS name, a.time AS position";
/// Where an alarm stands in the collection.
const PLACES: &str = "a.id, a.time AS position";
/// A window that brought too little is followed by one so many times as large.
const GROWTH: i64 = 8;
/// Rows of the largest window.
const LARGEST_WINDOW: i64 = 128_000;

/// A page of alarms, newest first unless reverted (P-06). Who lacks the role sees those that device permissions name: the
/// source by its lineage, and a fragment of the alarm (P-07).
///
/// # Errors
/// `Timeout`, `Unavailable` or `Database`.
pub async fn list_alarms(
    database: &Database,
    tenant: &TenantId,
    filter: &AlarmFilter,
    authority: &Authority,
    page: &PageRequest,
) -> Result<Page<Alarm>> {
    let client = database.reader().await?;
    let list = List { client: &client, tenant, filter, page };
    if let Authority::Limited(grants) = authority {
        return list.limited(grants).await;
    }
    let count = match page.total {
        TotalPages::Counted => list.matching().counted(&client).await?,
        TotalPages::Omitted => Count::Omitted,
    };
    let rows = list.by_time(Instant::now() + database.statement_timeout()).await?;
    let page = page_of(rows, page, position);
    let members = page.members.iter().map(from_row).collect::<Result<Vec<_>>>()?;
    Ok(Page { members, next: page.next, count })
}

/// One read of the collection.
struct List<'a> {
    client: &'a tokio_postgres::Client,
    tenant: &'a TenantId,
    filter: &'a AlarmFilter,
    page: &'a PageRequest,
}

impl List<'_> {
    /// The rows of a page and one more.
    async fn by_time(&self, deadline: Instant) -> Result<Vec<Row>> {
        let wanted = i64::from(self.page.size) + 1;
        let skipped = match self.page.position() {
            Some(_) => 0,
            None => i64::from(self.page.current - 1) * i64::from(self.page.size),
        };
        if self.conditions(&mut Filtered::new("", "a.tenant", "")).is_none() {
            // Every row matches: those of the pages before need not be looked at.
            let window = Window { offset: skipped, rows: wanted, skipped: 0, limit: wanted };
            return Ok(self.window(COLUMNS, self.page.position(), window).await?.rows);
        }
        match self.skip(skipped, deadline).await? {
            Some(after) => self.matching_rows(after, wanted, deadline).await,
            None => Ok(Vec::new()),
        }
    }

    /// Leaves matching rows out: gives where to go on, `None` behind the end. Only places are read, for there may be a
    /// great many.
    async fn skip(&self, mut skipped: i64, deadline: Instant) -> Result<Option<Option<Position>>> {
        let (mut after, mut size) = (self.page.position(), WINDOW);
        while skipped > 0 {
            let found = self.window(PLACES, after, Window::first(size, skipped.saturating_add(1))).await?;
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

    /// The first rows that match behind a position. No index knows status, severity or type: the collection is walked by
    /// time, in windows that grow, until there are enough.
    async fn matching_rows(
        &self,
        mut after: Option<Position>,
        wanted: i64,
        deadline: Instant,
    ) -> Result<Vec<Row>> {
        let (mut rows, mut size) = (Vec::new(), WINDOW);
        loop {
            let missing = wanted - rows.len() as i64;
            // The last row of the window is one more when it does not match.
            let found = self.window(COLUMNS, after, Window::first(size, missing + 1)).await?;
            rows.extend(found.rows);
            let Some(end) = found.end.filter(|_| (rows.len() as i64) < wanted) else {
                rows.truncate(wanted as usize);
                return Ok(rows);
            };
            after = Some(position(&end));
            size = grown(size, deadline)?;
        }
    }

    async fn window(&self, columns: &str, after: Option<Position>, window: Window) -> Result<Stretch> {
        let mut filtered = Filtered::new("", "a.tenant", self.tenant.as_str());
        let walk = self.walk(columns, after, &mut filtered);
        let conditions = self.conditions(&mut filtered).unwrap_or_else(|| "true".into());
        let statement = walk.window(&conditions, window, &mut filtered);
        Ok(window.stretch(self.client.query(&statement, &filtered.parameters()).await?))
    }

    /// The page of a caller without the role.
    async fn limited(&self, grants: &Grants) -> Result<Page<Alarm>> {
        let mut filtered = Filtered::new("", "a.tenant", self.tenant.as_str());
        let walk = self.walk(COLUMNS, self.page.position(), &mut filtered);
        let conditions = self.conditions(&mut filtered).unwrap_or_else(|| "true".into());
        let sight = Sight {
            source: "a.source",
            owner: None,
            grants,
            public: "false".into(),
            holds_fragment: "EXISTS (SELECT FROM unnest(reach.fragments) AS held (name) \
                WHERE a.fragments -> held.name IS NOT NULL)",
        };
        let offset = if self.page.position().is_some() { 0 } else { i64::from(self.page.current) - 1 };
        let window = Window::limited(offset, self.page);
        let statement = walk.limited_window(&conditions, window, &sight, &mut filtered);
        let rows = self.client.query(&statement, &filtered.parameters()).await?;
        limited_page(self.page, window, rows, position, from_row)
    }

    /// The way through the alarms, or through those of the source, from behind a position.
    fn walk(&self, columns: &str, after: Option<Position>, filtered: &mut Filtered) -> Walk {
        let (than, direction) = match self.filter.order {
            TimeOrder::NewestFirst => ('<', " DESC"),
            TimeOrder::OldestFirst => ('>', ""),
        };
        let mut bounds = String::from("a.tenant = $1");
        let (mut place, mut sort) = (vec!["a.time", "a.id"], String::new());
        let mut at = Vec::new();
        if let Some(source) = self.lone_source() {
            // As a range, so that only the index of sources has the order.
            let source = filtered.parameter(source.0);
            bounds += &format!(" AND a.source >= {source} AND a.source <= {source}");
            sort = format!("a.source{direction}, ");
            place.insert(0, "a.source");
            at.push(source);
        }
        for (sign, time) in [(">=", self.filter.date_from), ("<=", self.filter.date_to)] {
            if let Some(time) = time.map(Timestamp::instant) {
                bounds += &format!(" AND a.time {sign} {}", filtered.parameter(time));
            }
        }
        if let Some(after) = after {
            at.extend([filtered.parameter(after.time), filtered.parameter(after.id)]);
            bounds += &format!(" AND ({}) {than} ({})", place.join(", "), at.join(", "));
        }
        Walk {
            from: "alarms a".into(),
            alias: "a",
            bounds,
            sort: format!("{sort}a.time{direction}, a.id{direction}"),
            columns: columns.into(),
        }
    }

    /// The source, when its descendants are not meant too: then an index has its alarms in order.
    fn lone_source(&self) -> Option<ManagedObjectId> {
        self.filter.source.filter(|_| self.filter.with_descendants.is_empty())
    }

    /// The filters that no index knows; `None` when there are none.
    fn conditions(&self, filtered: &mut Filtered) -> Option<String> {
        let filter = self.filter;
        let mut conditions = Vec::new();
        if let Some(source) = filter.source.filter(|_| !filter.with_descendants.is_empty()) {
            let kinds: Vec<&str> = filter.with_descendants.iter().map(|kind| kind.children()).collect();
            let (source, kinds) = (filtered.parameter(source.0), filtered.parameter(kinds));
            conditions.push(format!("a.source = ANY(ARRAY(SELECT descendants($1, {source}, {kinds})))"));
        }
        for (column, words) in [
            ("status", filter.statuses.iter().map(|status| status.as_str()).collect::<Vec<_>>()),
            ("severity", filter.severities.iter().map(|severity| severity.as_str()).collect()),
            ("type", filter.types.iter().map(|type_| &**type_).collect()),
        ] {
            if !words.is_empty() {
                let words: Vec<String> = words.into_iter().map(ToOwned::to_owned).collect();
                conditions.push(format!("a.{column} = ANY({})", filtered.parameter(words)));
            }
        }
        (!conditions.is_empty()).then(|| conditions.join(" AND "))
    }

    /// All filters, without a page.
    fn matching(&self) -> Filtered {
        let mut filtered = Filtered::new("alarms a", "a.tenant", self.tenant.as_str());
        filtered.and_some("a.source = $", self.lone_source().map(|id| id.0));
        filtered.and_some("a.time >= $", self.filter.date_from.map(Timestamp::instant));
        filtered.and_some("a.time <= $", self.filter.date_to.map(Timestamp::instant));
        if let Some(conditions) = self.conditions(&mut filtered) {
            filtered.and_clause(&conditions);
        }
        filtered
    }
}

/// The next window; all windows of a request together have the time of one statement.
fn grown(size: i64, deadline: Instant) -> Result<i64> {
    match Instant::now() > deadline {
        true => Err(Error::Timeout),
        false => Ok((size * GROWTH).min(LARGEST_WINDOW)),
    }
}

fn position(row: &Row) -> Position {
    Position { time: row.get("position"), id: row.get(0) }
}
