//! The tenant of the current request, because fair shares of connections are counted by tenant.
//!
//! The HTTP layer opens a scope for each request and names the tenant when the caller is authenticated. Reads of the
//! request take a turn of that tenant; work outside of a scope, such as a background job, takes none.

use std::cell::OnceCell;
use std::future::Future;

use platform_model::id::TenantId;

tokio::task_local! {
    static TENANT: OnceCell<TenantId>;
}

/// Processes a request; [`charge`] names its tenant later.
pub fn of_request<F: Future>(processing: F) -> impl Future<Output = F::Output> {
    TENANT.scope(OnceCell::new(), processing)
}

/// Processes something for a tenant outside of its requests, such as the rest of a download.
pub fn of_tenant<F: Future>(tenant: &TenantId, processing: F) -> impl Future<Output = F::Output> {
    TENANT.scope(OnceCell::from(tenant.clone()), processing)
}

/// Names the tenant of the request that is being processed. The first name counts.
pub fn charge(tenant: &TenantId) {
    // There is nothing to charge outside of a scope.
    TENANT.try_with(|charged| drop(charged.set(tenant.clone()))).ok();
}

/// Returns the tenant of the request that is being processed.
pub(crate) fn charged() -> Option<TenantId> {
    TENANT.try_with(|charged| charged.get().cloned()).ok().flatten()
}
