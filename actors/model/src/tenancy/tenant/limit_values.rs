//! One value for each limit of a tenant (Z-20).

use super::limits::TenantLimit;
use crate::limits::Limits;

/// One value for each limit; `None` is unlimited, or not known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LimitValues([Option<u64>; TenantLimit::ALL.len()]);

impl LimitValues {
    /// Returns the value of a limit.
    pub fn get(&self, limit: TenantLimit) -> Option<u64> {
        self.0[limit.index()]
    }

    /// Sets the value of a limit.
    pub fn set(&mut self, limit: TenantLimit, value: Option<u64>) {
        self.0[limit.index()] = value;
    }

    /// Returns the defaults of a server, for tenants for which nothing else is set.
    pub fn defaults(limits: &Limits) -> Self {
        let items = |value: Option<usize>| value.map(|value| value as u64);
        let mut defaults = Self::default();
        for limit in TenantLimit::ALL {
            defaults.set(
                limit,
                match limit {
                    TenantLimit::RequestsPerSecond => items(limits.tenant_requests_per_second),
                    TenantLimit::RequestBurst => items(limits.tenant_request_burst),
                    TenantLimit::HeldPolls => items(limits.tenant_held_polls),
                    TenantLimit::WebSockets => items(limits.tenant_web_sockets),
                    TenantLimit::Sessions => items(limits.tenant_sessions),
                    TenantLimit::Devices => items(limits.tenant_devices),
                    TenantLimit::StoredBytes => items(limits.tenant_stored_bytes),
                    TenantLimit::Modules => Some(limits.tenant_modules as u64),
                    TenantLimit::UnreadBytes => Some(limits.held_bytes_per_tenant as u64),
                    TenantLimit::ModuleMillisPerSecond => items(limits.tenant_module_millis_per_second),
                    TenantLimit::TransientBytesPerSecond => {
                        Some(limits.tenant_transient_bytes_per_second as u64)
                    }
                    TenantLimit::SubTenants => Some(limits.tenant_sub_tenants as u64),
                    TenantLimit::Consumers => Some(limits.tenant_consumers as u64),
                    TenantLimit::JournalBytes => Some(limits.tenant_journal_bytes as u64),
                },
            );
        }
        defaults
    }
}
