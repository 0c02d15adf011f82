//! REST calls of rows: they are made within the process, through the same routes, with the caller's headers
//! (S-05).

use std::borrow::Cow;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use actix_http::Request;
use actix_service::{IntoServiceFactory, Service, ServiceFactory, boxed};
use actix_web::body::{BoxBody, to_bytes_limited};
use actix_web::dev::{AppConfig, ServiceResponse};
use actix_web::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use actix_web::http::{Method, StatusCode, Uri};
use actix_web::{App, HttpMessage, HttpRequest, ResponseError, web};
use bytes::Bytes;
use platform_actors::Platform;
use platform_actors::writes::PublicationTurn;
use platform_front::tls::ClientCertificate;
use platform_model::data::operation::OperationStatus;
use platform_model::naming::naming;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::OnceCell;

use super::refusal::Refusal;
use crate::api::measurements;
use crate::api::operations::OnlyFrom;
use crate::auth::{Authenticator, Caller};
use crate::http::head::{X_FORWARDED_FOR, X_FORWARDED_HOST, X_FORWARDED_PROTO};
use crate::http::path::collapsed;
use crate::http::presented::Presented;
use crate::http::{RequestHead, application_key_header};
use crate::requests::RouteDurations;
use crate::requests::counts::Rows;

/// The largest REST response in bytes that templates evaluate; for a larger one the row fails with 413.
const RESPONSE_BYTES: usize = 16 << 20;

/// Registers the paths that rows may call, and the components that their handlers use.
pub(crate) type Table = Rc<dyn Fn(&mut web::ServiceConfig)>;

type Routes = boxed::BoxService<Request, ServiceResponse<BoxBody>, actix_web::Error>;

/// The routes of one worker, called without a socket.
///
/// Each worker's app owns its routes; in a `thread_local` they would outlive the state they use.
#[derive(Clone)]
pub(crate) struct RestRoutes {
    platform: web::Data<Platform>,
    authenticator: web::Data<Authenticator>,
    table: Table,
    routes: Rc<OnceCell<Routes>>,
    of_measurements: Rc<RouteDurations>,
}

impl RestRoutes {
    /// Returns routes that are built by the first call.
    pub(crate) fn new(
        platform: web::Data<Platform>,
        authenticator: web::Data<Authenticator>,
        table: Table,
    ) -> Self {
        let of_measurements = Rc::new(RouteDurations::new(MEASUREMENTS));
        Self { platform, authenticator, table, routes: Rc::default(), of_measurements }
    }

    async fn get(&self) -> &Routes {
        let make: Pin<Box<dyn Future<Output = Routes>>> = Box::pin(async {
            let app = App::new().configure(|app| (self.table)(app));
            let made = app.into_factory().new_service(AppConfig::default()).await;
            boxed::service(
                made.unwrap_or_else(|()| unreachable!("the table makes no service that could fail to start")),
            )
        });
        self.routes.get_or_init(|| make).await
    }
}

/// The path of measurements: the most frequent call.
pub(super) const MEASUREMENTS: &str = "/measurement/measurements";

/// The REST call of a row.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// GET, POST, PUT or DELETE.
    pub(crate) method: Method,
    /// The path and query, percent-encoded.
    pub(crate) uri: Cow<'static, str>,
    /// The header `Content-Type`.
    pub(crate) content_type: Option<HeaderValue>,
    /// The header `Accept`; without it the response to a POST or PUT has no body.
    pub(crate) accept: Option<HeaderValue>,
    /// The body; empty for none.
    pub(crate) body: Bytes,
}

/// A REST response with a status below 400; any other is a [`Refusal`].
#[derive(Debug)]
pub(crate) struct RestResponse {
    response: ServiceResponse<BoxBody>,
}

impl Call {
    /// Returns a GET of JSON.
    pub(crate) fn get(uri: impl Into<Cow<'static, str>>) -> Self {
        let accept = Some(HeaderValue::from_static("application/json"));
        Self { method: Method::GET, uri: uri.into(), content_type: None, accept, body: Bytes::new() }
    }

    /// Returns a POST of JSON whose response has no body.
    pub(crate) fn post(uri: impl Into<Cow<'static, str>>, body: impl Into<Bytes>) -> Self {
        Self::with_json(Method::POST, uri.into(), body.into())
    }

    /// Returns a PUT of JSON whose response has no body.
    pub(crate) fn put(uri: impl Into<Cow<'static, str>>, body: impl Into<Bytes>) -> Self {
        Self::with_json(Method::PUT, uri.into(), body.into())
    }

    /// Returns a DELETE.
    pub(crate) fn delete(uri: impl Into<Cow<'static, str>>) -> Self {
        Self { method: Method::DELETE, uri: uri.into(), content_type: None, accept: None, body: Bytes::new() }
    }

    /// Returns the call with `Accept`, so that the response has a body.
    pub(crate) fn accepting_json(self) -> Self {
        Self { accept: Some(HeaderValue::from_static("application/json")), ..self }
    }

    fn with_json(method: Method, uri: Cow<'static, str>, body: Bytes) -> Self {
        let content_type = Some(HeaderValue::from_static("application/json"));
        Self { method, uri, content_type, accept: None, body }
    }
}

/// The maker of the REST calls of one request.
#[derive(Clone)]
pub(crate) struct RestCaller {
    routes: RestRoutes,
    request: HttpRequest,
    caller: Caller,
    /// The certificate of the request, if it authenticates the caller.
    certificate: Option<Arc<ClientCertificate>>,
    carried: &'static [HeaderName],
}

impl RestCaller {
    /// Returns a maker of calls with the headers of a request that identify the caller: credentials, address,
    /// application key, processing mode, units.
    pub(crate) fn of(request: &HttpRequest, caller: &Caller) -> Self {
        let routes = request.app_data::<RestRoutes>().expect("every app has its routes").clone();
        let certificate = match Presented::of(request) {
            Some(Presented::Certificate(certificate)) => Some(certificate),
            _ => None,
        };
        Self { routes, request: request.clone(), caller: caller.clone(), certificate, carried: carried() }
    }

    /// Stores the number of rows in the request, for statistics.
    pub(crate) fn note_rows(&self, count: u64) {
        self.request.extensions_mut().insert(Rows(count));
    }

    /// Returns a maker of calls that are always stored and published, for objects that other rows depend on,
    /// such as that of a device.
    pub(crate) fn persistent(&self) -> Self {
        Self { carried: &carried()[1..], ..self.clone() }
    }

    /// Makes a call and waits for the response.
    ///
    /// # Errors
    /// [`Refusal::Rest`] with the status of a response of 400 and above; with 400 for an invalid URI.
    pub(crate) async fn call(&self, call: Call) -> Result<RestResponse, Refusal> {
        self.make(self.request(call)?).await
    }

    /// Makes a call for a row. The call of a row that overlaps others carries its turn (S-03a).
    ///
    /// # Errors
    /// Fails like [`RestCaller::call`].
    pub(crate) async fn call_in_turn(
        &self,
        call: Call,
        turn: Option<PublicationTurn>,
    ) -> Result<RestResponse, Refusal> {
        let request = self.request(call)?;
        if let Some(turn) = turn {
            request.extensions_mut().insert(turn);
        }
        self.make(request).await
    }

    /// Stores a measurement without a response. It calls the handler directly, with the same caller, headers
    /// and checks, because routing would be a quarter of its cost. If the caller's authentication is no
    /// longer current, the call is routed as usual.
    ///
    /// # Errors
    /// Fails like [`RestCaller::call`].
    pub(crate) async fn measure(&self, body: Vec<u8>, turn: Option<PublicationTurn>) -> Result<(), Refusal> {
        let RestRoutes { platform, authenticator, of_measurements, .. } = &self.routes;
        let known = self.caller.goes_beyond_bootstrap() && authenticator.is_current(&self.caller);
        if !known {
            return Box::pin(self.call_in_turn(Call::post(MEASUREMENTS, body), turn)).await.map(drop);
        }
        let (begun, head) = (Instant::now(), RequestHead::of(&self.request));
        let created = measurements::create_without_response(&self.caller, &head, &body, turn, platform).await;
        let status = created.as_ref().map_or_else(|error| error.status_code(), |()| StatusCode::CREATED);
        of_measurements.record(status, begun.elapsed());
        Ok(created?)
    }

    /// Makes a call that changes an operation only if it is in this status (H-07).
    ///
    /// # Errors
    /// Fails like [`RestCaller::call`], and with 409 if the operation has another status.
    pub(crate) async fn call_only_from(
        &self,
        call: Call,
        status: OperationStatus,
    ) -> Result<RestResponse, Refusal> {
        let request = self.request(call)?;
        request.extensions_mut().insert(OnlyFrom(status));
        self.make(request).await
    }

    fn request(&self, call: Call) -> Result<Request, Refusal> {
        let uri = match call.uri {
            Cow::Borrowed(uri) => Uri::from_maybe_shared(Bytes::from_static(uri.as_bytes())),
            Cow::Owned(uri) => Uri::from_maybe_shared(Bytes::from(uri)),
        };
        let uri = uri.map_err(|_| Refusal::Rest(StatusCode::BAD_REQUEST))?;
        let mut request = Request::with_payload(call.body.into());
        let head = request.head_mut();
        head.method = call.method;
        head.uri = collapsed(&uri).unwrap_or(uri);
        head.peer_addr = self.request.peer_addr();
        let mut headers = HeaderMap::with_capacity(4);
        for name in self.carried {
            for value in self.request.headers().get_all(name) {
                headers.append(name.clone(), value.clone());
            }
        }
        for (name, value) in [(header::CONTENT_TYPE, call.content_type), (header::ACCEPT, call.accept)] {
            if let Some(value) = value {
                headers.insert(name, value);
            }
        }
        head.headers = headers;
        if let Some(certificate) = &self.certificate {
            request.extensions_mut().insert(certificate.clone());
        }
        Ok(request)
    }

    /// Makes a routed call, and does what the middleware would do, as far as rows need it.
    async fn make(&self, request: Request) -> Result<RestResponse, Refusal> {
        let begun = Instant::now();
        let response = match self.routes.get().await.call(request).await {
            Ok(response) => response,
            Err(error) => return Err(Refusal::Rest(error.as_response_error().status_code())),
        };
        let status = response.status();
        if let Some(durations) = response.request().app_data::<RouteDurations>() {
            durations.record(status, begun.elapsed());
        }
        match status.as_u16() {
            ..400 => Ok(RestResponse { response }),
            _ => Err(Refusal::Rest(status)),
        }
    }
}

/// Returns the names of the headers that identify the caller and its options. The processing mode is the
/// first.
fn carried() -> &'static [HeaderName] {
    static CARRIED: OnceLock<Vec<HeaderName>> = OnceLock::new();
    CARRIED.get_or_init(|| {
        let [mode, units] = ["Processing-Mode", "System-Of-Units"].map(|name| {
            let name = naming().header(name);
            HeaderName::from_bytes(name.as_bytes()).expect("header names are checked at start")
        });
        let own = [mode, application_key_header().clone(), units];
        let forwarded = [&X_FORWARDED_FOR, &X_FORWARDED_HOST, &X_FORWARDED_PROTO].map(HeaderName::clone);
        own.into_iter().chain([header::AUTHORIZATION, header::HOST]).chain(forwarded).collect()
    })
}

impl RestResponse {
    /// Returns the body as JSON; `None` for an empty or invalid one.
    ///
    /// # Errors
    /// [`Refusal::Rest`] with 413 for a body that is too long.
    pub(crate) async fn json(self) -> Result<Option<Value>, Refusal> {
        self.parsed().await
    }

    /// Returns the body as a deserialized value; `None` for an empty body or one of another structure.
    ///
    /// # Errors
    /// [`Refusal::Rest`] with 413 for a body that is too long.
    pub(crate) async fn parsed<T: DeserializeOwned>(self) -> Result<Option<T>, Refusal> {
        let too_long = |_| Refusal::Rest(StatusCode::PAYLOAD_TOO_LARGE);
        let body = to_bytes_limited(self.response.into_body(), RESPONSE_BYTES).await.map_err(too_long)?;
        let body = body.map_err(|_| Refusal::Rest(StatusCode::INTERNAL_SERVER_ERROR))?;
        Ok(serde_json::from_slice(&body).ok())
    }
}
