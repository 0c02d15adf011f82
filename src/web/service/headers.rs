//! The headers that pass between a client and a microservice, and those by which the platform describes the caller.
//!
//! Headers that frame a message or belong to one connection are created on each side and never copied. Headers that
//! only the platform may set are removed from requests.

use actix_web::http::header as edge_header;
use actix_web::http::{StatusCode, header::HeaderMap as EdgeHeaders};
use actix_web::{HttpRequest, HttpResponseBuilder};
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use platform_model::naming::naming;

use crate::auth::Caller;
use crate::http::error::{ApiError, Result};
use crate::http::{base, client_address};

/// Request headers that are not forwarded. `Authorization` is withheld, because a microservice acts as its service
/// users, and a user's password would allow everything that the user may do. Cookies belong to the address, which all
/// applications share. An emulated method (C-06) and the expectation of a 100 have been handled already.
const REQUEST_HEADERS_REMOVED: [&str; 14] = [
    "authorization",
    "connection",
    "content-length",
    "cookie",
    "expect",
    "forwarded",
    "host",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "x-http-method",
    "x-real-ip",
];
/// Prefixes of request headers that are not forwarded: those of proxies, and those by which the platform describes
/// the caller.
const REQUEST_PREFIXES_REMOVED: [&str; 2] = ["proxy-", "x-forwarded-"];

/// Response headers that are not forwarded. All applications and the platform's own interfaces share one address, so
/// no application may set what applies to all of it: cookies, policies, alternative addresses, report targets,
/// challenges that make a browser drop or send a password, or files of a proxy in front.
const RESPONSE_HEADERS_REMOVED: [&str; 22] = [
    "alt-svc",
    "clear-site-data",
    "connection",
    "content-length",
    "expect-ct",
    "keep-alive",
    "nel",
    "origin-agent-cluster",
    "public-key-pins",
    "public-key-pins-report-only",
    "report-to",
    "reporting-endpoints",
    "service-worker-allowed",
    "set-cookie",
    "set-cookie2",
    "strict-transport-security",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "www-authenticate",
    "x-sendfile",
];
/// Prefixes of response headers that are not forwarded. The platform decides which pages may read responses (C-16).
const RESPONSE_PREFIXES_REMOVED: [&str; 3] = ["access-control-", "proxy-", "x-accel-"];

/// The characters that are percent-encoded in a header value. Visible ASCII stays, except the comma, which separates
/// roles, and `%`.
const ENCODED: &AsciiSet = &CONTROLS.add(b' ').add(b'%').add(b',');

/// Returns the headers of a request to a microservice: the client's headers that may pass, and those that describe
/// the caller.
///
/// # Errors
/// 400 for a value that is not allowed in a header.
pub(super) fn to_service(request: &HttpRequest, caller: &Caller) -> Result<HeaderMap> {
    let came = request.headers();
    let named = named_by_connection(came.get_all(edge_header::CONNECTION).map(|value| value.as_bytes()));
    let own = flattened(&naming().header_prefix);
    let mut headers = HeaderMap::with_capacity(came.len() + 6);
    for (name, value) in came {
        let plain = flattened(name.as_str());
        let drops = is_dropped(&plain, &REQUEST_HEADERS_REMOVED, &REQUEST_PREFIXES_REMOVED)
            || plain.starts_with(&own);
        if !drops && !named.contains(&plain) {
            headers.append(name_of(name.as_str())?, value_of(value.as_bytes())?);
        }
    }
    let address = base(request);
    let (scheme, host) = address.split_once("://").unwrap_or(("http", &address));
    headers.insert(HeaderName::from_static("x-forwarded-proto"), value_of(scheme.as_bytes())?);
    headers.insert(HeaderName::from_static("x-forwarded-host"), value_of(host.as_bytes())?);
    let client = client_address(request).to_string();
    headers.insert(HeaderName::from_static("x-forwarded-for"), value_of(client.as_bytes())?);
    let roles: Vec<String> = caller.roles.names().map(encoded).collect();
    for (name, value) in [
        ("Tenant", encoded(caller.tenant.as_str())),
        ("User", encoded(&caller.user)),
        ("Roles", roles.join(",")),
    ] {
        headers.insert(name_of(&naming().header(name))?, value_of(value.as_bytes())?);
    }
    Ok(headers)
}

/// Adds the headers of a microservice's response that may pass, and the page policy of hosted applications. A
/// microservice's pages come from the address of the platform too. With the policy a browser gives them an opaque
/// origin, so they reach neither what it stores for this address nor the interfaces with its stored credentials.
pub(super) fn to_client(
    came: &HeaderMap,
    page_policy: &edge_header::HeaderValue,
    answer: &mut HttpResponseBuilder,
) {
    let connection = came.get_all(hyper::header::CONNECTION);
    let named = named_by_connection(connection.iter().map(HeaderValue::as_bytes));
    for (name, value) in came {
        let plain = flattened(name.as_str());
        let drops = is_dropped(&plain, &RESPONSE_HEADERS_REMOVED, &RESPONSE_PREFIXES_REMOVED)
            || named.contains(&plain);
        if let (false, Ok(value)) = (drops, edge_header::HeaderValue::from_bytes(value.as_bytes())) {
            answer.append_header((name.as_str(), value));
        }
    }
    // The microservice's own policy stays beside it and can only restrict more.
    answer.append_header((edge_header::CONTENT_SECURITY_POLICY, page_policy));
    answer.insert_header((edge_header::X_CONTENT_TYPE_OPTIONS, "nosniff"));
}

/// Returns whether a request asks for a WebSocket. The HTTP library treats all bytes after such a request head as
/// tunnel bytes, so other requests that name the upgrade are rejected.
///
/// # Errors
/// 400 for an upgrade to a WebSocket that is not a GET, has a body or does not name the upgrade in `Connection`.
pub(super) fn asks_for_websocket(request: &HttpRequest) -> Result<bool> {
    let headers = request.headers();
    if !headers.get_all(edge_header::UPGRADE).any(is_websocket) {
        return Ok(false);
    }
    let has_body = |headers: &EdgeHeaders| {
        headers.contains_key(edge_header::CONTENT_LENGTH)
            || headers.contains_key(edge_header::TRANSFER_ENCODING)
    };
    if request.head().upgrade() && request.method() == actix_web::http::Method::GET && !has_body(headers) {
        Ok(true)
    } else {
        let why = "An upgrade to a WebSocket is a GET without a body, with 'Connection: Upgrade'";
        Err(ApiError::Http(StatusCode::BAD_REQUEST, why.into()))
    }
}

fn is_websocket(value: &edge_header::HeaderValue) -> bool {
    value.as_bytes().trim_ascii().eq_ignore_ascii_case(b"websocket")
}

/// Returns a name in lower case with every sign replaced by a hyphen. Programs behind a microservice may receive
/// headers as variables in which every sign is an underscore, so names are compared in this form.
fn flattened(name: &str) -> String {
    name.bytes()
        .map(|byte| if byte.is_ascii_alphanumeric() { byte.to_ascii_lowercase() as char } else { '-' })
        .collect()
}

fn is_dropped(plain: &str, names: &[&str], prefixes: &[&str]) -> bool {
    names.contains(&plain) || prefixes.iter().any(|prefix| plain.starts_with(prefix))
}

/// Returns the names listed in `Connection`; those headers belong to that connection.
fn named_by_connection<'v>(values: impl Iterator<Item = &'v [u8]>) -> Vec<String> {
    let options = values.flat_map(|value| value.split(|byte| *byte == b','));
    options.map(|name| flattened(&String::from_utf8_lossy(name.trim_ascii()))).collect()
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, ENCODED).to_string()
}

fn name_of(name: &str) -> Result<HeaderName> {
    HeaderName::from_bytes(name.as_bytes()).map_err(|_| invalid_header())
}

fn value_of(value: &[u8]) -> Result<HeaderValue> {
    HeaderValue::from_bytes(value).map_err(|_| invalid_header())
}

fn invalid_header() -> ApiError {
    ApiError::Http(StatusCode::BAD_REQUEST, "A header contains characters that are not allowed".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_with_all_signs_equal() {
        for name in ["x-platform-tenant", "X_Platform_Tenant", "x.platform-TENANT", "x~platform~tenant"] {
            assert_eq!(flattened(name), "x-platform-tenant");
        }
        for name in
            ["Content_Length", "transfer_encoding", "X_Forwarded_For", "Proxy-Authorization", "PROXY_X"]
        {
            assert!(
                is_dropped(&flattened(name), &REQUEST_HEADERS_REMOVED, &REQUEST_PREFIXES_REMOVED),
                "{name}"
            );
        }
        assert!(!is_dropped("content-type", &REQUEST_HEADERS_REMOVED, &REQUEST_PREFIXES_REMOVED));
    }

    #[test]
    fn connection_names_headers_of_the_connection() {
        let values: [&[u8]; 2] = [b"close, X-Secret ,", b"x_other"];
        assert_eq!(named_by_connection(values.into_iter()), ["close", "x-secret", "", "x-other"]);
    }

    #[test]
    fn name_of_the_caller_is_encoded_unambiguously() {
        assert_eq!(encoded("m\u{fc}ller,admin 100%\r\n"), "m%C3%BCller%2Cadmin%20100%25%0D%0A");
        assert_eq!(encoded("device_4711"), "device_4711");
    }
}
