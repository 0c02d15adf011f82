//! Requests to other servers: `SendRequest`, whose response becomes a `ResponseReceived` event.

use std::sync::Arc;
use std::time::Duration;

use platform_epl::stream::{Input, Occurrence, Response};
use platform_epl::value::{Fault, Row, Value};
use platform_model::error::{Error, Result};
use platform_model::id::ManagedObjectId;
use platform_model::origin::Depth;
use platform_model::origin::ProcessingMode;
use platform_model::timestamp::Timestamp;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::TenantWrites;
use super::cells::Cells;
use crate::event_processing::requests::{OutboundRequest, OutboundResponse, RESERVED_HEADERS};

/// The longest time to wait for a response. The component that sends the request has a shorter timeout.
const LONGEST: Duration = Duration::from_secs(120);
/// The maximum length of a URL in bytes.
const MAX_URL: usize = 8 << 10;
/// The maximum size of all other headers in bytes, and their maximum number.
const MAX_HEADERS: (usize, usize) = (16 << 10, 100);

/// A request as its row describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RequestRow {
    pub(super) url: String,
    pub(super) method: String,
    pub(super) body: Option<String>,
    pub(super) authorization: Option<String>,
    pub(super) content_type: Option<String>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) source: Option<ManagedObjectId>,
}

impl RequestRow {
    /// Reads the row. `headers` is either text with lines of the form `Name: value`, or an object of names and
    /// values. A body that is not text is sent as JSON.
    ///
    /// # Errors
    /// Returns `Invalid` if a required column is null, if a value could inject a header, or if a header is
    /// reserved.
    pub(super) fn of(row: &Row) -> Result<Self> {
        let row = Cells(row);
        let (url, method) = (row.mandatory_text("url")?, row.mandatory_text("method")?);
        if url.len() > MAX_URL || url.contains(|c: char| c.is_control() || c == ' ') {
            return Err(Error::invalid_value("url", url, "an address of at most 8 KiB without blanks"));
        }
        if !is_token(&method) {
            return Err(Error::invalid_value("method", method, "an HTTP method"));
        }
        let header = |name: &str| row.text(name).map(|value| checked(name, value)).transpose();
        Ok(Self {
            url,
            method,
            body: row.text("body"),
            authorization: header("authorization")?,
            content_type: header("contentType")?,
            headers: row.get("headers").map(headers).transpose()?.unwrap_or_default(),
            source: row.id("source")?.map(|id| ManagedObjectId::parse(&id)).transpose()?,
        })
    }
}

fn headers(value: &Value) -> Result<Vec<(String, String)>> {
    let wrong = |line: &str| Error::invalid_value("headers", line, "lines of 'Name: value'");
    let pairs: Vec<(String, String)> = match value {
        Value::Text(lines) => {
            let lines = lines.lines().filter(|line| !line.trim().is_empty());
            let pair = |line: &str| {
                let (name, value) = line.split_once(':').ok_or_else(|| wrong(line))?;
                Ok((name.trim().to_owned(), value.trim().to_owned()))
            };
            lines.map(pair).collect::<Result<_>>()?
        }
        Value::Map(map) => {
            let pair = |(name, value): &(Arc<str>, Value)| {
                Some((name.to_string(), value.as_text()?.trim_matches([' ', '\t']).to_owned()))
            };
            map.0.iter().filter_map(pair).collect()
        }
        _ => return Err(wrong("something else")),
    };
    let bytes: usize = pairs.iter().map(|(name, value)| name.len() + value.len()).sum();
    if bytes > MAX_HEADERS.0 || pairs.len() > MAX_HEADERS.1 {
        return Err(Error::invalid_value("headers", pairs.len(), "at most 100 headers of 16 KiB"));
    }
    let check = |(name, value): (String, String)| {
        let is_reserved = RESERVED_HEADERS.iter().any(|reserved| name.eq_ignore_ascii_case(reserved));
        if is_token(&name) && !is_reserved {
            checked(&name, value).map(|value| (name, value))
        } else {
            Err(Error::invalid_value("headers", name, "headers that are a module's to set"))
        }
    };
    pairs.into_iter().map(check).collect()
}

/// Checks that a value cannot end its header line: data from devices must not be able to add headers.
fn checked(name: &str, value: String) -> Result<String> {
    if value.contains(|c: char| c.is_control() && c != '\t') {
        Err(Error::Invalid(format!("Invalid value of '{name}': a header is one line of printable text")))
    } else {
        Ok(value)
    }
}

/// Returns whether a text is a token, the syntax of header names and methods (RFC 9110).
fn is_token(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    (1..=256).contains(&text.len()) && text.bytes().all(allowed)
}

impl TenantWrites {
    /// Has a request sent when the tenant has a free slot, and feeds the response to the tenant's modules.
    ///
    /// # Errors
    /// Returns a fault if nothing sends requests, if too many requests wait, or if no response arrives.
    pub(super) async fn request(&self, asked: RequestRow, depth: Depth) -> Result<(), Fault> {
        let turn = self.requests_under_way.acquire().await;
        let (answer, answered) = oneshot::channel();
        let RequestRow { url, method, body, authorization, content_type, headers, source } = asked;
        let tenant = self.tenant.clone();
        let request = OutboundRequest {
            tenant,
            url,
            method,
            body,
            authorization,
            content_type,
            headers,
            source,
            answer,
        };
        self.requests
            .try_send(request)
            .map_err(|_| Fault::new("requests to other servers cannot be sent now: nothing sends them"))?;

        let answered = timeout(LONGEST, answered).await;

        drop(turn);
        let Ok(Ok(OutboundResponse { status, body })) = answered else {
            return Err(Fault::new("a request to another server was abandoned without a response"));
        };
        let creation_time = Timestamp::now();
        let response = Arc::new(Response { status, body: body.into(), creation_time, source });
        let about = source.unwrap_or(ManagedObjectId(0));
        let mode = ProcessingMode::Persistent;
        if let Some(tenant) = self.platform.upgrade().map(|platform| platform.tenant(&self.tenant)) {
            let feeds = &tenant.context().feeds;
            feeds.feed(Input::new(Occurrence::Response(response), about, mode, depth));
        }
        Ok(())
    }
}
