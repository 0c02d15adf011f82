//! `/user/<tenant>/users` (docs/rules.md#users-groups-and-roles; U-04 to U-08, U-15).

use std::sync::Arc;

use actix_web::{HttpResponse, web};
use platform_actors::Platform;
use platform_model::error::Error;
use platform_model::users::user::{
    Administration, NewUser, SubusersCount, User, UserAuthority, UserFilter, UserKind, UserPatch,
    parse_user_of_path,
};

use crate::auth::{Authenticator, Caller};
use crate::http::body::UnreadBody;
use crate::http::component::Component;
use crate::http::error::{ApiError, Result};
use crate::http::paging::Listing;
use crate::http::query::Query;
use crate::http::{RequestHead, reply};

/// `GET /user/<tenant>/users`: returns a page of users by name. With `onlyDevices=true` it has device users
/// only, otherwise none.
///
/// # Errors
/// 403 without ROLE_USER_MANAGEMENT_READ; with only ROLE_USER_MANAGEMENT_CREATE the page has the caller's own
/// sub-users. 422 for an invalid parameter.
pub async fn list(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let (tenant, authority) = caller.reads_users(&platform, &path).await?;
    let listing = Listing::of(&head, "userCollection")?;
    let filter = filter(&listing.query, &authority)?;
    let page =
        platform_store::users::list_users(platform.database(), &tenant, &filter, &listing.request).await?;
    listing.respond("users", &page)
}

fn filter(query: &Query, authority: &UserAuthority) -> Result<UserFilter> {
    let group = |text: &str| {
        let allowed = "a comma list of numeric ids of groups";
        text.parse::<i64>().map_err(|_| Error::invalid_value("groups", text, allowed))
    };
    let groups = query.list("groups").into_iter().map(group).collect::<Result<Vec<_>, _>>()?;
    let kind = match query.flag("onlyDevices")? {
        Some(true) => UserKind::Devices,
        _ => UserKind::People,
    };
    let subusers = match query.flag("withSubusersCount")? {
        Some(true) => SubusersCount::Told,
        _ => SubusersCount::Omitted,
    };
    let visible_to = match authority {
        UserAuthority::Everyone => None,
        UserAuthority::SubUsers { owner, .. } => Some(owner.to_string()),
    };
    Ok(UserFilter {
        name_prefix: query.get("username").map(ToOwned::to_owned),
        groups: query.get("groups").map(|_| groups),
        owner: query.get("owner").map(ToOwned::to_owned),
        visible_to,
        kind,
        subusers,
    })
}

/// `POST /user/<tenant>/users`: creates a user with the two roles for its own record and no group (U-05). If
/// the caller has only ROLE_USER_MANAGEMENT_CREATE, the user becomes its sub-user.
///
/// # Errors
/// 403 without a role, for another owner, for device permissions the caller does not have, and, unless the caller
/// administers all users, when objects exist that a deleted user of this name owned; 409 when the name is
/// taken; 422 for an invalid body or an unknown owner.
pub async fn create(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    body: UnreadBody,
    platform: Component<Platform>,
    authenticator: Component<Authenticator>,
) -> Result<HttpResponse> {
    let administration = caller.administers_users(&platform, &path).await?;
    head.check_mode()?;
    let (media_type, new) = body.parse(&["user"], NewUser::parse).await?;
    let user = new_user(&administration, &new)?;
    if matches!(administration.authority, UserAuthority::SubUsers { .. }) {
        // The new user would own these objects, which may be more than its creator may grant.
        platform_store::access::ensure_owns_nothing(platform.database(), &user.tenant, &user.name).await?;
    }
    let hash = authenticator.hash_chosen(&head, &caller, new.password).await?;

    let (database, by) = (platform.database(), Some(&administration));
    let user = platform_store::users::changes::insert_user(database, by, &user, hash.as_deref()).await?;

    let links = head.links();
    Ok(reply::created(&head, media_type, links.user(&user.tenant, &user.name), &Arc::new(user), &links))
}

/// Returns the user that a body describes, and checks that the caller may grant what it holds.
fn new_user(administration: &Administration, new: &NewUser) -> Result<User> {
    let mut user = User::new(&administration.tenant, new.name.clone());
    new.rest.apply(&mut user);
    if let UserAuthority::SubUsers { owner, .. } = &administration.authority {
        user.owner.get_or_insert_with(|| owner.to_string());
    }
    administration.authority.reaches(user.owner.as_deref())?;
    administration.authority.may_permit(&user.permissions)?;
    Ok(user)
}

/// `GET /user/<tenant>/users/<id>`, also `/user/<tenant>/userByName/<name>`: returns a user; id and name are
/// the same (U-06).
///
/// # Errors
/// 403 without ROLE_USER_MANAGEMENT_READ, except for the caller's own sub-users and the caller itself; 404
/// for an unknown user.
pub async fn get(
    caller: Caller,
    head: RequestHead,
    path: web::Path<(String, String)>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let user = caller.reads_user(&platform, &path.0, &path.1).await?;
    Ok(reply::found(head.accepted("user")?, &user, &head.links()))
}

/// `PUT /user/<tenant>/users/<id>`: changes the members that were sent. A new password ends the user's
/// sessions (U-16).
///
/// # Errors
/// 403 without ROLE_USER_MANAGEMENT_ADMIN, except for the caller's own sub-users, and when the last
/// administrator would be disabled; 404 for an unknown user; 422 for an invalid body or another user name.
pub async fn update(
    caller: Caller,
    head: RequestHead,
    path: web::Path<(String, String)>,
    body: UnreadBody,
    platform: Component<Platform>,
    authenticator: Component<Authenticator>,
) -> Result<HttpResponse> {
    let (tenant, name) = &*path;
    let administration = caller.administers_users(&platform, tenant).await?;
    head.check_mode()?;
    let (database, name) = (platform.database(), parse_user_of_path(name)?);
    let user = platform_store::users::get_user(database, &administration.tenant, &name).await?;
    administration.authority.reaches(user.owner.as_deref())?;
    let (media_type, mut patch) = body.parse(&["user"], UserPatch::parse).await?;
    patch.check_name(&name)?;
    let hash = authenticator.hash_chosen(&head, &caller, patch.password.take()).await?;

    let user = platform_store::users::changes::update_user(
        database,
        &administration,
        &name,
        &patch,
        hash.as_deref(),
    )
    .await?;

    Ok(reply::updated(&head, media_type, &Arc::new(user), &head.links()))
}

/// `DELETE /user/<tenant>/users/<name>`: deletes a user, ends its sessions and returns 204.
///
/// # Errors
/// 403 without ROLE_USER_MANAGEMENT_ADMIN, except for the caller's own sub-users; 403 for the caller itself
/// and the last administrator (U-15); 404 for an unknown user.
pub async fn remove(
    caller: Caller,
    head: RequestHead,
    path: web::Path<(String, String)>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let (tenant, name) = &*path;
    let administration = caller.administers_users(&platform, tenant).await?;
    head.check_mode()?;
    if caller.is_user(tenant, name) {
        return Err(ApiError::forbidden_because("users cannot delete themselves"));
    }
    let name = parse_user_of_path(name)?;
    platform_store::users::changes::delete_user(platform.database(), &administration, &name).await?;
    Ok(HttpResponse::NoContent().finish())
}
