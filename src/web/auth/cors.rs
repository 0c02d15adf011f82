//! Rules for pages of other sites. They may read responses (C-16) as far as the tenant of the host allows it with its
//! option `access.control`/`allow.origin`. They may not make changes with credentials that a browser adds on its own
//! ([`is_unasked`]), but they may use credentials of their own ([`brings_credentials`], C-16b). Pages of hosted
//! applications, which have no origin, count as pages of other sites, too.
//!
//! A request without `Origin` costs only the lookup of that header.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use actix_web::http::Method;
use actix_web::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use actix_web::{HttpRequest, HttpResponse};
use parking_lot::RwLock;
use platform_actors::Changed;
use platform_model::id::TenantId;
use platform_model::naming::naming;
use platform_model::tenancy::tenant_option::{ACCESS_CONTROL, ALLOW_ORIGIN, OptionName};
use platform_store::Database;
use platform_store::tenancy::tenants::options::get_option;

use super::{Authenticator, CallerHead};
use crate::http::error::Result;
use crate::http::head::{Head, text};
use crate::http::{authority, base};

/// The time in seconds for which a browser caches a preflight. A change of the option takes effect with this delay.
const MAX_AGE: &str = "600";
/// No browser caches a preflight that lets a page use credentials of its own (C-16b): a cached permission for JSON
/// bodies would also let a request pass that the browser sends with its stored credentials.
const NO_AGE: &str = "0";
/// The content types that any page may send to any site without a preflight.
const TYPES_OF_FORMS: [&str; 3] = ["application/x-www-form-urlencoded", "multipart/form-data", "text/plain"];
/// The response headers that pages may read.
const EXPOSED: &str = "Location, Content-Disposition, Content-Range, Accept-Ranges, ETag, Allow, Deprecation, \
    Retry-After, X-Request-Id";
/// The request headers that pages may send in any case. A preflight allows those that it asks for, too (C-16a).
const COMMON: [&str; 7] =
    ["accept", "authorization", "content-type", "x-http-method", "x-id", "x-device-id", "x-requested-with"];
/// The request headers that no preflight allows, because they belong to the connection or to the browser.
const NEVER_ALLOWED: [&str; 14] = [
    "connection",
    "content-length",
    "cookie",
    "cookie2",
    "expect",
    "host",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];
/// The most request headers that a preflight allows; browsers ask for a few.
const MOST_ALLOWED: usize = 100;

/// A cache of the origins that each tenant allows. An entry is removed when the option changes.
pub struct Cors {
    database: Database,
    allowed: RwLock<HashMap<TenantId, Arc<Origins>>>,
    /// A counter of changes, so that a query in progress does not restore an outdated entry.
    changes: AtomicU64,
}

impl Cors {
    /// Creates an empty cache of the options in this database.
    pub fn new(database: Database) -> Self {
        Self { database, allowed: RwLock::default(), changes: AtomicU64::default() }
    }

    /// Removes the entries that may have changed.
    pub fn forget(&self, changed: Changed<'_>) {
        let mut allowed = self.allowed.write();
        self.changes.fetch_add(1, Ordering::AcqRel);
        match changed {
            Changed::Users(..) | Changed::Rights(..) | Changed::Guess(_) => {}
            Changed::Options(tenant) | Changed::Tenant(tenant) => drop(allowed.remove(tenant)),
            Changed::Anything => allowed.clear(),
        }
    }

    async fn origins(&self, tenant: TenantId) -> Result<Arc<Origins>> {
        if let Some(known) = self.allowed.read().get(&tenant) {
            return Ok(known.clone());
        }
        let changes = self.changes.load(Ordering::Acquire);
        let name = OptionName { category: ACCESS_CONTROL.into(), key: ALLOW_ORIGIN.into() };
        let option = get_option(&self.database, &tenant, name).await?;
        let origins = Arc::new(Origins::parse(&option.value));
        let mut allowed = self.allowed.write();
        if self.changes.load(Ordering::Acquire) == changes {
            allowed.insert(tenant, origins.clone());
        }
        Ok(origins)
    }
}

/// Adds the CORS headers to a response when the tenant of the host allows the site. Error responses receive them too,
/// because a page could otherwise not distinguish errors.
pub async fn allow(head: &impl CallerHead, answer: &mut HeaderMap) {
    let Some(origin) = head.header(&header::ORIGIN) else { return };
    answer.append(header::VARY, HeaderValue::from_static("Origin"));
    let verdict = judge(head, origin).await;
    let brings_own = brings_credentials(head);
    let allowed = match verdict {
        Verdict::Refused => return,
        Verdict::Anybody if !brings_own => HeaderValue::from_static("*"),
        Verdict::Anybody | Verdict::Alike | Verdict::Exact => {
            HeaderValue::from_bytes(origin).expect("it was a value of a header")
        }
    };
    answer.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, allowed);
    answer.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED));
    if brings_own || verdict == Verdict::Exact {
        answer.insert(header::ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
    }
    if answer.contains_key(header::ACCESS_CONTROL_MAX_AGE) {
        let age = if verdict == Verdict::Exact || !brings_own { MAX_AGE } else { NO_AGE };
        answer.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static(age));
    }
}

/// Returns whether the credentials of this request are the page's own (C-16b): a preflight that asks for
/// `Authorization`, or a request that a browser sends only after such a preflight. A browser does not replace an
/// `Authorization` that the page sets by its stored one, and no other preflight allows credentials.
fn brings_credentials(head: &impl Head) -> bool {
    match is_preflight(head) {
        true => requested_headers(head).any(|name| name.eq_ignore_ascii_case("authorization")),
        false => !head.has(&header::UPGRADE) && needs_preflight(head),
    }
}

/// Returns whether a browser sends this request for a page of another site only after a preflight: it has a method or a
/// type of body that forms cannot have, or a header of this API. Other headers say nothing, because proxies add many,
/// and the browsers of some systems add `X-Requested-With`.
fn needs_preflight(head: &impl Head) -> bool {
    let is_of_forms = [Method::GET, Method::HEAD, Method::POST].contains(head.method());
    !is_of_forms
        || own_headers().iter().any(|name| head.has(name))
        || head.header(&header::CONTENT_TYPE).is_some_and(|value| !is_type_of_forms(value))
}

/// Returns the request headers of this API that neither a browser nor a proxy adds on its own.
fn own_headers() -> &'static [HeaderName] {
    static NAMES: OnceLock<Vec<HeaderName>> = OnceLock::new();
    NAMES.get_or_init(|| {
        let of_vendor =
            ["Application-Key", "Processing-Mode", "System-Of-Units"].map(|name| naming().header(name));
        let others = ["X-HTTP-METHOD", "X-Id", "UseXBasic"].map(ToOwned::to_owned);
        let name = |name: String| HeaderName::from_bytes(name.as_bytes());
        let names = of_vendor.into_iter().chain(others).map(name);
        names.collect::<Result<_, _>>().expect("header names are checked at start")
    })
}

/// Looks up what the tenant of the host permits an origin to do.
async fn judge(head: &impl CallerHead, origin: &[u8]) -> Verdict {
    let decided = async {
        let host = authority(head).unwrap_or_default();
        let tenant = head.state::<Authenticator>().tenant_of_host(host).await?;
        head.state::<Cors>().origins(tenant).await
    };
    // Nothing is allowed while the database is unavailable.
    let Ok(origins) = decided.await else { return Verdict::Refused };
    text(origin).map_or(Verdict::Refused, |origin| origins.judge(origin))
}

/// Returns whether the credentials of this request may have been added by a browser on its own, for a page of another
/// site that acts without its user's knowledge. Returns `false` for an origin that the tenant names, whose pages may
/// use these credentials (C-16).
pub async fn is_unasked(head: &impl CallerHead) -> bool {
    match head.header(&header::ORIGIN) {
        Some(origin) if may_be_unasked(head) => judge(head, origin).await != Verdict::Exact,
        _ => false,
    }
}

/// Returns whether a page of another site may have sent this request without a preflight: a WebSocket upgrade, or a
/// change in the format of an HTML form. Requests with another method than POST (even an emulated one), a body of a
/// type that forms cannot send, a header of this API, or a token require a preflight, which excludes them.
pub fn may_be_unasked(head: &impl Head) -> bool {
    if head.header(&header::AUTHORIZATION).is_some_and(is_token) || !is_foreign(head) {
        return false;
    }
    head.has(&header::UPGRADE) || (head.method() == Method::POST && !needs_preflight(head))
}

/// Returns whether a page of another site sends this request. The server's own site is the address the client used.
pub fn is_foreign(head: &impl Head) -> bool {
    let Some(origin) = head.header(&header::ORIGIN) else { return false };
    !origin.eq_ignore_ascii_case(base(head).as_bytes())
}

/// Returns whether the header contains a token. Browsers add passwords on their own, but never tokens.
fn is_token(authorization: &[u8]) -> bool {
    let scheme = authorization.get(..7);
    scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case(b"Bearer "))
}

fn is_type_of_forms(content_type: &[u8]) -> bool {
    // Browsers differ in what ends the type.
    let is_end = |byte: &u8| b";, \t".contains(byte);
    let essence = content_type.trim_ascii().split(is_end).next().unwrap_or_default();
    essence.is_empty() || TYPES_OF_FORMS.iter().any(|known| essence.eq_ignore_ascii_case(known.as_bytes()))
}

/// Returns whether the request is a CORS preflight. Browsers send preflights without credentials.
fn is_preflight(head: &impl Head) -> bool {
    head.method() == Method::OPTIONS
        && head.has(&header::ORIGIN)
        && head.has(&header::ACCESS_CONTROL_REQUEST_METHOD)
}

/// Returns the response to a CORS preflight, or `None` when the request is not one. [`allow`] adds the origin.
/// `methods` are the methods of the path.
pub fn preflight(request: &HttpRequest, methods: &str) -> Option<HttpResponse> {
    is_preflight(request).then(|| {
        HttpResponse::Ok()
            .insert_header((header::ACCESS_CONTROL_ALLOW_METHODS, methods))
            .insert_header((header::ACCESS_CONTROL_ALLOW_HEADERS, allowed_headers(request)))
            .insert_header((header::ACCESS_CONTROL_MAX_AGE, MAX_AGE))
            .finish()
    })
}

/// Returns the request headers that a page may send: the common ones, those of this API, and those that the preflight
/// asks for (C-16a). `*` would not include `Authorization`.
fn allowed_headers(head: &impl Head) -> String {
    let own = own_headers().iter().map(HeaderName::as_str);
    let asked = requested_headers(head).map(str::to_ascii_lowercase);
    let asked = asked.filter(|name| !NEVER_ALLOWED.contains(&&**name));
    let names = COMMON.into_iter().chain(own).map(ToOwned::to_owned).chain(asked.take(MOST_ALLOWED));
    let mut listed = Vec::new();
    names.for_each(|name| {
        if !listed.contains(&name) {
            listed.push(name)
        }
    });
    listed.join(", ")
}

/// Returns the valid names of `Access-Control-Request-Headers`.
fn requested_headers(head: &impl Head) -> impl Iterator<Item = &str> {
    let values = head.values(&header::ACCESS_CONTROL_REQUEST_HEADERS).filter_map(text);
    let names = values.flat_map(|value| value.split(',')).map(str::trim);
    names.filter(|name| HeaderName::from_bytes(name.as_bytes()).is_ok())
}

/// The permission that the option gives an origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// The origin may not read.
    Refused,
    /// The option allows every origin to read, without a browser's stored credentials.
    Anybody,
    /// The origin matches a pattern with wildcards. It may read, without stored credentials.
    Alike,
    /// The option names the origin. It may read, also with stored credentials.
    Exact,
}

/// The parsed value of the option: a comma-separated list of origins, with `*` within host labels, or a single `*` for
/// every origin.
#[derive(Debug, PartialEq, Eq)]
struct Origins(Vec<Pattern>);

#[derive(Debug, PartialEq, Eq)]
enum Pattern {
    Anybody,
    Origin {
        /// `None` matches `http` and `https`.
        scheme: Option<String>,
        /// The host labels, and `:port` if there is one.
        host: String,
    },
}

impl Origins {
    /// Parses the option. An item that cannot be an origin matches none.
    fn parse(text: &str) -> Self {
        let items = text.split(',').map(|item| item.trim().trim_end_matches('/').to_ascii_lowercase());
        let pattern = |item: String| match item.split_once("://") {
            _ if item == "*" => Pattern::Anybody,
            Some((scheme, host)) => Pattern::Origin { scheme: Some(scheme.into()), host: host.into() },
            None => Pattern::Origin { scheme: None, host: item },
        };
        Self(items.filter(|item| !item.is_empty()).map(pattern).collect())
    }

    fn judge(&self, origin: &str) -> Verdict {
        let origin = origin.to_ascii_lowercase();
        let of = |pattern: &Pattern| match pattern {
            Pattern::Anybody => Verdict::Anybody,
            Pattern::Origin { scheme, host } => {
                let Some((origin_scheme, origin_host)) = origin.split_once("://") else {
                    return Verdict::Refused;
                };
                let same_scheme = match scheme {
                    Some(scheme) => scheme == origin_scheme,
                    None => ["http", "https"].contains(&origin_scheme),
                };
                match same_scheme && host_matches(host, origin_host) {
                    false => Verdict::Refused,
                    true if host.contains('*') => Verdict::Alike,
                    true => Verdict::Exact,
                }
            }
        };
        // The most permissive verdict of all items counts.
        let verdicts = self.0.iter().map(of);
        verdicts.max_by_key(|verdict| *verdict as u8).unwrap_or(Verdict::Refused)
    }
}

/// Returns whether a host matches, label by label. A wildcard never matches a dot, so `*.example.com` matches no longer
/// name that somebody else could register.
fn host_matches(pattern: &str, host: &str) -> bool {
    let (mut patterns, mut labels) = (pattern.split('.'), host.split('.'));
    loop {
        match (patterns.next(), labels.next()) {
            (None, None) => return true,
            (Some(pattern), Some(label)) if label_matches(pattern, label) => {}
            _ => return false,
        }
    }
}

fn label_matches(pattern: &str, label: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == label };
    let Some(mut label) = label.strip_prefix(start) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let end = parts.pop().unwrap_or_default();
    for part in parts {
        let Some(at) = label.find(part) else { return false };
        label = &label[at + part.len()..];
    }
    label.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdict_is_the_most_any_item_of_the_list_grants() {
        use Verdict::{Alike, Anybody, Exact, Refused};
        for (option, origin, verdict) in [
            ("*", "https://a.example.com", Anybody),
            ("*", "null", Anybody),
            ("", "https://a.example.com", Refused),
            ("https://a.example.com", "https://a.example.com", Exact),
            ("https://a.example.com", "HTTPS://A.example.com", Exact),
            ("https://a.example.com/", "https://a.example.com", Exact),
            ("https://a.example.com", "http://a.example.com", Refused),
            ("https://a.example.com", "https://a.example.com:8443", Refused),
            ("https://a.example.com", "https://a.example.com.evil.org", Refused),
            ("https://a.example.com", "null", Refused),
            ("http://localhost:9000 , https://b.org", "https://b.org", Exact),
            ("http://localhost:*", "http://localhost:9000", Alike),
            ("https://*.example.com", "https://a.example.com", Alike),
            ("https://*.example.com", "https://a.b.example.com", Refused),
            ("https://*.example.com", "https://example.com", Refused),
            ("https://*.example.com", "https://evil.org/.example.com", Refused),
            ("https://app-*-x.example.com", "https://app-1-x.example.com", Alike),
            ("https://app-*-x.example.com", "https://app-x.example.com", Refused),
            ("example.com", "http://example.com", Exact),
            ("example.com", "ftp://example.com", Refused),
            ("*, https://a.example.com", "https://a.example.com", Exact),
            ("*, https://*.example.com", "https://a.example.com", Alike),
        ] {
            assert_eq!(Origins::parse(option).judge(origin), verdict, "{option}: {origin}");
        }
    }
}
