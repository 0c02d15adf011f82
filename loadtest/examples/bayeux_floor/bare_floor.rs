//! The floor below actix-web: a hand-written loop per connection, in which a held poll owns nothing but its
//! socket.
//!
//! It supports only what `loadtest` sends: HTTP/1.1, one request at a time, a body of a known length.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::str;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, Bytes};
use tokio::io::{AsyncRead as _, AsyncWriteExt as _, ReadBuf};
use tokio::net::{TcpSocket, TcpStream};

use crate::hub::{self, Held, Hub, Response};

thread_local! {
    /// Every connection reads through this buffer, so a waiting one owns none.
    static SCRATCH: RefCell<Box<[u8]>> = RefCell::new(vec![0; 64 * 1024].into_boxed_slice());
}

/// A connection, with the bytes of an incomplete request.
struct Connection {
    stream: TcpStream,
    partial: Vec<u8>,
}

/// The response to a request.
enum Reply {
    Whole(&'static str, Bytes),
    Held(Held),
}

/// Accepts connections forever, on the calling thread.
pub(crate) async fn serve(listen: &str, hub: Arc<Hub>) -> io::Result<()> {
    let address: SocketAddr = listen.parse().map_err(io::Error::other)?;
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    let listener = socket.listen(crate::BACKLOG)?;
    loop {
        // The process is out of file descriptors; the next accept may succeed.
        let Ok((stream, _)) = listener.accept().await else { continue };
        stream.set_nodelay(true).ok();
        let connection = Connection { stream, partial: Vec::new() };
        tokio::spawn(connection.serve(Arc::clone(&hub)));
    }
}

impl Connection {
    /// Serves one request after the other, until the peer disconnects or sends something unsupported.
    async fn serve(mut self, hub: Arc<Hub>) {
        while let Some(reply) = self.reply(&hub).await {
            let (status, body) = match reply {
                Reply::Whole(status, body) => (status, body),
                Reply::Held(held) => match self.wait(held).await {
                    Some(body) => ("200 OK", body),
                    None => return,
                },
            };
            if self.write(status, body).await.is_err() {
                return;
            }
        }
    }

    async fn reply(&mut self, hub: &Hub) -> Option<Reply> {
        poll_fn(|context| self.poll_reply(context, hub)).await
    }

    /// Returns `None` at the end of the connection and on errors.
    fn poll_reply(&mut self, context: &mut Context<'_>, hub: &Hub) -> Poll<Option<Reply>> {
        SCRATCH.with_borrow_mut(|scratch| {
            loop {
                let mut buffer = ReadBuf::new(scratch);
                if ready!(Pin::new(&mut self.stream).poll_read(context, &mut buffer)).is_err() {
                    return Poll::Ready(None);
                }
                let came = buffer.filled();
                if came.is_empty() {
                    return Poll::Ready(None);
                }
                self.partial.extend_from_slice(came);
                if let Some(whole) = Request::parse(&self.partial) {
                    let reply = whole.reply(hub);
                    self.partial = Vec::new();
                    return Poll::Ready(reply);
                }
            }
        })
    }

    /// Waits for the body; `None` when the peer disconnected first. The load generator sends nothing while it
    /// waits.
    async fn wait(&mut self, mut held: Held) -> Option<Bytes> {
        poll_fn(|context| {
            if let Poll::Ready(body) = Pin::new(&mut held).poll(context) {
                return Poll::Ready(Some(body));
            }
            let mut nothing = [0];
            let read = Pin::new(&mut self.stream).poll_read(context, &mut ReadBuf::new(&mut nothing));
            read.map(|_| None)
        })
        .await
    }

    async fn write(&mut self, status: &str, body: Bytes) -> io::Result<()> {
        let head = format!(
            "HTTP/1.1 {status}\r\ncontent-length: {}\r\ncontent-type: application/json\r\n\r\n",
            body.len()
        );
        self.stream.write_all_buf(&mut head.as_bytes().chain(body)).await
    }
}

/// A complete request.
struct Request<'a> {
    line: &'a str,
    body: &'a [u8],
}

impl<'a> Request<'a> {
    fn parse(bytes: &'a [u8]) -> Option<Self> {
        let end = memchr::memmem::find(bytes, b"\r\n\r\n")? + 4;
        let mut lines = str::from_utf8(&bytes[..end]).ok()?.split("\r\n");
        let line = lines.next()?;
        let length = lines.find_map(|line| line.strip_prefix("Content-Length: "));
        let length: usize = length.map_or(Some(0), |length| length.parse().ok())?;
        Some(Self { line, body: bytes.get(end..end + length)? })
    }

    fn reply(&self, hub: &Hub) -> Option<Reply> {
        let mut words = self.line.split(' ');
        let created = |id: u64| Reply::Whole("201 Created", format!(r#"{{"id":"{id}"}}"#).into());
        match (words.next()?, words.next()?) {
            ("POST", "/notification/realtime" | "/notification/operations") => match hub.take(self.body)? {
                Response::Body(body) => Some(Reply::Whole("200 OK", body)),
                Response::Held(held) => Some(Reply::Held(held)),
            },
            ("POST", "/alarm/alarms") => hub.publish("alarms", self.body).map(created),
            ("POST", "/event/events") => hub.publish("events", self.body).map(created),
            ("POST", "/measurement/measurements") => hub.publish("measurements", self.body).map(created),
            ("POST", "/inventory/managedObjects") => Some(created(hub.number())),
            ("DELETE", _) => Some(Reply::Whole("204 No Content", Bytes::new())),
            ("GET", "/metrics") => Some(Reply::Whole("200 OK", hub::metrics().into())),
            _ => None,
        }
    }
}
