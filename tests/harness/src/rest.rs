//! A REST client: a caller with credentials, requests, responses.

use std::sync::Arc;

use reqwest::header::{HeaderMap, HeaderName};
use reqwest::{Client, Method, RequestBuilder};
use serde_json::{Value, json};

use super::postgres::TestDatabase;
use super::reference::Exchange;
use super::round_robin::RoundRobin;
use super::{PATIENCE, ids};

/// The collection of managed objects.
pub const OBJECTS: &str = "/inventory/managedObjects";

/// The collection of alarms.
pub const ALARMS: &str = "/alarm/alarms";

/// The collection of events.
pub const EVENTS: &str = "/event/events";

/// The collection of measurements.
pub const MEASUREMENTS: &str = "/measurement/measurements";

/// The prefix of every media type.
pub const MEDIA: &str = "application/vnd.example.platform.";

/// A client of a server, with its own connections.
#[derive(Debug, Clone)]
pub struct Caller {
    http: Client,
    servers: Arc<RoundRobin>,
    authorization: Option<String>,
    forwarded: Option<String>,
    /// The tenant of the user.
    tenant: String,
}

impl Caller {
    /// Creates a client; `base` is scheme and authority.
    pub fn new(base: &str, credentials: Option<(&str, &str)>) -> Self {
        Self::of(RoundRobin::only(base), credentials)
    }

    /// Creates a client that uses servers in turn.
    pub(super) fn of(servers: Arc<RoundRobin>, credentials: Option<(&str, &str)>) -> Self {
        let http = Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build().unwrap();
        let authorization = credentials.map(|(user, password)| format!("Basic {}", token(user, password)));
        let tenant =
            credentials.and_then(|(user, _)| user.split_once('/')).map_or("main", |(tenant, _)| tenant);
        Self { http, servers, authorization, forwarded: None, tenant: tenant.to_owned() }
    }

    /// Returns the same client with a JWT.
    pub fn with_token(&self, jwt: &str) -> Self {
        Self { authorization: Some(format!("Bearer {jwt}")), ..self.clone() }
    }

    /// Returns the same client behind a proxy, with this client address.
    pub fn from(&self, address: &str) -> Self {
        Self { forwarded: Some(address.to_owned()), ..self.clone() }
    }

    /// Returns scheme and authority of the server, or of the next one if there are several.
    pub fn base(&self) -> &str {
        self.servers.next()
    }

    /// Returns the tenant of the user.
    pub fn tenant(&self) -> &str {
        &self.tenant
    }

    /// Returns the value of this caller's header `Authorization`.
    pub fn authorization(&self) -> Option<String> {
        self.authorization.clone()
    }

    /// Returns a request with only the credentials. `path` starts with a slash, or is a complete link; `<tenant>` in it
    /// is the tenant of this caller.
    pub fn request(&self, method: &str, path: &str) -> Request {
        let path = path.replace("<tenant>", &self.tenant);
        let applied_by = self.servers.database_to_ask(method, &path);
        let url = if path.starts_with('/') { format!("{}{path}", self.base()) } else { path };
        let mut request = self.http.request(Method::from_bytes(method.as_bytes()).unwrap(), url);
        if let Some(address) = &self.forwarded {
            request = request.header("X-Forwarded-For", address);
        }
        if let Some(authorization) = &self.authorization {
            request = request.header("Authorization", authorization);
        }
        Request { builder: request, applied_by }
    }

    /// Sends GET.
    pub async fn get(&self, path: &str) -> Response {
        self.request("GET", path).send().await
    }

    /// Sends GET for something that exists, and returns it.
    pub async fn read(&self, path: &str) -> Value {
        self.get(path).await.expect(200).json()
    }

    /// Returns all pages of a collection, each at the link `next` of the one before.
    pub async fn pages(&self, path: &str) -> Vec<Value> {
        let (mut pages, mut link) = (Vec::new(), Some(path.to_owned()));
        while let Some(path) = link {
            let page = self.read(&path).await;
            link = page["next"].as_str().map(ToOwned::to_owned);
            pages.push(page);
            assert!(pages.len() < 10_000, "there is no last page: {path}");
        }
        pages
    }

    /// Returns the ids on all pages of a collection, in their order.
    pub async fn ids_of_pages(&self, path: &str, array: &str) -> Vec<String> {
        self.pages(path).await.iter().flat_map(|page| ids(page, array)).collect()
    }

    /// Sends POST with JSON, and requests the created object.
    pub async fn post(&self, path: &str, body: &Value) -> Response {
        self.request("POST", path).accepting_json().json(body).send().await
    }

    /// Sends PUT with JSON, and requests the changed object.
    pub async fn put(&self, path: &str, body: &Value) -> Response {
        self.request("PUT", path).accepting_json().json(body).send().await
    }

    /// Sends DELETE.
    pub async fn delete(&self, path: &str) -> Response {
        self.request("DELETE", path).send().await
    }

    /// Sends POST that must create something; returns that.
    pub async fn create(&self, path: &str, body: &Value) -> Value {
        self.post(path, body).await.expect(201).json()
    }

    /// Creates a managed object; returns its id.
    pub async fn create_device(&self, name: &str) -> String {
        let device = self.create(OBJECTS, &json!({"name": name, "plat_IsDevice": {}})).await;
        device["id"].as_str().unwrap().to_owned()
    }

    /// Creates a group of the devices that match a query; returns its id.
    pub async fn create_dynamic_group(&self, query: impl Into<Value>) -> String {
        let query = query.into();
        let group =
            json!({"type": "plat_DynamicGroup", "plat_IsDynamicGroup": {}, "plat_DeviceQueryString": query});
        self.create(OBJECTS, &group).await["id"].as_str().unwrap().to_owned()
    }

    /// Raises or repeats an alarm; returns it.
    pub async fn raise_alarm(&self, source: &str, kind: &str) -> Value {
        self.create("/alarm/alarms", &alarm_of(source, kind)).await
    }

    /// Creates an event; returns it.
    pub async fn create_event(&self, source: &str, kind: &str) -> Value {
        self.create("/event/events", &event_of(source, kind)).await
    }
}

/// Returns the Base64 of `user:password`.
pub fn token(user: &str, password: &str) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(format!("{user}:{password}"))
}

/// Returns a complete alarm body.
pub fn alarm_of(source: &str, kind: &str) -> Value {
    json!({
        "type": kind,
        "time": "2024-03-10T02:30:00.000+01:00",
        "text": "Too hot",
        "severity": "MAJOR",
        "source": {"id": source},
    })
}

/// Returns a complete event body.
pub fn event_of(source: &str, kind: &str) -> Value {
    json!({
        "type": kind,
        "time": "2024-03-10T02:30:00.000+01:00",
        "text": "It happened",
        "source": {"id": source},
    })
}

/// Returns a complete measurement body with one series.
pub fn measurement_of(source: &str, time: &str, value: i64) -> Value {
    json!({
        "type": "env",
        "time": time,
        "source": {"id": source},
        "env": {"t": {"value": value, "unit": "C"}},
    })
}

/// A request under construction.
#[derive(Debug)]
pub struct Request {
    builder: RequestBuilder,
    /// The database whose servers have all applied the change before the test goes on.
    applied_by: Option<Arc<TestDatabase>>,
}

impl Request {
    /// Adds a header.
    pub fn header(self, name: &str, value: &str) -> Self {
        Self { builder: self.builder.header(name, value), ..self }
    }

    /// Requests JSON.
    pub fn accepting_json(self) -> Self {
        self.header("Accept", "application/json")
    }

    /// Sets the body, without a Content-Type.
    pub fn body(self, text: impl Into<Vec<u8>>) -> Self {
        Self { builder: self.builder.body(text.into()), ..self }
    }

    /// Sets a JSON body with its Content-Type.
    pub fn json(self, body: &Value) -> Self {
        self.header("Content-Type", "application/json").body(body.to_string())
    }

    /// Sends the request and waits for the head of the response.
    pub async fn head(self) -> reqwest::Response {
        super::soon("the head of a response", self.builder.send()).await.unwrap()
    }

    /// Sends the request and waits for the complete response; `None` when the server disconnects meanwhile.
    pub async fn try_send(self) -> Option<Response> {
        let (sent, response) = self.exchange().await;
        let response = response.ok()?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let response =
            Response { request: sent.shown.clone(), status, headers, text: response.text().await.ok()? };
        sent.compare(&response);
        Some(response)
    }

    /// Sends the request and waits for the complete response.
    pub async fn send(self) -> Response {
        let applied_by = self.applied_by.clone();
        let (sent, response) = self.exchange().await;
        let response = Response { request: sent.shown.clone(), ..Response::of(response.unwrap()).await };
        sent.compare(&response);
        if let Some(database) = applied_by {
            Box::pin(database.until_applied()).await;
        }
        response
    }

    /// Sends the request; returns what was sent, and the head of the response.
    async fn exchange(self) -> (Sent, reqwest::Result<reqwest::Response>) {
        let (client, request) = self.builder.timeout(2 * PATIENCE).build_split();
        let request = request.unwrap();
        (Sent::of(&request), client.execute(request).await)
    }
}

/// A request that was sent.
struct Sent {
    /// The description of the request in the message of a failed test.
    shown: String,
    method: String,
    path: String,
}

impl Sent {
    fn of(request: &reqwest::Request) -> Self {
        let emulated = request.headers().get("X-HTTP-METHOD").filter(|_| request.method() == Method::POST);
        let method = emulated.and_then(|name| name.to_str().ok()).unwrap_or(request.method().as_str());
        Self {
            shown: shown(request),
            method: method.to_ascii_uppercase(),
            path: request.url().path().to_owned(),
        }
    }

    /// Compares the response with the API reference; the test fails if it differs.
    fn compare(&self, response: &Response) {
        let exchange = Exchange {
            method: &self.method,
            path: &self.path,
            status: response.status,
            content_type: response.headers.get("Content-Type").and_then(|value| value.to_str().ok()),
            body: &response.text,
        };
        if let Err(fault) = exchange.check() {
            panic!("the response differs from docs/openapi: {fault}\n{}: {}", self.shown, response.status);
        }
    }
}

/// Returns method, URL, headers without the credentials, and the beginning of the body.
fn shown(request: &reqwest::Request) -> String {
    let mut headers = request.headers().clone();
    headers.remove("Authorization");
    let body = request.body().and_then(reqwest::Body::as_bytes).unwrap_or_default();
    let body = String::from_utf8_lossy(&body[..body.len().min(500)]);
    format!("{} {} {headers:?} {body}", request.method(), request.url())
}

/// A response.
#[derive(Debug)]
pub struct Response {
    /// The request, for the message of a failed test.
    request: String,
    pub status: u16,
    pub text: String,
    headers: HeaderMap,
}

impl Response {
    /// Reads a response to its end.
    pub async fn of(response: reqwest::Response) -> Self {
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let request = response.url().to_string();
        let body = super::soon("the end of a response", response.bytes()).await.unwrap();
        Self { request, status, headers, text: String::from_utf8(body.into()).unwrap() }
    }

    /// Parses the text of a response; its body must not be chunked.
    pub(super) fn read(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no response: {text:?}"));
        let (line, fields) = head.split_once("\r\n").unwrap();
        let status = line.split(' ').nth(1).unwrap().parse().unwrap();
        let fields = fields.lines().map(|field| field.split_once(": ").unwrap());
        let headers =
            fields.map(|(name, value)| (name.parse::<HeaderName>().unwrap(), value.parse().unwrap()));
        Self { request: String::new(), status, headers: headers.collect(), text: body.to_owned() }
    }

    /// Returns this response if it has this status; otherwise the test fails and prints the request and the response.
    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}: {}", self.request, self.text);
        self
    }

    /// Returns this response if its status and the member `error` of its body are these; else the test fails and shows
    /// the request and the response.
    #[track_caller]
    pub fn expect_error(self, status: u16, error: &str) -> Self {
        let response = self.expect(status);
        assert_eq!(response.error(), error, "{}: {}", response.request, response.text);
        response
    }

    /// Returns this response if its status is this and the member `message` of its body contains this text; else the
    /// test fails and shows the request and the response.
    #[track_caller]
    pub fn expect_message(self, status: u16, part: &str) -> Self {
        let response = self.expect(status);
        assert!(response.message().contains(part), "no '{part}': {}: {}", response.request, response.text);
        response
    }

    /// Fails the test unless the body has the media type of this resource, such as `alarmCollection`.
    #[track_caller]
    pub fn expect_media(&self, resource: &str) {
        let given = self.header("Content-Type").unwrap_or_default();
        assert!(given.starts_with(&format!("{MEDIA}{resource}+json")), "{}: {given}", self.request);
    }

    /// Returns a header, if it is present.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// Returns all values of a header.
    pub fn headers(&self, name: &str) -> impl Iterator<Item = &str> {
        self.headers.get_all(name).into_iter().map(|value| value.to_str().unwrap())
    }

    /// Returns the body, which must be JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text)
            .unwrap_or_else(|error| panic!("{} has the body {:?}: {error}", self.status, self.text))
    }

    /// Returns the member `error` of an error body.
    pub fn error(&self) -> String {
        self.json()["error"].as_str().unwrap_or_else(|| panic!("no error in {}", self.text)).to_owned()
    }

    /// Returns the member `message` of an error body.
    pub fn message(&self) -> String {
        self.json()["message"].as_str().unwrap_or_else(|| panic!("no message in {}", self.text)).to_owned()
    }
}
