//! Statements with optional filters: column names are constants of ours, values are always parameters.

use std::fmt::Write;

use tokio_postgres::types::ToSql;

use crate::error::Result;
use crate::limits::EXACT_COUNT;
use crate::model::page::{After, Count, Page, PageRequest, TotalPages};

/// The part of a statement behind `FROM`, growing with each filter that is set.
pub(super) struct Filtered {
    from: &'static str,
    conditions: String,
    parameters: Vec<Box<dyn ToSql + Sync + Send>>,
}

/// How a collection is sorted, and so how a page finds the next.
#[derive(Clone, Copy)]
pub(super) enum Order {
    /// By ascending id; the column.
    Id(&'static str),
    /// By descending id; the column.
    LastId(&'static str),
    /// By ascending name; the column, which must be compared byte by byte (`COLLATE "C"`).
    Name(&'static str),
    /// By a time and the id, both descending; the columns.
    NewestFirst(&'static str, &'static str),
    /// By a time and the id, both ascending; the columns.
    OldestFirst(&'static str, &'static str),
}

impl Filtered {
    /// Starts with the tenant, as every statement does. `tenant_column` is e.g. `a.tenant`.
    pub(super) fn new(from: &'static str, tenant_column: &'static str, tenant: &str) -> Self {
        let mut filtered = Self { from, conditions: String::from("true"), parameters: Vec::new() };
        filtered.and(&format!("{tenant_column} = $"), tenant.to_owned());
        filtered
    }

    /// Adds `<condition>$n`, e.g. `and("a.source = $", id)`; a `$` is replaced by the number of the parameter.
    pub(super) fn and(&mut self, condition: &str, value: impl ToSql + Sync + Send + 'static) {
        self.parameters.push(Box::new(value));
        let number = format!("${}", self.parameters.len());
        let _ = write!(self.conditions, " AND {}", condition.replace('$', &number));
    }

    /// Adds a condition that has no parameter.
    pub(super) fn only(&mut self, condition: &'static str) {
        let _ = write!(self.conditions, " AND {condition}");
    }

    /// Adds a parameter and gives its number with the dollar sign, for a clause that is put together elsewhere.
    pub(super) fn parameter(&mut self, value: impl ToSql + Sync + Send + 'static) -> String {
        self.parameters.push(Box::new(value));
        format!("${}", self.parameters.len())
    }

    /// Adds a condition whose parameters were added by [`Filtered::parameter`].
    pub(super) fn and_clause(&mut self, clause: &str) {
        let _ = write!(self.conditions, " AND {clause}");
    }

    /// The conditions so far.
    pub(super) fn conditions(&self) -> &str {
        &self.conditions
    }

    /// Adds a condition when the filter is set.
    pub(super) fn and_some<T: ToSql + Sync + Send + 'static>(&mut self, condition: &str, value: Option<T>) {
        if let Some(value) = value {
            self.and(condition, value);
        }
    }

    /// The statement that counts, exact up to a million (P-03).
    pub(super) fn count(&self) -> String {
        let limit = EXACT_COUNT + 1;
        format!(
            "SELECT count(*) FROM (SELECT 1 FROM {} WHERE {} LIMIT {limit}) matching",
            self.from, self.conditions
        )
    }

    /// How many rows match, when that is asked for.
    ///
    /// # Errors
    /// As [`Filtered::counted`].
    pub(super) async fn total(&self, client: &tokio_postgres::Client, total: TotalPages) -> Result<Count> {
        match total {
            TotalPages::Counted => self.counted(client).await,
            TotalPages::Omitted => Ok(Count::Omitted),
        }
    }

    /// How many rows match: counted up to a million, estimated by the planner beyond (P-03).
    ///
    /// # Errors
    /// `Timeout`, `Unavailable` or `Database`.
    pub(super) async fn counted(&self, client: &tokio_postgres::Client) -> Result<Count> {
        let counted: i64 = client.query_one(&self.count(), &self.parameters()).await?.get(0);
        if counted <= EXACT_COUNT {
            return Ok(Count::Of(counted));
        }
        let explain = format!("EXPLAIN (FORMAT JSON) SELECT 1 FROM {} WHERE {}", self.from, self.conditions);
        let plan: serde_json::Value = client.query_one(&explain, &self.parameters()).await?.get(0);
        let estimate = plan[0]["Plan"]["Plan Rows"].as_f64().unwrap_or_default();
        Ok(Count::Of((estimate as i64).max(EXACT_COUNT + 1)))
    }

    /// The statement that reads a page, and one row more to know whether there is a next page.
    pub(super) fn page(&mut self, columns: &str, order: Order, page: &PageRequest) -> String {
        // The place of another collection, put into a link by hand, counts as none.
        let sought = page.after.as_ref().is_some_and(|after| self.seek(order, after));
        let sort = match order {
            Order::Id(column) | Order::Name(column) => column.to_owned(),
            Order::LastId(id) => format!("{id} DESC"),
            Order::NewestFirst(time, id) => format!("{time} DESC, {id} DESC"),
            Order::OldestFirst(time, id) => format!("{time}, {id}"),
        };
        let offset = match sought {
            true => 0,
            false => i64::from(page.current - 1) * i64::from(page.size),
        };
        // Numbers of pages are parameters too: the text of a statement is the key of the statement cache.
        self.parameters.push(Box::new(i64::from(page.size) + 1));
        self.parameters.push(Box::new(offset));
        let (limit, offset) = (self.parameters.len() - 1, self.parameters.len());
        let (from, conditions) = (self.from, &self.conditions);
        format!(
            "SELECT {columns} FROM {from} WHERE {conditions} ORDER BY {sort} LIMIT ${limit} OFFSET ${offset}"
        )
    }

    /// The statement that deletes at most `rows` rows of the first table in `FROM`, whose columns `tenant` and `id`
    /// are its key; `id` is that column as the conditions name it. Rows that somebody else is deleting are passed
    /// over, so that two deletions never wait for each other in opposite orders.
    pub(super) fn delete(&mut self, table: &'static str, id: &'static str, rows: i64) -> String {
        self.parameters.push(Box::new(rows));
        let (from, conditions, limit) = (self.from, &self.conditions, self.parameters.len());
        format!(
            "DELETE FROM {table} WHERE tenant = $1 AND id = ANY(ARRAY(\
             SELECT {id} FROM {from} WHERE {conditions} LIMIT ${limit} FOR UPDATE SKIP LOCKED))"
        )
    }

    /// Goes on where a page ended; `false` when that is no place of a collection in this order.
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

    /// The parameters, in the form the driver takes them.
    pub(super) fn parameters(&self) -> Vec<&(dyn ToSql + Sync)> {
        self.parameters.iter().map(|parameter| &**parameter as &(dyn ToSql + Sync)).collect()
    }
}

/// Cuts the one row more off and says where the next page starts.
pub(super) fn page_of<T, A: Into<After>>(
    mut members: Vec<T>,
    page: &PageRequest,
    position: impl Fn(&T) -> A,
) -> Page<T> {
    let more = members.len() > page.size as usize;
    members.truncate(page.size as usize);
    let next = if more { members.last().map(|last| position(last).into()) } else { None };
    Page { members, next, count: Count::Omitted }
}
