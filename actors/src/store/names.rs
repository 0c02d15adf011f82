//! What names stand for: external ids and template sets are remembered by every server, and looked up again once something
//! about the names of their tenant changed.
//!
//! A change is announced with its commit to every server, and counted at this one before it is acknowledged; so who reads a
//! generation first and looks up then remembers nothing that is out of date.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};

use deadpool_postgres::GenericClient;

use super::Database;
use super::announcements::{self, Change};
use crate::error::Result;
use crate::model::id::TenantId;

/// Tenants that share a counter look up again for each other's changes, which is harmless and rare.
const COUNTERS: usize = 256;

/// Counts changes of names.
#[derive(Debug)]
pub(super) struct Generations([AtomicU64; COUNTERS]);

impl Default for Generations {
    fn default() -> Self {
        Self([const { AtomicU64::new(0) }; COUNTERS])
    }
}

impl Generations {
    fn of(&self, tenant: &TenantId) -> &AtomicU64 {
        let mut hasher = DefaultHasher::new();
        tenant.hash(&mut hasher);
        &self.0[hasher.finish() as usize % COUNTERS]
    }
}

impl Database {
    /// Counts up when objects or external ids of the tenant were deleted, or a template set came, changed or went. Who
    /// remembers what a name stands for remembers this with it, read before the look-up.
    pub fn names_generation(&self, tenant: &TenantId) -> u64 {
        self.names.of(tenant).load(Ordering::Acquire)
    }

    /// Something about the names of a tenant changed; called after the commit and before anybody is told of it.
    pub(crate) fn names_changed(&self, tenant: &TenantId) {
        self.names.of(tenant).fetch_add(1, Ordering::Release);
    }

    /// Changes may have been missed.
    pub(crate) fn any_names_changed(&self) {
        self.names.0.iter().for_each(|counter| {
            counter.fetch_add(1, Ordering::Release);
        });
    }
}

/// Tells every server process, with the commit of a transaction, that names of a tenant changed.
pub(super) async fn announce(transaction: &impl GenericClient, tenant: &TenantId) -> Result<()> {
    announcements::announce(transaction, &Change::Names(tenant.clone())).await
}
