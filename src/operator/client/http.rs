//! HTTP requests to a server, one after the other over a connection that is kept open. Commands and simulated devices
//! use this client.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{
    ACCEPT, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderMap, HeaderValue, RETRY_AFTER,
    USER_AGENT,
};
use hyper::{Method, Request, Uri};
use platform_front::terminal::say;
use platform_front::tls::{Roots, Security};
use serde_json::Value;
use tokio::time::{sleep, timeout};

use super::content::{Body, Content};
use super::failure::{Code, Failure};
use super::profile::{Credentials, Profile};
use super::words::Words;

/// The timeout for opening a connection.
const CONNECT: Duration = Duration::from_secs(10);
/// The timeout of a response unless a command has another one. The server holds a long poll for a shorter time.
const RESPONSE: Duration = Duration::from_secs(300);
/// The slowest upload in bytes per second that does not run into the timeout.
const SLOWEST: u64 = 20_000;

/// A server and the connection to it.
pub(crate) struct Server {
    pub(crate) url: String,
    pub(crate) user: String,
    pub(crate) words: Words,
    authority: HeaderValue,
    /// The credentials of the user, if requests have some.
    authorization: Option<HeaderValue>,
    /// The command that logs in again, if the credentials are those of a log-in that ends.
    again: Option<String>,
    security: Security,
    host: String,
    port: u16,
    roots: Arc<Roots>,
    /// The timeout of a response, and of each pause within it.
    response: Duration,
    /// The longest time that a request waits in all before it is repeated.
    repeats: Duration,
    /// Whether a line has said that requests wait; connections of one command share it.
    has_said: Arc<AtomicBool>,
    connection: Option<SendRequest<Body>>,
}

/// A response with its whole body.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    /// The time after which the server wants the request again (`Retry-After` in seconds).
    pub(crate) retry_after: Option<Duration>,
    pub(crate) body: Bytes,
}

impl Server {
    /// Returns the server of a profile. No connection is opened yet.
    ///
    /// # Errors
    /// The address is invalid, or the user or password cannot be sent in a header.
    pub(crate) fn of(profile: Profile) -> Result<Self, Failure> {
        let log_in = profile.log_in();
        let roots = Arc::new(profile.authorities.map_or_else(Roots::of_machine, Roots::of_file));
        let unsendable = |_| Failure::usage("the user, the password or the token cannot be sent in a header");
        let (text, again) = match profile.credentials {
            Credentials::Password(password) => {
                let pair = BASE64_STANDARD.encode(format!("{}:{password}", profile.user));
                (format!("Basic {pair}"), None)
            }
            Credentials::Token(token) | Credentials::TokenOfCode(token) => {
                (format!("Bearer {token}"), Some(log_in))
            }
        };
        let mut authorization = HeaderValue::try_from(text).map_err(unsendable)?;
        authorization.set_sensitive(true);
        let server = Self::at(&profile.url, roots)?;
        let (user, words) = (profile.user, profile.words);
        Ok(Self { user, words, authorization: Some(authorization), again, ..server })
    }

    /// Returns a server to which requests without credentials are sent. No connection is opened yet.
    ///
    /// # Errors
    /// The address is invalid.
    pub(super) fn at(url: &str, roots: Arc<Roots>) -> Result<Self, Failure> {
        let refused = || Failure::usage(format!("{url:?} is not the address of a server"));
        let uri: Uri = url.parse().map_err(|_| refused())?;
        let authority = uri.authority().ok_or_else(refused)?;
        let (security, default_port) = match uri.scheme_str() {
            Some("https") => (Security::Tls, 443),
            _ => (Security::Plain, 80),
        };
        Ok(Self {
            authority: HeaderValue::from_str(authority.as_str()).map_err(|_| refused())?,
            authorization: None,
            again: None,
            security,
            host: authority.host().to_owned(),
            port: authority.port_u16().unwrap_or(default_port),
            roots,
            response: RESPONSE,
            repeats: Duration::ZERO,
            has_said: Arc::default(),
            connection: None,
            url: url.to_owned(),
            user: String::new(),
            words: Words::default(),
        })
    }

    /// Returns the server with another timeout of responses.
    pub(super) fn responding_within(self, response: Duration) -> Self {
        Self { response, ..self }
    }

    /// Returns the server with requests that wait this long in all for the times at which the server wants them again.
    pub(super) fn repeating_for(self, repeats: Duration) -> Self {
        Self { repeats, ..self }
    }

    /// Returns the same server and user with a connection of its own.
    pub(super) fn another(&self) -> Self {
        Self {
            url: self.url.clone(),
            user: self.user.clone(),
            words: self.words.clone(),
            authority: self.authority.clone(),
            authorization: self.authorization.clone(),
            again: self.again.clone(),
            host: self.host.clone(),
            roots: self.roots.clone(),
            has_said: self.has_said.clone(),
            connection: None,
            ..*self
        }
    }

    /// Sends a request and reads the whole response, whatever its status is.
    ///
    /// # Errors
    /// There is no response. A request that may have reached the server is not repeated.
    pub(crate) async fn send(
        &mut self,
        method: &str,
        path: &str,
        content: Option<&Content>,
    ) -> Result<Response, Failure> {
        self.send_with(method, path, &HeaderMap::new(), content).await
    }

    /// Sends a request with additional headers, which win over those that the content needs. A request that the server
    /// refuses for now (429 or 503 with `Retry-After`) is repeated at the time that the server says.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub(super) async fn send_with(
        &mut self,
        method: &str,
        path: &str,
        headers: &HeaderMap,
        content: Option<&Content>,
    ) -> Result<Response, Failure> {
        let mut left = self.repeats;
        loop {
            let response = self.send_once(method, path, headers, content).await?;
            let pause = response.retry_after.filter(|_| matches!(response.status, 429 | 503));
            let Some(pause) = pause.filter(|pause| *pause <= left) else { return Ok(response) };
            if !self.has_said.swap(true, Ordering::Relaxed) {
                let why = Failure::of_response(response.status, &response.body).without_prefix();
                say(format_args!("waiting, because the server says when to repeat a request: {why}"));
            }
            sleep(pause).await;
            left = left.saturating_sub(pause.max(Duration::from_secs(1)));
        }
    }

    async fn send_once(
        &mut self,
        method: &str,
        path: &str,
        headers: &HeaderMap,
        content: Option<&Content>,
    ) -> Result<Response, Failure> {
        let refused = |_| Failure::usage(format!("{method} {path} is not a request"));
        let mut request = Request::builder()
            .method(
                Method::from_bytes(method.as_bytes())
                    .map_err(|_| Failure::usage(format!("{method} is no method")))?,
            )
            .uri(path)
            .header(ACCEPT, "application/json, */*;q=0.5");
        let (body, length) = match content {
            None => (Content::nothing(), 0),
            Some(content) => content.body()?,
        };
        if let Some(content) = content {
            request = request.header(CONTENT_TYPE, content.media_type()).header(CONTENT_LENGTH, length);
        }
        let mut request = request.body(body).map_err(refused)?;
        for name in headers.keys() {
            request.headers_mut().remove(name);
        }
        request.headers_mut().extend(headers.iter().map(|(name, value)| (name.clone(), value.clone())));
        self.exchange(request, self.response + Duration::from_secs(length / SLOWEST)).await
    }

    /// Sends a request with additional headers and waits for its response for this time at most, and as long for each
    /// part of the body. The headers for the host and the user are added.
    ///
    /// # Errors
    /// There is no response. A request that may have reached the server is not repeated.
    pub(crate) async fn exchange(
        &mut self,
        mut request: Request<Body>,
        patience: Duration,
    ) -> Result<Response, Failure> {
        let headers = request.headers_mut();
        headers.insert(HOST, self.authority.clone());
        headers.extend(self.authorization.clone().map(|credentials| (AUTHORIZATION, credentials)));
        headers.insert(USER_AGENT, HeaderValue::from_static(concat!("platform/", env!("CARGO_PKG_VERSION"))));
        let exchange = async {
            let sender = self.connected().await?;
            let response = within(patience, sender.send_request(request)).await??;
            let retry_after =
                response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
            let (status, mut body) = (response.status().as_u16(), response.into_body());
            let mut bytes = BytesMut::new();
            while let Some(frame) = within(patience, body.frame()).await? {
                bytes.extend(frame?.into_data());
            }
            Ok(Response { status, retry_after: retry_after.map(Duration::from_secs), body: bytes.freeze() })
        };
        let outcome: Result<Response, Unreachable> = exchange.await;
        if let (Some(again), Ok(Response { status: 401, .. })) = (&self.again, &outcome) {
            let ended = Failure::new(Code::Denied, format!("401: the log-in of {} has ended", self.user));
            return Err(ended.hint(format!("`{again}` logs in again")));
        }
        outcome.map_err(|Unreachable(why)| {
            self.connection = None;
            let failure = Failure::new(Code::Unavailable, format!("{}: {why}", self.url));
            match hint_of(&why) {
                Some(hint) => failure.hint(hint),
                None => failure,
            }
        })
    }

    /// Closes the connection. The next request opens another one.
    pub(crate) fn hang_up(&mut self) {
        self.connection = None;
    }

    /// Sends a request that must succeed, and returns the response.
    ///
    /// # Errors
    /// There is no response, or its status is an error.
    pub(crate) async fn expect(
        &mut self,
        method: &str,
        path: &str,
        content: Option<&Content>,
    ) -> Result<Response, Failure> {
        let response = self.send(method, path, content).await?;
        match response.status {
            200..=299 => Ok(response),
            status => Err(Failure::of_response(status, &response.body)),
        }
    }

    /// Returns the open connection, or opens a new one if the server has closed it.
    async fn connected(&mut self) -> Result<&mut SendRequest<Body>, Unreachable> {
        let kept = match self.connection.take() {
            Some(mut sender) => sender.ready().await.is_ok().then_some(sender),
            None => None,
        };
        let sender = match kept {
            Some(sender) => sender,
            None => timeout(CONNECT, Box::pin(self.connect())).await.unwrap_or_else(|_| {
                Err(Unreachable(format!("no connection within {} s", CONNECT.as_secs())))
            })?,
        };
        Ok(self.connection.insert(sender))
    }

    async fn connect(&self) -> Result<SendRequest<Body>, Unreachable> {
        let stream = self.roots.connect(self.security, &self.host, self.port).await.map_err(Unreachable)?;
        let (sender, connection) = handshake(stream).await?;
        // The task of the connection ends with an error when the server closes it; the next request finds the
        // connection closed.
        tokio::spawn(async move { connection.await.ok() });
        Ok(sender)
    }
}

impl Response {
    /// Parses the body as JSON.
    ///
    /// # Errors
    /// The body is not JSON.
    pub(crate) fn json(&self) -> Result<Value, Failure> {
        serde_json::from_slice(&self.body)
            .map_err(|error| Failure::new(Code::Failed, format!("the response is not JSON: {error}")))
    }
}

/// Waits for a part of a response.
async fn within<F: Future>(patience: Duration, part: F) -> Result<F::Output, Unreachable> {
    let silent = |_| Unreachable(format!("no response within {} s", patience.as_secs()));
    timeout(patience, part).await.map_err(silent)
}

/// Returns what helps against a reason, if it is one of TLS.
fn hint_of(why: &str) -> Option<&'static str> {
    let hints = [
        (
            "UnknownIssuer",
            "`platform login --ca FILE` stores the certificate of your own authority; scripts set PLATFORM_CA",
        ),
        ("InvalidContentType", "there is no TLS at this port; the address may begin with http://"),
    ];
    hints.iter().find(|(part, _)| why.contains(part)).map(|(_, hint)| *hint)
}

/// The reason why a request has no response.
struct Unreachable(String);

impl<E: std::error::Error> From<E> for Unreachable {
    fn from(error: E) -> Self {
        // The message includes the cause of an error, because "tcp connect error" says less than "Connection refused".
        Self(error.source().map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}")))
    }
}
