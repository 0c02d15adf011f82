//! Bulk operations as the edge sees them, and what keeps them going whatever becomes of a process.

use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use tokio::time::sleep;

use super::Platform;
use crate::bulk_operation::BulkOperationActor;
use crate::error::Result;
use crate::model::bulk_operation::{BulkOperation, BulkOperationPatch, NewBulkOperation};
use crate::model::id::{BulkOperationId, ManagedObjectId, TenantId};
use crate::model::origin::Origin;
use crate::store::bulk_operation_steps::{GIVE_BACK, Held, RENEW, TAKEN_OVER_AT_ONCE, take_over};
use crate::store::bulk_operations::{Planned, insert_bulk_operation, update_bulk_operation};
use crate::store::leases;
use crate::tenant::place;

impl Platform {
    /// Plans a bulk operation (K-01 to K-04); it starts by itself, at once when its start date is past. In mode TRANSIENT
    /// nothing is stored and nothing starts, and it has no id (M-02).
    ///
    /// # Errors
    /// `Invalid` for an unknown group or parent; `Timeout`, `Unavailable` or `Database`.
    pub async fn create_bulk_operation(
        &self,
        tenant: &TenantId,
        new: &NewBulkOperation,
        origin: &Origin,
    ) -> Result<Arc<BulkOperation>> {
        let by = (origin, self.limits.bulk_lease);
        Ok(self.planned(insert_bulk_operation(&self.database, tenant, new, by).await?))
    }

    /// Changes a bulk operation that has not started; puts a new one in the place of another one (K-08). Gives the one that goes
    /// on. In mode TRANSIENT nothing changes.
    ///
    /// # Errors
    /// `NotFound`; `Conflict` for a deleted one; `Invalid` when its group is gone; `Timeout`, `Contended`, `Unavailable` or
    /// `Database`.
    pub async fn update_bulk_operation(
        &self,
        tenant: &TenantId,
        id: BulkOperationId,
        patch: &BulkOperationPatch,
        origin: &Origin,
    ) -> Result<Arc<BulkOperation>> {
        let by = (origin, self.limits.bulk_lease);
        Ok(self.planned(update_bulk_operation(&self.database, (tenant, id), patch, by).await?))
    }

    fn planned(&self, planned: Planned) -> Arc<BulkOperation> {
        if let Some(held) = planned.held {
            self.go_on_with_bulk_operation(held);
        }
        Arc::new(planned.bulk_operation)
    }

    fn go_on_with_bulk_operation(&self, held: Held) {
        let thread = place(ManagedObjectId(held.id.0), self.threads.len());
        let context = self.tenant(&held.tenant).contexts[thread].clone();
        let all = self.bulk_operations.clone();
        BulkOperationActor::start_in_arbiter(&self.threads[thread].arbiter, move |_| {
            BulkOperationActor::new(held, all, context)
        });
    }

    /// Takes bulk operations up that start soon and those whose process is gone, and shows that this one is not, until it is
    /// dropped.
    pub async fn keep_bulk_operations_going(self: Arc<Self>) {
        let lease = self.limits.bulk_lease;
        loop {
            if let Err(error) = self.look_after_bulk_operations(lease).await {
                tracing::debug!(%error, "bulk operations cannot be looked after now");
            }
            sleep(lease / 3).await;
        }
    }

    async fn look_after_bulk_operations(&self, lease: Duration) -> Result<()> {
        leases::renew(&self.database, RENEW, &self.bulk_operations.leases.held(), lease).await?;
        loop {
            let taken = take_over(&self.database, lease).await?;
            let all = taken.len() < TAKEN_OVER_AT_ONCE;
            taken.into_iter().for_each(|held| self.go_on_with_bulk_operation(held));
            if all {
                return Ok(());
            }
        }
    }

    /// Lets another process go on at once with what this one is at work on. It takes no further step itself.
    pub async fn give_bulk_operations_back(&self) {
        let own = self.bulk_operations.leases.held();
        if let Err(error) = leases::give_back(&self.database, GIVE_BACK, &own).await {
            tracing::warn!(%error, "bulk operations go on elsewhere when their lease ends");
        }
    }
}
