//! Responses of the fast lane to polls, and the bytes of all its responses. The response heads look like those of
//! actix-http.

use std::fmt::Write;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use actix_http::ServiceConfig;
use actix_web::HttpResponse;
use actix_web::body::MessageBody;
use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderMap, HeaderValue};
use bytes::{BufMut, BytesMut};
use futures_util::future::LocalBoxFuture;
use platform_actors::session::{PollHere, SessionHere};
use platform_front::connection::{KEEP_ALIVE_TIMEOUT, KEPT, Stream};
use platform_model::realtime::bayeux::channel::Endpoint;
use tokio::io::AsyncWrite;

use super::request::Request;
use super::{Resource, consumer, data};
use crate::auth::{Caller, Identity, cors};
use crate::http::application_key;
use crate::http::error::Result;
use crate::http::head::Head as _;
use crate::long_polling::{self, Answered, Body, DEPRECATION, HeldPoll};
use crate::realtime::Text;
use crate::requests::failures;
use crate::requests::log::{RequestLog, X_REQUEST_ID};

/// The maximum number of slices in one write.
const SLICES: usize = 64;
/// The initial capacity in bytes for a head; most heads fit.
const HEAD_BYTES: usize = 256;

/// The part of a response head that is known before its text.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) media_type: &'static str,
    pub(super) deprecated: bool,
    pub(super) closes: bool,
    /// The headers that few responses have: CORS headers for a page of another site, and the id of the request.
    pub(super) more: Option<Box<HeaderMap>>,
}

/// The way in which a client finds the end of a text: by a content length or by chunks.
enum Framing {
    Length(usize),
    Parts,
}

impl Head {
    fn bytes(&self, framing: Framing, config: &ServiceConfig) -> BytesMut {
        let mut head = begin(StatusCode::OK, framing, self.closes);
        put_header(&mut head, "content-type", self.media_type.as_bytes());
        if self.deprecated {
            put_header(&mut head, DEPRECATION, b"true");
        }
        self.more.iter().for_each(|headers| put_headers(&mut head, headers));
        end(head, config)
    }
}

fn begin(status: StatusCode, framing: Framing, closes: bool) -> BytesMut {
    let mut head = BytesMut::with_capacity(HEAD_BYTES);
    head.put_slice(b"HTTP/1.1 ");
    head.put_slice(status.as_str().as_bytes());
    head.put_slice(b" ");
    head.put_slice(status.canonical_reason().unwrap_or_default().as_bytes());
    head.put_slice(b"\r\n");
    match framing {
        Framing::Length(length) => write!(head, "content-length: {length}\r\n").expect("memory grows"),
        Framing::Parts => put_header(&mut head, "transfer-encoding", b"chunked"),
    }
    if closes {
        put_header(&mut head, "connection", b"close");
    } else {
        put_header(&mut head, KEPT.as_str(), KEEP_ALIVE_TIMEOUT.as_bytes());
    }
    head
}

fn put_headers(head: &mut BytesMut, headers: &HeaderMap) {
    headers.iter().for_each(|(name, value)| put_header(head, name.as_str(), value.as_bytes()));
}

fn put_header(head: &mut BytesMut, name: &str, value: &[u8]) {
    head.put_slice(name.as_bytes());
    head.put_slice(b": ");
    head.put_slice(value);
    head.put_slice(b"\r\n");
}

fn end(mut head: BytesMut, config: &ServiceConfig) -> BytesMut {
    config.write_date_header(&mut head, false);
    head.put_slice(b"\r\n");
    head
}

/// The response to a request.
pub(super) enum LaneResponse {
    /// A response that is sent immediately, and whether the connection closes after it.
    Now(Outgoing, bool),
    /// A poll that is held.
    Later(Head, HeldPoll),
}

/// Holds the poll of a known client, with the same result as [`respond`]. `here` makes the handle by which a session of
/// this thread calls the connection, and `last` is the session of its last poll.
pub(super) fn hold_at_once(
    known: Option<&Result<Caller>>,
    request: &Request,
    here: impl FnOnce() -> PollHere,
    last: &mut Option<SessionHere>,
) -> Option<LaneResponse> {
    let begun = Instant::now();
    let caller = known?.as_ref().ok().filter(|_| !request.has(&header::ORIGIN))?;
    let path = &request.lane.paths[request.outline.path];
    if !matches!(path.resource, Resource::Polls(_)) {
        return None;
    }
    let answered = long_polling::hold_at_once(caller, request, request.body(), here(), last)?;
    path.durations.record(StatusCode::OK, begun.elapsed());
    count(caller, request);
    let requests = &request.lane.components.requests;
    let id = requests.completed_poll(request, StatusCode::OK, Some(caller), begun.elapsed());
    Some(LaneResponse::of(answered, request, with_id(None, id)))
}

/// Adds the id of a request to the headers that only some responses have.
pub(super) fn with_id(headers: Option<Box<HeaderMap>>, id: Option<HeaderValue>) -> Option<Box<HeaderMap>> {
    let Some(id) = id else { return headers };
    let mut headers = headers.unwrap_or_default();
    headers.insert(X_REQUEST_ID, id);
    Some(headers)
}

/// Adds a request to the statistics of its tenant (Z-07).
pub(super) fn count(caller: &Identity, request: &Request) {
    let statistics = request.lane.components.platform.database().statistics();
    statistics.add_request(&caller.tenant, 1, application_key(request).is_none());
}

/// Records a request that a handler of the API has served in metrics, log and statistics, and adds its id to the
/// response.
pub(super) fn record(
    request: &Request,
    caller: Option<&Identity>,
    (id, took): (HeaderValue, Duration),
    response: &mut HttpResponse,
) {
    request.lane.paths[request.outline.path].durations.record(response.status(), took);
    request.state::<RequestLog>().completed(request, response.status(), caller, &id, took);
    if let Some(caller) = caller {
        count(caller, request);
    }
    failures::trace(&request.lane.components.platform, caller, request, response);
    response.headers_mut().insert(X_REQUEST_ID, id);
}

/// Computes the response to a request. `known` is the caller, if no database query is needed to authenticate it.
pub(super) fn respond(
    known: Option<Result<Caller>>,
    request: Request,
) -> LocalBoxFuture<'static, LaneResponse> {
    // Each kind has a future of its own, so that the future of a poll stays small.
    match request.lane.paths[request.outline.path].resource {
        Resource::Polls(endpoint) => Box::pin(respond_to_messages(endpoint, known, request)),
        Resource::Data(new) => Box::pin(data::create(new, known, request)),
        Resource::Consumer => Box::pin(consumer::poll(known, request)),
    }
}

/// Computes the response to Bayeux messages and records its duration in the metrics like every other route. The
/// duration of a held poll ends when the poll is held.
async fn respond_to_messages(
    endpoint: Endpoint,
    known: Option<Result<Caller>>,
    request: Request,
) -> LaneResponse {
    let begun = Instant::now();
    let (caller, closes) = identify(known, &request).await;
    let (path, config) = (&request.lane.paths[request.outline.path], &request.lane.config);
    let identity = caller.as_ref().ok().map(Caller::identity);
    let answered = match caller {
        Ok(caller) => {
            count(&caller, &request);
            long_polling::answer(endpoint, caller, &request, request.body()).await
        }
        Err(error) => Err(error),
    };
    let answered = answered.map_err(|error| error.answer(&request));
    if let Err(refusal) = &answered {
        failures::trace(&request.lane.components.platform, identity.as_deref(), &request, refusal);
    }
    let status = answered.as_ref().map_or_else(HttpResponse::status, |_| StatusCode::OK);
    let (requests, took) = (&request.lane.components.requests, begun.elapsed());
    path.durations.record(status, took);
    let id = requests.completed_poll(&request, status, identity.as_deref(), took);
    let more = with_id(for_pages(&request).await, id);
    match answered {
        Ok(answered) => LaneResponse::of(answered, &request, more),
        Err(refusal) => LaneResponse::Now(Outgoing::rendered(refusal, closes, more, config), closes),
    }
}

/// Authenticates the caller of a request. Returns also whether the connection closes after the response.
pub(super) async fn identify(known: Option<Result<Caller>>, request: &Request) -> (Result<Caller>, bool) {
    let closes = request.outline.closes;
    match known {
        Some(caller) => {
            // actix-http closes such a connection, too, because it has not read the body yet.
            let refused = caller.is_err();
            (caller, closes || refused)
        }
        // This future is boxed, so that the future of known callers stays small.
        None => (Box::pin(Caller::of(request)).await, closes),
    }
}

/// Returns the CORS headers of the response to a page of another site.
pub(super) async fn for_pages(request: &Request) -> Option<Box<HeaderMap>> {
    if !request.has(&header::ORIGIN) {
        return None;
    }
    let mut headers = HeaderMap::new();
    Box::pin(cors::allow(request, &mut headers)).await;
    Some(Box::new(headers))
}

impl LaneResponse {
    fn of(answered: Answered, request: &Request, more: Option<Box<HeaderMap>>) -> Self {
        let (closes, Answered { media_type, deprecated, body }) = (request.outline.closes, answered);
        let head = Head { media_type, deprecated, closes, more };
        match body {
            Body::Text(text) => Self::Now(Outgoing::whole(&head, text.into(), &request.lane.config), closes),
            Body::Held(held) => Self::Later(head, held),
        }
    }
}

/// The bytes of a write in progress: a head, a text, and the bytes after the text.
#[derive(Debug)]
pub(super) struct Outgoing {
    head: BytesMut,
    text: Text,
    end: &'static [u8],
    written: usize,
    pub(super) stuck: Stuck,
}

/// Whether the last write found no space in the send buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stuck {
    No,
    /// It found none, and the time limit of an unread response runs.
    Since,
    /// It found none, and the shorter time limit of a stop runs.
    AtStop,
}

impl Outgoing {
    fn new(head: BytesMut, text: Text, end: &'static [u8]) -> Self {
        Self { head, text, end, written: 0, stuck: Stuck::No }
    }

    /// Returns a whole response: the head and the text.
    pub(super) fn whole(head: &Head, text: Text, config: &ServiceConfig) -> Self {
        Self::new(head.bytes(Framing::Length(text.len()), config), text, b"")
    }

    /// Returns a space as a chunk, which keeps proxies from closing the idle connection (B-21). The first space is
    /// preceded by the head.
    pub(super) fn space(head: Option<&Head>, config: &ServiceConfig) -> Self {
        let mut bytes = head.map(|head| head.bytes(Framing::Parts, config)).unwrap_or_default();
        bytes.put_slice(b"1\r\n \r\n");
        Self::new(bytes, Text::default(), b"")
    }

    /// Returns the last chunk, which contains the text.
    pub(super) fn last_part(text: Text) -> Self {
        match text.len() {
            0 => Self::new(BytesMut::new(), text, b"0\r\n\r\n"),
            length => Self::new(format!("{length:X}\r\n").as_bytes().into(), text, b"\r\n0\r\n\r\n"),
        }
    }

    /// Returns the error response to an invalid request.
    pub(super) fn rendered(
        response: HttpResponse,
        closes: bool,
        more: Option<Box<HeaderMap>>,
        config: &ServiceConfig,
    ) -> Self {
        let (response, body) = response.into_parts();
        let text = body.try_into_bytes().unwrap_or_default();
        let mut head = begin(response.status(), Framing::Length(text.len()), closes);
        put_headers(&mut head, response.headers());
        more.iter().for_each(|headers| put_headers(&mut head, headers));
        Self::new(end(head, config), Text::from(text.to_vec()), b"")
    }

    /// Writes everything. Ready when the operating system has accepted the last byte.
    ///
    /// # Errors
    /// The peer is gone.
    pub(super) fn poll_all(
        &mut self,
        cx: &mut Context<'_>,
        stream: &mut Stream,
        buffer: &mut [u8],
    ) -> Poll<io::Result<()>> {
        while self.written < self.len() {
            ready!(self.poll_write(cx, stream, buffer))?;
        }
        Pin::new(stream).poll_flush(cx)
    }

    /// Writes what the operating system accepts at once, outside of the connection's task, and returns whether that was
    /// everything. The task finds the error of a write that failed when it continues. An encrypted stream and bytes
    /// that do not fit into the buffer are left to the task.
    pub(super) fn write_at_once(&mut self, stream: &Stream, buffer: &mut [u8]) -> bool {
        if self.len() > buffer.len() {
            return false;
        }
        let length = copy(self.unwritten(), buffer);
        self.written += stream.try_write(&buffer[..length]).unwrap_or(0);
        self.written == self.len()
    }

    /// Writes once, as much as there is space for. Bytes that fit into the buffer are copied into it, because for small
    /// parts that is cheaper than a vectored write.
    ///
    /// # Errors
    /// The peer is gone.
    fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        stream: &mut Stream,
        buffer: &mut [u8],
    ) -> Poll<io::Result<()>> {
        let unwritten = self.unwritten();
        let taken = if self.len() - self.written <= buffer.len() {
            let length = copy(unwritten, buffer);
            ready!(Pin::new(stream).poll_write(cx, &buffer[..length]))?
        } else {
            let (mut slices, mut count) = ([IoSlice::new(b""); SLICES], 0);
            for (slice, part) in slices.iter_mut().zip(unwritten) {
                *slice = part;
                count += 1;
            }
            ready!(Pin::new(stream).poll_write_vectored(cx, &slices[..count]))?
        };
        match taken {
            0 => Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
            count => {
                (self.written, self.stuck) = (self.written + count, Stuck::No);
                Poll::Ready(Ok(()))
            }
        }
    }

    /// Returns the bytes that are not written yet.
    fn unwritten(&self) -> impl Iterator<Item = IoSlice<'_>> {
        let parts = std::iter::once(IoSlice::new(&self.head)).chain(self.text.slices());
        let parts = parts.chain(std::iter::once(IoSlice::new(self.end)));
        let mut written = self.written;
        parts.filter_map(move |mut part| {
            let of_part = written.min(part.len());
            written -= of_part;
            part.advance(of_part);
            (!part.is_empty()).then_some(part)
        })
    }

    fn len(&self) -> usize {
        self.head.len() + self.text.len() + self.end.len()
    }
}

/// Copies the parts into the buffer, which must be large enough, and returns their total length.
fn copy<'a>(parts: impl Iterator<Item = IoSlice<'a>>, buffer: &mut [u8]) -> usize {
    let mut length = 0;
    for part in parts {
        buffer[length..length + part.len()].copy_from_slice(&part);
        length += part.len();
    }
    length
}
