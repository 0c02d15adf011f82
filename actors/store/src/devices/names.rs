//! The generations of names. Every server caches external ids, template sets and the owners of objects, and looks
//! them up again after a change in their tenant.
//!
//! A change is announced to every server at its commit, and this server counts it before it acknowledges the request.
//! So a cache that reads the generation before the look-up stores nothing that is out of date.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};

use deadpool_postgres::GenericClient;
use platform_model::error::Result;
use platform_model::id::TenantId;

use crate::Database;
use crate::realtime::announcements::{self, Change};
use crate::realtime::signatures::Signatures;

/// The number of counters. Tenants that share a counter look names up again after each other's changes, which is
/// harmless and rare.
const COUNTERS: usize = 256;

/// Counters of changes of names.
#[derive(Debug)]
pub(crate) struct Generations([AtomicU64; COUNTERS]);

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
    /// Returns a counter that rises when objects or external ids of the tenant are deleted, an object gets another
    /// owner, or a template set is created, changed or deleted. A cache stores it with each entry and reads it before
    /// the look-up.
    pub fn names_generation(&self, tenant: &TenantId) -> u64 {
        self.names.of(tenant).load(Ordering::Acquire)
    }

    /// Notes that names of a tenant changed. It is called after the commit and before anybody is notified.
    pub fn names_changed(&self, tenant: &TenantId) {
        self.names.of(tenant).fetch_add(1, Ordering::Release);
    }

    /// Notes that changes may have been missed.
    pub fn any_names_changed(&self) {
        self.names.0.iter().for_each(|counter| {
            counter.fetch_add(1, Ordering::Release);
        });
    }
}

/// Notifies every server process, at the commit of a transaction, that names of a tenant changed.
pub(crate) async fn announce(
    transaction: &impl GenericClient,
    signatures: &Signatures,
    tenant: &TenantId,
) -> Result<()> {
    announcements::announce(transaction, signatures, &Change::Names(tenant.clone())).await
}
