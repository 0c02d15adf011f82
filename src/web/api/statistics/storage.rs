//! `/tenant/statistics/storage` and `/tenant/statistics/allTenantsStorage`: the number of devices and the stored bytes
//! of tenants (Z-07b).

use actix_web::HttpResponse;
use platform_actors::Platform;
use platform_model::id::MANAGEMENT;
use platform_model::role;
use platform_model::tenancy::usage::AllTenantsStorage;
use platform_store::tenancy::usage::{deployment_storage, find_storage, list_usage_below};

use super::requested_tenant;
use crate::auth::Caller;
use crate::http::component::Component;
use crate::http::error::Result;
use crate::http::query::Query;
use crate::http::{RequestHead, reply};

/// `GET /tenant/statistics/storage`: returns the latest storage figures of a tenant by noun and by table.
///
/// # Errors
/// 403 without ROLE_TENANT_STATISTICS_READ, for another tenant without ROLE_TENANT_MANAGEMENT_READ; 404 for a tenant
/// that is unknown or that the caller's tenant does not manage.
pub async fn get(caller: Caller, head: RequestHead, platform: Component<Platform>) -> Result<HttpResponse> {
    let query = Query::parse(head.query_string());
    let tenant = requested_tenant(&caller, &platform, &query).await?;
    let media_type = head.accepted("tenantStorage")?;
    let storage = find_storage(platform.database(), &tenant).await?;
    Ok(reply::found(media_type, &storage, &head.links()))
}

/// `GET /tenant/statistics/allTenantsStorage`: returns the storage figures of all tenants that the caller's tenant
/// manages. Tenant `management` also gets the tables of the deployment, their growth, and the day on which the disk
/// will be full.
///
/// # Errors
/// 403 without ROLE_TENANT_MANAGEMENT_READ.
pub async fn get_all(
    caller: Caller,
    head: RequestHead,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    caller.require(role::TENANT_MANAGEMENT_READ)?;
    let media_type = head.accepted("allTenantsStorage")?;
    let database = platform.database();
    let deployment = match caller.tenant.as_str() {
        MANAGEMENT => Some(deployment_storage(database).await?),
        _ => None,
    };
    let tenants = list_usage_below(database, &caller.tenant).await?;
    Ok(reply::found(media_type, &AllTenantsStorage { deployment, tenants }, &head.links()))
}
