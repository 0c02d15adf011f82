//! Requests to the server of a profile, one after the other over a connection that is kept.

use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue, USER_AGENT};
use hyper::rt::{Read, Write};
use hyper::{Method, Request, Uri};
use hyper_util::rt::TokioIo;
use rustls_pki_types::ServerName;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::failure::{Code, Failure};
use super::profile::Profile;
use crate::tls::Roots;

/// The timeout of a connection.
const CONNECT: Duration = Duration::from_secs(10);
/// The timeout of a response; a long poll is answered sooner.
const RESPONSE: Duration = Duration::from_secs(300);

/// A server, and the connection to it.
pub(super) struct Server {
    pub(super) url: String,
    pub(super) user: String,
    authority: HeaderValue,
    authorization: HeaderValue,
    target: Target,
    roots: Roots,
    connection: Option<SendRequest<Full<Bytes>>>,
}

struct Target {
    encrypted: bool,
    host: String,
    port: u16,
}

/// A complete response.
#[derive(Debug)]
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) body: Bytes,
}

/// The content of a request.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Content {
    Json(Value),
    Text(String),
}

impl Server {
    /// Returns the server of a profile; it is not contacted yet.
    ///
    /// # Errors
    /// The address, or the user, cannot be sent.
    pub(super) fn of(profile: Profile) -> Result<Self, Failure> {
        let refused = || Failure::usage(format!("{:?} is not the address of a server", profile.url));
        let uri: Uri = profile.url.parse().map_err(|_| refused())?;
        let authority = uri.authority().ok_or_else(refused)?;
        let encrypted = uri.scheme_str() == Some("https");
        let target = Target {
            encrypted,
            host: authority.host().trim_matches(['[', ']']).to_owned(),
            port: authority.port_u16().unwrap_or(if encrypted { 443 } else { 80 }),
        };
        let credentials = BASE64_STANDARD.encode(format!("{}:{}", profile.user, profile.password));
        let mut authorization =
            HeaderValue::try_from(format!("Basic {credentials}")).map_err(|_| refused())?;
        authorization.set_sensitive(true);
        Ok(Self {
            authority: HeaderValue::from_str(authority.as_str()).map_err(|_| refused())?,
            authorization,
            target,
            roots: Roots::of_machine(),
            connection: None,
            url: profile.url,
            user: profile.user,
        })
    }

    /// Sends a request and reads the whole response, whatever its status.
    ///
    /// # Errors
    /// There is no response. A request that may have reached the server is not repeated.
    pub(super) async fn send(
        &mut self,
        method: &str,
        path: &str,
        content: Option<&Content>,
    ) -> Result<Response, Failure> {
        let refused = |_| Failure::usage(format!("{method} {path} is not a request"));
        let (text, content_type) = match content {
            None => (String::new(), None),
            Some(Content::Json(value)) => (value.to_string(), Some("application/json")),
            Some(Content::Text(text)) => (text.clone(), Some("text/plain")),
        };
        let mut request = Request::builder()
            .method(
                Method::from_bytes(method.as_bytes())
                    .map_err(|_| Failure::usage(format!("{method} is no method")))?,
            )
            .uri(path)
            .header(HOST, &self.authority)
            .header(AUTHORIZATION, &self.authorization)
            .header(ACCEPT, "application/json, */*;q=0.5")
            .header(USER_AGENT, concat!("platform/", env!("CARGO_PKG_VERSION")));
        if let Some(content_type) = content_type {
            request = request.header(CONTENT_TYPE, content_type);
        }
        let request = request.body(Full::new(Bytes::from(text))).map_err(refused)?;
        let exchange = async {
            let sender = self.connected().await?;
            let response = sender.send_request(request).await?;
            let status = response.status().as_u16();
            Ok(Response { status, body: response.into_body().collect().await?.to_bytes() })
        };
        let outcome: Result<Response, Unreachable> = match timeout(RESPONSE, exchange).await {
            Ok(outcome) => outcome,
            Err(_) => Err(Unreachable(format!("no response within {} s", RESPONSE.as_secs()))),
        };
        outcome.map_err(|Unreachable(why)| {
            self.connection = None;
            Failure::new(Code::Unavailable, format!("{}: {why}", self.url))
        })
    }

    /// Sends a request that must succeed and returns the response.
    ///
    /// # Errors
    /// There is no response, or it has an error status.
    pub(super) async fn expect(
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
    async fn connected(&mut self) -> Result<&mut SendRequest<Full<Bytes>>, Unreachable> {
        let kept = match self.connection.take() {
            Some(mut sender) => sender.ready().await.is_ok().then_some(sender),
            None => None,
        };
        let sender =
            match kept {
                Some(sender) => sender,
                None => timeout(CONNECT, Box::pin(self.target.connect(&self.roots))).await.unwrap_or_else(
                    |_| Err(Unreachable(format!("no connection within {} s", CONNECT.as_secs()))),
                )?,
            };
        Ok(self.connection.insert(sender))
    }
}

impl Target {
    async fn connect(&self, roots: &Roots) -> Result<SendRequest<Full<Bytes>>, Unreachable> {
        let tcp = TcpStream::connect((self.host.as_str(), self.port)).await?;
        tcp.set_nodelay(true)?;
        if !self.encrypted {
            return over(TokioIo::new(tcp)).await;
        }
        let name = ServerName::try_from(self.host.clone()).map_err(|error| Unreachable(error.to_string()))?;
        let connector = roots.connector().await.map_err(Unreachable)?;
        over(TokioIo::new(connector.connect(name, tcp).await?)).await
    }
}

async fn over(
    stream: impl Read + Write + Unpin + Send + 'static,
) -> Result<SendRequest<Full<Bytes>>, Unreachable> {
    let (sender, connection) = handshake(stream).await?;
    // The connection ends with an error when the server closes it, which the next request notices.
    tokio::spawn(async move { connection.await.ok() });
    Ok(sender)
}

impl Response {
    /// Returns the body as JSON.
    ///
    /// # Errors
    /// It is something else.
    pub(super) fn json(&self) -> Result<Value, Failure> {
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
