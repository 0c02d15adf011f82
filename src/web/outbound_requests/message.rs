//! The request that is sent for a module. It is checked completely before anything is sent.

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use hyper::http::uri::Scheme;
use hyper::{Method, Request, Uri};
use platform_actors::event_processing::{OutboundRequest, RESERVED_HEADERS};
use platform_front::config::AllowedHost;
use platform_front::tls::Security;

/// The methods that a module may use.
const METHODS: [Method; 6] =
    [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::HEAD];
/// The most headers that a module may set in one request.
const MAX_HEADERS: usize = 64;

/// A request that may be sent.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) security: Security,
    /// A name or an address; an IPv6 address is in brackets.
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) request: Request<Full<Bytes>>,
}

impl Message {
    /// Checks a module's request and builds the HTTP request.
    ///
    /// # Errors
    /// The reason why it may not be sent, for the author of the module.
    pub(super) fn of(asked: &OutboundRequest, allowed: &[AllowedHost]) -> Result<Self, String> {
        let method = asked.method.trim().to_ascii_uppercase();
        let method = METHODS.into_iter().find(|known| known.as_str() == method).ok_or_else(|| {
            not_sent(format!(
                "the method '{}' is not one of GET, POST, PUT, PATCH, DELETE, HEAD",
                asked.method
            ))
        })?;
        let target = Target::of(&asked.url, allowed)?;
        let headers = headers(asked, &target.authority)?;
        let mut request = Request::new(Full::new(Bytes::from(asked.body.clone().unwrap_or_default())));
        (*request.method_mut(), *request.headers_mut()) = (method, headers);
        Ok(target.of_request(request))
    }

    /// Builds a GET without credentials.
    ///
    /// # Errors
    /// The reason why it may not be sent.
    pub(super) fn get(url: &str, allowed: &[AllowedHost]) -> Result<Self, String> {
        let target = Target::of(url, allowed)?;
        let mut request = Request::new(Full::default());
        request.headers_mut().insert(HOST, value("host", &target.authority)?);
        request.headers_mut().insert(USER_AGENT, HeaderValue::from_static("platform"));
        Ok(target.of_request(request))
    }

    /// Builds a POST of a form.
    ///
    /// # Errors
    /// The reason why it may not be sent.
    pub(super) fn post_form(
        url: &str,
        form: String,
        authorization: Option<String>,
        allowed: &[AllowedHost],
    ) -> Result<Self, String> {
        let mut message = Self::get(url, allowed)?;
        *message.request.method_mut() = Method::POST;
        *message.request.body_mut() = Full::new(Bytes::from(form));
        let headers = message.request.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
        if let Some(authorization) = authorization {
            headers.insert(AUTHORIZATION, value("authorization", &authorization)?);
        }
        Ok(message)
    }
}

/// A URL to which requests may be sent.
struct Target {
    security: Security,
    host: String,
    port: u16,
    /// Host and port as written.
    authority: String,
    path: Uri,
}

impl Target {
    /// Checks a URL.
    ///
    /// # Errors
    /// The reason why no request may be sent there.
    fn of(url: &str, allowed: &[AllowedHost]) -> Result<Self, String> {
        let uri: Uri = url.trim().parse().map_err(|_| not_sent(format!("'{url}' is no URL")))?;
        let (security, default_port) = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTP => (Security::Plain, 80),
            Some(scheme) if *scheme == Scheme::HTTPS => (Security::Tls, 443),
            _ => return Err(not_sent(format!("'{url}' does not begin with http:// or https://"))),
        };
        let authority = uri.authority().ok_or_else(|| not_sent(format!("'{url}' names no host")))?;
        if authority.as_str().contains('@') {
            return Err(not_sent("a URL must not contain a user; use the column 'authorization'".into()));
        }
        let (host, port) = (authority.host().to_ascii_lowercase(), uri.port_u16().unwrap_or(default_port));
        if !allowed.iter().any(|allowed| allowed.allows(&host, port, default_port)) {
            return Err(not_sent(format!("the host '{authority}' is not allowed by the operator")));
        }
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let path = path.parse().map_err(|_| not_sent(format!("'{url}' is no URL")))?;
        Ok(Self { security, host, port, authority: authority.to_string(), path })
    }

    /// Returns the message that sends a request to this URL.
    fn of_request(self, mut request: Request<Full<Bytes>>) -> Message {
        *request.uri_mut() = self.path;
        Message { security: self.security, host: self.host, port: self.port, request }
    }
}

fn headers(asked: &OutboundRequest, authority: &str) -> Result<HeaderMap, String> {
    if asked.headers.len() > MAX_HEADERS {
        return Err(not_sent(format!("a request has at most {MAX_HEADERS} headers")));
    }
    let mut headers = HeaderMap::new();
    headers.insert(HOST, value("host", authority)?);
    headers.insert(USER_AGENT, HeaderValue::from_static("platform"));
    if let Some(authorization) = &asked.authorization {
        headers.insert(AUTHORIZATION, value("authorization", authorization)?);
    }
    if let Some(content_type) = &asked.content_type {
        headers.insert(CONTENT_TYPE, value("contentType", content_type)?);
    }
    for (name, text) in &asked.headers {
        let known: HeaderName = name.parse().map_err(|_| not_sent(format!("'{name}' is no header")))?;
        if RESERVED_HEADERS.contains(&known.as_str()) {
            return Err(not_sent(format!("the header '{name}' is set by the server")));
        }
        headers.insert(known, value(name, text)?);
    }
    Ok(headers)
}

fn value(name: &str, text: &str) -> Result<HeaderValue, String> {
    HeaderValue::from_str(text)
        .map_err(|_| not_sent(format!("the value of '{name}' is not allowed in a header")))
}

fn not_sent(why: String) -> String {
    format!("not sent: {why}")
}
