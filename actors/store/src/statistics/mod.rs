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

use crate::writer::{Change, Written};
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

    /// Counts committed writes by their results.
    pub(crate) fn add_writes<'w>(&self, writes: impl Iterator<Item = (&'w Change, &'w Written)>) {
        let mut last: Option<(&TenantId, Arc<TenantCounters>)> = None;
        for (change, written) in writes {
            let Some((kind, count)) = counted(change, written) else { continue };
            let tenant = change.tenant();
            // Most writes of a batch belong to one tenant.
            let counters = match last.take() {
                Some((of, counters)) if of == tenant => counters,
                _ => self.of(tenant),
            };
            counters.add(kind, count);
            last = Some((tenant, counters));
        }
    }

    /// Returns the counters of all tenants.
    fn all(&self) -> Vec<(TenantId, Arc<TenantCounters>)> {
        let tenants = self.tenants.read();
        tenants.iter().map(|(tenant, counters)| (tenant.clone(), counters.clone())).collect()
    }
}

/// Returns the kind and number that a write is counted as; `None` if it has written nothing.
fn counted(change: &Change, written: &Written) -> Option<(Counted, u64)> {
    let kind = match (change, written) {
        (_, Written::Stale) => return None,
        (Change::RaiseAlarm(..), Written::Alarm(alarm)) if alarm.count == 1 => Counted::AlarmCreated,
        (Change::RaiseAlarm(..) | Change::CountRepetition(..) | Change::UpdateAlarm(..), _) => {
            Counted::AlarmUpdated
        }
        (Change::InsertMeasurements(_, sent), _) => {
            return Some((Counted::MeasurementCreated, sent.measurements.len() as u64));
        }
        (Change::InsertManagedObject(..) | Change::InsertBinary(..), _) => Counted::InventoryCreated,
        (Change::UpdateManagedObject(..) | Change::ReplaceBinary(..), _) => Counted::InventoryUpdated,
        (Change::InsertEvent(..), _) => Counted::EventCreated,
        (Change::UpdateEvent(..), _) => Counted::EventUpdated,
        (Change::QueueOperation(..), _) => Counted::OperationCreated,
        (Change::UpdateOperation(..), _) => Counted::OperationUpdated,
    };
    Some((kind, 1))
}
