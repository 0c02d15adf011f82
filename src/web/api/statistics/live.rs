//! `/tenant/statistics/live`: the current activity of tenants at all servers (Z-07a).

use actix_web::HttpResponse;
use platform_actors::Platform;
use platform_model::role;
use platform_model::tenancy::statistics::LiveStatistics;
use platform_store::statistics::activity::Scope;

use super::requested_tenant;
use crate::auth::Caller;
use crate::http::component::Component;
use crate::http::error::Result;
use crate::http::query::Query;
use crate::http::{RequestHead, reply};

/// `GET /tenant/statistics/live`: returns the current activity of the caller's tenant. Callers with
/// ROLE_TENANT_MANAGEMENT_READ also get the tenants that their tenant manages, the busiest first.
///
/// # Errors
/// 403 without ROLE_TENANT_STATISTICS_READ or ROLE_TENANT_MANAGEMENT_READ; 404 for a tenant that is unknown or that the
/// caller's tenant does not manage.
pub async fn get(caller: Caller, head: RequestHead, platform: Component<Platform>) -> Result<HttpResponse> {
    caller.require_any(&[role::TENANT_STATISTICS_READ, role::TENANT_MANAGEMENT_READ])?;
    let query = Query::parse(head.query_string());
    let only = match query.get("tenant") {
        Some(_) => Some(requested_tenant(&caller, &platform, &query).await?),
        None => None,
    };
    let media_type = head.accepted("liveStatistics")?;
    let scope = if caller.roles.has(role::TENANT_MANAGEMENT_READ) { Scope::Managed } else { Scope::Own };
    let pause = platform.limits().statistics_pause;
    let tenants = platform.database().list_activity(&caller.tenant, scope, only.as_ref(), pause).await?;
    let live = LiveStatistics { seconds: pause.as_secs_f64(), tenants };
    Ok(reply::found(media_type, &live, &head.links()))
}
