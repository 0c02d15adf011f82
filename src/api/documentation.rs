//! `/openapi.json` and the pages below `/docs`: the reference of all routes and the guides, which need no credentials.
//! build/main.rs makes them from docs/ at build time and embeds them in compressed form, so a running server spends
//! nothing on them.

use std::io::Read;

use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, HttpResponseBuilder, web};
use flate2::read::GzDecoder;
use platform_model::naming::{Naming, naming};

use super::documentation_search;
use crate::http::encoding::accepts_gzip;
use crate::http::error::{ApiError, Result};
use crate::http::query::Query;

include!(concat!(env!("OUT_DIR"), "/pages.rs"));

/// The OpenAPI document, compressed with gzip.
static REFERENCE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/openapi.json.gz"));

/// The place of the results in the page of the search.
const RESULTS: &str = "<!--results-->";

/// The pages have no scripts, and their only style is inline.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";

/// Returns the OpenAPI document of all routes, with the vendor names of this deployment (C-20).
pub fn reference() -> String {
    inflated(REFERENCE)
}

/// Returns the path below `/docs` and the HTML of every page.
#[cfg(test)]
pub(crate) fn pages() -> impl Iterator<Item = (&'static str, String)> {
    PAGES.iter().map(|(path, html)| (*path, inflated(html)))
}

/// `GET` and `HEAD /openapi.json`: returns the OpenAPI document of all routes.
pub async fn get_reference(request: HttpRequest) -> HttpResponse {
    respond(&request, REFERENCE, "application/json;charset=UTF-8")
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
    let page = inflated(find("search").expect("the build makes this page"));
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
    let html = find(path).ok_or_else(|| ApiError::NoSuchPath(request.path().chars().take(200).collect()))?;
    Ok(respond(request, html, "text/html;charset=UTF-8"))
}

fn find(path: &str) -> Option<&'static [u8]> {
    PAGES.iter().find(|(known, _)| *known == path).map(|(_, html)| *html)
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

/// Decompresses a text and inserts the vendor names of this deployment.
pub(super) fn inflated(compressed: &[u8]) -> String {
    let mut text = String::new();
    GzDecoder::new(compressed).read_to_string(&mut text).expect("the build compressed a text");
    let (own, known) = (naming(), Naming::default());
    if *own == known {
        return text;
    }
    let names = [
        (&known.media_type_prefix, &own.media_type_prefix),
        (&known.header_prefix, &own.header_prefix),
        (&known.authentication_extension, &own.authentication_extension),
        (&known.model_prefix, &own.model_prefix),
        (&known.fragment_prefix, &own.fragment_prefix),
    ];
    names.into_iter().fold(text, |text, (known, own)| text.replace(known, own))
}
