//! The cookies of the console, which no script can read.

use actix_web::HttpRequest;
use actix_web::http::header;

use crate::http::base;
use crate::http::head::Head;

/// A cookie. Over HTTPS its name has a prefix with which browsers accept it from this host only.
pub(super) struct Cookie {
    /// The name over HTTP.
    pub(super) name: &'static str,
    /// `Strict`, or `Lax` for a cookie that is sent when another site sends the browser here.
    pub(super) same_site: &'static str,
}

impl Cookie {
    /// Returns the header that sets the cookie: for some seconds, or until the browser is closed.
    pub(super) fn set(&self, request: &HttpRequest, value: &str, seconds: Option<u32>) -> String {
        let (name, same_site) = (self.name_for(request), self.same_site);
        let lifetime = seconds.map(|seconds| format!("; Max-Age={seconds}")).unwrap_or_default();
        let secure = if is_secure(request) { "; Secure" } else { "" };
        format!("{name}={value}; Path=/{lifetime}; HttpOnly; SameSite={same_site}{secure}")
    }

    /// Returns the value of the cookie. Of two with its name, one was set by somebody else, so neither counts.
    pub(super) fn value(&self, request: &HttpRequest) -> Option<String> {
        let wanted = self.name_for(request);
        let headers = request.values(&header::COOKIE).filter_map(|value| std::str::from_utf8(value).ok());
        let pairs =
            headers.flat_map(|cookies| cookies.split(';')).filter_map(|cookie| cookie.split_once('='));
        let mut values = pairs.filter(|(name, _)| name.trim() == wanted).map(|(_, value)| value.trim());
        match (values.next(), values.next()) {
            (Some(value), None) => Some(value.to_owned()),
            _ => None,
        }
    }

    fn name_for(&self, request: &HttpRequest) -> String {
        format!("{}{}", if is_secure(request) { "__Host-" } else { "" }, self.name)
    }
}

fn is_secure(request: &HttpRequest) -> bool {
    base(request).starts_with("https:")
}
