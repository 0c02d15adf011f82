//! The tenant and the user of the current request, because fair shares of connections are counted by tenant, and the
//! users of a tenant take turns.
//!
//! The HTTP layer opens a scope for each request and names both when the caller is authenticated. Reads of the request
//! take a turn of that tenant; work outside of a scope, such as a background job, takes none.

use std::cell::OnceCell;
use std::future::Future;
use std::sync::Arc;

use platform_model::id::TenantId;

/// The tenant and the user to whose shares a request counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Charged {
    /// The tenant.
    pub tenant: TenantId,
    /// The name of the user.
    pub user: Arc<str>,
}

tokio::task_local! {
    static CHARGED: OnceCell<Charged>;
}

/// Processes a request; [`charge`] names its tenant and user later.
pub fn of_request<F: Future>(processing: F) -> impl Future<Output = F::Output> {
    CHARGED.scope(OnceCell::new(), processing)
}

/// Processes something for a user outside of their requests, such as the rest of a download.
pub fn of_charged<F: Future>(charged: Charged, processing: F) -> impl Future<Output = F::Output> {
    CHARGED.scope(OnceCell::from(charged), processing)
}

/// Names the tenant and the user of the request that is being processed. The first names count.
pub fn charge(tenant: &TenantId, user: &Arc<str>) {
    let charged = || Charged { tenant: tenant.clone(), user: user.clone() };
    // There is nothing to charge outside of a scope.
    CHARGED.try_with(|cell| cell.set(charged()).ok()).ok();
}

/// Returns the tenant and the user of the request that is being processed.
pub fn charged() -> Option<Charged> {
    CHARGED.try_with(|charged| charged.get().cloned()).ok().flatten()
}
