//! The console: a web page that this server hosts at `/` for browsers. [`platform_content`] embeds it;
//! console/README.md describes it. It uses the public API and the public channels only, so it needs no rights of its
//! own.

mod cookie;
mod log_in;
pub mod log_out;
pub mod single_sign_on;

use actix_web::guard::GuardContext;
use actix_web::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use actix_web::{HttpRequest, HttpResponse, HttpResponseBuilder, web};
use platform_content::{CONSOLE, File};

use crate::http::encoding::accepts_gzip;
use crate::http::error::{ApiError, Result};
pub use log_in::keep_log_in;

/// The page that loads all other files.
const PAGE: &str = "index.html";
/// The page at `/` of a server that was built without the console.
const NO_CONSOLE: &str = include_str!("../../../docs/no-console.html");

/// All content comes from this server, and no script or style is inline.
const POLICY: &str = "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";
/// The replacement page has no scripts, and its only style is inline.
const POLICY_OF_NO_CONSOLE: &str = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";
/// A name with a hash never gets other content.
const FOREVER: &str = "public, max-age=31536000, immutable";

/// Returns whether a client requests the page at `/`: browsers have `text/html` in `Accept`, clients of the API do not.
pub fn wants_page(request: &GuardContext<'_>) -> bool {
    names_html(request.head().headers())
}

/// Returns whether the headers of a request name the media type of pages in `Accept`.
fn names_html(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT);
    accepted.filter_map(|value| value.to_str().ok()).any(|types| {
        let mut types = types.split(',').filter_map(|range| range.split(';').next());
        types.any(|media_type| media_type.trim().eq_ignore_ascii_case("text/html"))
    })
}

/// The beginning of the page, after which the token of a kept log-in is inserted.
const HEAD: &[u8] = b"<head>";

/// `GET` and `HEAD /` of a browser: returns the page of the console, to everyone, with the log-in that the browser
/// keeps.
pub async fn page(request: HttpRequest) -> HttpResponse {
    let page = find(PAGE);
    if let (Some(page), Some(token)) = (page, log_in::kept(&request).await) {
        return logged_in(page, &token);
    }
    let response = match page {
        // The page names the other files, so it is requested again after every update.
        Some(page) => respond(&request, page, "no-cache"),
        None => HttpResponse::Ok()
            .insert_header((header::CONTENT_TYPE, "text/html;charset=UTF-8"))
            .insert_header((header::CACHE_CONTROL, "no-cache"))
            .insert_header((header::CONTENT_SECURITY_POLICY, POLICY_OF_NO_CONSOLE))
            .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
            .body(NO_CONSOLE),
    };
    // Caches must distinguish browsers from other clients of the same address.
    varying(response, "accept, accept-encoding")
}

/// `GET` and `HEAD /console/<file>`: returns a file of the console, to everyone.
///
/// # Errors
/// 404 for an unknown file.
pub async fn file(request: HttpRequest, name: web::Path<String>) -> Result<HttpResponse> {
    let file = find(&name).filter(|file| file.name != PAGE);
    let file = file.ok_or_else(|| ApiError::NoSuchPath(request.path().to_owned()))?;
    Ok(varying(respond(&request, file, FOREVER), "accept-encoding"))
}

fn find(name: &str) -> Option<&'static File> {
    CONSOLE.iter().find(|file| file.name == name)
}

/// Returns the page with a token, which no cache may keep: a script of the same origin could read it there.
fn logged_in(page: &File, token: &str) -> HttpResponse {
    let after =
        page.plain.windows(HEAD.len()).position(|bytes| bytes == HEAD).map_or(0, |at| at + HEAD.len());
    let token = format!("\n<meta name=\"platform-token\" content=\"{token}\">");
    let body = [&page.plain[..after], token.as_bytes(), &page.plain[after..]].concat();
    headed(page, "no-store").body(body)
}

fn respond(request: &HttpRequest, file: &File, caching: &'static str) -> HttpResponse {
    let mut response = headed(file, caching);
    if accepts_gzip(request.headers()) {
        response.insert_header((header::CONTENT_ENCODING, "gzip")).body(file.gzip)
    } else {
        response.body(file.plain)
    }
}

fn headed(file: &File, caching: &'static str) -> HttpResponseBuilder {
    let mut response = HttpResponse::Ok();
    response
        .insert_header((header::CONTENT_TYPE, file.media_type))
        .insert_header((header::CACHE_CONTROL, caching))
        .insert_header((header::CONTENT_SECURITY_POLICY, POLICY))
        .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .insert_header((header::REFERRER_POLICY, "no-referrer"))
        .insert_header((HeaderName::from_static("cross-origin-opener-policy"), "same-origin"));
    response
}

fn varying(mut response: HttpResponse, headers: &'static str) -> HttpResponse {
    response.headers_mut().insert(header::VARY, HeaderValue::from_static(headers));
    response
}
