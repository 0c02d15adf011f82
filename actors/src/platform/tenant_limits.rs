//! The limits of tenants at this server (Z-20): the usage of a tenant, and the exchange of counts with other servers.

use std::sync::Arc;

use platform_model::error::Result;
use platform_model::id::TenantId;
use platform_model::tenancy::tenant::{LimitValues, TenantLimit};
use platform_store::applications::modules;
use platform_store::realtime::consumers;
use platform_store::tenancy::tenant_limits::{Counted, TenantLimits};
use platform_store::tenancy::tenants;

use super::{Platform, Tenant};

impl Platform {
    /// Brings the limits of tenants, and what is known of other servers, up to date. A change
    /// at one server is known at the others when both have made the next call.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub async fn keep_tenant_limits(&self) -> Result<()> {
        for (_, tenant) in self.known_tenants() {
            tenant.note_sessions();
        }
        self.database.keep_tenant_limits().await
    }

    /// Returns the current usage of a tenant for each limit that is counted.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub async fn usage_of(&self, tenant: &TenantId) -> Result<LimitValues> {
        let here = self.tenant(tenant);
        here.note_sessions();
        let mut usage = here.limits().usage();
        if here.limits().bounds_devices() {
            let devices = self.database.count_devices(tenant, None).await?;
            usage.set(TenantLimit::Devices, Some(devices.unsigned_abs()));
        }
        let modules = modules::count_modules(&self.database, tenant).await?;
        usage.set(TenantLimit::Modules, Some(modules.unsigned_abs()));
        let created = tenants::count_sub_tenants(&self.database, tenant).await?;
        usage.set(TenantLimit::SubTenants, Some(created.unsigned_abs()));
        let consumers = consumers::count(&self.database, tenant).await?;
        usage.set(TenantLimit::Consumers, Some(consumers.unsigned_abs()));
        Ok(usage)
    }
}

impl Tenant {
    /// Returns the limits of the tenant.
    pub fn limits(&self) -> &Arc<TenantLimits> {
        &self.limits
    }

    pub(super) fn note_sessions(&self) {
        self.limits.set_here(Counted::Sessions, self.sessions.len());
    }
}
