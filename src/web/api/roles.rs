//! `/user/roles`, and the roles of users and groups (U-01, U-03, U-04).

use std::sync::Arc;

use actix_web::{HttpResponse, web};
use platform_actors::Platform;
use platform_model::error::{Error, Noun};
use platform_model::id::GroupId;
use platform_model::role::{self, Role, RoleHolder, RoleReference, RoleSet};
use platform_model::users::user::parse_user_of_path;

use crate::auth::Caller;
use crate::http::body::UnreadBody;
use crate::http::component::Component;
use crate::http::error::Result;
use crate::http::paging::Listing;
use crate::http::{RequestHead, reply};

/// `GET /user/roles`: returns a page of the roles of the tenant by name: those of the platform and those of
/// microservices to which the tenant subscribes (U-03).
///
/// # Errors
/// 403 without ROLE_USER_MANAGEMENT_READ or ROLE_USER_MANAGEMENT_CREATE, 422 for an invalid parameter.
pub async fn list(caller: Caller, head: RequestHead, platform: Component<Platform>) -> Result<HttpResponse> {
    caller.reads_users(&platform, caller.tenant.as_str()).await?;
    let listing = Listing::of(&head, "roleCollection")?;
    let roles = platform_store::applications::roles::list_roles(platform.database(), &caller.tenant).await?;
    let page = listing.request.cut(roles, |role| &role.name);
    listing.respond("roles", &page)
}

/// `GET /user/roles/<name>`: returns a role.
///
/// # Errors
/// 403 as [`list`], 404 for an unknown role.
pub async fn get(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    caller.reads_users(&platform, caller.tenant.as_str()).await?;
    let media_type = head.accepted("role")?;
    let role =
        platform_store::applications::roles::get_role(platform.database(), &caller.tenant, &path).await?;
    Ok(reply::found(media_type, &role, &head.links()))
}

/// `GET /user/<tenant>/users/<name>/roles`: returns a page of the roles a user holds directly, by name.
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
    page_of(&head, &RoleHolder::User(user.tenant, user.name), &user.roles)
}

/// `GET /user/<tenant>/groups/<id>/roles`: returns a page of the roles of a group by name.
///
/// # Errors
/// 403 without ROLE_USER_MANAGEMENT_READ or ROLE_USER_MANAGEMENT_CREATE, 404 for an unknown group.
pub async fn list_of_group(
    caller: Caller,
    head: RequestHead,
    path: web::Path<(String, String)>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let (holder, roles) = roles_of_group(&caller, &platform, &path.0, &path.1).await?;
    page_of(&head, &holder, &roles)
}

/// `GET /user/<tenant>/users/<name>/roles/<role>`: returns a role that the user holds directly.
///
/// # Errors
/// The errors of [`list_of_user`], and 404 for a role the user does not hold.
pub async fn get_of_user(
    caller: Caller,
    head: RequestHead,
    path: web::Path<(String, String, String)>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let (tenant, name, role) = &*path;
    let user = caller.reads_user(&platform, tenant, name).await?;
    one_of(&head, &RoleHolder::User(user.tenant, user.name), &user.roles, role)
}

/// `GET /user/<tenant>/groups/<id>/roles/<role>`: returns a role of a group.
///
/// # Errors
/// The errors of [`list_of_group`], and 404 for a role the group does not hold.
pub async fn get_of_group(
    caller: Caller,
    head: RequestHead,
    path: web::Path<(String, String, String)>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let (tenant, group, role) = &*path;
    let (holder, roles) = roles_of_group(&caller, &platform, tenant, group).await?;
    one_of(&head, &holder, &roles, role)
}

async fn roles_of_group(
    caller: &Caller,
    platform: &Platform,
    tenant: &str,
    group: &str,
) -> Result<(RoleHolder, RoleSet)> {
    let (tenant, _) = caller.reads_users(platform, tenant).await?;
    let id = GroupId::parse(group)?;
    let group = platform_store::users::groups::get_group(platform.database(), &tenant, id).await?;
    Ok((RoleHolder::Group(tenant, id), group.roles))
}

fn one_of(head: &RequestHead, holder: &RoleHolder, roles: &RoleSet, role: &str) -> Result<HttpResponse> {
    let media_type = head.accepted("roleReference")?;
    let held = role::references(holder, roles).into_iter().find(|held| &*held.role.name == role);
    let unknown = || Error::not_found(Noun::Role, role.chars().take(64).collect::<String>());
    Ok(reply::found(media_type, &held.ok_or_else(unknown)?, &head.links()))
}

fn page_of(head: &RequestHead, holder: &RoleHolder, roles: &RoleSet) -> Result<HttpResponse> {
    let listing = Listing::of(head, "roleReferenceCollection")?;
    let page = listing.request.cut(role::references(holder, roles), |reference| &reference.role.name);
    listing.respond("references", &page)
}

/// `POST /user/<tenant>/users/<name>/roles`: assigns a role to a user. A role the user has already is 201
/// without a change.
///
/// # Errors
/// 403 without ROLE_USER_MANAGEMENT_ADMIN, except for the caller's own sub-users and roles the caller has;
/// 404 for an unknown user; 422 for an invalid body and a role that cannot be assigned.
pub async fn assign_to_user(
    caller: Caller,
    head: RequestHead,
    path: web::Path<(String, String)>,
    body: UnreadBody,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let administration = caller.administers_users(&platform, &path.0).await?;
    let (database, name) = (platform.database(), parse_user_of_path(&path.1)?);
    let user = platform_store::users::get_user(database, &administration.tenant, &name).await?;
    administration.authority.reaches(user.owner.as_deref())?;
    let (media_type, role) = assignment(&head, body).await?;
    platform_store::users::changes::assign_role(database, &administration, &name, &role).await?;
    let holder = RoleHolder::User(administration.tenant, name);
    Ok(assigned(&head, media_type, RoleReference { holder, role }))
}

/// `POST /user/<tenant>/groups/<id>/roles`: assigns a role to a group. A role the group has already is 201
/// without a change.
///
/// # Errors
/// 403 without ROLE_USER_MANAGEMENT_ADMIN, 404 for an unknown group, 422 as [`assign_to_user`].
pub async fn assign_to_group(
    caller: Caller,
    head: RequestHead,
    path: web::Path<(String, String)>,
    body: UnreadBody,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let administration = caller.administers_groups(&platform, &path.0).await?;
    let (database, id) = (platform.database(), GroupId::parse(&path.1)?);
    platform_store::users::groups::get_group(database, &administration.tenant, id).await?;
    let (media_type, role) = assignment(&head, body).await?;
    platform_store::users::groups::assign_role(database, &administration, id, &role).await?;
    let holder = RoleHolder::Group(administration.tenant, id);
    Ok(assigned(&head, media_type, RoleReference { holder, role }))
}

async fn assignment(head: &RequestHead, body: UnreadBody) -> Result<(String, Role)> {
    head.check_mode()?;
    let (media_type, role) = body.parse(&["roleReference", "role"], Role::parse_assignment).await?;
    Ok((media_type, role))
}

fn assigned(head: &RequestHead, media_type: String, reference: RoleReference) -> HttpResponse {
    let links = head.links();
    let location = reference.link(&links);
    reply::created(head, media_type, location, &Arc::new(reference), &links)
}

/// `DELETE /user/<tenant>/users/<name>/roles/<role>`: withdraws a role that the user holds directly, and
/// returns 204.
///
/// # Errors
/// 403 without ROLE_USER_MANAGEMENT_ADMIN, except for the caller's own sub-users; 404 for an unknown user and
/// a role the user does not hold.
pub async fn withdraw_from_user(
    caller: Caller,
    head: RequestHead,
    path: web::Path<(String, String, String)>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let (tenant, name, role) = &*path;
    let administration = caller.administers_users(&platform, tenant).await?;
    head.check_mode()?;
    let name = parse_user_of_path(name)?;
    platform_store::users::changes::withdraw_role(platform.database(), &administration, &name, role).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// `DELETE /user/<tenant>/groups/<id>/roles/<role>`: withdraws a role from a group, and returns 204.
///
/// # Errors
/// 403 without ROLE_USER_MANAGEMENT_ADMIN, and for the role by which `admins` administer users; 404 for an
/// unknown group and a role the group does not hold.
pub async fn withdraw_from_group(
    caller: Caller,
    head: RequestHead,
    path: web::Path<(String, String, String)>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let (tenant, group, role) = &*path;
    let administration = caller.administers_groups(&platform, tenant).await?;
    head.check_mode()?;
    let id = GroupId::parse(group)?;
    platform_store::users::groups::withdraw_role(platform.database(), &administration, id, role).await?;
    Ok(HttpResponse::NoContent().finish())
}
