//! An incremental parser of HTTP/1.1 responses: it accepts bytes in pieces of any size.

use memchr::memmem;

use crate::error::ParseError;

/// The longest response head in bytes.
const MAX_HEAD: usize = 16 * 1024;
/// Body buffers above this size (bytes) are released after the response, so that an idle client stays small.
const KEEP_BODY: usize = 2 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Head,
    Sized { left: usize },
    ChunkSize { size: usize, digits: u8 },
    ChunkExtension { size: usize },
    ChunkData { left: usize },
    ChunkEnd,
    Trailer { line: usize },
    Done,
}

/// The responses of a connection, one after the other. It supports `Content-Length` and chunked bodies and
/// skips interim (1xx) responses.
#[derive(Debug)]
pub(crate) struct ResponseParser {
    state: State,
    head: Vec<u8>,
    status: u16,
    retry_after: Option<u16>,
    validators: Option<Box<(String, String)>>,
    body: Vec<u8>,
}

impl ResponseParser {
    /// Creates a parser that waits for the first response; it owns no memory until bytes arrive.
    pub(crate) fn new() -> Self {
        Self {
            state: State::Head,
            head: Vec::new(),
            status: 0,
            retry_after: None,
            validators: None,
            body: Vec::new(),
        }
    }

    /// Drops the finished response and waits for the next one.
    pub(crate) fn reset(&mut self) {
        self.state = State::Head;
        self.head.clear();
        if self.body.capacity() > KEEP_BODY {
            self.body = Vec::new();
        }
        self.body.clear();
    }

    /// Returns whether the response is complete.
    pub(crate) fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Returns whether the head is complete; the body of a held poll may follow much later.
    pub(crate) fn has_head(&self) -> bool {
        self.state != State::Head
    }

    /// Returns the status code of the response; 0 before its head is complete.
    pub(crate) fn status(&self) -> u16 {
        self.status
    }

    /// Returns after how many seconds the request may be sent again, if the response has `Retry-After`.
    pub(crate) fn retry_after(&self) -> Option<u16> {
        self.retry_after
    }

    /// Returns `Last-Modified` and `Etag`, if the response has both.
    pub(crate) fn validators(&self) -> Option<(&str, &str)> {
        self.validators.as_deref().map(|(modified, tag)| (modified.as_str(), tag.as_str()))
    }

    /// Returns the body decoded so far.
    pub(crate) fn body(&self) -> &[u8] {
        &self.body
    }

    /// Parses the next bytes of the stream.
    ///
    /// # Errors
    /// The bytes are not an HTTP/1.1 response, or continue after its end.
    pub(crate) fn feed(&mut self, mut bytes: &[u8]) -> Result<(), ParseError> {
        while !bytes.is_empty() {
            let used = match self.state {
                State::Head => self.take_head(bytes)?,
                State::Sized { left } => self.take_sized(bytes, left),
                State::ChunkData { left } => self.take_chunk(bytes, left),
                State::Done => return Err(ParseError::Surplus),
                framing => {
                    self.state = next_framing_state(framing, bytes[0])?;
                    1
                }
            };
            bytes = &bytes[used..];
        }
        Ok(())
    }

    fn take_head(&mut self, bytes: &[u8]) -> Result<usize, ParseError> {
        if self.head.is_empty()
            && let Some(end) = memmem::find(bytes, b"\r\n\r\n")
        {
            self.start_body(&bytes[..end + 2])?;
            return Ok(end + 4);
        }
        let before = self.head.len();
        self.head.extend_from_slice(bytes);
        if let Some(end) = memmem::find(&self.head[before.saturating_sub(3)..], b"\r\n\r\n") {
            let end = before.saturating_sub(3) + end;
            let head = std::mem::take(&mut self.head);
            self.start_body(&head[..end + 2])?;
            return Ok(end + 4 - before);
        }
        if self.head.len() > MAX_HEAD { Err(ParseError::HeadTooLong) } else { Ok(bytes.len()) }
    }

    fn start_body(&mut self, head: &[u8]) -> Result<(), ParseError> {
        let framing = Framing::read(head)?;
        (self.status, self.retry_after) = (framing.status, framing.retry_after);
        self.validators = framing.modified.clone().zip(framing.tag.clone()).map(Box::new);
        self.state = match framing {
            Framing { status: 100..=199, .. } => State::Head,
            Framing { status: 204 | 304, .. } => State::Done,
            Framing { is_chunked: true, .. } => State::ChunkSize { size: 0, digits: 0 },
            Framing { length: Some(0), .. } => State::Done,
            Framing { length: Some(left), .. } => State::Sized { left },
            _ => return Err(ParseError::Unframed),
        };
        Ok(())
    }

    fn take_sized(&mut self, bytes: &[u8], left: usize) -> usize {
        let used = bytes.len().min(left);
        self.body.extend_from_slice(&bytes[..used]);
        self.state = if used == left { State::Done } else { State::Sized { left: left - used } };
        used
    }

    fn take_chunk(&mut self, bytes: &[u8], left: usize) -> usize {
        let used = bytes.len().min(left);
        self.body.extend_from_slice(&bytes[..used]);
        self.state = if used == left { State::ChunkEnd } else { State::ChunkData { left: left - used } };
        used
    }
}

/// Returns the state after a byte between chunks: size line, line end, trailer.
fn next_framing_state(state: State, byte: u8) -> Result<State, ParseError> {
    Ok(match (state, byte) {
        (State::ChunkSize { digits: 1.., size }, b'\n') => after_size_line(size),
        (State::ChunkSize { digits: 1.., size }, b';' | b' ' | b'\t') => State::ChunkExtension { size },
        (State::ChunkSize { digits: 1.., .. }, b'\r') => state,
        (State::ChunkSize { size, digits: digits @ 0..=7 }, digit) => {
            let value = (digit as char).to_digit(16).ok_or(ParseError::Chunk)?;
            State::ChunkSize { size: size * 16 + value as usize, digits: digits + 1 }
        }
        (State::ChunkExtension { size }, b'\n') => after_size_line(size),
        (State::ChunkExtension { .. }, _) => state,
        (State::ChunkEnd, b'\r') => state,
        (State::ChunkEnd, b'\n') => State::ChunkSize { size: 0, digits: 0 },
        (State::Trailer { line: 0 }, b'\n') => State::Done,
        (State::Trailer { .. }, b'\n') => State::Trailer { line: 0 },
        (State::Trailer { .. }, b'\r') => state,
        (State::Trailer { line }, _) => State::Trailer { line: line + 1 },
        _ => return Err(ParseError::Chunk),
    })
}

fn after_size_line(size: usize) -> State {
    if size == 0 { State::Trailer { line: 0 } } else { State::ChunkData { left: size } }
}

/// The headers that describe the body, `Retry-After` and the validators.
struct Framing {
    status: u16,
    retry_after: Option<u16>,
    modified: Option<String>,
    tag: Option<String>,
    length: Option<usize>,
    is_chunked: bool,
}

impl Framing {
    fn read(head: &[u8]) -> Result<Self, ParseError> {
        let code = head.strip_prefix(b"HTTP/1.1 ").or_else(|| head.strip_prefix(b"HTTP/1.0 "));
        let code = code.and_then(|rest| rest.get(..3)).ok_or(ParseError::StatusLine)?;
        let mut framing = Self {
            status: decimal(code).ok_or(ParseError::StatusLine)? as u16,
            retry_after: None,
            modified: None,
            tag: None,
            length: None,
            is_chunked: false,
        };
        for line in head.split(|byte| *byte == b'\n').skip(1) {
            let Some(colon) = memchr::memchr(b':', line) else { continue };
            let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
            if name.eq_ignore_ascii_case(b"content-length") {
                framing.length = Some(decimal(value).ok_or(ParseError::Length)?);
            } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
                framing.is_chunked = value.to_ascii_lowercase().ends_with(b"chunked");
            } else if name.eq_ignore_ascii_case(b"last-modified") {
                framing.modified = text(value);
            } else if name.eq_ignore_ascii_case(b"etag") {
                framing.tag = text(value);
            } else if name.eq_ignore_ascii_case(b"retry-after") {
                framing.retry_after = decimal(value).and_then(|seconds| u16::try_from(seconds).ok());
            }
        }
        Ok(framing)
    }
}

fn text(value: &[u8]) -> Option<String> {
    std::str::from_utf8(value).ok().map(str::to_owned)
}

fn decimal(digits: &[u8]) -> Option<usize> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZED: &[u8] = b"HTTP/1.1 201 Created\r\ncontent-length: 10\r\nX-A: b\r\n\r\n{\"id\":\"1\"}";
    const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
        1\r\n \r\n1;x=y\r\n \r\nA\r\n[{\"a\":1},{\r\n7\r\n\"b\":2}]\r\n0\r\nX-T: 1\r\n\r\n";
    const EMPTY: &[u8] = b"HTTP/1.1 204 No Content\r\ndate: x\r\n\r\n";

    fn parse(parts: &[&[u8]]) -> Result<(u16, Vec<u8>, State), ParseError> {
        let mut parser = ResponseParser::new();
        for part in parts {
            parser.feed(part)?;
        }
        Ok((parser.status, parser.body.clone(), parser.state))
    }

    #[test]
    fn responses_split_at_any_byte_are_the_same() {
        for (answer, status, body) in [
            (SIZED, 201, &b"{\"id\":\"1\"}"[..]),
            (CHUNKED, 200, &b"  [{\"a\":1},{\"b\":2}]"[..]),
            (EMPTY, 204, &b""[..]),
        ] {
            let expected = Ok((status, body.to_vec(), State::Done));
            for at in 0..=answer.len() {
                assert_eq!(parse(&[&answer[..at], &answer[at..]]), expected, "split at {at}");
            }
            let bytes: Vec<&[u8]> = answer.chunks(1).collect();
            assert_eq!(parse(&bytes), expected, "byte by byte");
        }
    }

    #[test]
    fn keep_alive_spaces_stand_before_the_array() {
        let (_, body, _) = parse(&[CHUNKED]).unwrap();
        let array: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(array, serde_json::json!([{"a": 1}, {"b": 2}]));
    }

    #[test]
    fn held_response_is_not_complete_after_its_head_and_spaces() {
        let held = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\n \r\n";
        let (status, body, state) = parse(&[held]).unwrap();
        assert_eq!((status, body.as_slice(), state == State::Done), (200, &b" "[..], false));
    }

    #[test]
    fn second_response_on_a_connection_starts_fresh() {
        let mut parser = ResponseParser::new();
        parser.feed(CHUNKED).unwrap();
        parser.reset();
        parser.feed(SIZED).unwrap();
        assert_eq!((parser.status(), parser.body(), parser.is_done()), (201, &b"{\"id\":\"1\"}"[..], true));
    }

    #[test]
    fn interim_response_is_skipped() {
        let both = [b"HTTP/1.1 100 Continue\r\n\r\n", SIZED].concat();
        assert_eq!(parse(&[&both]).unwrap().0, 201);
    }

    #[test]
    fn head_is_parsed_before_the_body_with_its_retry_after() {
        let mut parser = ResponseParser::new();
        parser.feed(b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 2\r\n").unwrap();
        assert!(!parser.has_head());
        parser.feed(b"Transfer-Encoding: chunked\r\n\r\n").unwrap();
        assert_eq!((parser.has_head(), parser.is_done(), parser.retry_after()), (true, false, Some(2)));
        parser.feed(b"0\r\n\r\n").unwrap();
        parser.reset();
        parser.feed(SIZED).unwrap();
        assert_eq!((parser.status(), parser.retry_after()), (201, None));
    }

    #[test]
    fn validators_are_those_of_the_last_response() {
        let named =
            b"HTTP/1.1 200 OK\r\nLast-Modified: Mon, 02 Nov 2026 07:00:00 GMT\r\nEtag: 3\r\ncontent-length: \
            0\r\n\r\n";
        let mut parser = ResponseParser::new();
        parser.feed(named).unwrap();
        assert_eq!(parser.validators(), Some(("Mon, 02 Nov 2026 07:00:00 GMT", "3")));
        parser.reset();
        parser.feed(SIZED).unwrap();
        assert_eq!(parser.validators(), None);
    }

    #[test]
    fn malformed_responses_are_rejected() {
        let endless = [b"HTTP/1.1 200 OK\r\n".to_vec(), vec![b'a'; MAX_HEAD + 1]].concat();
        for (answer, error) in [
            (&b"SSH-2.0\r\n\r\n"[..], ParseError::StatusLine),
            (&b"HTTP/1.1 200 OK\r\n\r\n"[..], ParseError::Unframed),
            (&b"HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n"[..], ParseError::Length),
            (&b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz"[..], ParseError::Chunk),
            (&b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nabc"[..], ParseError::Chunk),
            (&b"HTTP/1.1 204 No Content\r\n\r\nx"[..], ParseError::Surplus),
            (endless.as_slice(), ParseError::HeadTooLong),
        ] {
            assert_eq!(parse(&[answer]).unwrap_err(), error);
        }
    }
}
