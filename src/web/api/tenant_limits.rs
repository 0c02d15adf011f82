//! `/tenant/limits` and `/tenant/tenants/<id>/limits`: the limits of a tenant and its current usage (Z-20).

use std::sync::Arc;

use actix_web::{HttpResponse, web};
use platform_actors::Platform;
use platform_model::id::TenantId;
use platform_model::role;
use platform_model::tenancy::tenant::{LimitViewer, LimitsOfTenant, LimitsPatch};
use platform_store::tenancy::tenant_limits::set_limits;
use platform_store::tenancy::tenants::get_tenant_below;

use crate::auth::Caller;
use crate::http::body::UnreadBody;
use crate::http::component::Component;
use crate::http::error::Result;
use crate::http::{RequestHead, reply};

/// `GET /tenant/limits`: returns the limits of the caller's own tenant.
///
/// # Errors
/// 403 without ROLE_TENANT_MANAGEMENT_READ or ROLE_TENANT_STATISTICS_READ.
pub async fn get_own(
    caller: Caller,
    head: RequestHead,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    caller.require_any(&[role::TENANT_MANAGEMENT_READ, role::TENANT_STATISTICS_READ])?;
    let media_type = head.accepted("tenantLimits")?;
    let limits = limits_of(&platform, caller.tenant.clone(), LimitViewer::Itself).await?;
    Ok(reply::found(media_type, &limits, &head.links()))
}

/// `GET /tenant/tenants/<id>/limits`: returns the limits of a tenant.
///
/// # Errors
/// 403 without ROLE_TENANT_MANAGEMENT_READ, 404 for an unknown tenant and for one that the caller's tenant does not
/// manage.
pub async fn get(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    caller.require(role::TENANT_MANAGEMENT_READ)?;
    let media_type = head.accepted("tenantLimits")?;
    let id = TenantId::known(&path)?;
    get_tenant_below(platform.database(), &caller.tenant, &id).await?;
    let limits = limits_of(&platform, id, LimitViewer::Above).await?;
    Ok(reply::found(media_type, &limits, &head.links()))
}

/// `PUT /tenant/tenants/<id>/limits`: sets the limits in the body and removes those that are null there. This server
/// applies them before it responds, other servers within seconds.
///
/// # Errors
/// 403 without ROLE_TENANT_MANAGEMENT_ADMIN or _UPDATE; 404 for an unknown tenant and for one that the caller's tenant
/// does not manage; 422 for an unknown limit or an invalid value.
pub async fn update(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    body: UnreadBody,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let database = platform.database();
    caller.require_any(&[role::TENANT_MANAGEMENT_ADMIN, role::TENANT_MANAGEMENT_UPDATE])?;
    head.check_mode()?;
    let id = TenantId::known(&path)?;
    get_tenant_below(database, &caller.tenant, &id).await?;
    let administration = caller.administers_limits(&platform, id.clone())?;
    let (media_type, patch) = body.parse(&["tenantLimits"], LimitsPatch::parse).await?;
    set_limits(database, &administration, &patch).await?;
    let limits = Arc::new(limits_of(&platform, id, LimitViewer::Above).await?);
    Ok(reply::updated(&head, media_type, &limits, &head.links()))
}

async fn limits_of(platform: &Platform, tenant: TenantId, viewer: LimitViewer) -> Result<LimitsOfTenant> {
    let usage = platform.usage_of(&tenant).await?;
    let (values, origins) = platform.tenant(&tenant).limits().in_force();
    Ok(LimitsOfTenant { tenant, viewer, values, origins, usage })
}
