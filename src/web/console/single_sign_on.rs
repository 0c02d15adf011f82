//! The log-in of the console with the identity provider of the tenant (C-26). The browser is sent to the provider, and
//! returns with a code, which this server redeems. The person gets an access token like after a log-in with a password.
//!
//! The secret of the attempt is in a cookie, so that a page of another site cannot log a person in as somebody else.

use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse};
use platform_actors::Platform;
use platform_model::users::token_client::Scope;
use platform_model::users::user_token::NewUserToken;

use super::cookie::Cookie;
use super::log_in::KEPT;
use super::names_html;
use crate::auth::access_token::{self, TokenRequests};
use crate::auth::{Attempt, Authenticator, Refusal, RequestSource};
use crate::http::component::Component;
use crate::http::error::{ApiError, Result};
use crate::http::head::Head;
use crate::http::query::Query;
use crate::http::{authority, base, client_address};

/// The cookie with the secret of an attempt. Browsers also send it when the provider sends them back.
const ATTEMPT: Cookie = Cookie { name: "platform-sso", same_site: "Lax" };
/// The number of seconds that a person has for the log-in at the provider.
const PATIENCE: u32 = 600;
/// The page after a log-in. A browser that comes from another site does not send the cookie of the console
/// (`SameSite=Strict`), so this page, which is of the same site, opens the console.
const DONE: &str = "<!doctype html><meta http-equiv=\"refresh\" content=\"0;url=/\"><title>platform</title>";

/// `GET /console/sso`: sends the browser to the identity provider.
///
/// # Errors
/// 404 if the tenant of the host has no provider for the console, 503 if the provider does not respond.
pub async fn begin(request: HttpRequest) -> Result<HttpResponse> {
    let attempt = Attempt::begin();
    let authenticator = request.state::<Authenticator>();
    let host = authority(&request).unwrap_or_default();
    let url = authenticator.authorization_url(host, &attempt, &back(&request)).await?;
    Ok(HttpResponse::Found()
        .insert_header((header::LOCATION, url))
        .insert_header((header::SET_COOKIE, ATTEMPT.set(&request, attempt.secret(), Some(PATIENCE))))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .insert_header((header::REFERRER_POLICY, "no-referrer"))
        .finish())
}

/// `GET /console/sso/callback`: logs in to the console with the code of the identity provider. A browser with which
/// nobody can log in returns to the log-in page, which shows the reason; its address contains one of a few words.
///
/// # Errors
/// 403 with the reason for an attempt that this browser has not begun, that the provider refused, and for a person who
/// is not a user of the tenant; 429 when an address sends too many requests a minute; 404 and 503 as for [`begin`].
pub async fn finish(request: HttpRequest, requests: Component<TokenRequests>) -> Result<HttpResponse> {
    let (error, word) = match log_in(&request, &requests).await {
        Ok(Ok(response)) => return Ok(response),
        Ok(Err(refusal)) => {
            let host = authority(&request).unwrap_or_default();
            tracing::warn!(target: "platform::security", host, ?refusal, "single sign-on refused");
            (refusal.into(), refusal.word())
        }
        Err(error @ ApiError::NoSuchPath(_)) => (error, "unoffered"),
        Err(error @ ApiError::TooManyRequests { .. }) => (error, "busy"),
        Err(error) => (error, "failed"),
    };
    if !names_html(request.headers()) {
        return Err(error);
    }
    Ok(HttpResponse::SeeOther()
        .insert_header((header::LOCATION, format!("/?sso={word}")))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .insert_header((header::REFERRER_POLICY, "no-referrer"))
        .finish())
}

/// Redeems the code, and returns the page that opens the console. The inner error is the reason why the person cannot
/// log in.
async fn log_in(request: &HttpRequest, requests: &TokenRequests) -> Result<Result<HttpResponse, Refusal>> {
    // Each of them causes a request to the provider.
    requests.0.admit(RequestSource::of(client_address(request)))?;
    let query = Query::parse(request.query_string());
    let attempt = ATTEMPT.value(request).and_then(|secret| Attempt::of_secret(&secret));
    let attempt = attempt.filter(|attempt| query.get("state") == Some(&attempt.state()));
    let Some(attempt) = attempt else { return Ok(Err(Refusal::NotBegun)) };
    let Some(code) = query.get("code") else {
        let reason = query.get("error").unwrap_or("no reason");
        tracing::info!(target: "platform::security", reason, "an identity provider refused a log-in");
        return Ok(Err(Refusal::ByProvider));
    };
    let authenticator = request.state::<Authenticator>();
    let host = authority(request).unwrap_or_default();
    let redeemed = Box::pin(authenticator.redeem(host, &attempt, code, &back(request))).await?;
    let logged_in = match redeemed {
        Ok(logged_in) => logged_in,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let new = NewUserToken { name: "Console, single sign-on".into(), scope: Scope::ALL, validity: None };
    let user = (&logged_in.tenant, &*logged_in.account.name);
    let platform = request.state::<Platform>();
    let validity = platform.limits().access_token;
    let issued =
        access_token::issue_to_user(platform, user, &new, validity, logged_in.authenticated()).await?;
    let Some((token, _)) = issued else { return Ok(Err(Refusal::Disabled)) };
    Ok(Ok(HttpResponse::Ok()
        .insert_header((header::CONTENT_TYPE, "text/html;charset=UTF-8"))
        .append_header((header::SET_COOKIE, KEPT.set(request, &token, None)))
        .append_header((header::SET_COOKIE, ATTEMPT.set(request, "", Some(0))))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .insert_header((header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"))
        .insert_header((header::REFERRER_POLICY, "no-referrer"))
        .body(DONE)))
}

/// Returns the address to which the provider sends the browser back, which is registered there.
fn back(request: &HttpRequest) -> String {
    format!("{}/console/sso/callback", base(request))
}
