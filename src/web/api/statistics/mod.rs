//! `/tenant/statistics`: the usage of tenants (Z-07).

pub mod days;
pub mod live;
pub mod storage;

use platform_actors::Platform;
use platform_model::id::TenantId;
use platform_model::role;

use crate::auth::Caller;
use crate::http::error::Result;
use crate::http::query::Query;

/// Returns the tenant whose statistics are requested: the caller's own, or the one in the parameter `tenant`, which the
/// caller's tenant must manage.
///
/// # Errors
/// 403 without ROLE_TENANT_STATISTICS_READ, for another tenant without ROLE_TENANT_MANAGEMENT_READ; 404 for a tenant
/// that is unknown or that the caller's tenant does not manage.
async fn requested_tenant(caller: &Caller, platform: &Platform, query: &Query) -> Result<TenantId> {
    match query.get("tenant").filter(|tenant| *tenant != caller.tenant.as_str()) {
        None => caller.require(role::TENANT_STATISTICS_READ).map(|()| caller.tenant.clone()),
        Some(tenant) => {
            caller.require(role::TENANT_MANAGEMENT_READ)?;
            let tenant = TenantId::known(tenant)?;
            Ok(platform_store::tenancy::tenants::get_tenant_below(
                platform.database(),
                &caller.tenant,
                &tenant,
            )
            .await?
            .id)
        }
    }
}
