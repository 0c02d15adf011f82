//! The collection of managed objects: filters, queries and pages (I-07, I-08, P-01 to P-07).

use platform_model::access::{Authority, Grants};
use platform_model::devices::inventory_query::SortKey;
use platform_model::devices::managed_object::{ManagedObject, ManagedObjectFilter};
use platform_model::error::Result;
use platform_model::id::TenantId;
use platform_model::naming::naming;
use platform_model::page::{Count, Page, PageRequest, Position, TotalPages};
use tokio_postgres::Row;

use crate::Database;
use crate::devices::inventory::managed_objects::{COLUMNS, from_row};
use crate::devices::inventory::query;
use crate::devices::inventory::scan_index::{ScanIndex, parents_of};
use crate::devices::inventory::server_fragments;
use crate::query::filter::{Filtered, page_of};
use crate::query::ordered_scan::{OrderedScan, ScanWindow, Visibility, WINDOW, WindowRows, limited_page};

/// The maximum number of rows of a window for a large page.
const LARGEST_WINDOW: i64 = 20_000;
/// The maximum number of rows of a second window: reading them costs about as much as finding a hundred rows by an
/// index.
const SECOND_WINDOW: i64 = 8000;
/// The number of words of a text whose frequencies are compared.
const MOST_WORDS: usize = 8;
/// The window of a scan that is short anyway.
const ALL: i64 = 1 << 40;

/// Returns a page of managed objects by ascending id; with `ids` in the order of that list (I-07), with a query that
/// sorts in its order. A caller without the role sees its own objects, those that its device permissions grant and
/// global ones (I-05), always by ascending id.
///
/// # Errors
/// `Timeout`, `Unavailable` or `Database`.
pub async fn list_managed_objects(
    database: &Database,
    tenant: &TenantId,
    filter: &ManagedObjectFilter,
    authority: &Authority,
    user: &str,
    page: &PageRequest,
) -> Result<Page<ManagedObject>> {
    let client = database.reader().await?;
    let list = InventoryRead { client: &client, tenant, filter, page };
    if let Authority::Limited(grants) = authority {
        return list.limited(grants, user).await;
    }
    let count = match page.total {
        TotalPages::Counted => list.matching().await?.counted(&client).await?,
        TotalPages::Omitted => Count::Omitted,
    };
    let order = filter.query.as_ref().map(|query| query.order.as_slice()).unwrap_or_default();
    let rows = match order {
        [] => list.by_id().await?,
        keys => list.sorted(keys).await?,
    };
    let page = page_of(rows, page, position);
    let members = page.members.iter().map(from_row).collect::<Result<Vec<_>>>()?;
    Ok(Page { members, next: page.next, count })
}

/// One read of the collection.
struct InventoryRead<'a> {
    client: &'a tokio_postgres::Client,
    tenant: &'a TenantId,
    filter: &'a ManagedObjectFilter,
    page: &'a PageRequest,
}

impl InventoryRead<'_> {
    /// Returns the rows of a page and one more, by ascending id or in the order of a list of ids.
    async fn by_id(&self) -> Result<Vec<Row>> {
        let index = ScanIndex::of(self.filter);
        let (skipped, wanted) = (self.skipped(), i64::from(self.page.size) + 1);
        let all_match = self.conditions(Some(index), &mut Filtered::new("", "o.tenant", "")).is_none();
        let after = self.after();
        if all_match {
            let (after, offset) = self.skip(index, skipped).await?;
            let window = ScanWindow { offset, rows: wanted, skipped: 0, limit: wanted };
            return Ok(self.window(index, after, window).await?.rows);
        }
        let window = match index.is_short() {
            true => ScanWindow { offset: 0, rows: ALL, skipped, limit: wanted },
            false if skipped == 0 => return self.windows(index, after, wanted).await,
            false => {
                let rows = (10 * (wanted + skipped)).clamp(WINDOW, LARGEST_WINDOW);
                let found =
                    self.window(index, after, ScanWindow { offset: 0, rows, skipped, limit: wanted }).await?;
                // The window does not say whether it was the whole collection, so a page that is not full is queried
                // again.
                return match found.rows.len() as i64 {
                    full if full == wanted => Ok(found.rows),
                    _ => self.indexed(after, skipped, wanted).await,
                };
            }
        };
        Ok(self.window(index, after, window).await?.rows)
    }

    /// Skips rows at the start of a scan. Returns the position to start from, and how many rows are still to be
    /// skipped. A long scan finds the position by an index-only scan.
    async fn skip(&self, index: ScanIndex, rows: i64) -> Result<(Option<i64>, i64)> {
        let after = self.after();
        if rows == 0 || index.is_short() {
            return Ok((after, rows));
        }
        let mut filtered = Filtered::new("", "o.tenant", self.tenant.as_str());
        let OrderedScan { from, bounds, sort, .. } = self.scan(index, after, &mut filtered);
        let last = filtered.parameter(rows - 1);
        let statement =
            format!("SELECT o.id FROM {from} WHERE {bounds} ORDER BY {sort} LIMIT 1 OFFSET {last}");
        let found = self.rows(&statement, &filtered).await?;
        // After the end of the collection there is nothing to scan.
        Ok((Some(found.first().map_or(i64::MAX, |row| row.get(0))), 0))
    }

    /// Reads windows in order. A filter that matches many rows fills the page from the first window. A second window is
    /// read when it should suffice, because consecutive rows are cheaper to read than scattered ones. Rare matches are
    /// found by indexes.
    async fn windows(&self, index: ScanIndex, after: Option<i64>, wanted: i64) -> Result<Vec<Row>> {
        let (mut after, mut rows) = (after, Vec::new());
        let mut size = (10 * wanted).clamp(WINDOW, LARGEST_WINDOW);
        for attempt in 1..=2 {
            let missing = wanted - rows.len() as i64;
            // One row more than missing, because the last row of the window is returned even if it does not match.
            let found = self.window(index, after, ScanWindow::first(size, missing + 1)).await?;
            rows.extend(found.rows);
            let Some(end) = found.end.filter(|_| (rows.len() as i64) < wanted) else { break };
            after = Some(position(&end).id);
            let missing = wanted - rows.len() as i64;
            let expected = size * missing / (rows.len() as i64).max(1) * 3 / 2 + WINDOW / 4;
            if rows.is_empty() || expected > SECOND_WINDOW || attempt == 2 {
                rows.extend(self.indexed(after, 0, missing).await?);
                break;
            }
            size = expected;
        }
        rows.truncate(wanted as usize);
        Ok(rows)
    }

    async fn window(&self, index: ScanIndex, after: Option<i64>, window: ScanWindow) -> Result<WindowRows> {
        let mut filtered = Filtered::new("", "o.tenant", self.tenant.as_str());
        let scan = self.scan(index, after, &mut filtered);
        let conditions = self.conditions(Some(index), &mut filtered).unwrap_or_else(|| "true".into());
        let statement = scan.window(&conditions, window, &mut filtered);
        Ok(window.split_end(self.rows(&statement, &filtered).await?))
    }

    /// Returns the matching rows after an id, found by the indexes of the filters. The limit is hidden from the
    /// planner, so that it cannot choose an ordered scan in the hope to find the page early.
    async fn indexed(&self, after: Option<i64>, skipped: i64, limit: i64) -> Result<Vec<Row>> {
        let mut filtered = self.matching().await?;
        filtered.and_some("o.id > $", after);
        let (limit, skipped) = (filtered.parameter(limit), filtered.parameter(skipped));
        let statement = format!(
            "WITH found AS MATERIALIZED (SELECT o.id FROM managed_objects o WHERE {}) \
             SELECT o.*, o.id AS position \
             FROM (SELECT id FROM found ORDER BY id LIMIT {limit} OFFSET {skipped}) found \
             CROSS JOIN LATERAL ({ONE}) o ORDER BY o.id",
            filtered.conditions()
        );
        self.rows(&statement, &filtered).await
    }

    /// Returns the word of the text that the fewest objects have, by the planner's estimate. The index collects all
    /// objects of every word in a search; for `pump 123` as it stands it would collect every pump.
    async fn rarest_word(&self) -> Result<Option<String>> {
        let Some(text) = self.filter.text.as_ref().filter(|_| self.filter.query.is_none()) else {
            return Ok(None);
        };
        let words = "SELECT unnest(tsvector_to_array(object_words($1, NULL, NULL, '{}')))";
        let mut rarest = None;
        for row in self.client.query(words, &[text]).await?.iter().take(MOST_WORDS) {
            let word: String = row.get(0);
            let explain =
                "EXPLAIN (FORMAT JSON) SELECT FROM managed_objects o WHERE o.words @@ search_prefixes($1)";
            let plan: serde_json::Value = self.client.query_one(explain, &[&word]).await?.get(0);
            let rows = plan[0]["Plan"]["Plan Rows"].as_f64().unwrap_or_default();
            if rarest.as_ref().is_none_or(|(fewest, _)| rows < *fewest) {
                rarest = Some((rows, word));
            }
        }
        Ok(rarest.map(|(_, word)| word))
    }

    /// Returns a page in the order of the query. Matches are found first and sorted then, unless everything matches: an
    /// index may have the order in that case.
    async fn sorted(&self, keys: &[SortKey]) -> Result<Vec<Row>> {
        let mut filtered = self.matching().await?;
        let sort = query::order(keys, &mut filtered);
        let skipped = i64::from(self.page.current - 1) * i64::from(self.page.size);
        let (limit, skipped) =
            (filtered.parameter(i64::from(self.page.size) + 1), filtered.parameter(skipped));
        let found = match self.conditions(None, &mut Filtered::new("", "o.tenant", "")) {
            None => format!("managed_objects o WHERE {}", filtered.conditions()),
            Some(_) => {
                format!("(SELECT o.* FROM managed_objects o WHERE {} OFFSET 0) o", filtered.conditions())
            }
        };
        let statement = format!(
            "SELECT o.*, o.id AS position FROM (SELECT sorted.id, row_number() OVER () AS place FROM ( \
                SELECT o.id FROM {found} ORDER BY {sort} LIMIT {limit} OFFSET {skipped}) sorted) found \
             CROSS JOIN LATERAL ({ONE}) o ORDER BY found.place"
        );
        self.rows(&statement, &filtered).await
    }

    /// Returns the page of a caller without the role.
    async fn limited(&self, grants: &Grants, user: &str) -> Result<Page<ManagedObject>> {
        let index = ScanIndex::of(self.filter);
        let offset = if self.page.position().is_some() { 0 } else { i64::from(self.page.current) - 1 };
        let (after, offset) = self.skip(index, offset).await?;
        let mut filtered = Filtered::new("", "o.tenant", self.tenant.as_str());
        let scan = self.scan(index, after, &mut filtered);
        let conditions = self.conditions(Some(index), &mut filtered).unwrap_or_else(|| "true".into());
        let global = filtered.parameter(naming().fragment("Global"));
        let visibility = Visibility {
            source: "o.id",
            owner: Some(user),
            grants,
            public: format!("o.fragment_names @> ARRAY[{global}::text]"),
            holds_fragment: "o.fragment_names && reach.fragments",
        };
        let window = ScanWindow::limited(offset, self.page);
        let statement = scan.limited_window(&conditions, window, &visibility, &mut filtered);
        limited_page(self.page, window, self.rows(&statement, &filtered).await?, position, from_row)
    }

    /// Builds the scan of the collection from a position on.
    fn scan(&self, index: ScanIndex, after: Option<i64>, filtered: &mut Filtered) -> OrderedScan {
        let after = filtered.parameter(after.unwrap_or_default());
        let mut scan = OrderedScan {
            from: "managed_objects o".into(),
            alias: "o",
            bounds: format!("o.tenant = $1 AND o.id > {after}"),
            sort: "o.id".into(),
            columns: format!("{COLUMNS}, o.id AS position"),
        };
        // A row comparison seeks directly to the position in the index, and the planner has no other index to prefer.
        let mut along = |column: &str, value: &Option<String>| {
            let value = filtered.parameter(value.clone().unwrap_or_default());
            scan.bounds =
                format!("o.tenant = $1 AND ({column}, o.id) > ({value}, {after}) AND {column} <= {value}");
            scan.sort = format!("{column}, o.id");
        };
        match index {
            ScanIndex::All => {}
            ScanIndex::Type => along("o.type", &self.filter.type_),
            ScanIndex::Owner => along("o.owner", &self.filter.owner),
            ScanIndex::Parents(kind, child) => {
                let (kind, child) = (filtered.parameter(kind), filtered.parameter(child.0));
                scan.from = format!(
                    "(SELECT o.* FROM (SELECT l.parent AS id FROM links l \
                        WHERE l.tenant = $1 AND l.child = {child} AND l.kind = {kind}) found \
                      CROSS JOIN LATERAL ({ONE_WITH_EVERYTHING}) o) o"
                );
            }
            ScanIndex::Ids => {
                let ids: Vec<i64> = self.filter.ids.iter().flatten().map(|id| id.0).collect();
                let ids = filtered.parameter(ids);
                scan.from = format!(
                    "(SELECT o.*, found.place AS wanted FROM unnest({ids}::bigint[]) \
                        WITH ORDINALITY AS found (id, place) CROSS JOIN LATERAL ({ONE_WITH_EVERYTHING}) o) o"
                );
                scan.bounds = format!("o.wanted > {after}");
                scan.sort = "o.wanted".into();
                scan.columns = format!("{COLUMNS}, o.wanted AS position");
            }
        }
        scan
    }

    /// Returns the filters as conditions, without the one that the scan's index covers; `None` when there are no
    /// others.
    fn conditions(&self, index: Option<ScanIndex>, filtered: &mut Filtered) -> Option<String> {
        let filter = self.filter;
        let mut conditions = Vec::new();
        let mut add = |given: bool, of: Option<ScanIndex>, condition: &mut dyn FnMut() -> String| {
            if given && (of.is_none() || index != of) {
                conditions.push(condition());
            }
        };
        let plain = filter.query.is_none();
        let ids = || filter.ids.iter().flatten().map(|id| id.0).collect::<Vec<i64>>();
        add(filter.ids.is_some(), Some(ScanIndex::Ids), &mut || {
            format!("o.id = ANY({})", filtered.parameter(ids()))
        });
        for (kind, child) in parents_of(filter) {
            let Some(child) = child else { continue };
            add(true, Some(ScanIndex::Parents(kind, child)), &mut || {
                let (kind, child) = (filtered.parameter(kind), filtered.parameter(child.0));
                format!(
                    "EXISTS (SELECT FROM links l WHERE l.tenant = $1 AND l.child = {child} AND l.kind = {kind} \
                        AND l.parent = o.id)"
                )
            });
        }
        add(plain && filter.type_.is_some(), Some(ScanIndex::Type), &mut || {
            format!("o.type = {}", filtered.parameter(filter.type_.clone()))
        });
        add(filter.owner.is_some(), Some(ScanIndex::Owner), &mut || {
            format!("o.owner = {}", filtered.parameter(filter.owner.clone()))
        });
        add(plain && filter.fragment_type.is_some(), None, &mut || {
            query::has_fragment(filter.fragment_type.as_deref().unwrap_or_default(), filtered)
        });
        add(plain && filter.text.is_some(), None, &mut || {
            // Tests every row of a window. The index is searched for one word only, see `rarest_word`.
            format!("(o.words @@ search_prefixes({})) IS TRUE", filtered.parameter(filter.text.clone()))
        });
        if let Some(condition) = filter.query.as_ref().and_then(|query| query.condition.as_ref()) {
            add(true, None, &mut || query::clause(condition, filtered));
        }
        (!conditions.is_empty()).then(|| conditions.join(" AND "))
    }

    /// Returns all filters, without a page, in the form that indexes support.
    async fn matching(&self) -> Result<Filtered> {
        let mut filtered = Filtered::new("managed_objects o", "o.tenant", self.tenant.as_str());
        if let Some(conditions) = self.conditions(None, &mut filtered) {
            filtered.and_clause(&conditions);
        }
        let bound = match &self.filter.query {
            Some(query) => query.condition.as_ref().and_then(query::bound),
            None => self.filter.fragment_type.as_deref().and_then(server_fragments::bound),
        };
        if let Some(bound) = bound {
            filtered.and_clause(bound);
        }
        if let Some(word) = self.rarest_word().await? {
            filtered.and("o.words @@ search_prefixes($)", word);
        }
        Ok(filtered)
    }

    /// Returns the id after which the page starts.
    fn after(&self) -> Option<i64> {
        self.page.position().map(|after| after.id)
    }

    /// Returns the number of matching objects before the page, when the end of the previous page is not known.
    fn skipped(&self) -> i64 {
        match self.page.position() {
            Some(_) => 0,
            None => i64::from(self.page.current - 1) * i64::from(self.page.size),
        }
    }

    /// Runs a statement. There are as many statements as there are queries, so they are not kept in the statement
    /// cache.
    async fn rows(&self, statement: &str, filtered: &Filtered) -> Result<Vec<Row>> {
        Ok(self.client.query(statement, &filtered.parameters()).await?)
    }
}

/// Selects the object of a row of `found` by its key, whatever the planner's estimate of the number of rows.
const ONE: &str = "SELECT o.id, o.type, o.name, o.owner, o.created_at, o.updated_at, o.fragments, \
    o.revision FROM managed_objects o WHERE o.tenant = $1 AND o.id = found.id OFFSET 0";
/// Selects the same object with the columns that conditions use.
const ONE_WITH_EVERYTHING: &str =
    "SELECT o.* FROM managed_objects o WHERE o.tenant = $1 AND o.id = found.id OFFSET 0";

fn position(row: &Row) -> Position {
    Position::of_id(row.get("position"))
}
