//! HTTP requests to a server, one after the other over a connection that is kept open. Commands and simulated devices
//! use this client.

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

/// The timeout for opening a connection.
const CONNECT: Duration = Duration::from_secs(10);
/// The timeout of a response. The server holds a long poll for a shorter time.
const RESPONSE: Duration = Duration::from_secs(300);
/// The slowest upload in bytes per second that does not run into the timeout.
const SLOWEST: u64 = 20_000;

/// A server and the connection to it.
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

/// A response with its whole body.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) body: Bytes,
}

impl Server {
    /// Returns the server of a profile. No connection is opened yet.
    ///
    /// # Errors
    /// The address is invalid, or the user or password cannot be sent in a header.
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

    /// Returns the same server and user with a connection of its own.
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

    /// Sends a request with additional headers and waits for the whole response for this time at most. The headers for
    /// the host and the user are added.
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

/// The reason why a request has no response.
struct Unreachable(String);

impl<E: std::error::Error> From<E> for Unreachable {
    fn from(error: E) -> Self {
        // The message includes the cause of an error, because "tcp connect error" says less than "Connection refused".
        Self(error.source().map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}")))
    }
}
