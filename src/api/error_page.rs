//! `/docs/errors`: where the link `info` of every error leads (E-02).

use actix_web::HttpResponse;
use actix_web::http::header;

const PAGE: &str = include_str!("../../docs/errors.html");
/// It is one page without scripts, and brings its only style itself.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";

/// `GET` and `HEAD /docs/errors`: the page that explains errors, for everybody.
pub async fn get() -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((header::CONTENT_TYPE, "text/html;charset=UTF-8"))
        .insert_header((header::CACHE_CONTROL, "public, max-age=86400"))
        .insert_header((header::CONTENT_SECURITY_POLICY, POLICY))
        .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .body(PAGE)
}
