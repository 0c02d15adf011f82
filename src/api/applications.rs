//! `/application/applications`: what a tenant offers to its users, or to other tenants (docs/rules.md#applications-and-microservices;
//! W-04 to W-09).

use std::sync::Arc;

use actix_web::{HttpResponse, web};
use platform_actors::model::application::{
    Application, ApplicationPatch, NewApplication, Secret, ShownApplication,
};
use platform_actors::model::id::{ApplicationId, TenantId};
use platform_actors::model::role;
use platform_actors::model::tenant::MANAGEMENT;
use platform_actors::store::application_collection::ApplicationFilter;
use platform_actors::{Error, store};

use crate::auth::Caller;
use crate::http::body::Unread;
use crate::http::error::{ApiError, Result};
use crate::http::paging::page_request;
use crate::http::query::Query;
use crate::http::{Wire, reply};
use crate::server::Edge;

/// `POST /application/applications`: an application of the caller's tenant; a microservice gets its bootstrap user (W-10).
///
/// # Errors
/// 403 without ROLE_APPLICATION_MANAGEMENT_ADMIN, 409 when name, key or context path is taken, 422 for a wrong body.
pub async fn create(caller: Caller, wire: Wire, body: Unread, edge: web::Data<Edge>) -> Result<HttpResponse> {
    caller.require(role::APPLICATION_MANAGEMENT_ADMIN)?;
    wire.check_mode()?;
    let media_type = wire.accepted("application")?;
    wire.check_content_type(&["application"])?;
    let body = body.json(edge.limits().body_bytes).await?;
    let id = ApplicationId::numbered(edge.platform.next_id());
    let new = NewApplication::parse(body, id, caller.tenant.clone())?;
    let secrets = edge.secret_key.store_application_secrets(&new);
    let database = edge.platform.database();
    store::application_changes::insert_application(database, &new.application, &secrets).await?;
    let (links, key) = (wire.links(), Some(new.key.as_str().to_owned()));
    let health = edge.services.health.of(&new.application);
    let shown = ShownApplication { application: new.application, key, health };
    Ok(reply::created(&wire, media_type, links.application(id), &Arc::new(shown), &links))
}

/// `GET /application/applications/<id>`: one of the caller's tenant, of the market, or one it subscribes to (W-05). The key
/// is for its owner (W-06).
///
/// # Errors
/// 403 without ROLE_APPLICATION_MANAGEMENT_READ, 404 for one that is unknown and for one the tenant does not see.
pub async fn get(
    caller: Caller,
    wire: Wire,
    path: web::Path<String>,
    edge: web::Data<Edge>,
) -> Result<HttpResponse> {
    caller.require(role::APPLICATION_MANAGEMENT_READ)?;
    let media_type = wire.accepted("application")?;
    let (database, id) = (edge.platform.database(), ApplicationId::parse(&path)?);
    let seen = store::applications::see_application(database, &caller.tenant, id).await?;
    Ok(reply::found(media_type, &edge.show_application(seen), &wire.links()))
}

/// `GET /application/applications`: a page of what the caller's tenant sees: its own, those of the market, those it
/// subscribes to (W-05).
///
/// # Errors
/// 403 without ROLE_APPLICATION_MANAGEMENT_READ, 422 for a wrong parameter.
pub async fn list(caller: Caller, wire: Wire, edge: web::Data<Edge>) -> Result<HttpResponse> {
    caller.require(role::APPLICATION_MANAGEMENT_READ)?;
    page(&caller, &wire, &edge, &ApplicationFilter::Visible).await
}

/// `GET /application/applicationsByName/<name>`: of what the caller's tenant sees those of a name, which each owner may have
/// once (W-08).
///
/// # Errors
/// As [`list`].
pub async fn list_by_name(
    caller: Caller,
    wire: Wire,
    name: web::Path<String>,
    edge: web::Data<Edge>,
) -> Result<HttpResponse> {
    caller.require(role::APPLICATION_MANAGEMENT_READ)?;
    page(&caller, &wire, &edge, &ApplicationFilter::Named(name.into_inner())).await
}

/// `GET /application/applicationsByOwner/<tenant>`: of what the caller's tenant sees those that a tenant owns (W-08). Of an
/// unknown tenant none are seen, so nobody learns which tenants there are.
///
/// # Errors
/// As [`list`]; 404 for what can be no tenant.
pub async fn list_by_owner(
    caller: Caller,
    wire: Wire,
    tenant: web::Path<String>,
    edge: web::Data<Edge>,
) -> Result<HttpResponse> {
    caller.require(role::APPLICATION_MANAGEMENT_READ)?;
    page(&caller, &wire, &edge, &ApplicationFilter::OwnedBy(TenantId::known(&tenant)?)).await
}

/// `GET /application/applicationsByTenant/<tenant>`: what a tenant subscribes to (W-08). Of another tenant that is for who
/// looks after it.
///
/// # Errors
/// As [`list`]; 403 for another tenant without ROLE_TENANT_MANAGEMENT_READ or that others look after; 404 for an unknown
/// one, in tenant `management`.
pub async fn list_by_tenant(
    caller: Caller,
    wire: Wire,
    tenant: web::Path<String>,
    edge: web::Data<Edge>,
) -> Result<HttpResponse> {
    caller.require(role::APPLICATION_MANAGEMENT_READ)?;
    if *tenant != caller.tenant.as_str() {
        caller.require(role::TENANT_MANAGEMENT_READ)?;
    }
    wire.accepted("applicationCollection")?;
    let subscriber = TenantId::known(&tenant)?;
    if subscriber != caller.tenant {
        let database = edge.platform.database();
        match store::tenants::get_tenant_below(database, &caller.tenant, &subscriber).await {
            Err(Error::NotFound { .. }) if caller.tenant.as_str() != MANAGEMENT => {
                return Err(ApiError::forbidden_because("another tenant looks after this one"));
            }
            outcome => drop(outcome?),
        }
    }
    page(&caller, &wire, &edge, &ApplicationFilter::SubscribedBy(subscriber)).await
}

/// `PUT /application/applications/<id>`: changes what was sent; `null` removes what may be absent (C-10).
///
/// # Errors
/// 403 without ROLE_APPLICATION_MANAGEMENT_ADMIN and for another tenant's application; 404 for one that is unknown or not
/// seen; 409 when name, key or context path is taken; 422 for a wrong body, also for another type.
pub async fn update(
    caller: Caller,
    wire: Wire,
    path: web::Path<String>,
    body: Unread,
    edge: web::Data<Edge>,
) -> Result<HttpResponse> {
    caller.require(role::APPLICATION_MANAGEMENT_ADMIN)?;
    wire.check_mode()?;
    let id = own(&caller, &edge, &path).await?.id;
    let media_type = wire.accepted("application")?;
    wire.check_content_type(&["application"])?;
    let patch = ApplicationPatch::parse(body.json(edge.limits().body_bytes).await?)?;
    let (database, secrets) = (edge.platform.database(), edge.secret_key.store_changed_secrets(id, &patch));
    let changed =
        store::application_changes::update_application(database, &caller.tenant, id, (&patch, &secrets));
    let shown = edge.show_application(changed.await?);
    Ok(reply::updated(&wire, media_type, &Arc::new(shown), &wire.links()))
}

/// `DELETE /application/applications/<id>`: with its users in every tenant and what was uploaded for it.
///
/// # Errors
/// 403 without ROLE_APPLICATION_MANAGEMENT_ADMIN and for another tenant's application; 404 for one that is unknown or not
/// seen; 409 for one of the market that somebody subscribes to.
pub async fn remove(
    caller: Caller,
    wire: Wire,
    path: web::Path<String>,
    edge: web::Data<Edge>,
) -> Result<HttpResponse> {
    caller.require(role::APPLICATION_MANAGEMENT_ADMIN)?;
    wire.check_mode()?;
    let id = own(&caller, &edge, &path).await?.id;
    store::application_changes::delete_application(edge.platform.database(), &caller.tenant, id).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// `POST /application/applications/<id>/clone`: a copy whose name, key and context path start with `clone` (W-09).
///
/// # Errors
/// 403 without ROLE_APPLICATION_MANAGEMENT_ADMIN and for another tenant's application; 404 for one that is unknown or not
/// seen; 409 when name, key or context path of the copy is taken; 422 when one becomes too long.
pub async fn clone(
    caller: Caller,
    wire: Wire,
    path: web::Path<String>,
    edge: web::Data<Edge>,
) -> Result<HttpResponse> {
    caller.require(role::APPLICATION_MANAGEMENT_ADMIN)?;
    wire.check_mode()?;
    let media_type = wire.accepted("application")?;
    let original = own(&caller, &edge, &path).await?;
    let (database, secret_key) = (edge.platform.database(), &edge.secret_key);
    let (key, password) =
        store::application_changes::find_secrets(database, &caller.tenant, original.id).await?;
    let key = secret_key.open_application_key(original.id, &key).map(Secret::new);
    let key = key.ok_or_else(|| Error::unavailable("the key of an application was sealed by another key"))?;
    let password = password.and_then(|sealed| secret_key.open_resources_password(original.id, &sealed));

    let id = ApplicationId::numbered(edge.platform.next_id());
    let new = NewApplication::clone_of(&original, id, &key, password.map(Secret::new))?;
    let secrets = secret_key.store_application_secrets(&new);
    let clone =
        store::application_changes::clone_application(database, original.id, &new.application, &secrets);
    let shown = edge.show_application(clone.await?);
    let links = wire.links();
    Ok(reply::created(&wire, media_type, links.application(id), &Arc::new(shown), &links))
}

/// The application of a path, which its owner alone may change.
///
/// # Errors
/// `NotFound` for one that is unknown or not seen, `Forbidden` for another tenant's.
pub(super) async fn own(caller: &Caller, edge: &Edge, path: &str) -> Result<Application> {
    let (database, id) = (edge.platform.database(), ApplicationId::parse(path)?);
    let seen = store::applications::see_application(database, &caller.tenant, id).await?;
    match seen.application.owner == caller.tenant {
        true => Ok(seen.application),
        false => Err(ApiError::forbidden_because("another tenant owns the application")),
    }
}

/// A page of what the caller's tenant sees.
async fn page(caller: &Caller, wire: &Wire, edge: &Edge, filter: &ApplicationFilter) -> Result<HttpResponse> {
    let media_type = wire.accepted("applicationCollection")?;
    let query = Query::parse(wire.query_string());
    let (request, database) = (page_request(&query)?, edge.platform.database());
    let page =
        store::application_collection::list_applications(database, &caller.tenant, filter, &request).await?;
    let page = page.map(|seen| edge.show_application(seen));
    reply::page(wire, media_type, "applications", &page, (&request, &query))
}
