//! `/tenant/loginOptions/oauth2/tokens`: access tokens for people whom the identity provider of their tenant has
//! identified to the commands (C-34).

use actix_web::HttpResponse;
use platform_actors::Platform;
use platform_model::users::user_token::{IdTokenExchange, LONGEST, ShownUserToken};

use crate::auth::access_token::{self, TokenRequests};
use crate::auth::{Authenticator, RequestSource};
use crate::http::body::UnreadBody;
use crate::http::component::Component;
use crate::http::error::{ApiError, Result};
use crate::http::{RequestHead, authority, client_address, reply};

/// The media type of a token, without its prefix.
const TYPE: &str = "accessToken";

/// The largest request body in bytes, which nobody must log in to send.
const BODY_BYTES: usize = 64 << 10;

/// `POST /tenant/loginOptions/oauth2/tokens`: returns an access token in exchange for an ID token, which needs no other
/// credentials. Nobody can renew a log-in of a command while no command runs, so the token is valid up to its end.
///
/// # Errors
/// 403 with the reason for an ID token that does not identify a user of the tenant to the commands; 404 if they have no
/// client at the provider; 422 for an invalid body; 429 when an address sends too many requests a minute; 503 if the
/// provider does not respond.
pub async fn create(
    head: RequestHead,
    body: UnreadBody,
    platform: Component<Platform>,
    authenticator: Component<Authenticator>,
    requests: Component<TokenRequests>,
) -> Result<HttpResponse> {
    let source = RequestSource::of(client_address(&head));
    requests.0.admit(source)?;
    head.check_mode()?;
    let media_type = head.accepted(TYPE)?;
    head.check_content_type(&[TYPE])?;
    let IdTokenExchange { id_token, new } = IdTokenExchange::parse(body.json(BODY_BYTES).await?)?;
    let host = authority(&head).unwrap_or_default();
    let logged_in = Box::pin(authenticator.exchange(host, &id_token, source)).await?.map_err(|refusal| {
        tracing::warn!(target: "platform::security", host, %source, ?refusal, "log-in of a command refused");
        ApiError::from(refusal)
    })?;
    let user = (&logged_in.tenant, &*logged_in.account.name);
    let issued =
        access_token::issue_to_user(&platform, user, &new, LONGEST, logged_in.authenticated()).await?;
    let (secret, stored) = issued.ok_or(ApiError::Unauthorized)?;
    let links = head.links();
    let created = ShownUserToken { stored, current: false, secret: Some(secret) };
    Ok(reply::issued(media_type, links.user_token(&created.stored.id), &created, &links))
}
