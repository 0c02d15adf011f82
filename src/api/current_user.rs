//! `/user/currentUser`: the caller's own user (docs/rules.md#users-groups-and-roles; U-13, U-14).

use std::sync::Arc;

use actix_web::{HttpResponse, web};
use platform_actors::model::user::{CurrentUser, User, UserPatch};
use platform_actors::store;

use crate::auth::{AnyCaller, Caller};
use crate::http::body::Unread;
use crate::http::error::Result;
use crate::http::{Wire, reply};
use crate::server::Edge;

/// In which of its two media types the own user is shown, by `Accept`.
enum Shape {
    /// With `effectiveRoles`; also when the client names neither.
    CurrentUser(String),
    /// With groups and direct roles, as others see it.
    User(String),
}

fn shape(wire: &Wire) -> Result<Shape> {
    match wire.accepted("currentUser") {
        Ok(media_type) => Ok(Shape::CurrentUser(media_type)),
        Err(neither) => wire.accepted("user").map(Shape::User).map_err(|_| neither),
    }
}

/// `GET /user/currentUser`. Users of microservices need no role for it (W-10, W-11).
///
/// # Errors
/// 403 without ROLE_USER_MANAGEMENT_OWN_READ.
pub async fn get(caller: AnyCaller, wire: Wire, edge: web::Data<Edge>) -> Result<HttpResponse> {
    let AnyCaller(caller) = caller;
    if caller.application.is_none() {
        caller.owns_record()?;
    }
    let shape = shape(&wire)?;
    let user = store::users::get_user(edge.platform.database(), &caller.tenant, &caller.user).await?;
    Ok(match shape {
        Shape::CurrentUser(media_type) => reply::found(media_type, &current(&caller, user), &wire.links()),
        Shape::User(media_type) => reply::found(media_type, &user, &wire.links()),
    })
}

/// `PUT /user/currentUser`: changes password, names, phone and e-mail; everything else a body holds is left as it is
/// (U-13).
///
/// # Errors
/// 403 without ROLE_USER_MANAGEMENT_OWN_ADMIN; 422 for a wrong body or another user name.
pub async fn update(caller: Caller, wire: Wire, body: Unread, edge: web::Data<Edge>) -> Result<HttpResponse> {
    let administration = caller.administers_oneself(&edge)?;
    wire.check_mode()?;
    let shape = shape(&wire)?;
    wire.check_content_type(&["currentUser", "user"])?;
    let mut patch = UserPatch::parse(body.json(edge.limits().body_bytes).await?)?.of_oneself();
    patch.check_name(&caller.user)?;
    let hash = edge.authenticator.hash_chosen(patch.password.take()).await?;

    let (database, change) = (edge.platform.database(), (&patch, hash.as_deref()));
    let user = store::user_changes::update_user(database, &administration, &caller.user, change).await?;

    let links = wire.links();
    Ok(match shape {
        Shape::CurrentUser(media_type) => {
            reply::updated(&wire, media_type, &Arc::new(current(&caller, user)), &links)
        }
        Shape::User(media_type) => reply::updated(&wire, media_type, &Arc::new(user), &links),
    })
}

fn current(caller: &Caller, user: User) -> CurrentUser {
    CurrentUser { user, effective_roles: caller.roles.clone() }
}
