//! An incremental parser of HTTP/1.1 responses: it accepts bytes in pieces of any size.

use httparse::{EMPTY_HEADER, Status};

use crate::error::ParseError;

/// The longest response head in bytes.
pub(crate) const MAX_HEAD: usize = 16 * 1024;
/// The largest number of headers.
pub(crate) const MAX_HEADERS: usize = 64;
/// Body buffers above this size (bytes) are released after the response, so that an idle client stays small.
const KEEP_BODY: usize = 2 * 1024;

/// The next part of a response.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Head,
    /// The rest of a body of a known size.
    Sized {
        left: usize,
    },
    ChunkSize,
    ChunkData {
        left: usize,
    },
    /// The line end behind a chunk.
    ChunkEnd,
    /// The headers behind the last chunk.
    Trailer,
    Done,
}

/// The responses of a connection, one after the other. It supports `Content-Length` and chunked bodies and
/// skips interim (1xx) responses.
/// A parser that waits for the first response owns no memory until bytes arrive.
#[derive(Debug, Default)]
pub(crate) struct ResponseParser {
    state: State,
    /// The bytes of a head, a size line or a trailer whose end has not arrived yet.
    pending: Vec<u8>,
    /// The head of the last response; its status is 0 before.
    pub(crate) head: Head,
    body: Vec<u8>,
}

impl ResponseParser {
    /// Drops the finished response and waits for the next one.
    pub(crate) fn reset(&mut self) {
        self.state = State::Head;
        self.pending.clear();
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

    /// Returns the body decoded so far.
    pub(crate) fn body(&self) -> &[u8] {
        &self.body
    }

    /// Moves the body that was decoded so far to the end of `to`.
    pub(crate) fn take_body(&mut self, to: &mut Vec<u8>) {
        to.append(&mut self.body);
    }

    /// Parses the next bytes of the stream.
    ///
    /// # Errors
    /// The bytes are not an HTTP/1.1 response, or continue after its end.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Result<(), ParseError> {
        if self.pending.is_empty() {
            return self.take_all(bytes);
        }
        let mut whole = std::mem::take(&mut self.pending);
        whole.extend_from_slice(bytes);
        self.take_all(&whole)
    }

    fn take_all(&mut self, mut bytes: &[u8]) -> Result<(), ParseError> {
        while !bytes.is_empty() {
            let Status::Complete(used) = self.take(bytes)? else {
                if bytes.len() > MAX_HEAD {
                    return Err(ParseError::HeadTooLong);
                }
                self.pending.extend_from_slice(bytes);
                return Ok(());
            };
            bytes = &bytes[used..];
        }
        Ok(())
    }

    /// Takes the next part of the response, and returns its length.
    fn take(&mut self, bytes: &[u8]) -> Result<Status<usize>, ParseError> {
        Ok(match self.state {
            State::Head => {
                let Status::Complete(head) = Head::read(bytes)? else { return Ok(Status::Partial) };
                self.state = head.body_state()?;
                self.head = head;
                Status::Complete(self.head.length)
            }
            State::Sized { left } => {
                Status::Complete(self.keep(bytes, left, State::Done, |left| State::Sized { left }))
            }
            State::ChunkSize => {
                let line = httparse::parse_chunk_size(bytes).map_err(|_| ParseError::Chunk)?;
                let Status::Complete((used, size)) = line else { return Ok(Status::Partial) };
                let left = usize::try_from(size).map_err(|_| ParseError::Chunk)?;
                self.state = if left == 0 { State::Trailer } else { State::ChunkData { left } };
                Status::Complete(used)
            }
            State::ChunkData { left } => {
                Status::Complete(self.keep(bytes, left, State::ChunkEnd, |left| State::ChunkData { left }))
            }
            State::ChunkEnd => match bytes {
                [b'\r', b'\n', ..] => {
                    self.state = State::ChunkSize;
                    Status::Complete(2)
                }
                [b'\r'] => Status::Partial,
                _ => return Err(ParseError::Chunk),
            },
            State::Trailer => {
                let mut headers = [EMPTY_HEADER; MAX_HEADERS];
                let trailer = httparse::parse_headers(bytes, &mut headers).map_err(|_| ParseError::Chunk)?;
                let Status::Complete((used, _)) = trailer else { return Ok(Status::Partial) };
                self.state = State::Done;
                Status::Complete(used)
            }
            State::Done => return Err(ParseError::Surplus),
        })
    }

    /// Keeps what there is of the `left` bytes of a body or chunk. Returns the number of bytes used.
    fn keep(&mut self, bytes: &[u8], left: usize, end: State, more: fn(usize) -> State) -> usize {
        let used = bytes.len().min(left);
        self.body.extend_from_slice(&bytes[..used]);
        self.state = if used == left { end } else { more(left - used) };
        used
    }
}

/// The status and the headers that are read.
#[derive(Debug, Default)]
pub(crate) struct Head {
    /// The length of the head itself.
    pub(crate) length: usize,
    pub(crate) status: u16,
    /// The seconds after which the request may be sent again.
    pub(crate) retry_after: Option<u16>,
    /// `Last-Modified`.
    pub(crate) modified: Option<String>,
    /// `Etag`.
    pub(crate) tag: Option<String>,
    /// The length of the body, if it is known.
    pub(crate) body: Option<usize>,
    is_chunked: bool,
}

impl Head {
    /// Parses a head as soon as all of it has arrived.
    ///
    /// # Errors
    /// The bytes are not the head of an HTTP/1.1 response.
    pub(crate) fn read(bytes: &[u8]) -> Result<Status<Self>, ParseError> {
        let mut headers = [EMPTY_HEADER; MAX_HEADERS];
        let mut response = httparse::Response::new(&mut headers);
        let Status::Complete(length) = response.parse(bytes).map_err(|_| ParseError::Head)? else {
            return Ok(Status::Partial);
        };
        let mut head = Self { length, status: response.code.unwrap_or_default(), ..Self::default() };
        for header in response.headers.iter() {
            let is = |name| header.name.eq_ignore_ascii_case(name);
            let value = std::str::from_utf8(header.value).ok().map(str::trim);
            if is("content-length") {
                let length = value.and_then(|value| value.parse().ok());
                head.body = Some(length.ok_or(ParseError::Length)?);
            } else if is("transfer-encoding") {
                head.is_chunked = value.is_some_and(|value| value.to_ascii_lowercase().ends_with("chunked"));
            } else if is("last-modified") {
                head.modified = value.map(str::to_owned);
            } else if is("etag") {
                head.tag = value.map(str::to_owned);
            } else if is("retry-after") {
                head.retry_after = value.and_then(|value| value.parse().ok());
            }
        }
        Ok(Status::Complete(head))
    }

    /// Returns the state of a response after this head.
    fn body_state(&self) -> Result<State, ParseError> {
        Ok(match *self {
            Self { status: 100..=199, .. } => State::Head,
            Self { status: 204 | 304, .. } | Self { is_chunked: false, body: Some(0), .. } => State::Done,
            Self { is_chunked: true, .. } => State::ChunkSize,
            Self { body: Some(left), .. } => State::Sized { left },
            _ => return Err(ParseError::Unframed),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZED: &[u8] = b"HTTP/1.1 201 Created\r\ncontent-length: 10\r\nX-A: b\r\n\r\n{\"id\":\"1\"}";
    const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
        1\r\n \r\n1;x=y\r\n \r\nA\r\n[{\"a\":1},{\r\n7\r\n\"b\":2}]\r\n0\r\nX-T: 1\r\n\r\n";
    const EMPTY: &[u8] = b"HTTP/1.1 204 No Content\r\ndate: x\r\n\r\n";

    fn parse(parts: &[&[u8]]) -> Result<(u16, Vec<u8>, State), ParseError> {
        let mut parser = ResponseParser::default();
        for part in parts {
            parser.feed(part)?;
        }
        Ok((parser.head.status, parser.body.clone(), parser.state))
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
        let mut parser = ResponseParser::default();
        parser.feed(CHUNKED).unwrap();
        parser.reset();
        parser.feed(SIZED).unwrap();
        assert_eq!(
            (parser.head.status, parser.body(), parser.is_done()),
            (201, &b"{\"id\":\"1\"}"[..], true)
        );
    }

    #[test]
    fn interim_response_is_skipped() {
        let both = [b"HTTP/1.1 100 Continue\r\n\r\n", SIZED].concat();
        assert_eq!(parse(&[&both]).unwrap().0, 201);
    }

    #[test]
    fn head_is_parsed_before_the_body_with_its_retry_after() {
        let mut parser = ResponseParser::default();
        parser.feed(b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 2\r\n").unwrap();
        assert!(!parser.has_head());
        parser.feed(b"Transfer-Encoding: chunked\r\n\r\n").unwrap();
        assert_eq!((parser.has_head(), parser.is_done(), parser.head.retry_after), (true, false, Some(2)));
        parser.feed(b"0\r\n\r\n").unwrap();
        parser.reset();
        parser.feed(SIZED).unwrap();
        assert_eq!((parser.head.status, parser.head.retry_after), (201, None));
    }

    #[test]
    fn validators_are_those_of_the_last_response() {
        let named =
            b"HTTP/1.1 200 OK\r\nLast-Modified: Mon, 02 Nov 2026 07:00:00 GMT\r\nEtag: 3\r\ncontent-length: \
            0\r\n\r\n";
        let validators = |parser: &ResponseParser| (parser.head.modified.clone(), parser.head.tag.clone());
        let mut parser = ResponseParser::default();
        parser.feed(named).unwrap();
        assert_eq!(
            validators(&parser),
            (Some("Mon, 02 Nov 2026 07:00:00 GMT".to_owned()), Some("3".to_owned()))
        );
        parser.reset();
        parser.feed(SIZED).unwrap();
        assert_eq!(validators(&parser), (None, None));
    }

    #[test]
    fn status_and_length_are_parsed_in_any_spelling() {
        let read = |bytes: &[u8]| match Head::read(bytes)? {
            Status::Complete(head) => Ok((head.status, head.body)),
            Status::Partial => panic!("the head is complete"),
        };
        let head = b"HTTP/1.1 200 OK\r\nServer: x\r\nContent-length: 12\r\n\r\n";
        assert_eq!(read(head), Ok((200, Some(12))));
        assert_eq!(read(b"HTTP/1.1 200 OK\r\n\r\n"), Ok((200, None)));
        assert_eq!(read(b"HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n"), Err(ParseError::Length));
        assert_eq!(read(b"SPDY\r\ncontent-length: 1\r\n\r\n"), Err(ParseError::Head));
    }

    #[test]
    fn malformed_responses_are_rejected() {
        let endless = [b"HTTP/1.1 200 OK\r\n".to_vec(), vec![b'a'; MAX_HEAD + 1]].concat();
        for (answer, error) in [
            (&b"SSH-2.0\r\n\r\n"[..], ParseError::Head),
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
