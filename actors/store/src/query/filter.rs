//! Statements with optional filters. Column names are constants in the code, and values are always parameters.

use std::fmt::Write;

use tokio_postgres::types::ToSql;

use platform_model::error::Result;
use platform_model::limits::EXACT_COUNT;
use platform_model::page::{After, Count, Page, PageRequest, TotalPages};

/// The part of a statement after `FROM`, which grows with each filter that is set.
pub(crate) struct Filtered {
    from: &'static str,
    conditions: String,
    parameters: Vec<Box<dyn ToSql + Sync + Send>>,
}

/// The order of a collection, which also determines how the next page is found.
#[derive(Clone, Copy)]
pub(crate) enum Order {
    /// The id in this column, ascending.
    Id(&'static str),
    /// The id in this column, descending.
    LastId(&'static str),
    /// The name in this column, ascending, which must be compared byte by byte (`COLLATE "C"`).
    Name(&'static str),
    /// A time and the id in these columns, both descending.
    NewestFirst(&'static str, &'static str),
    /// A time and the id in these columns, both ascending.
    OldestFirst(&'static str, &'static str),
}

impl Filtered {
    /// Starts with the condition on the tenant, as every statement does. `tenant_column` is for example `a.tenant`.
    pub(crate) fn new(from: &'static str, tenant_column: &'static str, tenant: &str) -> Self {
        let mut filtered = Self { from, conditions: String::from("true"), parameters: Vec::new() };
        filtered.and(&format!("{tenant_column} = $"), tenant.to_owned());
        filtered
    }

    /// Adds `<condition>$n`, e.g. `and("a.source = $", id)`; a `$` is replaced by the number of the parameter.
    pub(crate) fn and(&mut self, condition: &str, value: impl ToSql + Sync + Send + 'static) {
        self.parameters.push(Box::new(value));
        let number = format!("${}", self.parameters.len());
        let _ = write!(self.conditions, " AND {}", condition.replace('$', &number));
    }

    /// Adds a condition without a parameter.
    pub(crate) fn only(&mut self, condition: &'static str) {
        let _ = write!(self.conditions, " AND {condition}");
    }

    /// Adds a parameter and returns its number with the dollar sign, for a clause that is built elsewhere.
    pub(crate) fn parameter(&mut self, value: impl ToSql + Sync + Send + 'static) -> String {
        self.parameters.push(Box::new(value));
        format!("${}", self.parameters.len())
    }

    /// Adds a condition whose parameters were added by [`Filtered::parameter`].
    pub(crate) fn and_clause(&mut self, clause: &str) {
        let _ = write!(self.conditions, " AND {clause}");
    }

    /// Returns the conditions so far.
    pub(crate) fn conditions(&self) -> &str {
        &self.conditions
    }

    /// Adds a condition if the filter is set.
    pub(crate) fn and_some<T: ToSql + Sync + Send + 'static>(&mut self, condition: &str, value: Option<T>) {
        if let Some(value) = value {
            self.and(condition, value);
        }
    }

    /// Returns the statement that counts the matching rows, exact up to a million (P-03).
    pub(crate) fn count(&self) -> String {
        let limit = EXACT_COUNT + 1;
        format!(
            "SELECT count(*) FROM (SELECT 1 FROM {} WHERE {} LIMIT {limit}) matching",
            self.from, self.conditions
        )
    }

    /// Returns how many rows match, if the request asks for it.
    ///
    /// # Errors
    /// The errors of [`Filtered::counted`].
    pub(crate) async fn total(&self, client: &tokio_postgres::Client, total: TotalPages) -> Result<Count> {
        match total {
            TotalPages::Counted => self.counted(client).await,
            TotalPages::Omitted => Ok(Count::Omitted),
        }
    }

    /// Returns how many rows match: counted up to a million, estimated by the planner beyond (P-03).
    ///
    /// # Errors
    /// `Timeout`, `Unavailable` or `Database`.
    pub(crate) async fn counted(&self, client: &tokio_postgres::Client) -> Result<Count> {
        let counted: i64 = client.query_one(&self.count(), &self.parameters()).await?.get(0);
        if counted <= EXACT_COUNT {
            return Ok(Count::Of(counted));
        }
        let explain = format!("EXPLAIN (FORMAT JSON) SELECT 1 FROM {} WHERE {}", self.from, self.conditions);
        let plan: serde_json::Value = client.query_one(&explain, &self.parameters()).await?.get(0);
        let estimate = plan[0]["Plan"]["Plan Rows"].as_f64().unwrap_or_default();
        Ok(Count::Of((estimate as i64).max(EXACT_COUNT + 1)))
    }

    /// Returns the statement that reads a page and one row more, which shows whether there is a next page.
    pub(crate) fn page(&mut self, columns: &str, order: Order, page: &PageRequest) -> String {
        // The position of another collection, put into a link by hand, is ignored.
        let sought = page.after.as_ref().is_some_and(|after| self.seek(order, after));
        let sort = match order {
            Order::Id(column) | Order::Name(column) => column.to_owned(),
            Order::LastId(id) => format!("{id} DESC"),
            Order::NewestFirst(time, id) => format!("{time} DESC, {id} DESC"),
            Order::OldestFirst(time, id) => format!("{time}, {id}"),
        };
        let offset = if sought { 0 } else { i64::from(page.current - 1) * i64::from(page.size) };
        // Page numbers are parameters too, because the text of a statement is its key in the statement cache.
        self.parameters.push(Box::new(i64::from(page.size) + 1));
        self.parameters.push(Box::new(offset));
        let (limit, offset) = (self.parameters.len() - 1, self.parameters.len());
        let (from, conditions) = (self.from, &self.conditions);
        format!(
            "SELECT {columns} FROM {from} WHERE {conditions} ORDER BY {sort} LIMIT ${limit} OFFSET ${offset}"
        )
    }

    /// Returns the statement that deletes at most `rows` rows of the first table in `FROM`, whose key is the columns
    /// `tenant` and `id`; `id` is that column as the conditions name it. Rows that a concurrent transaction is deleting
    /// are skipped, so that two deletions never wait for each other in opposite orders.
    pub(crate) fn delete(&mut self, table: &'static str, id: &'static str, rows: i64) -> String {
        self.parameters.push(Box::new(rows));
        let (from, conditions, limit) = (self.from, &self.conditions, self.parameters.len());
        format!(
            "DELETE FROM {table} WHERE tenant = $1 AND id = ANY(ARRAY(\
             SELECT {id} FROM {from} WHERE {conditions} LIMIT ${limit} FOR UPDATE SKIP LOCKED))"
        )
    }

    /// Continues after the end of a page. Returns `false` when the position does not belong to a collection in this
    /// order.
    fn seek(&mut self, order: Order, after: &After) -> bool {
        let (time, id, than, after) = match (order, after) {
            (Order::Id(id), After::Position(after)) => {
                self.and(&format!("{id} > $"), after.id);
                return true;
            }
            (Order::LastId(id), After::Position(after)) => {
                self.and(&format!("{id} < $"), after.id);
                return true;
            }
            (Order::Name(name), After::Name(after)) => {
                self.and(&format!("{name} > $"), after.to_string());
                return true;
            }
            (Order::NewestFirst(time, id), After::Position(after)) => (time, id, '<', after),
            (Order::OldestFirst(time, id), After::Position(after)) => (time, id, '>', after),
            _ => return false,
        };
        self.parameters.push(Box::new(after.time));
        self.parameters.push(Box::new(after.id));
        let n = self.parameters.len();
        let _ = write!(self.conditions, " AND ({time}, {id}) {than} (${}, ${n})", n - 1);
        true
    }

    /// Returns the parameters in the form the driver takes them.
    pub(crate) fn parameters(&self) -> Vec<&(dyn ToSql + Sync)> {
        self.parameters.iter().map(|parameter| &**parameter as &(dyn ToSql + Sync)).collect()
    }
}

/// Removes the additional row and returns the position at which the next page starts.
pub(crate) fn page_of<T, A: Into<After>>(
    mut members: Vec<T>,
    page: &PageRequest,
    position: impl Fn(&T) -> A,
) -> Page<T> {
    let more = members.len() > page.size as usize;
    members.truncate(page.size as usize);
    let next = if more { members.last().map(|last| position(last).into()) } else { None };
    Page { members, next, count: Count::Omitted }
}
