//! `/tenant/tenants`, `/tenant/currentTenant` and `/tenant/loginOptions` (Z-01, Z-02, C-07).

use std::sync::Arc;

use actix_web::{HttpResponse, rt, web};
use platform_actors::Platform;
use platform_model::error::Error;
use platform_model::id::{MANAGEMENT, TenantId};
use platform_model::role;
use platform_model::tenancy::tenant::{
    CurrentTenant, LoginOption, NewTenant, Tenant, TenantPatch, TenantStatus,
};
use platform_model::users::user::{User, parse_user_name};
use platform_store::Database;

use crate::auth::{AnyCaller, Authenticator, Caller};
use crate::http::body::UnreadBody;
use crate::http::component::Component;
use crate::http::error::{ApiError, Result};
use crate::http::paging::Listing;
use crate::http::{RequestHead, authority, reply};

/// `GET /tenant/tenants`: returns a page of the tenants that the caller's tenant manages, by id.
///
/// # Errors
/// 403 without ROLE_TENANT_MANAGEMENT_READ, 422 for an invalid parameter.
pub async fn list(caller: Caller, head: RequestHead, platform: Component<Platform>) -> Result<HttpResponse> {
    caller.require(role::TENANT_MANAGEMENT_READ)?;
    let listing = Listing::of(&head, "tenantCollection")?;
    let page = platform_store::tenancy::tenants::list_tenants_below(
        platform.database(),
        &caller.tenant,
        &listing.request,
    )
    .await?;
    listing.respond("tenants", &page)
}

/// `POST /tenant/tenants`: creates a tenant below the caller's, with its first user, who has all rights in
/// it.
///
/// # Errors
/// 403 without ROLE_TENANT_MANAGEMENT_ADMIN or _CREATE, in a tenant that may not have sub-tenants or has as many as its
/// limit allows (Z-20); 409
/// when the id or a domain is taken; 422 for an invalid body.
pub async fn create(
    caller: Caller,
    head: RequestHead,
    body: UnreadBody,
    platform: Component<Platform>,
    authenticator: Component<Authenticator>,
) -> Result<HttpResponse> {
    caller.require_any(&[role::TENANT_MANAGEMENT_ADMIN, role::TENANT_MANAGEMENT_CREATE])?;
    let database = platform.database();
    if !platform_store::tenancy::tenants::get_tenant(database, &caller.tenant).await?.may_create_tenants() {
        return Err(ApiError::forbidden_because("the tenant may not create tenants"));
    }
    head.check_mode()?;
    let (media_type, body) = body.object(&["tenant"]).await?;
    let made = TenantId::numbered(platform.next_id()?);
    let (tenant, password) = NewTenant::parse(body, made, caller.tenant.clone())?;

    let password_hash = authenticator.hash_chosen(&head, &caller, password).await?;
    let administration = caller.administers_tenants(&platform)?;
    let name = parse_user_name(tenant.admin_name.as_deref().unwrap_or_default())?;
    let mut admin = User::new(&tenant.id, name);
    admin.profile.email = tenant.members.admin_email.clone().flatten();
    let hash = password_hash.as_deref();
    let created =
        platform_store::tenancy::tenants::create_tenant(database, &administration, &tenant, &admin, hash)
            .await?;
    let tenant = Arc::new(created);
    let links = head.links();
    Ok(reply::created(&head, media_type, links.tenant(&tenant.id), &tenant, &links))
}

/// `GET /tenant/tenants/<id>`: returns a tenant.
///
/// # Errors
/// 403 without ROLE_TENANT_MANAGEMENT_READ, 404 for an unknown tenant and for one that the caller's tenant
/// does not manage.
pub async fn get(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    caller.require(role::TENANT_MANAGEMENT_READ)?;
    let media_type = head.accepted("tenant")?;
    let (database, id) = (platform.database(), TenantId::known(&path)?);
    let tenant = platform_store::tenancy::tenants::get_tenant_below(database, &caller.tenant, &id).await?;
    let tenant = with_applications(database, &caller, tenant).await?;
    Ok(reply::found(media_type, &tenant, &head.links()))
}

/// `PUT /tenant/tenants/<id>`: changes the members that were sent. When a tenant is suspended, its
/// requests are rejected and its sessions end at once.
///
/// # Errors
/// 403 without ROLE_TENANT_MANAGEMENT_ADMIN or _UPDATE, and for suspending tenant `management`; 404 for an
/// unknown tenant and for one that the caller's tenant does not manage; 409 when the domain is taken; 422 for
/// an invalid body.
pub async fn update(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    body: UnreadBody,
    platform: Component<Platform>,
    authenticator: Component<Authenticator>,
) -> Result<HttpResponse> {
    caller.require_any(&[role::TENANT_MANAGEMENT_ADMIN, role::TENANT_MANAGEMENT_UPDATE])?;
    head.check_mode()?;
    let (database, id) = (platform.database(), TenantId::known(&path)?);
    platform_store::tenancy::tenants::get_tenant_below(database, &caller.tenant, &id).await?;
    let (media_type, mut patch) = body.parse(&["tenant"], |body| TenantPatch::parse(&path, body)).await?;
    if id.as_str() == MANAGEMENT && patch.status == Some(TenantStatus::Suspended) {
        return Err(ApiError::forbidden_because("tenant management cannot be suspended"));
    }

    patch.admin_password = authenticator.hash_chosen(&head, &caller, patch.admin_password.take()).await?;
    let administration = caller.administers_tenants(&platform)?;
    let tenant =
        platform_store::tenancy::tenants::update_tenant(database, &administration, &id, &patch).await?;
    let tenant = if head.has_accept() { with_applications(database, &caller, tenant).await? } else { tenant };
    Ok(reply::updated(&head, media_type, &Arc::new(tenant), &head.links()))
}

/// Adds the applications to a tenant: the first it subscribes to, and of those it owns the ones that the
/// caller's tenant may see. Tenants in a collection have none.
async fn with_applications(database: &Database, caller: &Caller, tenant: Tenant) -> Result<Tenant> {
    let applications =
        platform_store::applications::subscriptions::first_subscriptions(database, &tenant.id).await?;
    let owned_applications =
        platform_store::applications::subscriptions::first_owned(database, &tenant.id, &caller.tenant)
            .await?;
    Ok(Tenant { applications, owned_applications, ..tenant })
}

/// `DELETE /tenant/tenants/<id>`: deletes a tenant with all its data, in tenant `management` only. If the
/// deletion is interrupted, for example by a shutdown, another server continues it.
///
/// # Errors
/// 403 without ROLE_TENANT_MANAGEMENT_ADMIN, in another tenant, and for tenant `management` itself; 404 for
/// an unknown tenant.
pub async fn remove(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    caller.require(role::TENANT_MANAGEMENT_ADMIN)?;
    if caller.tenant.as_str() != MANAGEMENT {
        return Err(ApiError::forbidden_because("only tenant management may delete tenants"));
    }
    head.check_mode()?;
    if *path == MANAGEMENT {
        return Err(ApiError::forbidden_because("tenant management cannot be deleted"));
    }
    let id = TenantId::known(&path)?;
    let administration = caller.administers_tenants(&platform)?;
    // The deletion of a large tenant takes minutes. It runs in its own task, so that it continues when the
    // client stops waiting.
    let deleting = rt::spawn(async move {
        let outcome =
            platform_store::tenancy::tenants::delete_tenant(platform.database(), &administration, &id).await;
        match &outcome {
            Ok(()) => tracing::info!(tenant.id = %id, "a tenant was deleted"),
            Err(Error::NotFound { .. }) => {}
            Err(error) => tracing::warn!(tenant.id = %id, %error, "a tenant could not be deleted completely"),
        }
        outcome
    });
    deleting.await.map_err(Error::unavailable)??;
    Ok(HttpResponse::NoContent().finish())
}

/// `GET /tenant/currentTenant`: returns the caller's own tenant, with the first of the applications it
/// subscribes to, to every user including bootstrap users (Z-02).
///
/// # Errors
/// 401 for invalid credentials, 403 for a suspended tenant.
pub async fn get_current(
    caller: AnyCaller,
    head: RequestHead,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let media_type = head.accepted("currentTenant")?;
    let database = platform.database();
    let tenant = platform_store::tenancy::tenants::get_tenant(database, &caller.0.tenant).await?;
    let applications =
        platform_store::applications::subscriptions::first_subscriptions(database, &tenant.id).await?;
    Ok(reply::found(media_type, &CurrentTenant(Tenant { applications, ..tenant }), &head.links()))
}

/// `GET /tenant/loginOptions`: returns the ways to log in to the tenant of the host. No credentials are needed (C-03,
/// C-07).
///
/// # Errors
/// 403 for a suspended tenant, 422 for an invalid parameter.
pub async fn list_login_options(
    head: RequestHead,
    authenticator: Component<Authenticator>,
) -> Result<HttpResponse> {
    let listing = Listing::of(&head, "loginOptionCollection")?;
    let mut options = vec![LoginOption::Basic];
    options.extend(authenticator.single_sign_on(authority(&head).unwrap_or_default()).await?);
    let page = listing.request.cut(options, |option| option.id());
    listing.respond("loginOptions", &page)
}
