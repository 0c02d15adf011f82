//! The log-in of the console, which a browser keeps across reloads and in every tab
//! (T-11; docs/decisions/0023-log-in-of-the-console.md).
//!
//! The browser keeps the access token of the console in a cookie that no script can read. It is not a credential for
//! the API: the server only writes it into the page of the console, and only when a browser opens this page as a
//! document of its own. A hosted application under the domain of its tenant has the origin of the console, so it may
//! request the page, but gets it without the token; and it cannot look into a window of the console, because the page
//! may not be framed and its opener policy separates it from the window that opened it.

use actix_web::http::header::{self, HeaderName};
use actix_web::{HttpRequest, HttpResponse};

use super::cookie::Cookie;
use crate::auth::{Authenticator, Caller, access_token, cors};
use crate::http::authority;
use crate::http::error::{ApiError, Result};
use crate::http::head::{Head, SEC_FETCH_DEST};
use crate::http::hosted::Policies;

/// The header in which a browser says that it opens a page instead of loading it for a script.
static SEC_FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
/// The cookie with the access token of the console, which lasts until the browser is closed.
pub(super) const KEPT: Cookie = Cookie { name: "platform-console", same_site: "Strict" };

/// `PUT /console/login`: makes the browser keep the access token of this request until it is closed, for the console.
///
/// # Errors
/// 403 for a page of another site, and for other credentials than a token that the user requested for itself.
pub async fn keep_log_in(request: HttpRequest, caller: Caller) -> Result<HttpResponse> {
    if cors::is_foreign(&request) {
        return Err(ApiError::forbidden_because("only the console may log in to the console"));
    }
    let token = request.header(&header::AUTHORIZATION).and_then(access_token::from_header);
    let token = token.filter(|_| caller.by_own_token()).ok_or_else(|| {
        ApiError::forbidden_because("the console keeps only a token that its user requested for itself")
    })?;
    Ok(HttpResponse::NoContent()
        .insert_header((header::SET_COOKIE, KEPT.set(&request, token, None)))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .finish())
}

/// Returns the token that the page of the console gets: that of the cookie, if nobody but the console can read the
/// page. Whether the token is still valid is found out by the console.
pub(super) async fn kept(request: &HttpRequest) -> Option<String> {
    let token = KEPT.value(request).filter(|token| access_token::is_token(token))?;
    let opens = opens_document(request)?;
    (opens || confines_applications(request).await).then_some(token)
}

/// Returns whether the browser opens the page as a document of its own. Browsers say so at addresses at which they also
/// honour the opener policy; `false` when this one says nothing. Returns `None` for any other use.
fn opens_document(request: &HttpRequest) -> Option<bool> {
    // Only scripts send an origin with a GET.
    if request.has(&header::ORIGIN) {
        return None;
    }
    match (request.header(&SEC_FETCH_DEST), request.header(&SEC_FETCH_MODE)) {
        (None, None) => Some(false),
        (Some(b"document"), Some(b"navigate")) => Some(true),
        _ => None,
    }
}

/// Returns whether no hosted application has the origin of this address: it is not a domain of a tenant, and the policy
/// of applications is a sandbox without an origin.
async fn confines_applications(request: &HttpRequest) -> bool {
    let (authenticator, policies) = (request.state::<Authenticator>(), request.state::<Policies>());
    let host = authority(request).unwrap_or_default();
    let is_shared = async {
        let tenant = authenticator.tenant_of_host(host).await?;
        Ok::<_, ApiError>(!authenticator.is_domain_of(&tenant, host).await?)
    };
    policies.take_origins() && is_shared.await.unwrap_or(false)
}
