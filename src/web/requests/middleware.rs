//! The processing of every request before it is routed, and of every response.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::HeaderValue;
use actix_web::http::{ConnectionType, Method, StatusCode, Version, header};
use actix_web::middleware::Next;
use actix_web::web::Data;
use actix_web::{HttpMessage, HttpRequest};
use bytes::Bytes;
use platform_actors::Platform;
use platform_front::connection::{ConnectionHandle, Flaw, KEEP_ALIVE_TIMEOUT, KEPT, REPLACED};
use platform_front::stop::Stop;
use platform_front::telemetry;
use platform_model::error::Error;
use platform_store::shares;

use super::log::{RequestLog, X_REQUEST_ID};
use super::{RouteDurations, counts, failures};
use crate::auth::{Requester, cors};
use crate::http::error::ApiError;
use crate::http::head::{Head, X_HTTP_METHOD};
use crate::http::hosted::{AtHome, Policies};
use crate::http::path::{AsReceived, collapsed};
use crate::http::{address, compression, held_bytes, hosted};

/// Wraps every request: emulated methods (C-06), collapsed slashes, malformed heads, error bodies with the
/// client's address, request durations, a log line and an id, compression (C-22), responses to HEAD, large responses,
/// the policies of hosted applications, and CORS (C-16).
///
/// # Errors
/// None: an inner error has already become a response.
pub async fn around(
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    let begun = Instant::now();
    let log = request.request().state::<RequestLog>().clone();
    let id = log.id(request.request());
    emulate_method(&mut request);
    collapse_slashes(&mut request);
    let response = match malformed(&request) {
        None => render_error(shares::of_request(next.call(request)).await?),
        Some(error) => render_error(request.error_response(error)),
    };
    if let Some(durations) = response.request().app_data::<RouteDurations>() {
        durations.record(response.status(), begun.elapsed());
    }
    let requester = response.request().extensions().get::<Requester>().cloned();
    let identity = requester.as_ref().map(|Requester(identity)| &**identity);
    match flaw_of(response.request()) {
        // Anybody can cause such requests, so the log of requests leaves them out.
        Some(flaw) => log_flawed_head(flaw, response.request(), &id),
        None => log.completed(response.request(), response.status(), identity, &id, begun.elapsed()),
    }
    counts::count(&response);
    if let Some(platform) = response.request().app_data::<Data<Platform>>() {
        failures::trace(platform, identity, response.request(), response.response());
    }
    let mut response = held_bytes::count(without_body(compression::for_client(response).await));
    response.headers_mut().insert(X_REQUEST_ID, id);
    delimit_by_closing(&mut response);
    announce_keep_alive(&mut response);
    if hosted::is_below_apps(response.request().path()) {
        let request = response.request().clone();
        let at_home = response.response().extensions().get::<AtHome>().copied();
        hosted::guard(request.state::<Policies>(), at_home, response.headers_mut());
    } else if response.request().headers().contains_key(header::ORIGIN) {
        let request = response.request().clone();
        // This future is boxed, so that the future of every other request stays small.
        Box::pin(cors::allow(&request, response.headers_mut())).await;
    }
    Ok(response)
}

/// Returns the error of a malformed head, independent of the requested resource.
fn malformed(request: &ServiceRequest) -> Option<ApiError> {
    if let Some(flaw) = flaw_of(request.request()) {
        telemetry::count_flawed_head(if flaw == Flaw::Slow { "slow" } else { "malformed" });
        return Some(flaw.into());
    }
    if request.headers().get_all(header::AUTHORIZATION).nth(1).is_some() {
        let message = "The request has more than one header Authorization";
        return Some(Error::Malformed(message.into()).into());
    }
    address::check(request.request()).map_err(Into::into).and_then(|()| held_bytes::check(request)).err()
}

/// Returns the flaw of a request that the connection has replaced (E-01a).
fn flaw_of(request: &HttpRequest) -> Option<Flaw> {
    let is_replaced = request.path() == REPLACED;
    is_replaced.then(|| request.conn_data::<ConnectionHandle>()?.flaw())?
}

fn log_flawed_head(flaw: Flaw, request: &HttpRequest, id: &HeaderValue) {
    let (id, client) = (id.to_str().unwrap_or_default(), address::client_address(request));
    tracing::debug!(id, ?flaw, %client, "a request was refused, because its head cannot be used");
}

/// Announces how long an idle connection is kept, if it is kept after this response (B-21c).
fn announce_keep_alive(response: &mut ServiceResponse<BoxBody>) {
    let request = response.request();
    let keeps = request.head().connection_type() == ConnectionType::KeepAlive
        && response.response().head().keep_alive()
        && !request.state::<Stop>().has_begun()
        && request.conn_data::<ConnectionHandle>().is_some_and(|connection| !connection.has_unread_body());
    if keeps {
        response.headers_mut().insert(KEPT, HeaderValue::from_static(KEEP_ALIVE_TIMEOUT));
    }
}

/// Applies the method that clients limited to GET and POST name in a header (C-06). An unknown name is routed as an
/// unknown method, so that it is rejected only after authentication.
fn emulate_method(request: &mut ServiceRequest) {
    if request.method() != Method::POST {
        return;
    }
    let Some(wanted) = request.headers().get(&X_HTTP_METHOD) else { return };
    let method = match wanted.as_bytes().trim_ascii().to_ascii_uppercase().as_slice() {
        b"GET" => Method::GET,
        b"PUT" => Method::PUT,
        b"DELETE" => Method::DELETE,
        _ => Method::PATCH,
    };
    request.head_mut().method = method;
}

fn collapse_slashes(request: &mut ServiceRequest) {
    if let Some(uri) = collapsed(request.uri()) {
        request.match_info_mut().get_mut().update(&uri);
        let received = std::mem::replace(&mut request.head_mut().uri, uri);
        request.extensions_mut().insert(AsReceived(received));
    }
}

/// Removes the body of a response to HEAD. The response announces the length of the body that GET would return; a
/// streamed body is never generated.
fn without_body(response: ServiceResponse<BoxBody>) -> ServiceResponse<BoxBody> {
    if response.request().method() != Method::HEAD {
        return response;
    }
    response.map_body(|_, body| BoxBody::new(UnsentBody(body.size())))
}

/// The length of a body that is not sent.
struct UnsentBody(BodySize);

impl MessageBody for UnsentBody {
    type Error = Infallible;

    fn size(&self) -> BodySize {
        self.0
    }

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, Infallible>>> {
        Poll::Ready(None)
    }
}

/// HTTP/1.0 clients do not support chunked encoding (B-24), so a response of unknown length ends with its connection.
fn delimit_by_closing(response: &mut ServiceResponse<BoxBody>) {
    let is_old = response.request().version() < Version::HTTP_11;
    if is_old && response.response().body().size() == BodySize::Stream {
        let head = response.response_mut().head_mut();
        head.no_chunking(true);
        head.set_connection_type(ConnectionType::Close);
    }
}

/// Gives every error the common body (E-01), including the errors of the HTTP library.
fn render_error(response: ServiceResponse<impl MessageBody + 'static>) -> ServiceResponse<BoxBody> {
    let Some(error) = response.response().error() else { return response.map_into_boxed_body() };
    let rendered = match error.as_error::<ApiError>() {
        Some(error) => error.answer(response.request()),
        None => foreign(response.status(), error).answer(response.request()),
    };
    response.into_response(rendered)
}

fn foreign(status: StatusCode, error: &actix_web::Error) -> ApiError {
    match status {
        StatusCode::INTERNAL_SERVER_ERROR => {
            tracing::error!(%error, "a request failed inside the server");
            ApiError::Http(status, "Internal Server Error".into())
        }
        status => ApiError::Http(status, error.to_string()),
    }
}
