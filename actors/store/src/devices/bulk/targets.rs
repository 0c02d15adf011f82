//! The devices of a bulk operation (K-03, K-04): those of a static or a dynamic group, or those where an earlier bulk
//! operation failed.
//!
//! They are chosen once, at the start, and kept in their order until the last one is processed. Later changes of the
//! group have no effect.

use deadpool_postgres::GenericClient;
use platform_model::data::bulk_operation::{Targets, unknown_group, unknown_parent};
use platform_model::devices::inventory_query::InventoryQuery;
use platform_model::error::{Error, Result};
use platform_model::id::{BulkOperationId, ManagedObjectId, TenantId};
use platform_model::naming::naming;

use crate::devices::inventory::query;
use crate::query::filter::Filtered;
use crate::query::prepared::PreparedQueries;

const FIND_GROUP: &str = include_str!("../../../../../sql/queries/bulk_operations/find_group.sql");
const FIND: &str = include_str!("../../../../../sql/queries/bulk_operations/find.sql");
const LIST_MEMBERS: &str = include_str!("../../../../../sql/queries/bulk_operations/list_members.sql");
const LIST_FAILURES: &str = include_str!("../../../../../sql/queries/bulk_operations/list_failures.sql");

/// A statement that selects the ids of the devices.
pub(crate) struct Members {
    statement: String,
    filtered: Filtered,
}

impl Members {
    /// Reads the kind of the group and builds its statement.
    ///
    /// # Errors
    /// `Invalid` for an unknown group or parent, for a device that is not a group, and for a dynamic group with an
    /// invalid query; `Unavailable` or `Database`.
    pub(crate) async fn find(
        client: &impl GenericClient,
        tenant: &TenantId,
        targets: Targets,
    ) -> Result<Self> {
        match targets {
            Targets::Group(group) => Self::of_group(client, tenant, group).await,
            Targets::FailuresOf(parent) => {
                let found = client.query_opt(FIND, &[&tenant.as_str(), &parent.0]).await?;
                found.map(|_| Self::of_failures(tenant, parent)).ok_or_else(|| unknown_parent(parent))
            }
        }
    }

    /// Builds a statement that selects no device.
    pub(crate) fn none(tenant: &TenantId) -> Self {
        let mut filtered = Filtered::new("managed_objects o", "o.tenant", tenant.as_str());
        filtered.only("false");
        Self::of_objects(filtered)
    }

    async fn of_group(
        client: &impl GenericClient,
        tenant: &TenantId,
        group: ManagedObjectId,
    ) -> Result<Self> {
        let [dynamic, group_marker, device, query] =
            ["IsDynamicGroup", "IsDeviceGroup", "IsDevice", "DeviceQueryString"]
                .map(|name| naming().fragment(name));
        let row = client
            .find(FIND_GROUP, &[&tenant.as_str(), &group.0, &dynamic, &group_marker, &device, &query])
            .await?
            .ok_or_else(|| unknown_group(group))?;
        let (is_dynamic, is_group, is_device): (bool, bool, bool) = (row.get(0), row.get(1), row.get(2));
        if is_dynamic {
            let text = row.get::<_, Option<&str>>(3).unwrap_or_default();
            return Self::of_query(tenant, text).map_err(|error| {
                Error::Invalid(format!("Invalid value of 'groupId': {group}; its {query}: {error}"))
            });
        }
        if is_device && !is_group {
            Err(unknown_group(group))
        } else {
            Ok(Self::of_static_group(tenant, group))
        }
    }

    /// Selects the devices that match a query (I-08, I-11).
    fn of_query(tenant: &TenantId, text: &str) -> Result<Self> {
        if text.trim().is_empty() {
            return Err(Error::Invalid("a query is missing".into()));
        }
        let query = InventoryQuery::parse(text)?;
        // An order alone would select all devices (I-08a).
        let Some(condition) = &query.condition else {
            return Err(Error::Invalid("the query has an order, but no condition".into()));
        };
        let mut filtered = Filtered::new("managed_objects o", "o.tenant", tenant.as_str());
        let clause = query::clause(condition, &mut filtered);
        filtered.and_clause(&clause);
        query::bound(condition).into_iter().for_each(|bound| filtered.and_clause(bound));
        filtered.and("o.fragment_names @> ARRAY[$::text]", naming().fragment("IsDevice"));
        Ok(Self::of_objects(filtered))
    }

    fn of_objects(filtered: Filtered) -> Self {
        let statement = format!("SELECT o.id FROM managed_objects o WHERE {}", filtered.conditions());
        Self { statement, filtered }
    }

    fn of_static_group(tenant: &TenantId, group: ManagedObjectId) -> Self {
        let mut filtered = Filtered::new("managed_objects o", "o.tenant", tenant.as_str());
        filtered.parameter(group.0);
        filtered.parameter(naming().fragment("IsDevice"));
        Self { statement: LIST_MEMBERS.to_owned(), filtered }
    }

    fn of_failures(tenant: &TenantId, parent: BulkOperationId) -> Self {
        let mut filtered = Filtered::new("operations o", "o.tenant", tenant.as_str());
        filtered.parameter(parent.0);
        Self { statement: LIST_FAILURES.to_owned(), filtered }
    }

    /// Counts the devices as of now. One statement.
    ///
    /// # Errors
    /// `Timeout`, `Unavailable` or `Database`.
    pub(crate) async fn count(&self, client: &impl GenericClient) -> Result<i64> {
        let statement = format!("SELECT count(*) FROM ({}) members", self.statement);
        Ok(client.query_one(&statement, &self.filtered.parameters()).await?.get(0))
    }

    /// Stores the devices by ascending id, as part of the caller's transaction, and returns their number.
    ///
    /// # Errors
    /// A unique violation when they were chosen before; `Timeout`, `Unavailable` or `Database`.
    pub(crate) async fn choose(
        mut self,
        client: &impl GenericClient,
        bulk_operation: BulkOperationId,
    ) -> Result<i64> {
        let bulk_operation = self.filtered.parameter(bulk_operation.0);
        let statement = format!(
            "INSERT INTO bulk_operation_targets (tenant, bulk_operation, position, device) \
             SELECT $1, {bulk_operation}, row_number() OVER (ORDER BY members.id) - 1, members.id \
             FROM ({}) members (id)",
            self.statement
        );
        Ok(client.execute(&statement, &self.filtered.parameters()).await? as i64)
    }
}
