//! `/user/currentUser/tokens`: access tokens that users request for themselves (docs/rules.md#access-tokens; T-10).
//!
//! A user exchanges its password for a token, so that a program need not keep the password. Only a password permits
//! it: a token would otherwise outlive its own end. A token has the rights that its user has at each request.

use actix_web::http::header;
use actix_web::{HttpResponse, web};
use platform_actors::Platform;
use platform_model::error::{Error, Noun};
use platform_model::users::user_token::{
    NewUserToken, ShownUserToken, TokenOfPath, UserToken, parse_token_of_path,
};
use platform_store::users::user_tokens::{self, Authenticated};

use crate::auth::{Caller, Oneself, access_token};
use crate::http::body::UnreadBody;
use crate::http::component::Component;
use crate::http::error::{ApiError, Result};
use crate::http::{RequestHead, reply};

/// The media type of a token, without its prefix.
const TYPE: &str = "accessToken";

/// `GET /user/currentUser/tokens`: returns the valid tokens of the caller's user, newest first.
///
/// # Errors
/// 406 for another media type.
pub async fn list(caller: Caller, head: RequestHead, platform: Component<Platform>) -> Result<HttpResponse> {
    let media_type = head.accepted("accessTokenCollection")?;
    let tokens = user_tokens::list_tokens(platform.database(), &caller.tenant, &caller.user).await?;
    let shown: Vec<_> = tokens.into_iter().map(|token| shown(&caller, token)).collect();
    let links = head.links();
    let body = reply::members(&links.user_tokens(), "tokens", &shown, &links);
    Ok(HttpResponse::Ok().insert_header((header::CONTENT_TYPE, media_type)).body(body))
}

/// `POST /user/currentUser/tokens`: returns a new token. The response has a body whether or not `Accept` was sent,
/// because the token is never shown again.
///
/// # Errors
/// 401 when the password changed meanwhile, and without a code for a user with a second factor (C-27); 403 for a caller
/// that sent no password, 422 for an invalid body.
pub async fn create(
    Oneself(caller): Oneself,
    head: RequestHead,
    body: UnreadBody,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let caller = caller.beyond_bootstrap()?.complete()?;
    let password = caller.password().ok_or_else(|| {
        ApiError::forbidden_because("a token is issued in exchange for a password, not for another token")
    })?;
    head.check_mode()?;
    let (media_type, new) = body.parse(&[TYPE], NewUserToken::parse).await?;
    let (user, authenticated) = ((&caller.tenant, &*caller.user), Authenticated::Password(password));
    let validity = new.validity.unwrap_or(platform.limits().access_token);
    let issued = access_token::issue_to_user(&platform, user, &new, validity, authenticated).await?;
    let (secret, stored) = issued.ok_or(ApiError::Unauthorized)?;
    caller.log_change_of_rights("Access token created", &stored.id);
    let links = head.links();
    let created = ShownUserToken { stored, current: false, secret: Some(secret) };
    Ok(reply::issued(media_type, links.user_token(&created.stored.id), &created, &links))
}

/// `DELETE /user/currentUser/tokens`: revokes all tokens of the caller's user at every server, which ends its sessions.
///
/// # Errors
/// 422 for an unknown processing mode.
pub async fn remove_all(
    caller: Caller,
    head: RequestHead,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    head.check_mode()?;
    revoke(&caller, &platform, None).await
}

/// `GET /user/currentUser/tokens/<id>`: returns a token, without its secret. `current` is the one of the request.
///
/// # Errors
/// 404 for a token that is unknown, expired, or another user's.
pub async fn get(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let media_type = head.accepted(TYPE)?;
    let token = shown(&caller, find(&caller, &platform, &path).await?);
    Ok(reply::found(media_type, &token, &head.links()))
}

/// `PUT /user/currentUser/tokens/<id>`: renews a token. It is then valid as long as a new one, at most up to its end,
/// and never shorter than before.
///
/// # Errors
/// 404 as for GET.
pub async fn renew(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    head.check_mode()?;
    let media_type = head.accepted(TYPE)?;
    let id = find(&caller, &platform, &path).await?.id;
    let validity = platform.limits().access_token;
    let (database, tenant, user) = (platform.database(), &caller.tenant, &caller.user);
    let renewed = user_tokens::renew_token(database, tenant, user, &id, validity).await?;
    Ok(reply::found(media_type, &shown(&caller, renewed), &head.links()))
}

/// `DELETE /user/currentUser/tokens/<id>`: revokes a token at every server, which ends the sessions of the user.
///
/// # Errors
/// 404 as for GET.
pub async fn remove(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    head.check_mode()?;
    let id = find(&caller, &platform, &path).await?.id;
    revoke(&caller, &platform, Some(&id)).await
}

async fn find(caller: &Caller, platform: &Platform, path: &str) -> Result<UserToken> {
    let wanted = parse_token_of_path(path)?;
    let tokens = user_tokens::list_tokens(platform.database(), &caller.tenant, &caller.user).await?;
    let found = tokens.into_iter().find(|token| match wanted {
        TokenOfPath::Current => caller.sent(&token.hash),
        TokenOfPath::Id(id) => token.id == id,
    });
    found.ok_or_else(|| Error::not_found(Noun::AccessToken, path).into())
}

async fn revoke(caller: &Caller, platform: &Platform, id: Option<&str>) -> Result<HttpResponse> {
    let revoked = user_tokens::delete_tokens(platform.database(), &caller.tenant, &caller.user, id).await?;
    for id in revoked {
        caller.log_change_of_rights("Access token revoked", id);
    }
    Ok(HttpResponse::NoContent().finish())
}

fn shown(caller: &Caller, stored: UserToken) -> ShownUserToken {
    let current = caller.sent(&stored.hash);
    ShownUserToken { stored, current, secret: None }
}
