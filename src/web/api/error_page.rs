//! `/docs/errors`: the page that the member `info` of every error links to (E-02).

use actix_web::HttpResponse;
use actix_web::http::header;

const PAGE: &str = include_str!("../../../docs/errors.html");
/// The page has no scripts, and its only style is inline.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";

/// `GET` and `HEAD /docs/errors`: returns the page that explains errors, to everyone.
pub async fn get() -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((header::CONTENT_TYPE, "text/html;charset=UTF-8"))
        .insert_header((header::CACHE_CONTROL, "public, max-age=86400"))
        .insert_header((header::CONTENT_SECURITY_POLICY, POLICY))
        .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .body(PAGE)
}
