//! Log-outs with the identity provider of the tenant: the provider reports its own (C-35), and a browser that has
//! logged out of the console continues there (C-36).

use actix_web::http::StatusCode;
use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse};

use crate::auth::access_token::TokenRequests;
use crate::auth::{Authenticator, RequestSource};
use crate::http::body::UnreadBody;
use crate::http::component::Component;
use crate::http::error::{ApiError, Result};
use crate::http::head::Head;
use crate::http::query::Query;
use crate::http::{authority, base, client_address, essence};

/// The largest request body in bytes; a logout token has a few hundred.
const BODY_BYTES: usize = 64 << 10;
/// The media type of a log-out that the provider reports.
const FORM: &str = "application/x-www-form-urlencoded";

/// `POST /console/sso/backchannel-logout`: revokes the access tokens of the log-in that the logout token of the
/// provider names, at every server, which ends the sessions of its user. The token is the only credential.
///
/// # Errors
/// 400 with the reason for a token that is not acceptable; 404 if the tenant of the host has no provider with which
/// people log in; 415 for another body than a form; 503 if the provider does not respond.
pub async fn by_token(request: HttpRequest, body: UnreadBody) -> Result<HttpResponse> {
    let authenticator = request.state::<Authenticator>();
    let host = authority(&request).unwrap_or_default();
    let registered = authenticator.registered_at(host, request.path()).await?;
    if !essence(&request).eq_ignore_ascii_case(FORM) {
        return Err(ApiError::UnsupportedMediaType(format!("Content-Type must be {FORM}")));
    }
    let form = body.read(BODY_BYTES).await?;
    let form = Query::parse(&String::from_utf8_lossy(&form));
    let source = RequestSource::of(client_address(&request));
    let text = form.get("logout_token").unwrap_or_default();
    let logged_out = authenticator.log_out_by_token(&registered, text, source).await?;
    logged_out.map_err(|reason| {
        let tenant = registered.tenant();
        tracing::warn!(target: "platform::security", %tenant, %source, reason, "logout token refused");
        ApiError::Http(StatusCode::BAD_REQUEST, format!("The logout token is refused: {reason}"))
    })?;
    Ok(HttpResponse::Ok().insert_header((header::CACHE_CONTROL, "no-store")).finish())
}

/// `GET /console/sso/frontchannel-logout`: revokes the access tokens of a session at the provider, whose page loads
/// this one in a frame. No cookie is sent there, so the name of the session is the only credential.
///
/// # Errors
/// 400 without the issuer and a session; 404 as for [`by_token`]; 429 when an address sends too many requests a minute.
pub async fn in_frame(request: HttpRequest, requests: Component<TokenRequests>) -> Result<HttpResponse> {
    requests.0.admit(RequestSource::of(client_address(&request)))?;
    let authenticator = request.state::<Authenticator>();
    let host = authority(&request).unwrap_or_default();
    let registered = authenticator.registered_at(host, request.path()).await?;
    let query = Query::parse(request.query_string());
    let issuer = registered.issuer();
    let session = query.get("sid").filter(|_| query.get("iss") == Some(issuer));
    let session = session.filter(|session| !session.is_empty() && !session.contains('\0'));
    let refused = || ApiError::Http(StatusCode::BAD_REQUEST, "The issuer or the session is missing".into());
    authenticator.log_out_session(&registered, session.ok_or_else(refused)?).await?;
    let origin = issuer.splitn(4, '/').take(3).collect::<Vec<_>>().join("/");
    Ok(HttpResponse::Ok()
        .insert_header((header::CONTENT_TYPE, "text/html;charset=UTF-8"))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .insert_header((
            header::CONTENT_SECURITY_POLICY,
            format!("default-src 'none'; frame-ancestors {origin}"),
        ))
        .body("<!doctype html><title>platform</title>"))
}

/// `GET /console/sso/logout`: sends a browser that has logged out of the console to the provider, to log out there,
/// too. If that is not possible it returns to the console.
pub async fn at_provider(request: HttpRequest) -> HttpResponse {
    let host = authority(&request).unwrap_or_default();
    let back = format!("{}/", base(&request));
    let url = request.state::<Authenticator>().end_session_url(host, &back).await;
    HttpResponse::Found()
        .insert_header((header::LOCATION, url.ok().flatten().unwrap_or(back)))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .insert_header((header::REFERRER_POLICY, "no-referrer"))
        .finish()
}
