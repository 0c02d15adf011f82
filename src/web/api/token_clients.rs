//! `/application/tokenClients`: clients that may request access tokens (docs/rules.md#access-tokens).
//!
//! A client acts as one user of its tenant, so creating a client for another user also requires the right to
//! administer users. A caller with a token cannot create a client with a wider scope than the token's.

use actix_web::{HttpResponse, web};
use platform_actors::Platform;
use platform_front::secrets::password::{self, SecretKey};
use platform_model::role;
use platform_model::users::token_client::{CreatedTokenClient, NewTokenClient, parse_client_id};
use platform_store::users::token_clients::{self, Draft};

use crate::auth::Caller;
use crate::http::body::UnreadBody;
use crate::http::component::Component;
use crate::http::error::{ApiError, Result};
use crate::http::paging::Listing;
use crate::http::{RequestHead, reply};

/// `GET /application/tokenClients`: returns a page of the tenant's clients, by key.
///
/// # Errors
/// 403 without ROLE_APPLICATION_MANAGEMENT_ADMIN, 422 for an invalid parameter.
pub async fn list(caller: Caller, head: RequestHead, platform: Component<Platform>) -> Result<HttpResponse> {
    caller.require(role::APPLICATION_MANAGEMENT_ADMIN)?;
    let listing = Listing::of(&head, "tokenClientCollection")?;
    let page = token_clients::list_clients(platform.database(), &caller.tenant, &listing.request).await?;
    listing.respond("tokenClients", &page)
}

/// `POST /application/tokenClients`: creates a client and returns its secret. The response has a body whether
/// or not `Accept` was sent, because the secret is never shown again.
///
/// # Errors
/// 403 without ROLE_APPLICATION_MANAGEMENT_ADMIN, for another user without ROLE_USER_MANAGEMENT_ADMIN, and
/// for a scope beyond the caller's own; 422 for an invalid body, an unknown user and the user of a
/// microservice.
pub async fn create(
    caller: Caller,
    head: RequestHead,
    body: UnreadBody,
    platform: Component<Platform>,
    secret_key: Component<SecretKey>,
) -> Result<HttpResponse> {
    caller.require(role::APPLICATION_MANAGEMENT_ADMIN)?;
    head.check_mode()?;
    let (media_type, new) = body.parse(&["tokenClient"], NewTokenClient::parse).await?;
    let user = new.user.as_deref().unwrap_or(&caller.user);
    if *user != *caller.user {
        caller.require(role::USER_MANAGEMENT_ADMIN)?;
    }
    if !caller.scope().includes(new.scope) {
        return Err(ApiError::forbidden_because(
            "a token cannot create a client with a wider scope than its own",
        ));
    }
    let (id, secret) = (password::generate(), password::generate());
    let draft = Draft {
        tenant: &caller.tenant,
        id: &id,
        name: new.name.as_deref().unwrap_or(user),
        user,
        scope: new.scope,
        secret_hash: &secret_key.hash(&secret),
    };
    let client = token_clients::insert_client(platform.database(), draft).await?;
    caller.log_change_of_rights("Token client created", &client.id);
    let (links, created) = (head.links(), CreatedTokenClient { client, secret });
    Ok(reply::issued(media_type, links.token_client(&created.client.id), &created, &links))
}

/// `GET /application/tokenClients/<clientId>`: returns a client, without its secret.
///
/// # Errors
/// 403 without ROLE_APPLICATION_MANAGEMENT_ADMIN, 404 for an unknown client.
pub async fn get(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    caller.require(role::APPLICATION_MANAGEMENT_ADMIN)?;
    let media_type = head.accepted("tokenClient")?;
    let id = parse_client_id(&path)?;
    let client = token_clients::get_client(platform.database(), &caller.tenant, id).await?;
    Ok(reply::found(media_type, &client, &head.links()))
}

/// `DELETE /application/tokenClients/<clientId>`: deletes a client and revokes its tokens at every server.
///
/// # Errors
/// 403 without ROLE_APPLICATION_MANAGEMENT_ADMIN, 404 for an unknown client.
pub async fn remove(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    caller.require(role::APPLICATION_MANAGEMENT_ADMIN)?;
    head.check_mode()?;
    let id = parse_client_id(&path)?;
    token_clients::delete_client(platform.database(), &caller.tenant, id).await?;
    caller.log_change_of_rights("Token client deleted", id);
    Ok(HttpResponse::NoContent().finish())
}
