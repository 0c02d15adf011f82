//! Which headers pass between a client and a microservice, and what the platform says of a caller.
//!
//! What frames a message, or belongs to one connection, is made anew on each side and never copied. What the platform says of
//! itself nobody else may say.

use actix_web::http::header as edge_header;
use actix_web::http::{StatusCode, header::HeaderMap as EdgeHeaders};
use actix_web::{HttpRequest, HttpResponseBuilder};
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use platform_actors::naming::naming;

use crate::auth::Caller;
use crate::http::error::{ApiError, Result};
use crate::http::{base, client_address};

/// Of requests. `Authorization` is none of a microservice's business: it acts as its service users, and a password of a user is
/// good for everything the user may do. Cookies belong to the address, which all applications share. An emulated method was
/// carried out already (C-06), and so was the expectation of a 100.
const NOT_ASKED: [&str; 14] = [
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
/// Of requests, with what follows: proxies talk to each other, and the platform says itself who asks.
const NOT_ASKED_FAMILIES: [&str; 2] = ["proxy-", "x-forwarded-"];

/// Of answers. The address of the platform is shared by all applications and by its own interfaces, so none of them may set
/// what holds for the whole of it: cookies, policies, other addresses, where reports go, challenges that make a browser forget
/// or send a password, files of a proxy in front.
const NOT_ANSWERED: [&str; 22] = [
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
/// Of answers, with what follows. Which pages may read answers is said by the platform (C-16).
const NOT_ANSWERED_FAMILIES: [&str; 3] = ["access-control-", "proxy-", "x-accel-"];

/// What may stand in a header without being encoded: visible ASCII without the comma, which separates roles, and without `%`.
const ENCODED: &AsciiSet = &CONTROLS.add(b' ').add(b'%').add(b',');

/// The headers of a request to a microservice: those of the client that may pass, and who asks.
///
/// # Errors
/// 400 for a value that may stand in no header.
pub(super) fn to_service(request: &HttpRequest, caller: &Caller) -> Result<HeaderMap> {
    let came = request.headers();
    let named = named_by_connection(came.get_all(edge_header::CONNECTION).map(|value| value.as_bytes()));
    let own = flattened(&naming().header_prefix);
    let mut headers = HeaderMap::with_capacity(came.len() + 6);
    for (name, value) in came {
        let plain = flattened(name.as_str());
        let drops = is_dropped(&plain, &NOT_ASKED, &NOT_ASKED_FAMILIES) || plain.starts_with(&own);
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

/// Adds the headers of a microservice's answer that may pass, and the policy for its pages, which is that of hosted
/// applications: pages of a microservice come from the address of the platform too. A browser treats them as pages of nowhere, so
/// they reach neither what it stores for this address nor, with its stored credentials, the interfaces.
pub(super) fn to_client(
    came: &HeaderMap,
    page_policy: &edge_header::HeaderValue,
    answer: &mut HttpResponseBuilder,
) {
    let connection = came.get_all(hyper::header::CONNECTION);
    let named = named_by_connection(connection.iter().map(HeaderValue::as_bytes));
    for (name, value) in came {
        let plain = flattened(name.as_str());
        let drops = is_dropped(&plain, &NOT_ANSWERED, &NOT_ANSWERED_FAMILIES) || named.contains(&plain);
        if let (false, Ok(value)) = (drops, edge_header::HeaderValue::from_bytes(value.as_bytes())) {
            answer.append_header((name.as_str(), value));
        }
    }
    // Beside a policy of its own, which can only forbid more.
    answer.append_header((edge_header::CONTENT_SECURITY_POLICY, page_policy));
    answer.insert_header((edge_header::X_CONTENT_TYPE_OPTIONS, "nosniff"));
}

/// Whether a request asks for a WebSocket. The HTTP library takes whatever follows such a head for the bytes of a tunnel, so
/// nothing else may come with it.
///
/// # Errors
/// 400 for an upgrade to a WebSocket that is no GET, has a body or does not name the upgrade in `Connection`.
pub(super) fn asks_for_websocket(request: &HttpRequest) -> Result<bool> {
    let headers = request.headers();
    if !headers.get_all(edge_header::UPGRADE).any(is_websocket) {
        return Ok(false);
    }
    let has_body = |headers: &EdgeHeaders| {
        headers.contains_key(edge_header::CONTENT_LENGTH)
            || headers.contains_key(edge_header::TRANSFER_ENCODING)
    };
    match request.head().upgrade() && request.method() == actix_web::http::Method::GET && !has_body(headers) {
        true => Ok(true),
        false => {
            let why = "An upgrade to a WebSocket is a GET without a body, with 'Connection: Upgrade'";
            Err(ApiError::Http(StatusCode::BAD_REQUEST, why.into()))
        }
    }
}

fn is_websocket(value: &edge_header::HeaderValue) -> bool {
    value.as_bytes().trim_ascii().eq_ignore_ascii_case(b"websocket")
}

/// Programs behind a microservice may know headers as variables, in which every sign is an underscore. So names are compared
/// with all signs alike, in lower case.
fn flattened(name: &str) -> String {
    name.bytes()
        .map(|byte| if byte.is_ascii_alphanumeric() { byte.to_ascii_lowercase() as char } else { '-' })
        .collect()
}

fn is_dropped(plain: &str, names: &[&str], families: &[&str]) -> bool {
    names.contains(&plain) || families.iter().any(|family| plain.starts_with(family))
}

/// What `Connection` names belongs to that connection.
fn named_by_connection<'v>(values: impl Iterator<Item = &'v [u8]>) -> Vec<String> {
    let options = values.flat_map(|value| value.split(|byte| *byte == b','));
    options.map(|name| flattened(&String::from_utf8_lossy(name.trim_ascii()))).collect()
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, ENCODED).to_string()
}

fn name_of(name: &str) -> Result<HeaderName> {
    HeaderName::from_bytes(name.as_bytes()).map_err(|_| unfit())
}

fn value_of(value: &[u8]) -> Result<HeaderValue> {
    HeaderValue::from_bytes(value).map_err(|_| unfit())
}

fn unfit() -> ApiError {
    ApiError::Http(StatusCode::BAD_REQUEST, "A header has characters that may stand in none".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_with_all_signs_alike() {
        for name in ["x-platform-tenant", "X_Platform_Tenant", "x.platform-TENANT", "x~platform~tenant"] {
            assert_eq!(flattened(name), "x-platform-tenant");
        }
        for name in
            ["Content_Length", "transfer_encoding", "X_Forwarded_For", "Proxy-Authorization", "PROXY_X"]
        {
            assert!(is_dropped(&flattened(name), &NOT_ASKED, &NOT_ASKED_FAMILIES), "{name}");
        }
        assert!(!is_dropped("content-type", &NOT_ASKED, &NOT_ASKED_FAMILIES));
    }

    #[test]
    fn connection_names_headers_of_the_connection() {
        let values: [&[u8]; 2] = [b"close, X-Secret ,", b"x_other"];
        assert_eq!(named_by_connection(values.into_iter()), ["close", "x-secret", "", "x-other"]);
    }

    #[test]
    fn who_asks_cannot_be_mistaken_for_somebody_else() {
        assert_eq!(encoded("m\u{fc}ller,admin 100%\r\n"), "m%C3%BCller%2Cadmin%20100%25%0D%0A");
        assert_eq!(encoded("device_4711"), "device_4711");
    }
}
