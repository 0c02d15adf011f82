//! Parses the requests that the fast lane supports: plain POSTs, and polls of consumers, whose heads leave no room for
//! interpretation. All other requests are for actix-http.
//!
//! The head is parsed with the parser of actix-http and with rules that only add restrictions: actix-http would have
//! parsed every accepted request in the same way.

use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;

use actix_web::http::Method;
use actix_web::http::header::HeaderName;
use platform_front::tls::ClientCertificate;

use super::{Lane, Resource, data};
use crate::http::address::is_authority;
use crate::http::head::Head;

/// The maximum length of a head in bytes. Requests with longer heads are for actix-http.
pub(super) const HEAD_BYTES: usize = 8 << 10;
/// The maximum number of headers. Requests with more headers are for actix-http.
const HEADERS: usize = 24;
/// The bytes with which each request of the lane begins, by method.
const BEGINNINGS: [(Verb, &[u8]); 2] =
    [(Verb::Post, b"POST /"), (Verb::Get, b"GET /notification/consumers/")];
/// The rest of the request line after the path.
const VERSION: &[u8] = b" HTTP/1.1\r\n";
/// Headers that change the meaning of a request, its length, or the encoding of its body.
const UNUSUAL: [&str; 9] = [
    "transfer-encoding",
    "content-encoding",
    "expect",
    "upgrade",
    "te",
    "trailer",
    "proxy-connection",
    "http2-settings",
    "x-http-method",
];

/// The method of a request of the lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    /// Has a body with a length.
    Post,
    /// Has no body.
    Get,
}

impl Verb {
    fn method(self) -> &'static Method {
        match self {
            Self::Post => &Method::POST,
            Self::Get => &Method::GET,
        }
    }

    /// Returns the length of the body, given the content length; `None` if the request is not plain.
    fn body_length(self, content_length: Option<usize>) -> Option<usize> {
        match self {
            Self::Post => content_length,
            Self::Get => content_length.is_none().then_some(0),
        }
    }
}

/// The result of parsing the bytes received so far.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "it is taken apart where it is made")]
pub(super) enum Look {
    /// The beginning of what may become a request of the lane.
    Incomplete,
    /// A request that the lane does not support.
    Foreign,
    /// A head that the lane supports. Its body may be incomplete.
    Head(Outline),
}

/// A parsed head, as positions within the bytes of the request.
#[derive(Debug, Clone)]
pub(super) struct Outline {
    verb: Verb,
    /// The path and the query.
    target: Slice,
    /// The index of the path among the paths of the lane.
    pub(super) path: usize,
    /// Whether the client requests that the connection closes after the response.
    pub(super) closes: bool,
    /// The position at which the body begins.
    pub(super) body: usize,
    /// The position at which the body ends.
    pub(super) end: usize,
    fields: [Field; HEADERS],
    count: usize,
}

/// The name and value of a header.
#[derive(Debug, Clone, Copy, Default)]
struct Field {
    name: Slice,
    value: Slice,
}

/// A range of bytes: the start, and the end (exclusive).
#[derive(Debug, Clone, Copy, Default)]
struct Slice(u16, u16);

/// Parses the bytes of a request. `find` returns the index of a path of the lane; a body may have up to `most` bytes.
pub(super) fn look(bytes: &[u8], find: impl Fn(Verb, &str) -> Option<usize>, most: usize) -> Look {
    let begins =
        |(_, beginning): &&(Verb, &[u8])| bytes.iter().zip(*beginning).all(|(one, other)| one == other);
    let Some((verb, _)) = BEGINNINGS.iter().find(begins) else { return Look::Foreign };
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let status = parsed.parse(bytes);
    let path = parsed.path.map(|path| find(*verb, path));
    match (status, path) {
        (Ok(httparse::Status::Complete(end)), Some(Some(path))) if end <= HEAD_BYTES => {
            let target = parsed.path.unwrap_or_default();
            let head = Outline::of(bytes, (*verb, path, target), parsed.headers, end, most);
            head.map_or(Look::Foreign, Look::Head)
        }
        (Ok(httparse::Status::Partial), None | Some(Some(_)))
            if bytes.len() < HEAD_BYTES && !has_bare_line_ends(bytes) =>
        {
            Look::Incomplete
        }
        _ => Look::Foreign,
    }
}

/// Returns whether a line ends with anything other than CRLF.
fn has_bare_line_ends(bytes: &[u8]) -> bool {
    let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    ends.into_iter().any(|(at, _)| at == 0 || bytes[at - 1] != b'\r')
}

impl Outline {
    /// Returns the outline of a plain head. A head is plain when its lines end with CRLF, each header occurs once with
    /// a value of printable ASCII, and the body has a length. Returns `None` for every other head.
    fn of(
        bytes: &[u8],
        (verb, path, target): (Verb, usize, &str),
        headers: &[httparse::Header<'_>],
        end: usize,
        most: usize,
    ) -> Option<Self> {
        let mut line = verb.method().as_str().len() + 1 + target.len();
        line += bytes[line..].starts_with(VERSION).then_some(VERSION.len())?;
        let mut outline = Self {
            verb,
            target: place(target.as_bytes(), bytes),
            path,
            closes: false,
            body: end,
            end: 0,
            fields: [Field::default(); HEADERS],
            count: headers.len(),
        };
        let (mut length, mut host) = (None, false);
        for (at, header) in headers.iter().enumerate() {
            let field =
                Field { name: place(header.name.as_bytes(), bytes), value: place(header.value, bytes) };
            let is_line = usize::from(field.name.0) == line && is_text(header.value);
            line = usize::from(field.value.1) + 2;
            if !is_line || bytes.get(line - 2..line) != Some(b"\r\n") || is_unusual(header.name) {
                return None;
            }
            if outline.has_field(header.name, at, bytes) {
                return None;
            }
            match header.name.len() {
                4 if header.name.eq_ignore_ascii_case("host") => host = names_a_host(header.value),
                10 if header.name.eq_ignore_ascii_case("connection") => {
                    outline.closes = closes(header.value)?
                }
                14 if header.name.eq_ignore_ascii_case("content-length") => {
                    length = Some(content_length(header.value).filter(|length| *length <= most)?);
                }
                _ => {}
            }
            outline.fields[at] = field;
        }
        outline.end = end + verb.body_length(length)?;
        (host && line + 2 == end).then_some(outline)
    }

    /// Returns whether one of the first fields has this name.
    fn has_field(&self, name: &str, first: usize, bytes: &[u8]) -> bool {
        self.fields[..first].iter().any(|field| field.name.of(bytes).eq_ignore_ascii_case(name.as_bytes()))
    }

    pub(super) fn value<'b>(&self, name: &HeaderName, bytes: &'b [u8]) -> Option<&'b [u8]> {
        let name = name.as_str().as_bytes();
        let is_named = |field: &&Field| {
            field.name.len() == name.len() && field.name.of(bytes).eq_ignore_ascii_case(name)
        };
        self.fields[..self.count].iter().find(is_named).map(|field| field.value.of(bytes))
    }
}

#[cfg(test)]
impl Outline {
    /// The names of the headers.
    pub(super) fn names<'b>(&self, bytes: &'b [u8]) -> impl Iterator<Item = &'b [u8]> {
        self.fields[..self.count].iter().map(|field| field.name.of(bytes))
    }
}

impl Slice {
    fn len(self) -> usize {
        usize::from(self.1 - self.0)
    }

    fn of(self, bytes: &[u8]) -> &[u8] {
        &bytes[usize::from(self.0)..usize::from(self.1)]
    }
}

/// Returns the range of a part of these bytes. An empty part may point elsewhere, so its range is empty.
fn place(part: &[u8], bytes: &[u8]) -> Slice {
    let begin = (part.as_ptr() as usize).wrapping_sub(bytes.as_ptr() as usize);
    match u16::try_from(begin + part.len()) {
        Ok(end) if !part.is_empty() => Slice(begin as u16, end),
        _ => Slice::default(),
    }
}

fn is_text(value: &[u8]) -> bool {
    !value.is_empty() && value.iter().all(|byte| (b' '..=b'~').contains(byte))
}

fn is_unusual(name: &str) -> bool {
    UNUSUAL.iter().any(|unusual| unusual.len() == name.len() && unusual.eq_ignore_ascii_case(name))
}

/// Returns whether the value of `Host` is a valid authority. actix-http rejects requests with other values.
fn names_a_host(value: &[u8]) -> bool {
    str::from_utf8(value).is_ok_and(|value| is_authority(value.trim()))
}

/// Parses the value of `Connection`: returns whether the connection closes, or `None` for values other than
/// `keep-alive` and `close`.
fn closes(value: &[u8]) -> Option<bool> {
    match value {
        value if value.eq_ignore_ascii_case(b"keep-alive") => Some(false),
        value if value.eq_ignore_ascii_case(b"close") => Some(true),
        _ => None,
    }
}

/// Parses a content length, which consists of digits without leading zeros.
fn content_length(value: &[u8]) -> Option<usize> {
    let plain = value.iter().all(u8::is_ascii_digit) && (value.len() == 1 || value[0] != b'0');
    plain.then(|| str::from_utf8(value).ok()?.parse().ok())?
}

/// A request of the lane, as received.
pub(super) struct Request {
    pub(super) lane: Rc<Lane>,
    pub(super) outline: Outline,
    pub(super) peer: Option<SocketAddr>,
    pub(super) certificate: Option<Arc<ClientCertificate>>,
    /// The head and the body.
    pub(super) bytes: Vec<u8>,
}

impl Request {
    /// Returns whether the body is complete.
    pub(super) fn is_whole(&self) -> bool {
        self.bytes.len() == self.outline.end
    }

    /// Returns whether the lane accepts a request with such a body for its resource.
    pub(super) fn is_accepted(&self) -> bool {
        match self.lane.paths[self.outline.path].resource {
            Resource::Polls(_) | Resource::Consumer => true,
            Resource::Data(_) => self.outline.end - self.outline.body <= data::longest_body(self),
        }
    }

    /// Returns the path and the query.
    pub(super) fn target(&self) -> (&str, &str) {
        let target = str::from_utf8(self.outline.target.of(&self.bytes)).unwrap_or_default();
        target.split_once('?').unwrap_or((target, ""))
    }

    pub(super) fn body(&self) -> &[u8] {
        &self.bytes[self.outline.body..]
    }
}

impl Head for Request {
    fn method(&self) -> &Method {
        self.outline.verb.method()
    }

    fn path(&self) -> &str {
        match self.outline.verb {
            Verb::Post => &self.lane.paths[self.outline.path].name,
            Verb::Get => self.target().0,
        }
    }

    fn values<'h>(&'h self, name: &'h HeaderName) -> impl DoubleEndedIterator<Item = &'h [u8]> {
        self.header(name).into_iter()
    }

    fn target_authority(&self) -> Option<&str> {
        None
    }

    fn peer(&self) -> Option<IpAddr> {
        self.peer.map(|peer| peer.ip())
    }

    fn certificate(&self) -> Option<Arc<ClientCertificate>> {
        self.certificate.clone()
    }

    fn header(&self, name: &HeaderName) -> Option<&[u8]> {
        self.outline.value(name, &self.bytes)
    }
}
