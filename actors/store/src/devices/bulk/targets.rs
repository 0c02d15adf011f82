//! The devices of a bulk operation (K-03, K-04): those of a static or a dynamic group, or those where an earlier bulk
//! operation failed.
//!
//! They are chosen once, at the start, and kept in their order until the last one is processed. Later changes of the
//! group have no effect.

use deadpool_postgres::GenericClient;
use platform_model::data::bulk_operation::{Targets, unknown_group, unknown_parent};
use platform_model::error::{Error, Result};
use platform_model::id::{BulkOperationId, TenantId};
use platform_model::naming::naming;

use crate::devices::groups::{self, Members};
use crate::query::filter::Filtered;

const FIND: &str = include_str!("../../../../../sql/queries/bulk_operations/find.sql");
const LIST_FAILURES: &str = include_str!("../../../../../sql/queries/bulk_operations/list_failures.sql");

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
            Targets::Group(group) => match groups::find(client, tenant, group).await? {
                Some(found) => Self::of_group(tenant, group, &found).map_err(|error| {
                    let query = naming().fragment("DeviceQueryString");
                    Error::Invalid(format!("Invalid value of 'groupId': {group}; its {query}: {error}"))
                }),
                None => Err(unknown_group(group)),
            },
            Targets::FailuresOf(parent) => {
                let found = client.query_opt(FIND, &[&tenant.as_str(), &parent.0]).await?;
                found.map(|_| Self::of_failures(tenant, parent)).ok_or_else(|| unknown_parent(parent))
            }
        }
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
