//! The running calls of each microservice in this process, by tenant.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use platform_model::id::{ApplicationId, TenantId};

/// The part of the calls that is kept for tenants with less than their share.
const KEPT: usize = 8;

type Running = HashMap<ApplicationId, HashMap<TenantId, usize>>;

/// The running calls of each microservice.
#[derive(Debug, Default)]
pub(super) struct Calls(Arc<Mutex<Running>>);

/// A running call, which ends when this is dropped.
#[derive(Debug)]
pub(super) struct Call {
    all: Arc<Mutex<Running>>,
    application: ApplicationId,
    tenant: TenantId,
}

impl Calls {
    /// Begins a call of a tenant; returns `None` when `most` calls are running, or nearly as many and the tenant has
    /// its share of them.
    pub(super) fn begin(&self, application: ApplicationId, tenant: &TenantId, most: usize) -> Option<Call> {
        let mut all = self.0.lock();
        let running = all.entry(application).or_default();
        let (total, own) =
            (running.values().sum::<usize>(), running.get(tenant).copied().unwrap_or_default());
        let tenants = running.len() + usize::from(own == 0);
        let has_share = own >= most / tenants.max(2);
        if total >= most || (has_share && total >= most - most / KEPT) {
            return None;
        }
        *running.entry(tenant.clone()).or_default() += 1;
        Some(Call { all: self.0.clone(), application, tenant: tenant.clone() })
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let mut all = self.all.lock();
        let Some(running) = all.get_mut(&self.application) else { return };
        if let Some(own) = running.get_mut(&self.tenant) {
            *own -= 1;
            if *own == 0 {
                running.remove(&self.tenant);
            }
        }
        if running.is_empty() {
            all.remove(&self.application);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_microservice_has_a_bound_of_its_own() {
        let (calls, one, other, tenant) = (Calls::default(), id("1"), id("2"), tenant("a"));
        let first = calls.begin(one, &tenant, 2).expect("room for two");
        let second = calls.begin(one, &tenant, 2).expect("room for two");
        assert!(calls.begin(one, &tenant, 2).is_none());
        assert!(calls.begin(other, &tenant, 2).is_some());
        drop(first);
        assert!(calls.begin(one, &tenant, 2).is_some());
        drop(second);
        assert!(calls.0.lock().is_empty());
    }

    #[test]
    fn tenant_with_many_calls_leaves_some_to_others() {
        let (calls, one) = (Calls::default(), id("1"));
        let noisy: Vec<_> = (0..16).map_while(|_| calls.begin(one, &tenant("noisy"), 16)).collect();
        assert_eq!(noisy.len(), 14);
        let quiet: Vec<_> = (0..16).map_while(|_| calls.begin(one, &tenant("quiet"), 16)).collect();
        assert_eq!(quiet.len(), 2);
    }

    fn id(text: &str) -> ApplicationId {
        ApplicationId::parse(text).expect("a number")
    }

    fn tenant(name: &str) -> TenantId {
        TenantId::parse(name).expect("an id")
    }
}
