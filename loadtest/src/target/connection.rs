//! A keep-alive HTTP/1.1 connection without a read buffer of its own.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead as _, AsyncWriteExt as _, ReadBuf};

use crate::error::Error;
use crate::target::response::ResponseParser;
use crate::target::stream::Stream;

/// The timeout of all responses except those to held polls.
pub(crate) const RESPONSE_TIMEOUT: Duration = Duration::from_secs(60);

thread_local! {
    /// Every connection of a thread reads through this buffer, so a waiting one owns none.
    static SCRATCH: RefCell<Box<[u8]>> = RefCell::new(vec![0; 64 * 1024].into_boxed_slice());
}

/// A connection to the server: one request, then its response, then the next.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: Stream,
    parser: ResponseParser,
    traffic: Traffic,
}

/// The bytes of HTTP, heads and bodies, on a socket.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Traffic {
    /// The bytes of requests.
    pub(crate) sent: u64,
    /// The bytes of responses.
    pub(crate) received: u64,
}

impl Traffic {
    /// Adds the bytes of other requests and responses.
    pub(crate) fn add(&mut self, other: Self) {
        self.sent += other.sent;
        self.received += other.received;
    }

    /// Returns the bytes since an earlier value.
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self { sent: self.sent - earlier.sent, received: self.received - earlier.received }
    }
}

/// A complete response; valid until the next request on the connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Response<'a> {
    /// The HTTP status code.
    pub(crate) status: u16,
    /// The seconds after which the request may be sent again, if the response has `Retry-After`.
    pub(crate) retry_after: Option<u16>,
    /// The decoded body; it may start with keep-alive spaces.
    pub(crate) body: &'a [u8],
}

impl<'a> Response<'a> {
    /// Returns the body, if the response to a step has this status.
    ///
    /// # Errors
    /// Fails with [`Error::status`] for another status.
    pub(crate) fn expect(self, status: u16, step: &'static str) -> Result<&'a [u8], Error> {
        match self.status == status {
            true => Ok(self.body),
            false => Err(Error::status(step, self.status, self.body)),
        }
    }

    /// Parses the body, if the response to a step has this status.
    ///
    /// # Errors
    /// Fails like [`Self::expect`], also if the body is not what is read.
    pub(crate) fn json<T: DeserializeOwned>(self, status: u16, step: &'static str) -> Result<T, Error> {
        let body = self.expect(status, step)?;
        serde_json::from_slice(body).map_err(|_| Error::status(step, status, body))
    }
}

/// The state of a response after its head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Beginning {
    /// The response is complete.
    Whole,
    /// The status is 200 and the body is pending: the poll is held.
    Held,
}

impl Connection {
    /// Wraps a connected socket.
    pub(crate) fn new(stream: Stream) -> Self {
        Self { stream, parser: ResponseParser::default(), traffic: Traffic::default() }
    }

    /// Returns the total traffic.
    pub(crate) fn traffic(&self) -> Traffic {
        self.traffic
    }

    /// Returns `Last-Modified` and `Etag` of the last response, if it has both.
    pub(crate) fn validators(&self) -> Option<(&str, &str)> {
        self.parser.head.modified.as_deref().zip(self.parser.head.tag.as_deref())
    }

    /// Returns whether the server has closed the connection, or sent unrequested bytes, since the last response.
    pub(crate) fn is_stale(&self) -> bool {
        self.stream.is_stale()
    }

    /// Sends a complete request (head and body).
    ///
    /// # Errors
    /// The socket is closed.
    pub(crate) async fn send(&mut self, request: &[u8]) -> Result<(), Error> {
        self.parser.reset();
        self.stream.write_all(request).await?;
        self.stream.flush().await?;
        self.traffic.sent += request.len() as u64;
        Ok(())
    }

    /// Waits for the complete response, however long it is held.
    ///
    /// # Errors
    /// The socket is closed before the response is complete, or the response is malformed.
    pub(crate) async fn receive(&mut self) -> Result<Response<'_>, Error> {
        while !self.parser.is_done() {
            poll_fn(|context| self.poll_read_some(context)).await?;
        }
        Ok(Response {
            status: self.parser.head.status,
            retry_after: self.parser.head.retry_after,
            body: self.parser.body(),
        })
    }

    /// Waits for more of a body that arrives piece by piece, and adds it to `to`. Returns whether the response goes on.
    ///
    /// # Errors
    /// Fails like [`Self::receive`].
    pub(crate) async fn receive_more(&mut self, to: &mut Vec<u8>) -> Result<bool, Error> {
        while self.parser.body().is_empty() && !self.parser.is_done() {
            poll_fn(|context| self.poll_read_some(context)).await?;
        }
        self.parser.take_body(to);
        Ok(!self.parser.is_done())
    }

    /// Waits for the head of the response, which precedes the body by far when a poll is held. A response
    /// with another status than 200 is awaited completely; [`Self::receive`] returns it.
    ///
    /// # Errors
    /// Fails like [`Self::receive`].
    pub(crate) async fn beginning(&mut self) -> Result<Beginning, Error> {
        while !self.parser.has_head() {
            poll_fn(|context| self.poll_read_some(context)).await?;
        }
        if self.parser.head.status == 200 && !self.parser.is_done() {
            return Ok(Beginning::Held);
        }
        self.receive().await.map(|_| Beginning::Whole)
    }

    /// Sends a request and waits for its response, at most a minute.
    ///
    /// # Errors
    /// Fails like [`Self::send`] and [`Self::receive`] (the error is inside [`Error::During`]), and with
    /// [`Error::Timeout`].
    pub(crate) async fn call(&mut self, step: &'static str, request: &[u8]) -> Result<Response<'_>, Error> {
        self.call_within(RESPONSE_TIMEOUT, step, request).await
    }

    /// Sends a request as [`Self::call`] does, and returns the body of its response, whose status must be 200.
    ///
    /// # Errors
    /// Fails like [`Self::expect`].
    pub(crate) async fn body_of(&mut self, step: &'static str, request: &[u8]) -> Result<&[u8], Error> {
        self.expect(200, step, request).await
    }

    /// Sends a request as [`Self::call`] does, and returns the body of its response, which must have this status.
    ///
    /// # Errors
    /// Fails like [`Self::call`], and with [`Error::status`] for another status.
    pub(crate) async fn expect(
        &mut self,
        status: u16,
        step: &'static str,
        request: &[u8],
    ) -> Result<&[u8], Error> {
        self.call(step, request).await?.expect(status, step)
    }

    /// Sends a request as [`Self::expect`] does, and parses the body of its response.
    ///
    /// # Errors
    /// Fails like [`Self::expect`], also if the body is not what is read.
    pub(crate) async fn json<T: DeserializeOwned>(
        &mut self,
        status: u16,
        step: &'static str,
        request: &[u8],
    ) -> Result<T, Error> {
        self.call(step, request).await?.json(status, step)
    }

    /// Sends a request that creates an object, and returns the id of the object.
    ///
    /// # Errors
    /// Fails like [`Self::json`]; the expected status is 201.
    pub(crate) async fn created(&mut self, step: &'static str, request: &[u8]) -> Result<String, Error> {
        #[derive(Deserialize)]
        struct Created {
            id: String,
        }
        self.json(201, step, request).await.map(|Created { id }| id)
    }

    /// Sends a request as [`Self::call`] does, with a longer timeout.
    ///
    /// # Errors
    /// Fails like [`Self::call`].
    pub(crate) async fn call_within(
        &mut self,
        limit: Duration,
        step: &'static str,
        request: &[u8],
    ) -> Result<Response<'_>, Error> {
        self.send(request).await.map_err(|error| error.during(step))?;
        let answered = tokio::time::timeout(limit, self.receive()).await;
        answered.map_err(|_| Error::Timeout(step))?.map_err(|error| error.during(step))
    }

    fn poll_read_some(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        SCRATCH.with_borrow_mut(|scratch| {
            let mut buffer = ReadBuf::new(scratch);
            match Pin::new(&mut self.stream).poll_read(context, &mut buffer) {
                Poll::Pending => Poll::Pending,
                Poll::Ready(Err(error)) => Poll::Ready(Err(error.into())),
                Poll::Ready(Ok(())) if buffer.filled().is_empty() => {
                    Poll::Ready(Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()))
                }
                Poll::Ready(Ok(())) => {
                    self.traffic.received += buffer.filled().len() as u64;
                    Poll::Ready(self.parser.feed(buffer.filled()).map_err(Error::from))
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    #[tokio::test]
    async fn connection_that_the_server_has_closed_is_stale() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let connection = Connection::new(Stream::Plain(stream));
        let (accepted, _) = listener.accept().await.unwrap();
        assert!(!connection.is_stale());
        drop(accepted);
        let Stream::Plain(stream) = &connection.stream else { panic!("it is not encrypted") };
        stream.readable().await.unwrap();
        assert!(connection.is_stale());
    }

    #[tokio::test]
    async fn bytes_of_requests_and_responses_are_counted_with_heads_and_bodies() {
        let answer = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            for _ in 0..2 {
                stream.read_exact(&mut [0; 7]).await.unwrap();
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        let mut connection = Connection::new(Stream::Plain(stream));
        connection.call("asking", b"request").await.unwrap();
        let first = connection.traffic();
        connection.call("asking", b"request").await.unwrap();
        let length = answer.len() as u64;
        assert_eq!(first, Traffic { sent: 7, received: length });
        assert_eq!(connection.traffic(), Traffic { sent: 14, received: 2 * length });
        assert_eq!(connection.traffic().since(first), first);
        server.await.unwrap();
    }
}
