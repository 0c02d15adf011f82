//! Requests to a server, one after the other over a connection that is kept: those of the commands, and of simulated
//! devices.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderValue, USER_AGENT};
use hyper::{Method, Request, Uri};
use serde_json::Value;
use tokio::time::timeout;

use super::content::{Body, Content};
use super::failure::{Code, Failure};
use super::profile::Profile;
use super::words::Words;
use crate::tls::{Roots, Security};

/// The timeout of a connection.
const CONNECT: Duration = Duration::from_secs(10);
/// The timeout of a response; a long poll is answered sooner.
const RESPONSE: Duration = Duration::from_secs(300);
/// The least bytes a second of an upload, for which the timeout is longer.
const SLOWEST: u64 = 20_000;

/// A server, and the connection to it.
pub(crate) struct Server {
    pub(crate) url: String,
    pub(crate) user: String,
    pub(crate) words: Words,
    authority: HeaderValue,
    authorization: HeaderValue,
    security: Security,
    host: String,
    port: u16,
    roots: Arc<Roots>,
    connection: Option<SendRequest<Body>>,
}

/// A complete response.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) body: Bytes,
}

impl Server {
    /// Returns the server of a profile; it is not contacted yet.
    ///
    /// # Errors
    /// The address, or the user, cannot be sent.
    pub(crate) fn of(profile: Profile) -> Result<Self, Failure> {
        let refused = || Failure::usage(format!("{:?} is not the address of a server", profile.url));
        let uri: Uri = profile.url.parse().map_err(|_| refused())?;
        let authority = uri.authority().ok_or_else(refused)?;
        let (security, default_port) = match uri.scheme_str() {
            Some("https") => (Security::Tls, 443),
            _ => (Security::Plain, 80),
        };
        let credentials = BASE64_STANDARD.encode(format!("{}:{}", profile.user, profile.password));
        let mut authorization =
            HeaderValue::try_from(format!("Basic {credentials}")).map_err(|_| refused())?;
        authorization.set_sensitive(true);
        Ok(Self {
            authority: HeaderValue::from_str(authority.as_str()).map_err(|_| refused())?,
            authorization,
            security,
            host: authority.host().to_owned(),
            port: authority.port_u16().unwrap_or(default_port),
            roots: Arc::new(Roots::of_machine()),
            connection: None,
            url: profile.url,
            user: profile.user,
            words: profile.words,
        })
    }

    /// Returns the same server and user, with another connection.
    pub(super) fn another(&self) -> Self {
        Self {
            url: self.url.clone(),
            user: self.user.clone(),
            words: self.words.clone(),
            authority: self.authority.clone(),
            authorization: self.authorization.clone(),
            host: self.host.clone(),
            roots: self.roots.clone(),
            connection: None,
            ..*self
        }
    }

    /// Sends a request and reads the whole response, whatever its status.
    ///
    /// # Errors
    /// There is no response. A request that may have reached the server is not repeated.
    pub(crate) async fn send(
        &mut self,
        method: &str,
        path: &str,
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
        let request = request.body(body).map_err(refused)?;
        self.exchange(request, RESPONSE + Duration::from_secs(length / SLOWEST)).await
    }

    /// Sends a request with headers of its own, beside those that name the server and the user, and waits this long for
    /// the whole response.
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
        headers.insert(AUTHORIZATION, self.authorization.clone());
        headers.insert(USER_AGENT, HeaderValue::from_static(concat!("platform/", env!("CARGO_PKG_VERSION"))));
        let exchange = async {
            let sender = self.connected().await?;
            let response = sender.send_request(request).await?;
            let status = response.status().as_u16();
            Ok(Response { status, body: response.into_body().collect().await?.to_bytes() })
        };
        let outcome: Result<Response, Unreachable> = match timeout(patience, exchange).await {
            Ok(outcome) => outcome,
            Err(_) => Err(Unreachable(format!("no response within {} s", patience.as_secs()))),
        };
        outcome.map_err(|Unreachable(why)| {
            self.connection = None;
            Failure::new(Code::Unavailable, format!("{}: {why}", self.url))
        })
    }

    /// Ends the connection. The next request opens another one.
    pub(crate) fn hang_up(&mut self) {
        self.connection = None;
    }

    /// Sends a request that must succeed and returns the response.
    ///
    /// # Errors
    /// There is no response, or it has an error status.
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

    /// Returns the connection, a new one if the last one has ended.
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
        // The connection ends with an error when the server closes it, which the next request notices.
        tokio::spawn(async move { connection.await.ok() });
        Ok(sender)
    }
}

impl Response {
    /// Returns the body as JSON.
    ///
    /// # Errors
    /// It is something else.
    pub(crate) fn json(&self) -> Result<Value, Failure> {
        serde_json::from_slice(&self.body)
            .map_err(|error| Failure::new(Code::Failed, format!("the response is not JSON: {error}")))
    }
}

/// Why there is no response.
struct Unreachable(String);

impl<E: std::error::Error> From<E> for Unreachable {
    fn from(error: E) -> Self {
        // The cause tells more than the error: "tcp connect error", "Connection refused".
        Self(error.source().map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}")))
    }
}
