//! A parser of the responses on a connection, one after the other.

use std::net::SocketAddr;

use tokio::net::TcpStream;

use super::*;

/// A connection whose responses are separated.
#[derive(Debug)]
pub(crate) struct Conversation {
    connection: RawConnection,
    unread: Vec<u8>,
}

/// A response, byte for byte, with sorted header lines, because their order has no meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RawResponse {
    pub(crate) line: String,
    pub(crate) fields: Vec<String>,
    /// The body without chunk sizes.
    pub(crate) body: String,
}

impl Conversation {
    pub(crate) async fn open(address: SocketAddr) -> Self {
        Self::over(RawConnection::open(address).await)
    }

    pub(crate) fn over(connection: RawConnection) -> Self {
        Self { connection, unread: Vec::new() }
    }

    /// Sends bytes to a server that may have closed the connection.
    pub(crate) async fn send(&mut self, bytes: impl Into<Vec<u8>>) {
        self.connection.try_send(bytes.into()).await;
    }

    /// Sends a request and returns its response.
    pub(crate) async fn ask(&mut self, request: impl Into<Vec<u8>>) -> RawResponse {
        self.send(request).await;
        self.answer().await.expect("an answer before the end")
    }

    /// Closes the sending half of the connection and keeps reading.
    pub(crate) async fn half_close(&mut self) {
        self.connection.half_close().await;
    }

    /// Ends the connection by a reset, as a machine does that was switched off and on.
    pub(crate) fn reset(self) {
        self.connection.reset();
    }

    /// Returns the next response, unless it is one to HEAD; `None` at the end of the connection.
    pub(crate) async fn answer(&mut self) -> Option<RawResponse> {
        // While a poll is held, spaces arrive one by one, each soon after the other.
        soon("the end of an answer", async {
            let mut answer = self.head().await?;
            answer.body = self.body(&answer).await;
            Some(answer)
        })
        .await
    }

    /// Returns the next response, if some of it arrived already.
    pub(crate) async fn answer_if_any(&mut self) -> Option<RawResponse> {
        if self.connection.has_something().await { self.answer().await } else { None }
    }

    /// Returns the stream, for a client that does not read.
    pub(crate) fn into_stream(self) -> TcpStream {
        self.connection.into_stream()
    }

    /// Returns the head of the next response.
    pub(crate) async fn head(&mut self) -> Option<RawResponse> {
        let end = loop {
            match self.unread.windows(4).position(|window| window == b"\r\n\r\n") {
                Some(at) => break at + 4,
                None if self.read_more().await => {}
                None => {
                    let rest = String::from_utf8_lossy(&self.unread);
                    assert!(rest.is_empty(), "the connection ended within a head: {rest:?}");
                    return None;
                }
            }
        };
        let head = self.take(end);
        let mut lines = head.trim_end().split("\r\n").map(ToOwned::to_owned);
        let line = lines.next().unwrap();
        assert!(line.starts_with("HTTP/1."), "no answer: {head:?}");
        let mut fields: Vec<String> = lines.collect();
        fields.sort_unstable();
        Some(RawResponse { line, fields, body: String::new() })
    }

    /// Returns every response until the end of the connection.
    pub(crate) async fn rest(&mut self) -> Vec<RawResponse> {
        let mut answers = Vec::new();
        while let Some(answer) = self.answer().await {
            answers.push(answer);
        }
        answers
    }

    /// Returns all bytes until the end of the connection, also of incomplete responses.
    pub(crate) async fn everything(&mut self) -> String {
        while self.read_more().await {}
        let all = self.unread.len();
        self.take(all)
    }

    /// Returns the next chunk of a body; empty at its end.
    pub(crate) async fn chunk(&mut self) -> String {
        let line = self.line().await;
        let length = usize::from_str_radix(&line, 16).unwrap_or_else(|_| panic!("no chunk: {line:?}"));
        let chunk = self.exactly(length).await;
        assert_eq!(self.exactly(2).await, "\r\n");
        chunk
    }

    async fn body(&mut self, answer: &RawResponse) -> String {
        if answer.status() < 200 || answer.status() == 204 {
            return String::new();
        }
        if let Some(length) = answer.field("content-length") {
            assert_eq!(answer.field("transfer-encoding"), None, "two lengths: {answer:?}");
            return self.exactly(length.parse().unwrap()).await;
        }
        let mut body = String::new();
        if answer.field("transfer-encoding") == Some("chunked") {
            loop {
                match self.chunk().await {
                    end if end.is_empty() => return body,
                    chunk => body.push_str(&chunk),
                }
            }
        }
        self.everything().await
    }

    async fn line(&mut self) -> String {
        loop {
            match self.unread.windows(2).position(|window| window == b"\r\n") {
                Some(at) => return self.take(at + 2).trim_end().to_owned(),
                None => assert!(self.read_more().await, "the connection ended within a body"),
            }
        }
    }

    async fn exactly(&mut self, length: usize) -> String {
        while self.unread.len() < length {
            let came = self.unread.len();
            assert!(self.read_more().await, "the connection ended after {came} bytes of {length}");
        }
        self.take(length)
    }

    fn take(&mut self, length: usize) -> String {
        let taken = self.unread.drain(..length).collect();
        String::from_utf8(taken).unwrap()
    }

    /// Reads more bytes; returns `false` at the end of the connection.
    async fn read_more(&mut self) -> bool {
        let piece = self.connection.read_at_most(64 << 10).await;
        self.unread.extend_from_slice(&piece);
        !piece.is_empty()
    }
}

impl RawResponse {
    pub(crate) fn status(&self) -> u16 {
        self.line.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status line")
    }

    /// Returns a header by its name in lower case, in which this server writes all names.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find_map(|field| field.strip_prefix(name)?.strip_prefix(": "))
    }

    /// Returns whether this response rejects a request, perhaps before its body was read. actix-http closes the
    /// connection after such a response, unless it happens to have read the body already; the lane always has.
    pub(crate) fn leaves_its_request_unread(&self) -> bool {
        self.status() >= 400 && !self.keeps_alive()
    }

    /// If one list ends with such a rejection and the other continues after the same one, cuts both there. (actix-http
    /// may nevertheless respond to the requests after it.)
    pub(crate) fn close_alike(these: &mut Vec<Self>, others: &mut Vec<Self>) {
        let Some(at) = these.iter().position(Self::leaves_its_request_unread) else { return };
        if others.get(at).is_some_and(Self::keeps_alive) {
            these.truncate(at + 1);
            others.truncate(at + 1);
            others[at].close_as(&these[at]);
        }
    }

    /// Pretends that the connection ended in the same way as after another response.
    pub(crate) fn close_as(&mut self, other: &Self) {
        let is_about_it =
            |field: &&String| field.starts_with("connection: ") || field.starts_with("keep-alive: ");
        self.fields.retain(|field| !is_about_it(&field));
        self.fields.extend(other.fields.iter().filter(is_about_it).cloned());
        self.fields.sort_unstable();
    }

    /// Returns whether the server keeps the connection open.
    pub(crate) fn keeps_alive(&self) -> bool {
        self.field("connection") != Some("close")
    }

    /// Removes the headers about the length of the body: the response to a held poll may be one piece or chunks.
    pub(crate) fn unframed(mut self) -> Self {
        self.fields.retain(|field| {
            !["content-length", "transfer-encoding"].iter().any(|name| field.starts_with(name))
        });
        self
    }
}
