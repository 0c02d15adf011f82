//! `/openapi.json`, `/asyncapi.json` and the pages below `/docs`: the reference of all routes and channels and the
//! guides, which need no credentials.
//! [`platform_content`] has them.

use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, HttpResponseBuilder, web};
use platform_content::inflated;
use platform_model::naming::{Naming, naming};

use super::documentation_search;
use crate::http::encoding::accepts_gzip;
use crate::http::error::{ApiError, Result};
use crate::http::query::Query;

/// The place of the results in the page of the search.
const RESULTS: &str = "<!--results-->";

/// The pages have no scripts, and their only style is inline.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";

/// `GET` and `HEAD /openapi.json`: returns the OpenAPI document of all routes.
pub async fn get_reference(request: HttpRequest) -> HttpResponse {
    respond(&request, platform_content::REFERENCE, "application/json;charset=UTF-8")
}

/// `GET` and `HEAD /asyncapi.json`: returns the AsyncAPI document of all channels and streams.
pub async fn get_streams(request: HttpRequest) -> HttpResponse {
    respond(&request, platform_content::STREAMS, "application/json;charset=UTF-8")
}

/// `GET` and `HEAD /docs`: returns the list of pages.
///
/// # Errors
/// None.
pub async fn get_index(request: HttpRequest) -> Result<HttpResponse> {
    page(&request, "")
}

/// `GET` and `HEAD /docs/search?q=<words>`: returns the sections of all pages that contain the words.
///
/// # Errors
/// None.
pub async fn search(request: HttpRequest) -> Result<HttpResponse> {
    let query = Query::parse(request.query_string());
    let question = documentation_search::bounded(query.get("q").unwrap_or_default());
    let page = inflated(platform_content::page("search").expect("the build makes this page"));
    let shown = documentation_search::escaped(&question);
    let page = page.replacen("name=\"q\"", &format!("name=\"q\" value=\"{shown}\""), 1);
    let page = page.replacen(RESULTS, &documentation_search::results(&question), 1);
    Ok(headed("text/html;charset=UTF-8").body(page))
}

/// `GET` and `HEAD /docs/<page>`: returns a page.
///
/// # Errors
/// 404 for an unknown page.
pub async fn get_page(request: HttpRequest, path: web::Path<String>) -> Result<HttpResponse> {
    page(&request, &path)
}

/// `GET` and `HEAD /docs/<folder>/<page>`: returns a page of the reference (`api`) or of the guide (`guide`).
///
/// # Errors
/// 404 for an unknown page.
pub async fn get_page_of_folder(
    request: HttpRequest,
    path: web::Path<(String, String)>,
) -> Result<HttpResponse> {
    let (folder, name) = &*path;
    page(&request, &format!("{folder}/{name}"))
}

fn page(request: &HttpRequest, path: &str) -> Result<HttpResponse> {
    let html = platform_content::page(path)
        .ok_or_else(|| ApiError::NoSuchPath(request.path().chars().take(200).collect()))?;
    Ok(respond(request, html, "text/html;charset=UTF-8"))
}

/// Returns the beginning of a response that everyone may store.
fn headed(content_type: &'static str) -> HttpResponseBuilder {
    let mut response = HttpResponse::Ok();
    response
        .insert_header((header::CONTENT_TYPE, content_type))
        .insert_header((header::CACHE_CONTROL, "public, max-age=3600"))
        .insert_header((header::CONTENT_SECURITY_POLICY, POLICY))
        .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"));
    response
}

/// Returns the response with a compressed text, which is decompressed if the client does not accept gzip.
fn respond(request: &HttpRequest, compressed: &'static [u8], content_type: &'static str) -> HttpResponse {
    let mut response = headed(content_type);
    response.insert_header((header::VARY, "Accept-Encoding"));
    if accepts_gzip(request.headers()) && *naming() == Naming::default() {
        response.insert_header((header::CONTENT_ENCODING, "gzip")).body(compressed)
    } else {
        response.body(inflated(compressed))
    }
}
