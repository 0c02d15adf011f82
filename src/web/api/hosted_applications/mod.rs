//! `/apps/<contextPath>/…`: the files of web applications that a tenant owns or subscribes to. They need no
//! credentials because they hold no secrets (W-17).
//!
//! [`http::hosted`](crate::http::hosted) restricts what their pages may do, and
//! [`files`](crate::applications::files) caches files in memory.

mod encoding;

use std::sync::Arc;

use actix_web::body::{BoxBody, SizedStream};
use actix_web::http::header::{self, HeaderMap};
use actix_web::http::{Method, StatusCode};
use actix_web::{FromRequest, HttpMessage, HttpRequest, HttpResponse, HttpResponseBuilder, web};
use futures_util::stream;
use platform_actors::Platform;
use platform_model::applications::application::{Application, ApplicationType, TenantRelation};
use platform_model::error::{Error, Noun};
use platform_model::hex::hex;
use platform_model::id::TenantId;
use platform_store::applications::find_application_at;
use platform_store::applications::versions::ApplicationFile;

use crate::applications::files::{self, FilesAtPath, HostedFiles, Version};
use crate::applications::paths::ApplicationPaths;
use crate::auth::{Authenticator, Caller};
use crate::http::authority;
use crate::http::error::{ApiError, Result};
use crate::http::head::Head;
use crate::http::hosted::AtHome;
use crate::http::path::AsReceived;
use crate::http::range::{self, RequestedRange};

/// The longest path in bytes; no path in an archive is longer.
const LONGEST: usize = 1024;
/// Browsers revalidate pages each time, so that a new version is visible at once.
const CACHING_OF_PAGES: &str = "private, no-cache";
/// Scripts, styles and images may be a few minutes old.
const CACHING: &str = "private, max-age=300, must-revalidate";

/// The client that requests a file. With credentials it sees the applications of its own tenant, otherwise
/// those of the tenant of the host (C-01).
struct Visitor {
    tenant: TenantId,
    /// Whether the host is the tenant's own domain.
    is_at_home: bool,
}

impl Visitor {
    /// # Errors
    /// `Unauthorized` for wrong credentials, `Forbidden` for a suspended tenant.
    async fn of(request: &HttpRequest) -> Result<Self> {
        let host = authority(request).unwrap_or_default();
        let authenticator = request.state::<Authenticator>();
        let caller = match request.headers().contains_key(header::AUTHORIZATION) {
            true => Some(Caller::extract(request).await?),
            // A browser may present a certificate that is for other servers.
            false => Caller::by_certificate(request).await,
        };
        let tenant = match caller {
            Some(caller) => caller.tenant.clone(),
            None => authenticator.tenant_of_visitors(host).await?,
        };
        let is_at_home = authenticator.is_domain_of(&tenant, host).await?;
        Ok(Self { tenant, is_at_home })
    }
}

/// `GET` and `HEAD /apps/<contextPath>`: returns the index page.
///
/// # Errors
/// The errors of [`get`].
pub async fn get_root(request: HttpRequest, path: web::Path<String>) -> Result<HttpResponse> {
    respond(&request, &path, "").await
}

/// `GET` and `HEAD /apps/<contextPath>/<path>`: returns the file, in a compressed form that the client
/// accepts and the application provides. Returns 304 when the client has it, 206 for a range of it, 301 for a
/// directory without its slash.
///
/// # Errors
/// 401 for invalid credentials, 403 for an application of the market that the tenant does not subscribe to,
/// 404 for an application that is not visible and for a file that does not exist, 416 for a range that does
/// not exist.
pub async fn get(request: HttpRequest, path: web::Path<(String, String)>) -> Result<HttpResponse> {
    let (context_path, path) = &*path;
    respond(&request, context_path, path).await
}

async fn respond(request: &HttpRequest, context_path: &str, path: &str) -> Result<HttpResponse> {
    let visitor = Visitor::of(request).await?;
    let mut response = find(&visitor.tenant, request, context_path, path).await?;
    if visitor.is_at_home {
        response.extensions_mut().insert(AtHome);
    }
    Ok(response)
}

async fn find(
    tenant: &TenantId,
    request: &HttpRequest,
    context_path: &str,
    path: &str,
) -> Result<HttpResponse> {
    let kind = ApplicationType::Hosted;
    let database = request.state::<Platform>().database();
    let mut application =
        request.state::<ApplicationPaths>().used(database, tenant, context_path, kind).await?;
    loop {
        let refusal = match serve(request, &application, path).await {
            Err(refusal) if may_be_replaced(&refusal) => refusal,
            outcome => return outcome,
        };
        // An upload, perhaps at another server, may have replaced the version in the meantime.
        match find_application_at(database, tenant, context_path).await? {
            Some((now, TenantRelation::Uses))
                if now.kind == kind && now.active_version != application.active_version =>
            {
                application = now.into();
            }
            _ => return Err(refusal),
        }
    }
}

/// Returns whether a request for a version that is no longer active could fail with this error.
fn may_be_replaced(refusal: &ApiError) -> bool {
    matches!(
        refusal,
        ApiError::NoSuchPath(_) | ApiError::Platform(Error::NotFound { noun: Noun::Binary, .. })
    )
}

async fn serve(request: &HttpRequest, application: &Application, path: &str) -> Result<HttpResponse> {
    let unknown = || ApiError::NoSuchPath(request.path().chars().take(200).collect());
    let version = Version::in_use(application).filter(|_| path.len() <= LONGEST && !path.contains('\0'));
    let version = version.ok_or_else(unknown)?;
    let files = request.state::<HostedFiles>();
    let place = files.find(&version, path).await?.ok_or_else(unknown)?;
    if place.is_directory && !ended_with_slash(request) {
        return Ok(redirect(request));
    }
    send(request, version, place, files).await
}

/// Returns whether the client sent a slash at the end of the path, which routing ignores.
fn ended_with_slash(request: &HttpRequest) -> bool {
    request.extensions().get::<AsReceived>().is_some_and(|AsReceived(uri)| uri.path().ends_with('/'))
}

/// Redirects to the address of a directory with a slash, because links in its page are relative to it. The
/// location has no host, so the client keeps the one it used.
fn redirect(request: &HttpRequest) -> HttpResponse {
    let query = request.uri().query().map(|query| format!("?{query}")).unwrap_or_default();
    let location = format!("{}/{query}", request.uri().path());
    HttpResponse::MovedPermanently()
        .insert_header((header::LOCATION, location))
        .insert_header((header::CACHE_CONTROL, CACHING_OF_PAGES))
        .finish()
}

async fn send(
    request: &HttpRequest,
    version: Version,
    place: Arc<FilesAtPath>,
    files: &web::Data<HostedFiles>,
) -> Result<HttpResponse> {
    let headers = request.headers();
    let (file, encoding) = encoding::choose(headers, &place);
    let tag = entity_tag(file);
    if has_it(headers, &tag) {
        let mut response = HttpResponse::NotModified();
        describe(&mut response, &place, &tag);
        return Ok(response.finish());
    }
    let length = file.length.unsigned_abs();
    let wanted = match range::requested(headers, &tag, length) {
        RequestedRange::Nothing => return Err(ApiError::RangeNotSatisfiable { length }),
        RequestedRange::Whole => None,
        RequestedRange::Part(range) => Some(range),
    };
    let mut response =
        HttpResponse::build(if wanted.is_some() { StatusCode::PARTIAL_CONTENT } else { StatusCode::OK });
    describe(&mut response, &place, &tag);
    response.insert_header((header::CONTENT_TYPE, place.file.content_type.as_str()));
    response.insert_header((header::ACCEPT_RANGES, "bytes"));
    if let Some(encoding) = encoding {
        response.insert_header((header::CONTENT_ENCODING, encoding));
    }
    if let Some(range) = &wanted {
        let range = format!("bytes {}-{}/{length}", range.start, range.end - 1);
        response.insert_header((header::CONTENT_RANGE, range));
    }
    let range = wanted.unwrap_or(0..length);
    let length = range.end - range.start;
    let body = match request.method() == Method::HEAD {
        // A response to HEAD states the length and has no body.
        true => BoxBody::new(SizedStream::new(length, stream::empty::<Result<_, Error>>())),
        false => {
            let bytes = files::read(files.clone(), version, file, range).await?;
            BoxBody::new(SizedStream::new(length, Box::pin(bytes)))
        }
    };
    Ok(response.body(body))
}

/// Adds the headers for caches, which every response about a file has.
fn describe(response: &mut HttpResponseBuilder, place: &FilesAtPath, tag: &str) {
    let is_page = place.file.content_type.starts_with("text/html");
    response.insert_header((header::ETAG, tag));
    response.insert_header((header::CACHE_CONTROL, if is_page { CACHING_OF_PAGES } else { CACHING }));
    // `Authorization` is listed because the credentials decide whose application it is.
    response.insert_header((header::VARY, "Accept-Encoding, Authorization"));
}

/// Returns the strong entity tag of a file: other bytes have another tag, and so have compressed forms of the
/// same file.
fn entity_tag(file: &ApplicationFile) -> String {
    let half = hex(&file.sha256[..16]);
    format!("\"{half}\"")
}

fn has_it(headers: &HeaderMap, tag: &str) -> bool {
    let given = headers.get_all(header::IF_NONE_MATCH).filter_map(|value| value.to_str().ok());
    let mut tags = given.flat_map(|value| value.split(',')).map(str::trim);
    tags.any(|given| given == "*" || given.strip_prefix("W/").unwrap_or(given) == tag)
}
