//! `/user/<tenant>/groups` and their members (docs/rules.md#users-groups-and-roles; U-01, U-02, U-04).

use std::sync::Arc;

use actix_web::{HttpResponse, web};
use platform_actors::Platform;
use platform_model::error::{Error, Noun};
use platform_model::id::GroupId;
use platform_model::users::group::{GroupPatch, GroupPlace, GroupReference, NewGroup};
use platform_model::users::user::{UserReference, parse_member, parse_user_of_path};

use crate::auth::Caller;
use crate::http::body::UnreadBody;
use crate::http::component::Component;
use crate::http::error::Result;
use crate::http::paging::Listing;
use crate::http::{RequestHead, reply};

/// `GET /user/<tenant>/groups`: returns a page of groups by ascending id, without their members and roles
/// (U-02).
///
/// # Errors
/// 403 without ROLE_USER_MANAGEMENT_READ or ROLE_USER_MANAGEMENT_CREATE, 422 for an invalid parameter.
pub async fn list(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let (tenant, _) = caller.reads_users(&platform, &path).await?;
    let listing = Listing::of(&head, "groupCollection")?;
    let page =
        platform_store::users::groups::list_groups(platform.database(), &tenant, None, &listing.request)
            .await?;
    listing.respond("groups", &page)
}

/// `POST /user/<tenant>/groups`: creates a group without roles.
///
/// # Errors
/// 403 without ROLE_USER_MANAGEMENT_ADMIN, 409 when the name is taken, 422 for an invalid body.
pub async fn create(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    body: UnreadBody,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let administration = caller.administers_groups(&platform, &path).await?;
    head.check_mode()?;
    let (media_type, new) = body.parse(&["group"], NewGroup::parse).await?;

    let group =
        platform_store::users::groups::insert_group(platform.database(), &administration, &new).await?;

    let links = head.links();
    Ok(reply::created(&head, media_type, links.group(&group.tenant, group.id), &Arc::new(group), &links))
}

/// `GET /user/<tenant>/groups/<id>`: returns the group with its roles and its first members.
///
/// # Errors
/// 403 without ROLE_USER_MANAGEMENT_READ or ROLE_USER_MANAGEMENT_CREATE, 404 for an unknown id.
pub async fn get(
    caller: Caller,
    head: RequestHead,
    path: web::Path<(String, String)>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let (tenant, _) = caller.reads_users(&platform, &path.0).await?;
    let media_type = head.accepted("group")?;
    let id = GroupId::parse(&path.1)?;
    let group = platform_store::users::groups::get_group(platform.database(), &tenant, id).await?;
    Ok(reply::found(media_type, &group, &head.links()))
}

/// `GET /user/<tenant>/groupByName/<name>`: returns the group of a name, as [`get`] does.
///
/// # Errors
/// The errors of [`get`].
pub async fn get_by_name(
    caller: Caller,
    head: RequestHead,
    path: web::Path<(String, String)>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let (tenant, _) = caller.reads_users(&platform, &path.0).await?;
    let media_type = head.accepted("group")?;
    let group =
        platform_store::users::groups::get_group_by_name(platform.database(), &tenant, &path.1).await?;
    Ok(reply::found(media_type, &group, &head.links()))
}

/// `PUT /user/<tenant>/groups/<id>`: changes name, description and device permissions.
///
/// # Errors
/// 403 without ROLE_USER_MANAGEMENT_ADMIN, and for renaming `admins` or `devices`; 404 for an unknown id; 409
/// when the name is taken; 422 for an invalid body.
pub async fn update(
    caller: Caller,
    head: RequestHead,
    path: web::Path<(String, String)>,
    body: UnreadBody,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let administration = caller.administers_groups(&platform, &path.0).await?;
    head.check_mode()?;
    let (database, id) = (platform.database(), GroupId::parse(&path.1)?);
    platform_store::users::groups::get_group(database, &administration.tenant, id).await?;
    let (media_type, patch) = body.parse(&["group"], GroupPatch::parse).await?;

    let group = platform_store::users::groups::update_group(database, &administration, id, &patch).await?;

    Ok(reply::updated(&head, media_type, &Arc::new(group), &head.links()))
}

/// `DELETE /user/<tenant>/groups/<id>`: deletes a group and returns 204.
///
/// # Errors
/// 403 without ROLE_USER_MANAGEMENT_ADMIN, and for `admins` and `devices`; 404 for an unknown id.
pub async fn remove(
    caller: Caller,
    head: RequestHead,
    path: web::Path<(String, String)>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let administration = caller.administers_groups(&platform, &path.0).await?;
    head.check_mode()?;
    let id = GroupId::parse(&path.1)?;
    platform_store::users::groups::delete_group(platform.database(), &administration, id).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// `GET /user/<tenant>/groups/<id>/users`: returns a page of the members by name, including device users.
///
/// # Errors
/// The errors of [`get`], and 422 for an invalid parameter.
pub async fn list_users(
    caller: Caller,
    head: RequestHead,
    path: web::Path<(String, String)>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let (tenant, _) = caller.reads_users(&platform, &path.0).await?;
    let listing = Listing::of(&head, "userReferenceCollection")?;
    let (id, database) = (GroupId::parse(&path.1)?, platform.database());
    let page = platform_store::users::list_members(database, &tenant, id, &listing.request).await?;
    if page.members.is_empty() {
        platform_store::users::groups::get_group(database, &tenant, id).await?;
    }
    let group = GroupPlace { tenant, id };
    let page = page.map(|user| UserReference { group: group.clone(), user });
    listing.respond("references", &page)
}

/// `GET /user/<tenant>/groups/<id>/users/<name>`: returns a member.
///
/// # Errors
/// The errors of [`get`], and 404 for a user who is not a member.
pub async fn get_user(
    caller: Caller,
    head: RequestHead,
    path: web::Path<(String, String, String)>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let (tenant, group, name) = &*path;
    let (tenant, _) = caller.reads_users(&platform, tenant).await?;
    let media_type = head.accepted("userReference")?;
    let (id, name) = (GroupId::parse(group)?, parse_user_of_path(name)?);
    let user = platform_store::users::get_user(platform.database(), &tenant, &name).await?;
    if !user.groups.iter().any(|group| group.id == id) {
        return Err(Error::not_found(Noun::User, name).into());
    }
    let reference = UserReference { group: GroupPlace { tenant, id }, user };
    Ok(reply::found(media_type, &reference, &head.links()))
}

/// `POST /user/<tenant>/groups/<id>/users`: adds a user to the group. A user who is already a member is 201
/// without a change.
///
/// # Errors
/// 403 without ROLE_USER_MANAGEMENT_ADMIN, except for the caller's own sub-users and groups that hold nothing
/// the caller lacks; 404 for an unknown group; 422 for an invalid body or an unknown user.
pub async fn add_user(
    caller: Caller,
    head: RequestHead,
    path: web::Path<(String, String)>,
    body: UnreadBody,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let administration = caller.administers_users(&platform, &path.0).await?;
    head.check_mode()?;
    let (database, id) = (platform.database(), GroupId::parse(&path.1)?);
    platform_store::users::groups::get_group(database, &administration.tenant, id).await?;
    let (media_type, name) =
        body.parse(&["userReference", "user"], |body| parse_member(&administration.tenant, body)).await?;

    let user =
        platform_store::users::group_members::insert_member(database, &administration, id, &name).await?;

    let group = GroupPlace { tenant: administration.tenant, id };
    let links = head.links();
    let location = links.group_member(&group.tenant, id, &name);
    Ok(reply::created(&head, media_type, location, &Arc::new(UserReference { group, user }), &links))
}

/// `DELETE /user/<tenant>/groups/<id>/users/<name>`: removes a user from the group and returns 204.
///
/// # Errors
/// 403 without ROLE_USER_MANAGEMENT_ADMIN, except for the caller's own sub-users; 403 for the last
/// administrator; 404 for an unknown group and a user who is not a member.
pub async fn remove_user(
    caller: Caller,
    head: RequestHead,
    path: web::Path<(String, String, String)>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let (tenant, group, name) = &*path;
    let administration = caller.administers_users(&platform, tenant).await?;
    head.check_mode()?;
    let (id, name) = (GroupId::parse(group)?, parse_user_of_path(name)?);
    platform_store::users::group_members::delete_member(platform.database(), &administration, id, &name)
        .await?;
    Ok(HttpResponse::NoContent().finish())
}

/// `GET /user/<tenant>/users/<name>/groups`: returns a page of the groups of a user by ascending id.
///
/// # Errors
/// 403 without ROLE_USER_MANAGEMENT_READ, except for the caller's own sub-users and the caller itself; 404
/// for an unknown user.
pub async fn list_of_user(
    caller: Caller,
    head: RequestHead,
    path: web::Path<(String, String)>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let user = caller.reads_user(&platform, &path.0, &path.1).await?;
    let listing = Listing::of(&head, "groupReferenceCollection")?;
    let database = platform.database();
    let page = platform_store::users::groups::list_groups(
        database,
        &user.tenant,
        Some(&user.name),
        &listing.request,
    )
    .await?;
    let page = page.map(|group| GroupReference { user: user.name.clone(), group });
    listing.respond("references", &page)
}
