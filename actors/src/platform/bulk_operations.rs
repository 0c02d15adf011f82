//! Bulk operations for the HTTP layer, and how they continue after any process dies.

use std::sync::Arc;

use actix::prelude::*;
use platform_model::data::bulk_operation::{BulkOperation, BulkOperationPatch, NewBulkOperation};
use platform_model::error::Result;
use platform_model::id::{BulkOperationId, ManagedObjectId, TenantId};
use platform_model::origin::Origin;
use platform_store::devices::bulk::operations::{Planned, insert_bulk_operation, update_bulk_operation};
use platform_store::devices::bulk::steps::{GIVE_BACK, Held, RENEW, TAKEN_OVER_AT_ONCE, take_over};
use platform_store::leases;

use super::Platform;
use crate::background::bulk_operation::BulkOperationActor;
use crate::tenant::place;

impl Platform {
    /// Plans a bulk operation (K-01 to K-04). It starts at its start date, or at once if that is past. In mode
    /// TRANSIENT nothing is stored or started, and the result has no id (M-02).
    ///
    /// # Errors
    /// `Invalid` for an unknown group or parent; `Timeout`, `Unavailable` or `Database`.
    pub async fn create_bulk_operation(
        &self,
        tenant: &TenantId,
        new: &NewBulkOperation,
        origin: &Origin,
    ) -> Result<Arc<BulkOperation>> {
        let lease = self.limits.bulk_lease;
        Ok(self.planned(insert_bulk_operation(&self.database, tenant, new, origin, lease).await?))
    }

    /// Changes a bulk operation that has not started; replaces any other by a new one (K-08). Returns the bulk
    /// operation that continues. In mode TRANSIENT nothing changes.
    ///
    /// # Errors
    /// `NotFound`; `Conflict` for a deleted one; `Invalid` when its group no longer exists; `Timeout`, `Contended`,
    /// `Unavailable` or `Database`.
    pub async fn update_bulk_operation(
        &self,
        tenant: &TenantId,
        id: BulkOperationId,
        patch: &BulkOperationPatch,
        origin: &Origin,
    ) -> Result<Arc<BulkOperation>> {
        let lease = self.limits.bulk_lease;
        Ok(self.planned(update_bulk_operation(&self.database, tenant, id, patch, origin, lease).await?))
    }

    fn planned(&self, planned: Planned) -> Arc<BulkOperation> {
        if let Some(held) = planned.held {
            self.start_bulk_operation(held);
        }
        Arc::new(planned.bulk_operation)
    }

    fn start_bulk_operation(&self, held: Held) {
        let thread = place(ManagedObjectId(held.id.0), self.threads.len());
        let tenant = self.tenant(&held.tenant);
        let (context, devices) = (tenant.contexts[thread].clone(), tenant.devices.clone());
        let all = self.bulk_operations.clone();
        BulkOperationActor::start_in_arbiter(&self.threads[thread].arbiter, move |_| {
            BulkOperationActor::new(held, all, context, devices)
        });
    }

    /// Takes over bulk operations that start soon and those whose process died, and renews the leases of this process.
    /// It must be called several times per lease.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub async fn keep_bulk_operations_going(&self) -> Result<()> {
        let lease = self.limits.bulk_lease;
        leases::renew(&self.database, RENEW, &self.bulk_operations.leases.held(), lease).await?;
        loop {
            let taken = take_over(&self.database, lease).await?;
            let all = taken.len() < TAKEN_OVER_AT_ONCE;
            taken.into_iter().for_each(|held| self.start_bulk_operation(held));
            if all {
                return Ok(());
            }
        }
    }

    /// Returns the leases of this process, so that another process continues its bulk operations at once. This process
    /// takes no further step.
    pub async fn give_bulk_operations_back(&self) {
        let own = self.bulk_operations.leases.held();
        if let Err(error) = leases::give_back(&self.database, GIVE_BACK, &own).await {
            tracing::warn!(%error, "leases of bulk operations could not be returned; they expire soon");
        }
    }
}
