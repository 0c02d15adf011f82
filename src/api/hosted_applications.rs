//! `/apps/<contextPath>/…`: the files of web applications that a tenant owns or subscribes to, for everybody: they hold no
//! secrets (W-17).
//!
//! What their pages may do is in [`http::hosted`](crate::http::hosted), what is kept in memory in
//! [`hosted_files`](crate::hosted_files).

mod encoding;
mod range;

use std::sync::Arc;

use actix_web::body::{BoxBody, SizedStream};
use actix_web::http::header::{self, HeaderMap};
use actix_web::http::{Method, StatusCode};
use actix_web::{FromRequest, HttpMessage, HttpRequest, HttpResponse, HttpResponseBuilder, web};
use futures_util::stream;
use platform_actors::model::application::{Application, ApplicationType, Standing};
use platform_actors::model::id::TenantId;
use platform_actors::store::application_versions::ApplicationFile;
use platform_actors::store::applications::find_application_at;
use platform_actors::{Error, Noun};

use crate::auth::Caller;
use crate::hosted_files::{self, Place, Version};
use crate::http::address::check_text;
use crate::http::authority;
use crate::http::error::{ApiError, Result};
use crate::http::hosted::AtHome;
use crate::http::middleware::AsReceived;
use crate::server::Edge;
use range::Wanted;

/// Bytes of a path; none in an archive is longer.
const LONGEST: usize = 1024;
/// Pages are asked for again each time, so that a new version is seen at once.
const CACHING_OF_PAGES: &str = "private, no-cache";
/// What pages are made of may be a few minutes old.
const CACHING: &str = "private, max-age=300, must-revalidate";

/// The client that requests a file. With credentials it sees the applications of its own tenant, without them those of the tenant
/// of the host (C-01).
struct Visitor {
    tenant: TenantId,
    /// Whether the host is the tenant's own domain.
    is_at_home: bool,
}

impl Visitor {
    /// # Errors
    /// `Unauthorized` for wrong credentials, `Forbidden` for a suspended tenant.
    async fn of(request: &HttpRequest, edge: &Edge) -> Result<Self> {
        check_text(request)?;
        let host = authority(request).unwrap_or_default();
        let tenant = match request.headers().contains_key(header::AUTHORIZATION) {
            true => Caller::extract(request).await?.tenant.clone(),
            false => edge.authenticator.tenant_of_visitors(host).await?,
        };
        let is_at_home = edge.authenticator.is_domain_of(&tenant, host).await?;
        Ok(Self { tenant, is_at_home })
    }
}

/// `GET` and `HEAD /apps/<contextPath>`.
///
/// # Errors
/// As [`get`].
pub async fn get_root(
    request: HttpRequest,
    path: web::Path<String>,
    edge: web::Data<Edge>,
) -> Result<HttpResponse> {
    answer(&request, (&path, ""), edge).await
}

/// `GET` and `HEAD /apps/<contextPath>/<path>`: the file, packed as the client accepts it and the application brings it; 304
/// when the client has it, 206 for a part of it, 301 for a directory without its slash.
///
/// # Errors
/// 401 for wrong credentials, 403 for an application of the market that the tenant does not subscribe to, 404 for one it does not see and for a file there
/// is not, 416 for a part that there is not.
pub async fn get(
    request: HttpRequest,
    path: web::Path<(String, String)>,
    edge: web::Data<Edge>,
) -> Result<HttpResponse> {
    let (context_path, path) = &*path;
    answer(&request, (context_path, path), edge).await
}

async fn answer(request: &HttpRequest, asked: (&str, &str), edge: web::Data<Edge>) -> Result<HttpResponse> {
    let visitor = Visitor::of(request, &edge).await?;
    let mut answer = find(&visitor.tenant, request, asked, edge).await?;
    if visitor.is_at_home {
        answer.extensions_mut().insert(AtHome);
    }
    Ok(answer)
}

async fn find(
    tenant: &TenantId,
    request: &HttpRequest,
    (context_path, path): (&str, &str),
    edge: web::Data<Edge>,
) -> Result<HttpResponse> {
    let kind = ApplicationType::Hosted;
    let database = edge.platform.database();
    let mut application = edge.applications.used(database, tenant, context_path, kind).await?;
    loop {
        let refusal = match serve(request, &application, path, &edge).await {
            Err(refusal) if may_be_replaced(&refusal) => refusal,
            outcome => return outcome,
        };
        // An upload, perhaps at another server, may have replaced the version meanwhile, and the next one this version.
        match find_application_at(database, tenant, context_path).await? {
            Some((now, Standing::Uses))
                if now.kind == kind && now.active_version != application.active_version =>
            {
                application = now.into();
            }
            _ => return Err(refusal),
        }
    }
}

/// Whether a version that is not in use any more would be answered so.
fn may_be_replaced(refusal: &ApiError) -> bool {
    matches!(
        refusal,
        ApiError::NoSuchPath(_) | ApiError::Platform(Error::NotFound { noun: Noun::Binary, .. })
    )
}

async fn serve(
    request: &HttpRequest,
    application: &Application,
    path: &str,
    edge: &web::Data<Edge>,
) -> Result<HttpResponse> {
    let unknown = || ApiError::NoSuchPath(request.path().chars().take(200).collect());
    let version = Version::in_use(application).filter(|_| path.len() <= LONGEST && !path.contains('\0'));
    let version = version.ok_or_else(unknown)?;
    let place = edge.hosted_files.find(edge, &version, path).await?.ok_or_else(unknown)?;
    if place.is_directory && !ended_with_slash(request) {
        return Ok(redirect(request));
    }
    send(request, version, place, edge).await
}

/// Whether the client wrote a slash at the end of the path, which routing ignores.
fn ended_with_slash(request: &HttpRequest) -> bool {
    request.extensions().get::<AsReceived>().is_some_and(|AsReceived(uri)| uri.path().ends_with('/'))
}

/// Links in the page of a directory are relative to it, so its address must end with a slash. Only the path is named: whatever
/// host the client used stays.
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
    place: Arc<Place>,
    edge: &web::Data<Edge>,
) -> Result<HttpResponse> {
    let headers = request.headers();
    let (file, encoding) = encoding::choose(headers, &place);
    let tag = entity_tag(file);
    if has_it(headers, &tag) {
        let mut answer = HttpResponse::NotModified();
        describe(&mut answer, &place, &tag);
        return Ok(answer.finish());
    }
    let length = file.length.unsigned_abs();
    let wanted = match range::wanted(headers, &tag, length) {
        Wanted::Nothing => return Err(ApiError::RangeNotSatisfiable { length }),
        Wanted::Whole => None,
        Wanted::Part(range) => Some(range),
    };
    let mut answer =
        HttpResponse::build(if wanted.is_some() { StatusCode::PARTIAL_CONTENT } else { StatusCode::OK });
    describe(&mut answer, &place, &tag);
    answer.insert_header((header::CONTENT_TYPE, place.file.content_type.as_str()));
    answer.insert_header((header::ACCEPT_RANGES, "bytes"));
    if let Some(encoding) = encoding {
        answer.insert_header((header::CONTENT_ENCODING, encoding));
    }
    if let Some(range) = &wanted {
        let range = format!("bytes {}-{}/{length}", range.start, range.end - 1);
        answer.insert_header((header::CONTENT_RANGE, range));
    }
    let range = wanted.unwrap_or(0..length);
    let length = range.end - range.start;
    let body = match request.method() == Method::HEAD {
        // Only its length is sent.
        true => BoxBody::new(SizedStream::new(length, stream::empty::<Result<_, Error>>())),
        false => {
            let bytes = hosted_files::read(edge.clone(), version, file, range).await?;
            BoxBody::new(SizedStream::new(length, Box::pin(bytes)))
        }
    };
    Ok(answer.body(body))
}

/// What every answer about a file tells caches.
fn describe(answer: &mut HttpResponseBuilder, place: &Place, tag: &str) {
    let is_page = place.file.content_type.starts_with("text/html");
    answer.insert_header((header::ETAG, tag));
    answer.insert_header((header::CACHE_CONTROL, if is_page { CACHING_OF_PAGES } else { CACHING }));
    // The second, for credentials say whose application it is.
    answer.insert_header((header::VARY, "Accept-Encoding, Authorization"));
}

/// A strong one: other bytes have another, also when they are the same file packed otherwise.
fn entity_tag(file: &ApplicationFile) -> String {
    let half: String = file.sha256.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    format!("\"{half}\"")
}

fn has_it(headers: &HeaderMap, tag: &str) -> bool {
    let given = headers.get_all(header::IF_NONE_MATCH).filter_map(|value| value.to_str().ok());
    let mut tags = given.flat_map(|value| value.split(',')).map(str::trim);
    tags.any(|given| given == "*" || given.strip_prefix("W/").unwrap_or(given) == tag)
}
