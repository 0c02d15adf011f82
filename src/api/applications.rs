//! `/application/applications`: what a tenant offers to its users, or to other tenants (document 2, Applications; W-04 to
//! W-09).

use std::sync::Arc;

use actix_web::{HttpResponse, web};
use platform_actors::model::application::{NewApplication, ShownApplication};
use platform_actors::model::id::ApplicationId;
use platform_actors::model::role;
use platform_actors::store;

use crate::auth::Caller;
use crate::http::body::Unread;
use crate::http::error::Result;
use crate::http::{Wire, reply};
use crate::server::Edge;

/// `POST /application/applications`: an application of the caller's tenant; a microservice gets its bootstrap user (W-10).
///
/// # Errors
/// 403 without ROLE_APPLICATION_MANAGEMENT_ADMIN, 409 when name, key or context path is taken, 422 for a wrong body.
pub async fn create(caller: Caller, wire: Wire, body: Unread, edge: web::Data<Edge>) -> Result<HttpResponse> {
    caller.require(role::APPLICATION_MANAGEMENT_ADMIN)?;
    wire.mode()?;
    let media_type = wire.accepted("application")?;
    wire.check_content_type(&["application"])?;
    let body = body.json(edge.limits().body_bytes).await?;
    let id = ApplicationId::numbered(edge.platform.next_id());
    let new = NewApplication::parse(body, id, caller.tenant.clone())?;
    enter(&wire, &edge, media_type, new).await
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
    Ok(reply::found(media_type, &edge.secret_key.show_application(seen), &wire.links()))
}

/// Stores a new application and answers with it.
async fn enter(wire: &Wire, edge: &Edge, media_type: String, new: NewApplication) -> Result<HttpResponse> {
    let secrets = edge.secret_key.store_application_secrets(&new);
    store::application_changes::insert_application(edge.platform.database(), &new.application, &secrets)
        .await?;
    let links = wire.links();
    let location = links.application(new.application.id);
    let key = Some(new.key.as_str().to_owned());
    let shown = ShownApplication { application: new.application, key, health: None };
    Ok(reply::created(wire, media_type, location, &Arc::new(shown), &links))
}
