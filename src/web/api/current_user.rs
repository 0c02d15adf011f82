//! `/user/currentUser`: the caller's own user (docs/rules.md#users-groups-and-roles; U-13, U-14).

use std::sync::Arc;

use actix_web::HttpResponse;
use platform_actors::Platform;
use platform_model::users::user::{CurrentUser, User, UserPatch};

use crate::auth::{Authenticator, Caller, Oneself};
use crate::http::body::UnreadBody;
use crate::http::component::Component;
use crate::http::error::{ApiError, Result};
use crate::http::{RequestHead, reply};

/// The media type in which the caller's own user is shown, chosen by `Accept`.
enum UserView {
    /// The user with `effectiveRoles`; the default when the client names neither type.
    CurrentUser(String),
    /// The user with groups and direct roles, as others see it.
    User(String),
}

fn view(head: &RequestHead) -> Result<UserView> {
    match head.accepted("currentUser") {
        Ok(media_type) => Ok(UserView::CurrentUser(media_type)),
        Err(neither) => head.accepted("user").map(UserView::User).map_err(|_| neither),
    }
}

/// `GET /user/currentUser`: returns the caller's user. Users of microservices need no role for it (W-10,
/// W-11).
///
/// # Errors
/// 403 without ROLE_USER_MANAGEMENT_OWN_READ.
pub async fn get(
    Oneself(caller): Oneself,
    head: RequestHead,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    if caller.application.is_none() {
        caller.owns_record()?;
    }
    let view = view(&head)?;
    let user = platform_store::users::get_user(platform.database(), &caller.tenant, &caller.user).await?;
    Ok(match view {
        UserView::CurrentUser(media_type) => reply::found(media_type, &current(&caller, user), &head.links()),
        UserView::User(media_type) => reply::found(media_type, &user, &head.links()),
    })
}

/// `PUT /user/currentUser`: changes password, names, phone and e-mail; other members are ignored (U-13).
///
/// # Errors
/// 403 without ROLE_USER_MANAGEMENT_OWN_ADMIN; 422 for an invalid body or another user name.
pub async fn update(
    Oneself(caller): Oneself,
    head: RequestHead,
    body: UnreadBody,
    platform: Component<Platform>,
    authenticator: Component<Authenticator>,
) -> Result<HttpResponse> {
    let caller = caller.beyond_bootstrap()?;
    let administration = caller.administers_oneself(&platform)?;
    head.check_mode()?;
    let view = view(&head)?;
    head.check_content_type(&["currentUser", "user"])?;
    let mut patch = UserPatch::parse(body.json(platform.limits().body_bytes).await?)?.of_oneself();
    patch.check_name(&caller.user)?;
    // A stolen token must not become worth the account.
    if patch.password.is_some() && caller.by_own_token() {
        return Err(ApiError::forbidden_because(
            "the password is changed with the password, not with a token",
        ));
    }
    let hash = authenticator.hash_chosen(&head, &caller, patch.password.take()).await?;

    let user = platform_store::users::changes::update_user(
        platform.database(),
        &administration,
        &caller.user,
        &patch,
        hash.as_deref(),
    )
    .await?;

    let links = head.links();
    Ok(match view {
        UserView::CurrentUser(media_type) => {
            reply::updated(&head, media_type, &Arc::new(current(&caller, user)), &links)
        }
        UserView::User(media_type) => reply::updated(&head, media_type, &Arc::new(user), &links),
    })
}

fn current(caller: &Caller, user: User) -> CurrentUser {
    CurrentUser { user, effective_roles: caller.roles.clone() }
}
