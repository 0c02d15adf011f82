//! Operations by their queues: those of a few devices, of an agent or of one bulk operation.
//!
//! One index has the operations of each device in order, another one those of each bulk operation. The first positions
//! of each queue are read from the index and merged, and only then the operations of the page are looked up. So the
//! cost of a page depends only on the size of its queues.

use platform_model::data::operation::OperationFilter;
use platform_model::error::Result;
use platform_model::id::{ManagedObjectId, OperationId, TenantId};
use platform_model::naming::naming;
use platform_model::page::{PageRequest, Position, TimeOrder};
use platform_model::timestamp::Timestamp;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row};

use crate::Database;
use crate::data::operations::collection::of_each;
use crate::query::filter::Filtered;
use crate::query::prepared::PreparedQueries;
use crate::query::time_scan::{devices_of_agent, position};

const IS_FOR: &str = include_str!("../../../../../sql/queries/operations/is_for.sql");

/// The queues that a filter by agent, device or bulk operation selects.
pub(crate) struct Queues<'a> {
    pub(crate) tenant: &'a TenantId,
    pub(crate) filter: &'a OperationFilter,
}

/// Returns whether an operation is in the queue of an agent (O-06a); `None` when the operation does not exist.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn is_for(
    database: &Database,
    tenant: &TenantId,
    operation: OperationId,
    agent: ManagedObjectId,
) -> Result<Option<bool>> {
    let parameters: [&(dyn ToSql + Sync); 4] =
        [&tenant.as_str(), &operation.0, &agent.0, &naming().model("Agent")];
    Ok(database.reader().await?.find(IS_FOR, &parameters).await?.map(|row| row.get(0)))
}

/// The range of positions of the merged queues to read.
struct PositionRange {
    after: Option<Position>,
    skipped: i64,
    limit: i64,
}

impl Queues<'_> {
    /// Returns how many positions of each queue are read for a page.
    pub(crate) fn places(page: &PageRequest) -> i64 {
        let places = PositionRange::of(page);
        places.skipped.saturating_add(places.limit)
    }

    /// Returns the rows of a page and one more, with their `position`. One statement.
    ///
    /// # Errors
    /// `Timeout`, `Unavailable` or `Database`.
    pub(crate) async fn rows(&self, client: &Client, columns: &str, page: &PageRequest) -> Result<Vec<Row>> {
        self.read(client, columns, PositionRange::of(page)).await
    }

    /// Returns ids after a position, and the position to continue from, which is `None` at the end.
    ///
    /// # Errors
    /// `Timeout`, `Unavailable` or `Database`.
    pub(crate) async fn ids(
        &self,
        client: &Client,
        after: Option<Position>,
        limit: i64,
    ) -> Result<(Vec<i64>, Option<Position>)> {
        let rows = self.read(client, "o.id", PositionRange { after, skipped: 0, limit }).await?;
        let next = rows.last().filter(|_| rows.len() as i64 >= limit).map(position);
        Ok((rows.iter().map(|row| row.get(0)).collect(), next))
    }

    async fn read(&self, client: &Client, columns: &str, places: PositionRange) -> Result<Vec<Row>> {
        let mut filtered = Filtered::new("", "o.tenant", self.tenant.as_str());
        let statement = self.statement(columns, places, &mut filtered);
        Ok(client.query(&statement, &filtered.parameters()).await?)
    }

    fn statement(&self, columns: &str, places: PositionRange, filtered: &mut Filtered) -> String {
        let (key, queues) = self.queues(filtered);
        let (than, direction) = match self.filter.order {
            TimeOrder::NewestFirst => ('<', " DESC"),
            TimeOrder::OldestFirst => ('>', ""),
        };
        // Written as a range, so that only the index of these queues has the order.
        let mut bounds = format!("o.tenant = $1 AND o.{key} >= queue.id AND o.{key} <= queue.id");
        if let Some(status) = self.filter.status {
            bounds += &format!(" AND o.status = '{}'", status.as_str());
        }
        for (sign, time) in [(">=", self.filter.date_from), ("<=", self.filter.date_to)] {
            if let Some(time) = time.map(Timestamp::instant) {
                bounds += &format!(" AND o.created_at {sign} {}", filtered.parameter(time));
            }
        }
        for condition in of_each(self.filter, filtered) {
            bounds += &format!(" AND {condition}");
        }
        if let Some(after) = places.after {
            let (time, id) = (filtered.parameter(after.time), filtered.parameter(after.id));
            bounds += &format!(" AND (o.{key}, o.created_at, o.id) {than} (queue.id, {time}, {id})");
        }
        let each = filtered.parameter(places.skipped.saturating_add(places.limit));
        let (limit, skipped) = (filtered.parameter(places.limit), filtered.parameter(places.skipped));
        format!(
            "SELECT {columns}, place.created_at AS position FROM ( \
                SELECT place.id, place.created_at FROM {queues} AS queue (id) CROSS JOIN LATERAL ( \
                    SELECT o.id, o.created_at FROM operations o WHERE {bounds} \
                    ORDER BY o.{key}{direction}, o.created_at{direction}, o.id{direction} LIMIT {each} \
                ) AS place ORDER BY place.created_at{direction}, place.id{direction} LIMIT {limit} OFFSET {skipped} \
             ) AS place JOIN operations o ON o.tenant = $1 AND o.id = place.id \
             ORDER BY place.created_at{direction}, place.id{direction}"
        )
    }

    /// Returns the column that identifies a queue, and the selected queues.
    fn queues(&self, filtered: &mut Filtered) -> (&'static str, String) {
        let OperationFilter { agent, device, bulk_operation, .. } = self.filter;
        match (agent, device) {
            (Some(agent), device) => {
                let tree = devices_of_agent(*agent, filtered);
                let only = device.map_or_else(String::new, |device| {
                    format!(" WHERE tree.id = {}", filtered.parameter(device.0))
                });
                ("device", format!("(SELECT tree.id FROM {tree} AS tree (id){only})"))
            }
            (None, Some(device)) => {
                ("device", format!("(VALUES ({}::bigint))", filtered.parameter(device.0)))
            }
            (None, None) => {
                let bulk_operation = bulk_operation.map(|id| id.0);
                ("bulk_operation", format!("(VALUES ({}::bigint))", filtered.parameter(bulk_operation)))
            }
        }
    }
}

impl PositionRange {
    fn of(page: &PageRequest) -> Self {
        let skipped = match page.position() {
            Some(_) => 0,
            None => i64::from(page.current - 1) * i64::from(page.size),
        };
        Self { after: page.position(), skipped, limit: i64::from(page.size) + 1 }
    }
}
