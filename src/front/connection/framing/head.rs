//! The head of a request: what is wrong with it, where its body ends, and whether it offers an upgrade.

use std::mem::MaybeUninit;

use actix_http::{Method, Uri};

use super::flaw::{Flaw, HEAD_BYTES, HEADERS, TARGET_BYTES};
use super::upgrade;
use super::{Chunks, Position};

/// The longest name of a header; actix-http panics at a longer one.
const NAME_BYTES: usize = u16::MAX as usize;

/// The headers that decide where a request ends, what follows it, and whether it is accepted. The values of all others
/// are not read.
const FRAMING: [&str; 6] =
    ["host", "content-length", "transfer-encoding", "connection", "upgrade", "http2-settings"];

/// The result of parsing bytes that begin with a head.
pub(super) enum ParsedHead {
    Incomplete,
    /// A head that actix-http would refuse.
    Flawed(Flaw),
    /// A complete head.
    Complete {
        /// Its length in bytes.
        length: usize,
        after: Position,
        /// The head without its offer of an upgrade, if it has one that is not taken.
        instead: Option<Vec<u8>>,
    },
}

/// Parses a head. `takes_upgrades` returns whether a target can be upgraded to a WebSocket.
pub(super) fn parse_head(bytes: &[u8], takes_upgrades: fn(&str) -> bool) -> ParsedHead {
    let mut headers = [const { MaybeUninit::uninit() }; HEADERS];
    let mut request = httparse::Request::new(&mut []);
    let parsed = request.parse_with_uninit_headers(bytes, &mut headers);
    let target = match (request.method, request.path) {
        (_, Some(target)) => target.len(),
        (Some(method), None) => bytes.len().saturating_sub(method.len() + 1),
        (None, None) => 0,
    };
    let length = match parsed {
        Err(error) => return ParsedHead::Flawed(Flaw::of(error, bytes)),
        Ok(_) if target > TARGET_BYTES => return ParsedHead::Flawed(Flaw::LongTarget),
        Ok(httparse::Status::Complete(length)) if length <= HEAD_BYTES => length,
        Ok(httparse::Status::Partial) if bytes.len() < HEAD_BYTES => return ParsedHead::Incomplete,
        // actix-http would take such a head if its end arrives together with its last permitted byte.
        Ok(_) => return ParsedHead::Flawed(Flaw::LongHead),
    };
    match Lines::of(&request) {
        Err(flaw) => ParsedHead::Flawed(flaw),
        Ok(lines) if lines.is_taken_upgrade(&request, takes_upgrades) => {
            ParsedHead::Complete { length, after: Position::Beyond, instead: None }
        }
        Ok(lines) => {
            let instead = lines.offers.then(|| upgrade::left_out(&bytes[..length], request.headers));
            ParsedHead::Complete { length, after: lines.after(&request), instead }
        }
    }
}

/// The lines of a head that matter for its framing.
#[derive(Default)]
struct Lines {
    hosts: usize,
    length: Option<u64>,
    is_chunked: bool,
    /// Whether one of the upgrades is to a WebSocket.
    is_socket: bool,
    /// Whether the head names an upgrade at all.
    offers: bool,
    keeps: Option<Keeps>,
}

/// The option of the `Connection` header that decides whether the connection continues after the response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keeps {
    Close,
    KeepAlive,
}

impl Lines {
    /// Reads the lines of a head, by the rules of actix-http.
    fn of(request: &httparse::Request<'_, '_>) -> Result<Self, Flaw> {
        let is_old = request.version == Some(0);
        let mut lines = Self::default();
        for header in &*request.headers {
            if header.name.len() > NAME_BYTES {
                return Err(Flaw::LongHead);
            }
            let is = |name: &&str| header.name.eq_ignore_ascii_case(name);
            let Some(name) = FRAMING.into_iter().find(is) else { continue };
            let value = text(header.value);
            match name {
                "host" => lines.hosts += 1,
                "content-length" if lines.length.is_some() => return Err(Flaw::ContentLength),
                "content-length" => lines.length = Some(length(value)?),
                "transfer-encoding" => {
                    let chunked = value.is_some_and(|value| value.eq_ignore_ascii_case("chunked"));
                    if is_old || lines.is_chunked || !chunked {
                        return Err(Flaw::TransferEncoding);
                    }
                    lines.is_chunked = true;
                }
                "connection" => lines.read_options(value.unwrap_or_default()),
                "upgrade" => {
                    lines.offers = true;
                    lines.is_socket |= value.is_some_and(|value| value.eq_ignore_ascii_case("websocket"));
                }
                _ => lines.offers = true,
            }
        }
        lines.check(request)
    }

    fn read_options(&mut self, value: &str) {
        for option in value.split(',').map(str::trim) {
            if option.eq_ignore_ascii_case("close") {
                self.keeps = Some(Keeps::Close);
            } else if option.eq_ignore_ascii_case("keep-alive") && self.keeps.is_none() {
                self.keeps = Some(Keeps::KeepAlive);
            } else if option.eq_ignore_ascii_case("upgrade") {
                self.offers = true;
            }
        }
    }

    fn check(self, request: &httparse::Request<'_, '_>) -> Result<Self, Flaw> {
        let is_old = request.version == Some(0);
        let target = request.path.unwrap_or_default();
        // Some characters of a token are none of a method for actix-http, such as `#`.
        if Method::from_bytes(request.method.unwrap_or_default().as_bytes()).is_err() {
            return Err(Flaw::RequestLine);
        }
        match self.hosts {
            0 if !is_old => Err(Flaw::NoHost),
            2.. => Err(Flaw::SeveralHosts),
            _ if self.is_chunked && self.length.is_some() => Err(Flaw::TransferEncoding),
            _ if is_old && self.length.is_none() && request.method == Some("POST") => {
                Err(Flaw::ContentLength)
            }
            _ if !is_plain(target) && Uri::try_from(target).is_err() => Err(Flaw::Target),
            _ => Ok(self),
        }
    }

    /// Returns whether the request asks for an upgrade that its target takes (C-21). Its body would be part of the
    /// upgraded connection, so it has none.
    fn is_taken_upgrade(
        &self,
        request: &httparse::Request<'_, '_>,
        takes_upgrades: fn(&str) -> bool,
    ) -> bool {
        self.is_socket
            && !self.is_chunked
            && self.length.unwrap_or(0) == 0
            && request.method == Some("GET")
            && takes_upgrades(request.path.unwrap_or_default())
    }

    /// Returns the position after the head of a request that is not upgraded.
    fn after(&self, request: &httparse::Request<'_, '_>) -> Position {
        let is_last = match self.keeps {
            Some(keeps) => keeps == Keeps::Close,
            None => request.version == Some(0),
        };
        match (self.is_chunked, self.length.unwrap_or(0)) {
            (true, _) => Position::Chunks { chunks: Chunks::default(), is_last },
            (false, 0) if request.method == Some("CONNECT") => Position::Beyond,
            (false, 0) => Position::after_request(is_last),
            (false, left) => Position::Body { left, is_last },
        }
    }
}

/// Parses a content length.
fn length(value: Option<&str>) -> Result<u64, Flaw> {
    let digits = value.filter(|value| !value.starts_with('+'));
    digits.and_then(|value| value.parse().ok()).ok_or(Flaw::ContentLength)
}

/// Returns a header value as text, if actix-http accepts it as text.
pub(super) fn text(value: &[u8]) -> Option<&str> {
    let is_text = value.iter().all(|byte| (b' '..=b'~').contains(byte) || *byte == b'\t');
    is_text.then(|| str::from_utf8(value).ok())?.map(str::trim)
}

/// Returns whether a target is a path without unusual characters, which needs no further check.
fn is_plain(target: &str) -> bool {
    target.starts_with('/')
        && target.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/?&=%._-~:$,+*!'();@".contains(&byte))
}
