//! `/tenant/tenants/<tenant>/applications`: the applications that a tenant may use (Z-03).
//!
//! The tenant that manages another one subscribes it: tenant `management` subscribes any tenant to anything,
//! another tenant subscribes its sub-tenants to applications that it owns and to the market. A tenant
//! subscribes itself to applications that it owns and to the market.

use std::sync::Arc;

use actix_web::{HttpResponse, web};
use platform_actors::Platform;
use platform_front::secrets::password::SecretKey;
use platform_model::applications::application::UserPurpose;
use platform_model::error::{Error, Noun};
use platform_model::id::{ApplicationId, MANAGEMENT, TenantId};
use platform_model::role;
use platform_model::tenancy::subscription::{Offer, Subscription};

use crate::auth::Caller;
use crate::http::body::UnreadBody;
use crate::http::component::Component;
use crate::http::error::{ApiError, Result};
use crate::http::paging::Listing;
use crate::http::{RequestHead, reply};

/// The roles that may change subscriptions of tenants that the caller's tenant manages.
const CHANGES_TENANTS: [&str; 2] = [role::TENANT_MANAGEMENT_ADMIN, role::TENANT_MANAGEMENT_UPDATE];

/// `GET /tenant/tenants/<tenant>/applications`: returns a page of the applications a tenant subscribes to, by
/// id.
///
/// # Errors
/// 403 without ROLE_TENANT_MANAGEMENT_READ, or for the caller's own tenant ROLE_APPLICATION_MANAGEMENT_READ;
/// 404 for an unknown tenant and for one that the caller's tenant does not manage; 422 for an invalid
/// parameter.
pub async fn list(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    offer(&caller, &path, &[role::TENANT_MANAGEMENT_READ], role::APPLICATION_MANAGEMENT_READ)?;
    let listing = Listing::of(&head, "applicationReferenceCollection")?;
    let tenant = subscriber(&caller, &platform, &path).await?;
    let page = platform_store::applications::subscriptions::list_subscriptions(
        platform.database(),
        &tenant,
        &listing.request,
    )
    .await?;
    listing.respond("references", &page)
}

/// `GET /tenant/tenants/<tenant>/applications/<id>`: returns an application that a tenant subscribes to.
///
/// # Errors
/// The errors of [`list`], and 404 when the tenant does not subscribe.
pub async fn get(
    caller: Caller,
    head: RequestHead,
    path: web::Path<(String, String)>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let (tenant, application) = &*path;
    offer(&caller, tenant, &[role::TENANT_MANAGEMENT_READ], role::APPLICATION_MANAGEMENT_READ)?;
    let media_type = head.accepted("applicationReference")?;
    let tenant = subscriber(&caller, &platform, tenant).await?;
    let application = subscribed(application)?;
    let database = platform.database();
    let reference =
        platform_store::applications::subscriptions::get_subscription(database, &tenant, application).await?;
    Ok(reply::found(media_type, &reference, &head.links()))
}

/// `POST /tenant/tenants/<tenant>/applications`: subscribes a tenant to an application. A microservice gets a
/// service user in the tenant (W-11).
///
/// # Errors
/// 403 without ROLE_TENANT_MANAGEMENT_ADMIN or _UPDATE, or for the caller's own tenant
/// ROLE_APPLICATION_MANAGEMENT_ADMIN; 404 as [`list`]; 409 when the tenant subscribes already; 422 for an
/// invalid body and an application that is unknown or not on offer.
pub async fn create(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    body: UnreadBody,
    platform: Component<Platform>,
    secret_key: Component<SecretKey>,
) -> Result<HttpResponse> {
    let offer = offer(&caller, &path, &CHANGES_TENANTS, role::APPLICATION_MANAGEMENT_ADMIN)?;
    head.check_mode()?;
    let tenant = subscriber(&caller, &platform, &path).await?;
    let (media_type, application) =
        body.parse(&["applicationReference", "application"], Subscription::parse_application).await?;

    let secret = secret_key.draw_user_secret(&tenant, application, UserPurpose::Service);
    let database = platform.database();
    let subscription = platform_store::applications::subscriptions::insert_subscription(
        database,
        &tenant,
        application,
        &offer,
        &secret,
    )
    .await?;
    caller.log_change_of_rights("Application subscribed", format!("{tenant}/{application}"));

    let links = head.links();
    let location = links.subscription(&tenant, application);
    Ok(reply::created(&head, media_type, location, &Arc::new(subscription), &links))
}

/// `DELETE /tenant/tenants/<tenant>/applications/<id>`: ends a subscription and returns 204. The service user
/// is deleted and its sessions end.
///
/// # Errors
/// 403 as [`create`], and for an application that is not on offer to the caller; 404 as [`list`] and when the
/// tenant does not subscribe.
pub async fn remove(
    caller: Caller,
    head: RequestHead,
    path: web::Path<(String, String)>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let (tenant, application) = &*path;
    let offer = offer(&caller, tenant, &CHANGES_TENANTS, role::APPLICATION_MANAGEMENT_ADMIN)?;
    head.check_mode()?;
    let tenant = subscriber(&caller, &platform, tenant).await?;
    let application = subscribed(application)?;
    platform_store::applications::subscriptions::delete_subscription(
        platform.database(),
        &tenant,
        application,
        &offer,
    )
    .await?;
    caller.log_change_of_rights("Application unsubscribed", format!("{tenant}/{application}"));
    Ok(HttpResponse::NoContent().finish())
}

/// Parses the application of a path; an invalid id is not subscribed to.
fn subscribed(application: &str) -> Result<ApplicationId> {
    let unknown = |_| Error::not_found(Noun::Subscription, application.chars().take(64).collect::<String>());
    Ok(ApplicationId::parse(application).map_err(unknown)?)
}

/// Returns to which applications the caller may subscribe the tenant of a path: by one of the first roles for
/// tenants that the caller's tenant manages, or by the second role for its own tenant.
///
/// # Errors
/// `Forbidden`.
fn offer(caller: &Caller, tenant: &str, of_tenants: &[&str], of_own: &str) -> Result<Offer> {
    // Tenant `management` manages every tenant, including itself.
    let is_management = caller.tenant.as_str() == MANAGEMENT;
    let is_own = caller.tenant.as_str() == tenant;
    let looks_after = (is_management || !is_own) && caller.require_any(of_tenants).is_ok();
    if !(looks_after || is_own && caller.roles.has(of_own)) {
        return Err(ApiError::forbidden());
    }
    Ok(if is_management && looks_after {
        Offer::Everything
    } else {
        Offer::OwnedByOrMarket(caller.tenant.clone())
    })
}

/// Returns the tenant of a path: the caller's own, or one that it manages.
///
/// # Errors
/// `NotFound` for an unknown tenant, and for a tenant that the caller's tenant does not manage.
async fn subscriber(caller: &Caller, platform: &Platform, tenant: &str) -> Result<TenantId> {
    let id = TenantId::known(tenant)?;
    if id != caller.tenant {
        platform_store::tenancy::tenants::get_tenant_below(platform.database(), &caller.tenant, &id).await?;
    }
    Ok(id)
}
