//! The log of requests, one line each, with the id that the response also contains. Queries, bodies and credentials are
//! never logged. A successful poll of the fast lane gets an id only if all requests are logged, so that it costs
//! nothing otherwise.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use actix_web::http::StatusCode;
use actix_web::http::header::{HeaderName, HeaderValue};
use platform_front::config::RequestLogging;

use crate::auth::Identity;
use crate::http::client_address;
use crate::http::head::Head;

/// The header with the id of a request. A proxy may have set it already.
pub(crate) const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The most characters of an id that a proxy has set.
const LONGEST: usize = 64;

/// The log of requests.
#[derive(Debug)]
pub struct RequestLog {
    logging: RequestLogging,
    /// The first half of every id, so that the ids of two processes differ.
    process: u32,
    next: AtomicU64,
}

impl RequestLog {
    /// Creates a log for these kinds of requests.
    pub fn new(logging: RequestLogging) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let process = (now.as_micros() as u32).wrapping_mul(0x9E37_79B9) ^ std::process::id();
        Self { logging, process, next: AtomicU64::new(0) }
    }

    /// Returns the id of a request: that of the proxy before this server, or a new one.
    pub(crate) fn id(&self, head: &impl Head) -> HeaderValue {
        let given = head.header(&X_REQUEST_ID).filter(|id| is_acceptable(id));
        let given = given.and_then(|id| HeaderValue::from_bytes(id).ok());
        given.unwrap_or_else(|| {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let id = (u64::from(self.process) << 32).wrapping_add(number);
            let digits: [u8; 16] =
                std::array::from_fn(|at| b"0123456789abcdef"[(id >> (60 - 4 * at)) as usize & 15]);
            HeaderValue::from_bytes(&digits).expect("hexadecimal digits are allowed in a header")
        })
    }

    /// Logs a completed request.
    pub(crate) fn completed(
        &self,
        head: &impl Head,
        status: StatusCode,
        requester: Option<&Identity>,
        id: &HeaderValue,
        took: Duration,
    ) {
        let id = id.to_str().unwrap_or_default();
        let (method, path, code) = (head.method(), head.path(), status.as_u16());
        if self.has(status) {
            let (user, client) = (user_of(requester), client_address(head));
            tracing::info!(target: "platform::requests", id, %method, path, status = code, ?took, user, %client,
                "request");
        } else {
            tracing::debug!(id, %method, path, status = code, ?took, "request completed");
        }
    }

    /// Logs a completed poll of the fast lane and returns the id for its response. A successful poll has none, unless
    /// all requests are logged.
    pub(crate) fn completed_poll(
        &self,
        head: &impl Head,
        status: StatusCode,
        requester: Option<&Identity>,
        took: Duration,
    ) -> Option<HeaderValue> {
        if status.is_success() && !self.has(status) {
            return None;
        }
        let id = self.id(head);
        self.completed(head, status, requester, &id, took);
        Some(id)
    }

    fn has(&self, status: StatusCode) -> bool {
        match self.logging {
            RequestLogging::Off => false,
            RequestLogging::Failed => status.is_client_error() || status.is_server_error(),
            RequestLogging::All => true,
        }
    }
}

/// Returns the user of a request as `tenant/name`; empty if it was not authenticated.
fn user_of(requester: Option<&Identity>) -> String {
    requester.map(|identity| format!("{}/{}", identity.tenant, identity.user)).unwrap_or_default()
}

/// Returns whether the id that a proxy has set may be logged and returned.
fn is_acceptable(id: &[u8]) -> bool {
    (1..=LONGEST).contains(&id.len())
        && id.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    #[test]
    fn id_is_that_of_the_proxy_if_it_can_be_one() {
        let log = RequestLog::new(RequestLogging::Off);
        let id = |given: &str| {
            let request = TestRequest::default().insert_header((X_REQUEST_ID, given)).to_http_request();
            log.id(&request).to_str().unwrap().to_owned()
        };
        assert_eq!(id("a-1_B.c"), "a-1_B.c");
        let long = "x".repeat(LONGEST + 1);
        for refused in ["", "a b", "a\"b", "ä", long.as_str()] {
            let own = id(refused);
            assert!(own.len() == 16 && own.bytes().all(|byte| byte.is_ascii_hexdigit()), "{refused}: {own}");
        }
        assert_ne!(id(""), id(""));
    }
}
