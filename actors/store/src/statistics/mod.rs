//! Statistics of each tenant and day (Z-07): counted [in memory](counters), written in [batches](batches) every few
//! seconds, and [read](days) by tenant, day and time. The [current activity](activity) of tenants is written with
//! each batch.

pub mod activity;
mod batches;
mod counters;
pub mod days;

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::RwLock;
use platform_model::id::TenantId;

use batches::Batches;
pub use batches::{Recent, until_next};
pub use counters::{Counted, TenantCounters};

/// The counts of this process.
#[derive(Debug, Default)]
pub struct Statistics {
    tenants: RwLock<HashMap<TenantId, Arc<TenantCounters>>>,
    batches: tokio::sync::Mutex<Batches>,
}

impl Statistics {
    /// Returns the counters of a tenant.
    pub fn of(&self, tenant: &TenantId) -> Arc<TenantCounters> {
        if let Some(counters) = self.tenants.read().get(tenant) {
            return counters.clone();
        }
        self.tenants.write().entry(tenant.clone()).or_default().clone()
    }

    /// Adds to the counter of a kind of a tenant.
    pub fn add(&self, tenant: &TenantId, kind: Counted, count: u64) {
        if let Some(counters) = self.tenants.read().get(tenant) {
            return counters.add(kind, count);
        }
        self.tenants.write().entry(tenant.clone()).or_default().add(kind, count);
    }

    /// Counts requests, and counts them as requests of devices if `by_device` is set.
    pub fn add_request(&self, tenant: &TenantId, count: u64, by_device: bool) {
        let add = |counters: &TenantCounters| {
            counters.add(Counted::Request, count);
            if by_device {
                counters.add(Counted::DeviceRequest, count);
            }
        };
        if let Some(counters) = self.tenants.read().get(tenant) {
            return add(counters);
        }
        add(self.tenants.write().entry(tenant.clone()).or_default());
    }

    /// Returns the counters of all tenants.
    fn all(&self) -> Vec<(TenantId, Arc<TenantCounters>)> {
        let tenants = self.tenants.read();
        tenants.iter().map(|(tenant, counters)| (tenant.clone(), counters.clone())).collect()
    }
}
