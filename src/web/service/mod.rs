//! Microservices behind the platform: a request to `/service/<contextPath>/…` is authenticated here and forwarded to
//! the microservice (W-14).
//!
//! The operator sets the address of a microservice, never its owner. Reading order: [`target`] is about the path,
//! [`headers`] about the headers, [`upload`] and [`answer`] about the bodies in both directions, [`tunnel`] about
//! WebSockets, [`health`] and [`probes`] about the health of microservices.

mod answer;
mod calls;
mod client;
mod headers;
pub mod health;
mod patience;
pub(crate) mod probes;
mod services;
mod target;
mod tunnel;
mod upload;

use std::cell::Cell;
use std::rc::Rc;
use std::sync::{Arc, LazyLock};

use actix_web::http::{Method, StatusCode};
use actix_web::{FromRequest, HttpRequest, HttpResponse, HttpResponseBuilder, web};
use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::Response;
use hyper::body::Incoming;
use hyper::header::{HeaderMap, HeaderValue};
use hyper_util::client::legacy::{Client, Error, ResponseFuture, connect::HttpConnector};
use platform_model::applications::application::{Application, ApplicationType};
use platform_model::applications::service_address::ServiceAddress;
use tokio::time::{Instant, sleep_until, timeout};

use crate::auth::{Caller, cors};
use crate::http::component::Component;
use crate::http::error::{ApiError, Result, ServiceFault};
use answer::ResponseBody;
use calls::Call;
use patience::Patience;
pub use services::Services;
use target::Target;
use tunnel::Tunnel;
use upload::{Moved, Upload};

/// The methods that are forwarded, in the order of the `Allow` header. Preflight requests of browsers get their
/// response here (C-16).
pub static METHODS: [Method; 7] =
    [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::OPTIONS];

/// The most bytes of a microservice's response when it rejects a WebSocket.
const REJECTION_BYTES: usize = 64 << 10;

/// The connections of one worker to microservices.
#[derive(Clone)]
pub struct ServiceConnections(Client<HttpConnector, Upload>);

impl Default for ServiceConnections {
    fn default() -> Self {
        Self(client::connections())
    }
}

/// Forwards any of [`METHODS`] on `/service/<contextPath>` and below to the microservice, and returns its response.
///
/// # Errors
/// 400 for a path outside the microservice; 403 and 404 when the tenant does not use it; 502, 503 and 504 when its
/// response is invalid, missing or late.
pub async fn call(
    request: HttpRequest,
    services: Component<Services>,
    connections: web::Data<ServiceConnections>,
    payload: web::Payload,
) -> Result<HttpResponse> {
    if let Some(answer) = cors::preflight(&request, allow()) {
        return Ok(answer);
    }
    let caller = Caller::extract(&request).await?;
    check_method(&request)?;
    let (target, is_websocket) = (Target::of(&request)?, headers::asks_for_websocket(&request)?);
    let context_path = request.match_info().query("contextPath");
    let kind = ApplicationType::Microservice;
    let application =
        services.applications.used(services.platform.database(), &caller.tenant, context_path, kind).await?;
    let fault = |fault| ApiError::Service { context_path: context_path.into(), fault };
    let address = application.route.as_deref().ok_or_else(|| fault(ServiceFault::NoAddress))?;
    let address = ServiceAddress::parse(address).map_err(|_| fault(ServiceFault::NoAddress))?;
    if services.health.is_down(application.id) {
        return Err(fault(ServiceFault::Down));
    }
    let call = services.calls.begin(application.id, &caller.tenant, services.platform.limits().service_calls);
    let call = call.ok_or_else(|| fault(ServiceFault::Busy))?;
    let mut head = Head {
        method: method_of(&request).ok_or(ApiError::MethodNotAllowed { allow: allow().into() })?,
        uri: target.at(&address)?,
        headers: headers::to_service(&request, &caller)?,
    };
    let patience = Patience::of(&request, &services);
    let exchange = Exchange { services: &services, connections: &connections, patience, call };
    let answered = if is_websocket {
        head.headers.insert(hyper::header::CONNECTION, HeaderValue::from_static("Upgrade"));
        head.headers.insert(hyper::header::UPGRADE, HeaderValue::from_static("websocket"));
        exchange.tunnel(head, payload, caller, application.clone()).await
    } else {
        exchange.forward(&request, head, payload).await
    };
    answered.map_err(fault)
}

/// Rejects an unknown emulated method, which was mapped to PATCH so that no other path accepts it (C-06).
fn check_method(request: &HttpRequest) -> Result<()> {
    let emulated = request.headers().get("X-HTTP-METHOD").filter(|_| request.method() == Method::PATCH);
    if emulated.is_none_or(|word| word.as_bytes().trim_ascii().eq_ignore_ascii_case(b"PATCH")) {
        Ok(())
    } else {
        Err(ApiError::MethodNotAllowed { allow: allow().into() })
    }
}

/// Returns the forwarded methods in the format of the `Allow` header.
fn allow() -> &'static str {
    static ALLOW: LazyLock<String> = LazyLock::new(|| METHODS.each_ref().map(Method::as_str).join(","));
    &ALLOW
}

fn method_of(request: &HttpRequest) -> Option<hyper::Method> {
    hyper::Method::from_bytes(request.method().as_str().as_bytes()).ok()
}

/// The method, address and headers of a request to a microservice.
#[derive(Clone)]
struct Head {
    method: hyper::Method,
    uri: hyper::Uri,
    headers: HeaderMap,
}

impl Head {
    fn with(self, body: Upload) -> hyper::Request<Upload> {
        let mut request = hyper::Request::new(body);
        (*request.method_mut(), *request.uri_mut()) = (self.method, self.uri);
        *request.headers_mut() = self.headers;
        request
    }
}

/// One call, from the request to the response. Dropping it closes the connection to the service.
struct Exchange<'e> {
    services: &'e Component<Services>,
    connections: &'e ServiceConnections,
    patience: Patience,
    call: Call,
}

impl Exchange<'_> {
    async fn forward(
        self,
        request: &HttpRequest,
        mut head: Head,
        payload: web::Payload,
    ) -> Result<HttpResponse, ServiceFault> {
        let moved: Moved = Rc::new(Cell::new(Instant::now()));
        let (upload, running) = Upload::of(request, payload, &moved);
        if upload.is_chunked() {
            // It is set here, because the client library assumes that a GET has no body.
            head.headers.insert(hyper::header::TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
        }
        let again = (upload.is_none() && head.method.is_safe()).then(|| head.clone());
        let sent = self.connections.0.request(head.with(upload));
        let response = match (self.head_of(sent, &moved).await?, again) {
            (Err(error), Some(again)) if client::ended_unanswered(&error) => {
                moved.set(Instant::now());
                self.head_of(self.connections.0.request(again.with(Upload::None)), &moved).await?
            }
            (outcome, _) => outcome,
        };
        let response = response.map_err(|error| fault_of(&error))?;
        let status = StatusCode::from_u16(response.status().as_u16()).map_err(|_| ServiceFault::Broken)?;
        if status.is_informational() {
            return Err(ServiceFault::Broken);
        }
        let mut answer = HttpResponseBuilder::new(status);
        headers::to_client(response.headers(), &self.services.policies.confined, &mut answer);
        let to_head = request.method() == Method::HEAD;
        Ok(answer.body(ResponseBody::new(response, to_head, self.patience, running, self.call)))
    }

    async fn tunnel(
        self,
        head: Head,
        payload: web::Payload,
        caller: Caller,
        application: Arc<Application>,
    ) -> Result<HttpResponse, ServiceFault> {
        let moved: Moved = Rc::new(Cell::new(Instant::now()));
        let sent = self.connections.0.request(head.with(Upload::None));
        let response = self.head_of(sent, &moved).await?.map_err(|error| fault_of(&error))?;
        let status = StatusCode::from_u16(response.status().as_u16()).map_err(|_| ServiceFault::Broken)?;
        let mut answer = HttpResponseBuilder::new(status);
        headers::to_client(response.headers(), &self.services.policies.confined, &mut answer);
        if status != StatusCode::SWITCHING_PROTOCOLS {
            // The connection was reserved for a tunnel, so no further request can use it.
            return Ok(answer.force_close().body(rejection(response, self.services).await));
        }
        let upgrade = response.headers().get(hyper::header::UPGRADE);
        if !upgrade.is_some_and(|to| to.as_bytes().eq_ignore_ascii_case(b"websocket")) {
            return Err(ServiceFault::Broken);
        }
        let upgraded = hyper::upgrade::on(response).await.map_err(|_| ServiceFault::Broken)?;
        let tunnel = Tunnel::open(upgraded, payload, self.services.clone(), caller, application, self.call);
        Ok(answer.upgrade("websocket").body(tunnel))
    }

    /// Waits for the head of the response. The timeout restarts with every part of the request's body that the
    /// service took, and becomes short when the client sends nothing more.
    async fn head_of(
        &self,
        mut sent: ResponseFuture,
        moved: &Moved,
    ) -> Result<Result<Response<Incoming>, Error>, ServiceFault> {
        let mut silent_since = None;
        loop {
            let due = || moved.get().max(silent_since.unwrap_or(moved.get())) + self.patience.with_head();
            let deadline = due();
            tokio::select! {
                outcome = &mut sent => return Ok(outcome),
                () = self.patience.client_falls_silent(), if silent_since.is_none() => {
                    silent_since = Some(Instant::now());
                }
                () = sleep_until(deadline) => if due() <= deadline {
                    return Err(ServiceFault::Silent);
                },
            }
        }
    }
}

fn fault_of(error: &Error) -> ServiceFault {
    tracing::debug!(%error, cause = ?std::error::Error::source(error), "a microservice sent no response");
    if error.is_connect() { ServiceFault::Unreachable } else { ServiceFault::Broken }
}

/// Returns the body of the response that rejects a WebSocket, if it is short and arrives in time.
async fn rejection(response: Response<Incoming>, services: &Services) -> Bytes {
    let body = Limited::new(response.into_body(), REJECTION_BYTES).collect();
    match timeout(services.platform.limits().service_timeout, body).await {
        Ok(Ok(body)) => body.to_bytes(),
        _ => Bytes::new(),
    }
}
