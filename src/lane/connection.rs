//! A connection of the lane, from request to answer to request.

use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderMap};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::sleep;

use super::Lane;
use super::answer::{Head, Outgoing};
use super::deadline::Deadline;
use super::request::{HEAD_BYTES, Look, Outline, Request, look};
use crate::auth::Caller;
use crate::connection::{KEEP_ALIVE, REQUEST_HEAD, Stream};
use crate::http::cors;
use crate::http::head::Head as _;
use crate::realtime::Text;
use crate::realtime::long_polling::{Answered, Body, HeldPoll};

/// A client that takes nothing of its answer for this long is gone.
const SLOWEST: Duration = Duration::from_secs(60);

/// See [`Lane::serve`].
pub(super) async fn serve(
    lane: &Rc<Lane>,
    stream: Stream,
    peer: Option<SocketAddr>,
) -> io::Result<Option<(Stream, Vec<u8>)>> {
    let timer = pin!(sleep(REQUEST_HEAD));
    let deadline = Deadline::new(timer);
    let mut line = Line { lane, stream, peer, unread: Vec::new(), outline: None, is_used: false, deadline };
    loop {
        let closes = match line.next().await? {
            Next::Request(request) => line.exchange(request).await?,
            Next::Foreign => return Ok(Some((line.stream, line.unread))),
            Next::Late => {
                line.write(Outgoing::late(&lane.config)).await?;
                true
            }
            Next::Ended => true,
        };
        if closes {
            line.deadline.set(SLOWEST);
            return line.close().await.map(|()| None);
        }
        if !line.unread.is_empty() {
            return Ok(Some((line.stream, line.unread)));
        }
        line.is_used = true;
        line.deadline.set(KEEP_ALIVE);
    }
}

/// A connection.
struct Line<'l> {
    lane: &'l Rc<Lane>,
    stream: Stream,
    peer: Option<SocketAddr>,
    /// What came and was not answered.
    unread: Vec<u8>,
    /// The head among it, when its body has not come whole.
    outline: Option<Box<Outline>>,
    /// Whether there was a request before.
    is_used: bool,
    /// Until when it waits for what it waits for.
    deadline: Deadline<'l>,
}

/// What a connection gets that waits for a request.
enum Next {
    Request(Request),
    /// Something that is not the lane's; it is unread.
    Foreign,
    /// Nothing, or a part of a request and no more of it, in time.
    Late,
    Ended,
}

/// What a request is answered with.
enum Answer {
    Now(Outgoing),
    Later(Head, HeldPoll),
}

impl Line<'_> {
    /// Waits for a request.
    async fn next(&mut self) -> io::Result<Next> {
        let mut stop = pin!(self.lane.stop.notified());
        poll_fn(|cx| {
            loop {
                let stopping = self.lane.stopping.get() || stop.as_mut().poll(cx).is_ready();
                if stopping && self.unread.is_empty() {
                    return Poll::Ready(Ok(Next::Ended));
                }
                let came = match self.poll_read(cx)? {
                    Poll::Ready(came) => came,
                    Poll::Pending => return self.poll_late(cx).map(Ok),
                };
                let next = match came {
                    0 if self.unread.is_empty() => Some(Next::Ended),
                    0 => Some(Next::Foreign),
                    _ => self.look(),
                };
                if let Some(next) = next {
                    return Poll::Ready(Ok(next));
                }
                // A head has a time as a whole; of a body something must come now and then.
                if self.is_used || self.outline.is_some() {
                    self.deadline.set(REQUEST_HEAD);
                }
            }
        })
        .await
    }

    /// Reads what is there; gives how much that is.
    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let mut buffer = self.lane.buffer.borrow_mut();
        let mut read = ReadBuf::new(&mut buffer);
        ready!(Pin::new(&mut self.stream).poll_read(cx, &mut read))?;
        self.unread.extend_from_slice(read.filled());
        Poll::Ready(Ok(read.filled().len()))
    }

    /// Ready when it was waited for long enough.
    fn poll_late(&mut self, cx: &mut Context<'_>) -> Poll<Next> {
        let waits_for_more = !self.unread.is_empty() || !self.is_used;
        self.deadline.poll(cx).map(|()| if waits_for_more { Next::Late } else { Next::Ended })
    }

    /// What is unread, if it can be told already.
    fn look(&mut self) -> Option<Next> {
        let find = |path: &str| self.lane.find(path);
        let outline = match self.outline.take() {
            Some(outline) => outline,
            None => match look(&self.unread, find, self.lane.edge.limits().bayeux_bytes) {
                Look::Incomplete => return None,
                Look::Foreign => return Some(Next::Foreign),
                Look::Head(outline) => Box::new(outline),
            },
        };
        // Another request behind it: answers to both in order are not the lane's business.
        if self.unread.len() > outline.end {
            return Some(Next::Foreign);
        }
        let bytes = std::mem::take(&mut self.unread);
        let request = Request { lane: self.lane.clone(), outline, peer: self.peer, bytes };
        if request.is_whole() {
            return Some(Next::Request(request));
        }
        // Only known callers are waited for; nobody else fills memory here.
        let is_known = matches!(Caller::known(&request), Some(Ok(_)));
        self.unread = request.bytes;
        if !is_known {
            return Some(Next::Foreign);
        }
        self.outline = Some(request.outline);
        None
    }

    /// Answers a request. Gives whether the connection ends behind the answer.
    async fn exchange(&mut self, request: Request) -> io::Result<bool> {
        let closes = request.outline.closes;
        // On the heap, so that a connection that waits has no room for it.
        match Box::pin(answer(request)).await {
            Answer::Now(outgoing) => {
                self.write(outgoing).await?;
                Ok(closes)
            }
            Answer::Later(head, held) => self.hold(head, held).await,
        }
    }

    /// Holds a poll. Gives whether the connection ends behind the answer.
    async fn hold(&mut self, mut head: Head, mut held: HeldPoll) -> io::Result<bool> {
        let (lane, mut in_parts) = (self.lane, false);
        loop {
            self.deadline.set(lane.edge.limits().keep_alive);
            let text = poll_fn(|cx| self.poll_held(cx, &mut held)).await?;
            head.closes |= lane.stopping.get() && !in_parts;
            let outgoing = match text {
                None if in_parts => Outgoing::space(None, &lane.config),
                None => Outgoing::space(Some(&head), &lane.config),
                Some(text) if in_parts => {
                    self.write(Outgoing::last_part(text)).await?;
                    return Ok(head.closes || lane.stopping.get());
                }
                Some(text) => {
                    self.write(Outgoing::whole(&head, text, &lane.config)).await?;
                    return Ok(head.closes);
                }
            };
            self.write(outgoing).await?;
            in_parts = true;
        }
    }

    /// Ready with what there is to tell, or with nothing when a space is due.
    fn poll_held(&mut self, cx: &mut Context<'_>, held: &mut HeldPoll) -> Poll<io::Result<Option<Text>>> {
        // What comes now is not the lane's: it stands behind a request that is not answered.
        while self.unread.len() < HEAD_BYTES {
            match self.poll_read(cx)? {
                Poll::Ready(0) => return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into())),
                Poll::Ready(_) => {}
                Poll::Pending => break,
            }
        }
        if let Poll::Ready(text) = held.poll_text(cx, |cx| self.stream.peer_is_gone(cx)) {
            return Poll::Ready(Ok(Some(text)));
        }
        self.deadline.poll(cx).map(|()| Ok(None))
    }

    async fn write(&mut self, mut outgoing: Outgoing) -> io::Result<()> {
        let mut waits = false;
        poll_fn(|cx| {
            while !outgoing.is_written() {
                match outgoing.poll_write(cx, &mut self.stream)? {
                    Poll::Ready(()) => waits = false,
                    Poll::Pending => {
                        if !std::mem::replace(&mut waits, true) {
                            self.deadline.set(SLOWEST);
                        }
                        return self.deadline.poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()));
                    }
                }
            }
            Pin::new(&mut self.stream).poll_flush(cx)
        })
        .await
    }

    async fn close(&mut self) -> io::Result<()> {
        poll_fn(|cx| match Pin::new(&mut self.stream).poll_shutdown(cx) {
            Poll::Pending => self.deadline.poll(cx).map(Ok),
            closed => closed,
        })
        .await
    }
}

/// Works out the answer to a request, and counts it as it is counted everywhere: a held poll until it is held.
async fn answer(request: Request) -> Answer {
    let (begun, closes) = (Instant::now(), request.outline.closes);
    let path = &request.lane.paths[request.outline.path];
    let mut for_pages = None;
    let answered = path.answer(&request).await;
    if request.has(&header::ORIGIN) {
        let mut headers = HeaderMap::new();
        cors::allow(&request, &mut headers).await;
        for_pages = Some(Box::new(headers));
    }
    let config = &request.lane.config;
    let (status, answer) = match answered {
        Ok(Answered { media_type, deprecated, body }) => {
            let head = Head { media_type, deprecated, closes, for_pages };
            let answer = match body {
                Body::Text(text) => Answer::Now(Outgoing::whole(&head, text.into(), config)),
                Body::Held(held) => Answer::Later(head, held),
            };
            (StatusCode::OK, answer)
        }
        Err(error) => {
            let mut response = error.answer(&request);
            for_pages.into_iter().flat_map(|headers| *headers).for_each(|(name, value)| {
                response.headers_mut().append(name, value);
            });
            (response.status(), Answer::Now(Outgoing::refusal(response, closes, config)))
        }
    };
    path.durations.record(status, begun.elapsed());
    answer
}
