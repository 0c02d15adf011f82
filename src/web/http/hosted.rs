//! Security headers of every response below `/apps`, including errors. The files there were written by third parties,
//! and the browsers of their users hold credentials for this server.
//!
//! On an address that several tenants share, the policy puts the pages into a sandbox without an origin, so their
//! scripts count as another site's. A browser adds no stored credentials to their requests, or does not let them read
//! the responses to requests with credentials; see [`cors`](crate::auth::cors). Under its own domain, a tenant is
//! responsible for the applications that it installs; their pages have the origin of the domain (W-17). Files are
//! public, so every page may read them.

use actix_web::http::header::{self, HeaderMap, HeaderName, HeaderValue};

/// The path of hosted applications.
const APPS: &str = "/apps";

/// Marks a response with a file of an application that its tenant uses, under the tenant's own domain.
#[derive(Debug, Clone, Copy)]
pub struct AtHome;

/// The content security policies for pages of hosted applications.
#[derive(Debug)]
pub struct Policies {
    /// The policy on an address that several tenants share.
    pub confined: HeaderValue,
    /// The policy under the tenant's own domain: the same without `sandbox`.
    pub at_home: HeaderValue,
}

impl Policies {
    /// Creates the policies from the setting, which contains only printable characters.
    pub fn new(policy: &str) -> Self {
        let is_sandbox = |directive: &&str| {
            let name = directive.split_ascii_whitespace().next().unwrap_or_default();
            name.eq_ignore_ascii_case("sandbox")
        };
        let directives: Vec<&str> = policy.split(';').map(str::trim).filter(|one| !is_sandbox(one)).collect();
        let value =
            |text: &str| HeaderValue::from_str(text).expect("the setting holds printable characters only");
        Self { confined: value(policy), at_home: value(&directives.join("; ")) }
    }

    /// Returns whether the pages of applications have no origin on an address that several tenants share. The operator
    /// may have set a policy that leaves them one.
    pub fn take_origins(&self) -> bool {
        let policy = String::from_utf8_lossy(self.confined.as_bytes()).to_ascii_lowercase();
        let mut directives = policy.split(';').map(|one| one.split_ascii_whitespace());
        let sandbox = directives.find(|words| words.clone().next() == Some("sandbox"));
        sandbox.is_some_and(|mut words| !words.any(|word| word == "allow-same-origin"))
    }
}

/// Returns whether a path belongs to hosted applications.
pub fn is_below_apps(path: &str) -> bool {
    path.strip_prefix(APPS).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Adds the headers that determine what a page may do and who may read it.
pub fn guard(policies: &Policies, at_home: Option<AtHome>, headers: &mut HeaderMap) {
    let (policy, referrer) = match at_home {
        // Without this referrer policy, a browser would hide from this server that its own page sends a request.
        Some(AtHome) => (&policies.at_home, "same-origin"),
        None => (&policies.confined, "no-referrer"),
    };
    headers.insert(header::CONTENT_SECURITY_POLICY, policy.clone());
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static(referrer));
    // A page without an origin counts as cross-origin even for its own files.
    let policy = HeaderName::from_static("cross-origin-resource-policy");
    headers.insert(policy, HeaderValue::from_static("cross-origin"));
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policy_at_home_is_that_of_others_without_the_sandbox() {
        for (policy, at_home) in [
            ("sandbox allow-scripts; default-src 'self'; img-src data:", "default-src 'self'; img-src data:"),
            ("default-src 'self'; Sandbox", "default-src 'self'"),
            ("default-src 'self' sandbox", "default-src 'self' sandbox"),
            ("sandbox", ""),
        ] {
            let policies = Policies::new(policy);
            assert_eq!(
                (&policies.confined, &policies.at_home),
                (
                    &HeaderValue::from_str(policy).expect("text"),
                    &HeaderValue::from_str(at_home).expect("text")
                )
            );
        }
    }
}
