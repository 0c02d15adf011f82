//! The limits of tenants (Z-20) at this server. All values that are set in the deployment are in memory, so a check
//! needs no database. Every server is notified of a change and loads them again.

mod amounts;
mod counts;
mod of_tenant;
mod stored;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use parking_lot::{Mutex, RwLock};
use platform_model::error::Result;
use platform_model::id::TenantId;
use platform_model::limits::Limits;
use platform_model::tenancy::tenant::{LimitOrigin, LimitValues, TenantLimit, in_force};

use crate::Database;
pub use of_tenant::{Counted, TenantLimits};
use stored::Stored;
pub use stored::set_limits;

/// The longest chain of parent tenants that is followed; a cycle would be an error in the data.
const LONGEST_LINE: usize = 64;

/// The limits of all tenants that were used since this process started.
pub struct AllTenantLimits {
    defaults: LimitValues,
    stored: RwLock<Stored>,
    tenants: RwLock<HashMap<TenantId, Arc<TenantLimits>>>,
    /// The number of living servers, which share the rates equally.
    servers: AtomicUsize,
    /// Whether a change is not loaded yet.
    outdated: AtomicBool,
    /// Whether any tenant has a quota of devices or bytes. Without one, a write costs only this check.
    bounds_amounts: AtomicBool,
    rates_noted: Mutex<Instant>,
    /// The counts that other servers received last. The lock makes exchanges run one after the other.
    noted: tokio::sync::Mutex<counts::Noted>,
}

impl AllTenantLimits {
    /// Creates the limits of a server that knows only its defaults.
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            defaults: LimitValues::defaults(limits),
            stored: RwLock::default(),
            tenants: RwLock::default(),
            servers: AtomicUsize::new(1),
            outdated: AtomicBool::new(false),
            bounds_amounts: AtomicBool::new(false),
            rates_noted: Mutex::new(Instant::now()),
            noted: tokio::sync::Mutex::default(),
        }
    }

    /// Returns the limits of a tenant.
    pub fn of(&self, tenant: &TenantId) -> Arc<TenantLimits> {
        if let Some(known) = self.tenants.read().get(tenant) {
            return known.clone();
        }
        let new = Arc::new(TenantLimits::unlimited());
        self.apply(tenant, &new, &self.stored.read());
        let entered = self.tenants.write().entry(tenant.clone()).or_insert(new).clone();
        // New values may have been loaded before the tenant was entered, so they are applied again. No two locks are
        // held at the same time.
        self.apply(tenant, &entered, &self.stored.read());
        entered
    }

    /// Returns the limits of all tenants that were used since this process started.
    pub fn all(&self) -> Vec<(TenantId, Arc<TenantLimits>)> {
        self.tenants.read().iter().map(|(tenant, limits)| (tenant.clone(), limits.clone())).collect()
    }

    /// Returns whether any tenant has a quota of devices or bytes.
    fn bound_amounts(&self) -> bool {
        self.bounds_amounts.load(Ordering::Relaxed)
    }

    /// Marks the loaded values as outdated. They are loaded again within a second.
    pub fn outdate(&self) {
        self.outdated.store(true, Ordering::Relaxed);
    }

    fn apply(&self, tenant: &TenantId, limits: &TenantLimits, stored: &Stored) {
        let (values, origins) = self.in_force(tenant, stored, &mut HashSet::new());
        if values.get(TenantLimit::Devices).is_some() || values.get(TenantLimit::StoredBytes).is_some() {
            self.bounds_amounts.store(true, Ordering::Relaxed);
        }
        limits.apply((&values, origins), self.servers.load(Ordering::Relaxed));
    }

    fn in_force<'s>(
        &self,
        tenant: &'s TenantId,
        stored: &'s Stored,
        seen: &mut HashSet<&'s TenantId>,
    ) -> (LimitValues, [LimitOrigin; TenantLimit::ALL.len()]) {
        let parent = stored.parents.get(tenant).filter(|_| seen.insert(tenant) && seen.len() < LONGEST_LINE);
        let above = parent.map(|parent| self.in_force(parent, stored, seen).0);
        in_force(stored.set.get(tenant), &self.defaults, above.as_ref())
    }

    fn apply_to_all(&self) {
        for (tenant, limits) in self.all() {
            self.apply(&tenant, &limits, &self.stored.read());
        }
    }

    fn set_servers(&self, servers: usize) {
        if self.servers.swap(servers.max(1), Ordering::Relaxed) != servers.max(1) {
            self.apply_to_all();
        }
    }

    /// Computes the rates since the last call.
    fn note_rates(&self) {
        let now = Instant::now();
        let passed = now - std::mem::replace(&mut *self.rates_noted.lock(), now);
        self.all().iter().for_each(|(_, limits)| limits.note_rates(passed));
    }
}

impl Database {
    /// Returns the limits of tenants.
    pub fn tenant_limits(&self) -> &Arc<AllTenantLimits> {
        &self.tenant_limits
    }

    /// Loads the limits of tenants, which apply when this returns. Two statements, and one
    /// for each outdated count of devices.
    ///
    /// # Errors
    /// `Unavailable` or `Database`; the previous values then stay in force and are loaded again soon.
    pub async fn load_tenant_limits(&self) -> Result<()> {
        let all = &self.tenant_limits;
        all.outdated.store(false, Ordering::Relaxed);
        let stored = Stored::load(self).await.inspect_err(|_| all.outdate())?;
        *all.stored.write() = stored;
        all.apply_to_all();
        self.count_amounts().await
    }

    /// Loads limits that changed, computes rates, and exchanges counts with other servers. It is called every second.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub async fn keep_tenant_limits(&self) -> Result<()> {
        self.tenant_limits.note_rates();
        if self.tenant_limits.outdated.load(Ordering::Relaxed) {
            self.load_tenant_limits().await?;
        }
        self.count_amounts().await?;
        self.exchange_counts().await
    }
}
