//! Follows the boundaries of requests on their way to actix-http, which does not report them.
//!
//! actix-http has three quirks that this module hides. It executes bytes after the last request of a connection (RFC
//! 9112, 9.6), it closes the connection without a response at an invalid chunk, and its response to a target that is
//! too long is not one of ours. This module follows the requests with the parsing rules of actix-http. It rejects
//! nothing, and bytes pass unchanged, with these exceptions: nothing passes after a request that closes the connection;
//! an invalid byte within a chunk and everything after it do not pass; and a request whose target is too long is
//! replaced by one to [`OVERLONG`]. Bytes that cannot be parsed pass, too: actix-http rejects them and stops reading.

use std::mem::MaybeUninit;

/// The path of the request that replaces one with a target that is too long. No client can send this path itself.
pub(crate) const OVERLONG: &str = "/%overlong";
/// The longest target that actix-http can parse, in bytes.
const TARGET_BYTES: usize = u16::MAX as usize - 1;
/// The number of bytes after which actix-http rejects a head without an end.
const HEAD_BYTES: usize = 128 << 10;
/// The maximum number of headers that actix-http accepts.
const HEADERS: usize = 96;

const CONTENT_LENGTH: &str = "content-length";
const TRANSFER_ENCODING: &str = "transfer-encoding";
const UPGRADE: &str = "upgrade";
/// The headers that decide where a request ends and what follows it. The values of all others are not read.
const FRAMING: [&str; 4] = [CONTENT_LENGTH, TRANSFER_ENCODING, UPGRADE, "connection"];

/// The state of the requests of a connection.
#[derive(Debug)]
pub(super) struct Requests {
    position: Position,
    /// The bytes of an incomplete head. They pass when the head is complete.
    incomplete_head: Vec<u8>,
}

/// The position of the next byte within a request.
#[derive(Debug)]
enum Position {
    Head,
    /// The byte is within a body with a length; `left` is the number of bytes that remain.
    Body {
        left: u64,
        is_last: bool,
    },
    Chunks {
        chunks: Chunks,
        is_last: bool,
    },
    /// The byte comes after the requests: within an upgraded connection, or after bytes that are not a request.
    Beyond,
    /// The byte comes after the last request.
    End,
    /// The byte comes after an invalid one within a chunk.
    Broken,
}

/// The bytes that pass instead of the received ones.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Passing {
    /// This number of bytes from the beginning.
    First(usize),
    /// These bytes replace the received ones.
    Instead(Vec<u8>),
}

impl Requests {
    pub(super) fn new() -> Self {
        Self { position: Position::Head, incomplete_head: Vec::new() }
    }

    /// Returns whether the body of a request was broken. The bytes after it are not part of the body, and the start of
    /// the next request is unknown.
    pub(super) fn are_broken(&self) -> bool {
        matches!(self.position, Position::Broken)
    }

    /// Returns the bytes that pass for these received bytes.
    pub(super) fn follow(&mut self, bytes: &[u8]) -> Passing {
        if !self.incomplete_head.is_empty() {
            let mut both = std::mem::take(&mut self.incomplete_head);
            both.extend_from_slice(bytes);
            let (passing, more) = self.pass(&both);
            both.truncate(passing);
            both.extend(more.into_iter().flatten());
            return Passing::Instead(both);
        }
        match self.pass(bytes) {
            (passing, None) => Passing::First(passing),
            (passing, Some(more)) => Passing::Instead([&bytes[..passing], &more].concat()),
        }
    }

    /// Returns the number of bytes that pass, and the bytes that are passed after them.
    fn pass(&mut self, bytes: &[u8]) -> (usize, Option<Vec<u8>>) {
        let mut at = 0;
        while at < bytes.len() {
            let rest = &bytes[at..];
            match &mut self.position {
                Position::Beyond => return (bytes.len(), None),
                Position::End | Position::Broken => return (at, None),
                Position::Body { left, is_last } => {
                    let passing = usize::try_from(*left).unwrap_or(usize::MAX).min(rest.len());
                    (*left, at) = (*left - passing as u64, at + passing);
                    if *left == 0 {
                        self.position = Position::after_request(*is_last);
                    }
                }
                Position::Chunks { chunks, is_last } => match chunks.follow(rest) {
                    Followed::Within => return (bytes.len(), None),
                    Followed::To(end) => (self.position, at) = (Position::after_request(*is_last), at + end),
                    Followed::Broken(end) => (self.position, at) = (Position::Broken, at + end),
                },
                Position::Head => match parse_head(rest) {
                    ParsedHead::Incomplete => {
                        self.incomplete_head = rest.to_vec();
                        return (at, None);
                    }
                    ParsedHead::Unreadable => self.position = Position::Beyond,
                    ParsedHead::Overlong => {
                        self.position = Position::End;
                        let request =
                            format!("GET {OVERLONG} HTTP/1.1\r\nhost:\r\nconnection: close\r\n\r\n");
                        return (at, Some(request.into()));
                    }
                    ParsedHead::Head(length, after) => (self.position, at) = (after, at + length),
                },
            }
        }
        (at, None)
    }
}

impl Position {
    /// Returns the position after a request.
    fn after_request(is_last: bool) -> Self {
        if is_last { Self::End } else { Self::Head }
    }

    /// Returns the position after the head of a request.
    fn after_head(request: &httparse::Request<'_, '_>) -> Self {
        let is_old = request.version == Some(0);
        let (mut is_chunked, mut is_socket, mut length) = (false, false, 0);
        let mut connection = None;
        for header in &*request.headers {
            let is = |name: &&str| header.name.eq_ignore_ascii_case(name);
            let Some(name) = FRAMING.into_iter().find(is) else { continue };
            let Some(value) = text(header.value) else { continue };
            match name {
                CONTENT_LENGTH => length = value.parse().unwrap_or(0),
                TRANSFER_ENCODING => is_chunked |= !is_old && value.eq_ignore_ascii_case("chunked"),
                UPGRADE => is_socket |= value.eq_ignore_ascii_case("websocket"),
                _ => connection = value.split(',').map(str::trim).fold(connection, ConnectionOption::and),
            }
        }
        let is_last = match connection {
            Some(ConnectionOption::Close) => true,
            Some(ConnectionOption::KeepAlive) => false,
            Some(ConnectionOption::Upgrade) | None => is_old,
        };
        match (is_chunked, length) {
            (true, _) => Self::Chunks { chunks: Chunks::default(), is_last },
            (false, _) if is_socket => Self::Beyond,
            (false, 0) if request.method == Some("CONNECT") => Self::Beyond,
            (false, 0) => Self::after_request(is_last),
            (false, left) => Self::Body { left, is_last },
        }
    }
}

/// The option of the `Connection` header that decides whether the connection continues after the response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConnectionOption {
    Close,
    Upgrade,
    KeepAlive,
}

impl ConnectionOption {
    /// Combines the previous options with one more option of the header.
    fn and(before: Option<Self>, word: &str) -> Option<Self> {
        let is = |known: &str| word.eq_ignore_ascii_case(known);
        match before {
            Some(Self::Close) => before,
            _ if is("close") => Some(Self::Close),
            _ if is("upgrade") => Some(Self::Upgrade),
            None if is("keep-alive") => Some(Self::KeepAlive),
            _ => before,
        }
    }
}

/// Returns a header value as text, if actix-http accepts it as text.
fn text(value: &[u8]) -> Option<&str> {
    let is_text = value.iter().all(|byte| (b' '..=b'~').contains(byte) || *byte == b'\t');
    is_text.then(|| str::from_utf8(value).ok())?.map(str::trim)
}

/// The result of parsing bytes that begin with a head.
enum ParsedHead {
    Incomplete,
    Unreadable,
    /// The target is too long.
    Overlong,
    /// A complete head: its length in bytes, and the position after it.
    Head(usize, Position),
}

fn parse_head(bytes: &[u8]) -> ParsedHead {
    let mut headers = [const { MaybeUninit::uninit() }; HEADERS];
    let mut request = httparse::Request::new(&mut []);
    let parsed = request.parse_with_uninit_headers(bytes, &mut headers);
    let target = match (request.method, request.path) {
        (_, Some(target)) => target.len(),
        (Some(method), None) => bytes.len().saturating_sub(method.len() + 1),
        (None, None) => 0,
    };
    match parsed {
        Err(_) => ParsedHead::Unreadable,
        Ok(_) if target > TARGET_BYTES => ParsedHead::Overlong,
        Ok(httparse::Status::Complete(length)) => ParsedHead::Head(length, Position::after_head(&request)),
        Ok(httparse::Status::Partial) if bytes.len() >= HEAD_BYTES => ParsedHead::Unreadable,
        Ok(httparse::Status::Partial) => ParsedHead::Incomplete,
    }
}

/// A body with chunked encoding.
#[derive(Debug, Default)]
struct Chunks {
    at: AtChunk,
    /// The chunk size as read so far, then the number of bytes that remain of the chunk.
    size: u64,
}

/// The position of the next byte within a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum AtChunk {
    #[default]
    Size,
    MoreSize,
    Blank,
    Extension,
    EndOfSize,
    Data,
    DataCr,
    DataLf,
    EndCr,
    Trailer,
    TrailerLf,
    EndLf,
    End,
}

/// The result of following the bytes of a chunked body.
enum Followed {
    /// All bytes belong to the body.
    Within,
    /// The body ends before this index.
    To(usize),
    /// The byte at this index is invalid.
    Broken(usize),
}

impl Chunks {
    fn follow(&mut self, bytes: &[u8]) -> Followed {
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            if self.at == AtChunk::Data {
                let data = usize::try_from(self.size).unwrap_or(usize::MAX).min(bytes.len() - at);
                (self.size, at) = (self.size - data as u64, at + data);
                if self.size == 0 {
                    self.at = AtChunk::DataCr;
                }
                continue;
            }
            let Some(next) = self.step(*byte) else { return Followed::Broken(at) };
            (self.at, at) = (next, at + 1);
            if next == AtChunk::End {
                return Followed::To(at);
            }
        }
        Followed::Within
    }

    /// Returns the position after this byte, or `None` when the byte is invalid at the current position.
    fn step(&mut self, byte: u8) -> Option<AtChunk> {
        use AtChunk::*;
        let digit = char::from(byte).to_digit(16).map(u64::from);
        Some(match (self.at, byte) {
            (Size, _) => {
                self.size = digit?;
                MoreSize
            }
            (MoreSize | Blank, b' ' | b'\t') => Blank,
            (MoreSize | Blank, b';') => Extension,
            (MoreSize | Blank | Extension, b'\r') => EndOfSize,
            (MoreSize, _) => {
                self.size = self.size.checked_mul(16)? + digit?;
                MoreSize
            }
            (Extension, b'\t' | 0x20..=0x7e | 0x80..) => Extension,
            (EndOfSize, b'\n') if self.size > 0 => Data,
            (EndOfSize, b'\n') => EndCr,
            (DataCr, b'\r') => DataLf,
            (DataLf, b'\n') => Size,
            (EndCr, b'\r') => EndLf,
            (Trailer, b'\r') => TrailerLf,
            (EndCr | Trailer, _) => Trailer,
            (TrailerLf, b'\n') => EndCr,
            (EndLf, b'\n') => End,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests;
