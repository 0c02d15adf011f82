//! `/application/applications`: the applications that a tenant offers to its own users or to other tenants
//! (docs/rules.md#applications-and-microservices; W-04 to W-09).

use std::sync::Arc;

use actix_web::{HttpResponse, web};
use platform_actors::Platform;
use platform_front::secrets::password::SecretKey;
use platform_model::applications::application::{
    Application, ApplicationPatch, NewApplication, Secret, ShownApplication,
};
use platform_model::error::Error;
use platform_model::id::{ApplicationId, MANAGEMENT, TenantId};
use platform_model::role;
use platform_store::applications::SeenApplication;
use platform_store::applications::collection::ApplicationFilter;

use crate::auth::Caller;
use crate::http::body::UnreadBody;
use crate::http::component::Component;
use crate::http::error::{ApiError, Result};
use crate::http::paging::Listing;
use crate::http::{RequestHead, reply};
use crate::service::Services;

/// Shows applications to tenants: the owner sees the key, and a microservice has its health.
pub struct ApplicationViews {
    /// Opens the sealed keys of applications.
    pub secret_key: Arc<SecretKey>,
    /// Knows the health of microservices.
    pub services: web::Data<Services>,
}

impl ApplicationViews {
    /// Returns an application in the form that a tenant may see.
    pub(super) fn show(&self, seen: SeenApplication) -> ShownApplication {
        let shown = self.secret_key.show_application(seen);
        ShownApplication { health: self.services.health.of(&shown.application), ..shown }
    }
}

/// `POST /application/applications`: creates an application of the caller's tenant. A microservice gets its
/// bootstrap user (W-10).
///
/// # Errors
/// 403 without ROLE_APPLICATION_MANAGEMENT_ADMIN, 409 when name, key or context path is taken, 422 for an
/// invalid body.
pub async fn create(
    caller: Caller,
    head: RequestHead,
    body: UnreadBody,
    platform: Component<Platform>,
    views: Component<ApplicationViews>,
) -> Result<HttpResponse> {
    caller.require(role::APPLICATION_MANAGEMENT_ADMIN)?;
    head.check_mode()?;
    let (media_type, body) = body.object(&["application"]).await?;
    let id = ApplicationId::numbered(platform.next_id()?);
    let new = NewApplication::parse(body, id, caller.tenant.clone())?;
    let secrets = views.secret_key.store_application_secrets(&new);
    let database = platform.database();
    platform_store::applications::changes::insert_application(database, &new.application, &secrets).await?;
    caller.log_change_of_rights("Application created", id);
    let (links, key) = (head.links(), Some(new.key.as_str().to_owned()));
    let health = views.services.health.of(&new.application);
    let shown = ShownApplication { application: new.application, key, health };
    Ok(reply::created(&head, media_type, links.application(id), &Arc::new(shown), &links))
}

/// `GET /application/applications/<id>`: returns an application of the caller's tenant, of the market, or one
/// it subscribes to (W-05). Only its owner sees the key (W-06).
///
/// # Errors
/// 403 without ROLE_APPLICATION_MANAGEMENT_READ, 404 for an application that is unknown or that the tenant
/// does not see.
pub async fn get(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    platform: Component<Platform>,
    views: Component<ApplicationViews>,
) -> Result<HttpResponse> {
    caller.require(role::APPLICATION_MANAGEMENT_READ)?;
    let media_type = head.accepted("application")?;
    let (database, id) = (platform.database(), ApplicationId::parse(&path)?);
    let seen = platform_store::applications::see_application(database, &caller.tenant, id).await?;
    Ok(reply::found(media_type, &views.show(seen), &head.links()))
}

/// `GET /application/applications`: returns a page of the applications that the caller's tenant sees: its
/// own, those of the market, and those it subscribes to (W-05).
///
/// # Errors
/// 403 without ROLE_APPLICATION_MANAGEMENT_READ, 422 for an invalid parameter.
pub async fn list(
    caller: Caller,
    head: RequestHead,
    platform: Component<Platform>,
    views: Component<ApplicationViews>,
) -> Result<HttpResponse> {
    caller.require(role::APPLICATION_MANAGEMENT_READ)?;
    page(&caller, &head, &platform, &views, &ApplicationFilter::Visible).await
}

/// `GET /application/applicationsByName/<name>`: returns the visible applications of a name, which each owner
/// may use once (W-08).
///
/// # Errors
/// The errors of [`list`].
pub async fn list_by_name(
    caller: Caller,
    head: RequestHead,
    name: web::Path<String>,
    platform: Component<Platform>,
    views: Component<ApplicationViews>,
) -> Result<HttpResponse> {
    caller.require(role::APPLICATION_MANAGEMENT_READ)?;
    page(&caller, &head, &platform, &views, &ApplicationFilter::Named(name.into_inner())).await
}

/// `GET /application/applicationsByOwner/<tenant>`: returns the visible applications that a tenant owns
/// (W-08). For an unknown tenant the page is empty, so nobody learns which tenants exist.
///
/// # Errors
/// The errors of [`list`]; 404 for text that cannot be a tenant id.
pub async fn list_by_owner(
    caller: Caller,
    head: RequestHead,
    tenant: web::Path<String>,
    platform: Component<Platform>,
    views: Component<ApplicationViews>,
) -> Result<HttpResponse> {
    caller.require(role::APPLICATION_MANAGEMENT_READ)?;
    page(&caller, &head, &platform, &views, &ApplicationFilter::OwnedBy(TenantId::known(&tenant)?)).await
}

/// `GET /application/applicationsByTenant/<tenant>`: returns the applications that a tenant subscribes to
/// (W-08). Another tenant's subscriptions are for the tenant that manages it.
///
/// # Errors
/// The errors of [`list`]; 403 for another tenant without ROLE_TENANT_MANAGEMENT_READ or when the caller's tenant does
/// not manage it; 404 for an unknown tenant, in tenant `management`.
pub async fn list_by_tenant(
    caller: Caller,
    head: RequestHead,
    tenant: web::Path<String>,
    platform: Component<Platform>,
    views: Component<ApplicationViews>,
) -> Result<HttpResponse> {
    caller.require(role::APPLICATION_MANAGEMENT_READ)?;
    if *tenant != caller.tenant.as_str() {
        caller.require(role::TENANT_MANAGEMENT_READ)?;
    }
    head.accepted("applicationCollection")?;
    let subscriber = TenantId::known(&tenant)?;
    if subscriber != caller.tenant {
        let database = platform.database();
        match platform_store::tenancy::tenants::get_tenant_below(database, &caller.tenant, &subscriber).await
        {
            Err(Error::NotFound { .. }) if caller.tenant.as_str() != MANAGEMENT => {
                return Err(ApiError::forbidden_because("another tenant manages this one"));
            }
            outcome => drop(outcome?),
        }
    }
    page(&caller, &head, &platform, &views, &ApplicationFilter::SubscribedBy(subscriber)).await
}

/// `PUT /application/applications/<id>`: changes the members that were sent; `null` removes an optional one
/// (C-10).
///
/// # Errors
/// 403 without ROLE_APPLICATION_MANAGEMENT_ADMIN and for another tenant's application; 404 for an application
/// that is unknown or not visible; 409 when name, key or context path is taken; 422 for an invalid body and
/// for a change of the type.
pub async fn update(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    body: UnreadBody,
    platform: Component<Platform>,
    views: Component<ApplicationViews>,
) -> Result<HttpResponse> {
    caller.require(role::APPLICATION_MANAGEMENT_ADMIN)?;
    head.check_mode()?;
    let id = own(&caller, &platform, &path).await?.id;
    let (media_type, patch) = body.parse(&["application"], ApplicationPatch::parse).await?;
    let (database, secrets) = (platform.database(), views.secret_key.store_changed_secrets(id, &patch));
    let changed = platform_store::applications::changes::update_application(
        database,
        &caller.tenant,
        id,
        &patch,
        &secrets,
    );
    let shown = views.show(changed.await?);
    caller.log_change_of_rights("Application update", id);
    Ok(reply::updated(&head, media_type, &Arc::new(shown), &head.links()))
}

/// `DELETE /application/applications/<id>`: deletes an application with its users in every tenant and its
/// uploaded files.
///
/// # Errors
/// 403 without ROLE_APPLICATION_MANAGEMENT_ADMIN and for another tenant's application; 404 for an application
/// that is unknown or not visible; 409 for an application of the market that a tenant subscribes to.
pub async fn remove(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    caller.require(role::APPLICATION_MANAGEMENT_ADMIN)?;
    head.check_mode()?;
    let id = own(&caller, &platform, &path).await?.id;
    platform_store::applications::changes::delete_application(platform.database(), &caller.tenant, id)
        .await?;
    caller.log_change_of_rights("Application deleted", id);
    Ok(HttpResponse::NoContent().finish())
}

/// `POST /application/applications/<id>/clone`: creates a copy whose name, key and context path start with
/// `clone` (W-09).
///
/// # Errors
/// 403 without ROLE_APPLICATION_MANAGEMENT_ADMIN and for another tenant's application; 404 for an application
/// that is unknown or not visible; 409 when name, key or context path of the copy is taken; 422 when one of
/// them becomes too long.
pub async fn clone(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    platform: Component<Platform>,
    views: Component<ApplicationViews>,
) -> Result<HttpResponse> {
    caller.require(role::APPLICATION_MANAGEMENT_ADMIN)?;
    head.check_mode()?;
    let media_type = head.accepted("application")?;
    let original = own(&caller, &platform, &path).await?;
    let (database, secret_key) = (platform.database(), &views.secret_key);
    let (key, password) =
        platform_store::applications::changes::find_secrets(database, &caller.tenant, original.id).await?;
    let key = secret_key.open_application_key(original.id, &key).map(Secret::new);
    let key = key.ok_or_else(|| Error::unavailable("the key of an application was sealed by another key"))?;
    let password = password.and_then(|sealed| secret_key.open_resources_password(original.id, &sealed));

    let id = ApplicationId::numbered(platform.next_id()?);
    let new = NewApplication::clone_of(&original, id, &key, password.map(Secret::new))?;
    let secrets = secret_key.store_application_secrets(&new);
    let clone = platform_store::applications::changes::clone_application(
        database,
        original.id,
        &new.application,
        &secrets,
    );
    let shown = views.show(clone.await?);
    caller.log_change_of_rights("Application created", id);
    let links = head.links();
    Ok(reply::created(&head, media_type, links.application(id), &Arc::new(shown), &links))
}

/// Returns the application of a path for a change, which only its owner may make.
///
/// # Errors
/// `NotFound` for an application that is unknown or not visible, `Forbidden` for another tenant's.
pub(super) async fn own(caller: &Caller, platform: &Platform, path: &str) -> Result<Application> {
    let (database, id) = (platform.database(), ApplicationId::parse(path)?);
    let seen = platform_store::applications::see_application(database, &caller.tenant, id).await?;
    if seen.application.owner == caller.tenant {
        Ok(seen.application)
    } else {
        Err(ApiError::forbidden_because("another tenant owns the application"))
    }
}

/// Responds with a page of the applications that the caller's tenant sees.
async fn page(
    caller: &Caller,
    head: &RequestHead,
    platform: &Platform,
    views: &ApplicationViews,
    filter: &ApplicationFilter,
) -> Result<HttpResponse> {
    let listing = Listing::of(head, "applicationCollection")?;
    let database = platform.database();
    let page = platform_store::applications::collection::list_applications(
        database,
        &caller.tenant,
        filter,
        &listing.request,
    )
    .await?;
    let page = page.map(|seen| views.show(seen));
    listing.respond("applications", &page)
}
