//! A connection of the fast lane and its state machine.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use futures_util::future::LocalBoxFuture;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::Lane;
use super::request::{HEAD_BYTES, Look, Outline, Request, look};
use super::response::{Head, LaneResponse, Outgoing, hold_at_once, respond};
use crate::auth::Caller;
use crate::connection::{Deadline, KEEP_ALIVE, Pace, REQUEST_HEAD, Stream};
use crate::http::error::ApiError;
use crate::http::held_bytes::LARGE;
use crate::long_polling::HeldPoll;
use crate::realtime::Text;

/// Serves a connection as long as its requests are ones that the lane supports. At the first other request, the future
/// resolves to the connection and the bytes that were read but not processed; it resolves to `None` when the connection
/// ended normally.
///
/// The state machine is written by hand, because its size determines the memory that a held poll needs.
pub(super) struct Connection {
    lane: Rc<Lane>,
    /// The stream; `None` after the connection was handed over.
    stream: Option<Stream>,
    peer: Option<SocketAddr>,
    /// The bytes that were received but not processed.
    unread: Vec<u8>,
    /// The head within `unread`, while its body is incomplete.
    unfinished: Option<Box<Unfinished>>,
    /// The pending write, which is finished before anything else happens.
    outgoing: Option<Outgoing>,
    state: State,
    deadline: Deadline,
    /// Whether the connection has sent a response before.
    is_used: bool,
}

enum State {
    /// The connection waits for a request.
    Idle,
    /// The future is boxed, so that a waiting connection reserves no memory for it.
    Answering(LocalBoxFuture<'static, LaneResponse>),
    Holding(Hold),
    /// The response to a poll is being written. The poll is kept, because its session may have to wait until the write
    /// is finished.
    Writing(HeldPoll, AfterResponse),
    Closing,
    /// The connection is handed over to actix-http.
    Leaving,
}

/// The state of a connection after its response.
#[derive(Debug, Clone, Copy)]
enum AfterResponse {
    Idle,
    Closing,
    Leaving,
}

impl From<AfterResponse> for State {
    fn from(after: AfterResponse) -> Self {
        match after {
            AfterResponse::Idle => Self::Idle,
            AfterResponse::Closing => Self::Closing,
            AfterResponse::Leaving => Self::Leaving,
        }
    }
}

/// A request whose body is incomplete.
struct Unfinished {
    outline: Outline,
    pace: Pace,
}

/// A held poll.
struct Hold {
    head: Head,
    poll: HeldPoll,
    /// Whether the head has been sent, followed by a space as the first chunk.
    in_parts: bool,
}

/// The parts of a connection that is handed over: the stream, and the bytes that were read but not processed.
pub(super) type HandedOver = Option<(Stream, Vec<u8>)>;

/// The event that ends the wait for a request.
#[expect(clippy::large_enum_variant, reason = "it is taken apart where it is made")]
enum Next {
    Request(Request),
    /// The request is not one that the lane supports.
    Foreign,
    /// The time limit has passed, with no request or only a part of one.
    Late,
    /// The server is stopping, and its grace period ended before the body was complete.
    CutShort,
    Ended,
}

impl Connection {
    pub(super) fn new(lane: Rc<Lane>, stream: Stream, peer: Option<SocketAddr>) -> Self {
        Self {
            deadline: Deadline::take(&lane.clock, REQUEST_HEAD),
            lane,
            stream: Some(stream),
            peer,
            unread: Vec::new(),
            unfinished: None,
            outgoing: None,
            state: State::Idle,
            is_used: false,
        }
    }

    /// Waits for a request.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Next>> {
        loop {
            if self.is_stopping() {
                match (&self.unfinished, self.lane.components.stop.grace_is_over()) {
                    (None, _) => return Poll::Ready(Ok(Next::Ended)),
                    (Some(_), true) => return Poll::Ready(Ok(Next::CutShort)),
                    (Some(_), false) => {}
                }
            }
            let Poll::Ready(arrived) = self.poll_read(cx)? else {
                let is_over = self.is_used && self.unread.is_empty();
                return self.deadline.poll(cx).map(|()| Ok(if is_over { Next::Ended } else { Next::Late }));
            };
            let next = match arrived {
                0 if self.unread.is_empty() => Some(Next::Ended),
                0 => Some(Next::Foreign),
                _ => self.classify(),
            };
            if let Some(next) = next {
                return Poll::Ready(Ok(next));
            }
            // The time limit of a head applies to the whole head, so further bytes do not extend it.
            if let Some(unfinished) = &mut self.unfinished {
                unfinished.pace.arrived(arrived);
                self.deadline.set(unfinished.pace.wait());
            } else if self.is_used && self.unread.len() == arrived {
                self.deadline.set(REQUEST_HEAD);
            }
        }
    }

    /// Reads the available bytes and returns their number.
    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let Some(stream) = &mut self.stream else { return Poll::Ready(Ok(0)) };
        let mut buffer = self.lane.buffer.borrow_mut();
        let mut read = ReadBuf::new(&mut buffer);
        ready!(Pin::new(stream).poll_read(cx, &mut read))?;
        self.unread.extend_from_slice(read.filled());
        Poll::Ready(Ok(read.filled().len()))
    }

    /// Classifies the unread bytes; `None` while more bytes are needed.
    fn classify(&mut self) -> Option<Next> {
        // The memory of large bodies is limited elsewhere, so the lane does not accept them.
        let most = self.lane.limits().bayeux_bytes.min(LARGE);
        let (outline, pace) = match self.unfinished.take() {
            Some(unfinished) => (unfinished.outline, Some(unfinished.pace)),
            None => match look(&self.unread, |path| self.lane.find(path), most) {
                Look::Incomplete => return None,
                Look::Foreign => return Some(Next::Foreign),
                Look::Head(outline) => (outline, None),
            },
        };
        // More bytes follow, so the client pipelines requests. The lane does not support pipelining.
        if self.unread.len() > outline.end {
            return Some(Next::Foreign);
        }
        let bytes = std::mem::take(&mut self.unread);
        let request = Request { lane: self.lane.clone(), outline, peer: self.peer, bytes };
        if request.is_whole() {
            return Some(Next::Request(request));
        }
        // The lane waits for bodies only of known callers, so that nobody else can fill its memory.
        let is_known = matches!(Caller::known(&request), Some(Ok(_)));
        self.unread = request.bytes;
        if !is_known {
            return Some(Next::Foreign);
        }
        let pace = pace.unwrap_or_else(|| Pace::new(self.lane.limits()));
        self.unfinished = Some(Box::new(Unfinished { outline: request.outline, pace }));
        None
    }

    /// Waits for the text of the held poll. Ready with `None` when a space is due.
    fn poll_hold(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<Text>>> {
        // The lane reads first, because bytes written to a peer that is gone are lost silently (B-22). The read detects
        // a close that the operating system reported before this turn of the worker. Bytes that arrive belong to a
        // later request; they are kept.
        let is_over = loop {
            // With so many bytes unread, a close could no longer be detected.
            if self.unread.len() >= HEAD_BYTES {
                break true;
            }
            match self.poll_read(cx)? {
                Poll::Ready(0) => break true,
                Poll::Ready(_) => {}
                Poll::Pending => break false,
            }
        };
        let State::Holding(hold) = &mut self.state else { return Poll::Pending };
        if is_over {
            // If requests remain, actix-http processes them and then closes the connection.
            hold.head.closes |= self.unread.is_empty();
            return Poll::Ready(Ok(Some(hold.poll.end_empty())));
        }
        match hold.poll.poll_text(cx, |_| false) {
            Poll::Ready(text) => Poll::Ready(Ok(Some(text))),
            Poll::Pending => self.deadline.poll(cx).map(|()| Ok(None)),
        }
    }

    /// Starts to write a space, or the response.
    fn write_text(&mut self, text: Option<Text>) {
        let stopping = self.is_stopping();
        let State::Holding(hold) = &mut self.state else { return };
        let config = &self.lane.config;
        hold.head.closes |= stopping && !hold.in_parts;
        if let (Some(text), Some(stream)) = (&text, &self.stream)
            && text.is_large()
        {
            stream.bound_send_buffer();
        }
        let outgoing = match (text, hold.in_parts) {
            (None, in_parts) => {
                hold.in_parts = true;
                self.outgoing = Some(Outgoing::space((!in_parts).then_some(&hold.head), config));
                return;
            }
            (Some(text), true) => Outgoing::last_part(text),
            (Some(text), false) => Outgoing::whole(&hold.head, text, config),
        };
        let closes = hold.head.closes || stopping;
        let after = self.after_response(closes);
        if let State::Holding(hold) = std::mem::replace(&mut self.state, after.into()) {
            self.state = State::Writing(hold.poll, after);
        }
        self.write(outgoing);
    }

    /// Returns the error response to an incomplete request.
    fn refuse(&mut self, why: &ApiError) -> Outgoing {
        let Some(unfinished) = self.unfinished.take() else { return Outgoing::late(&self.lane.config) };
        let bytes = std::mem::take(&mut self.unread);
        let request =
            Request { lane: self.lane.clone(), outline: unfinished.outline, peer: self.peer, bytes };
        Outgoing::refusal(why.answer(&request), true, None, &self.lane.config)
    }

    fn is_stopping(&self) -> bool {
        self.lane.components.stop.has_begun()
    }

    /// Continues with the response to a request.
    fn respond(&mut self, response: LaneResponse) {
        match response {
            LaneResponse::Now(outgoing, closes) => self.respond_now(outgoing, closes),
            LaneResponse::Later(head, poll) => {
                self.state = State::Holding(Hold { head, poll, in_parts: false });
                self.deadline.set(self.lane.limits().keep_alive);
            }
        }
    }

    /// Starts to write a response, after which the connection closes or waits for the next request.
    fn respond_now(&mut self, outgoing: Outgoing, closes: bool) {
        self.state = self.after_response(closes).into();
        self.write(outgoing);
    }

    fn after_response(&self, closes: bool) -> AfterResponse {
        match closes {
            true => AfterResponse::Closing,
            false if self.unread.is_empty() => AfterResponse::Idle,
            false => AfterResponse::Leaving,
        }
    }

    fn write(&mut self, outgoing: Outgoing) {
        self.outgoing = Some(outgoing);
        self.is_used = true;
    }

    /// Writes the pending bytes. A client that accepts no bytes for the time limit counts as gone.
    fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let (Some(outgoing), Some(stream)) = (&mut self.outgoing, &mut self.stream) else {
            return Poll::Ready(Ok(()));
        };
        let slowest = self.lane.limits().unread_answer;
        if outgoing.poll_all(cx, stream, &mut self.lane.buffer.borrow_mut())?.is_pending() {
            outgoing.is_stuck &= !stream.took_some();
            if !std::mem::replace(&mut outgoing.is_stuck, true) {
                self.deadline.set(slowest);
                if let State::Writing(poll, _) = &mut self.state {
                    poll.writing_takes_a_while();
                }
            }
            return self.deadline.poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()));
        }
        self.outgoing = None;
        if let State::Writing(_, after) = self.state {
            self.state = after.into();
        }
        self.deadline.set(match self.state {
            State::Holding(_) => self.lane.limits().keep_alive,
            State::Closing => slowest,
            _ => KEEP_ALIVE,
        });
        Poll::Ready(Ok(()))
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(stream) = &mut self.stream else { return Poll::Ready(Ok(())) };
        match Pin::new(stream).poll_shutdown(cx) {
            Poll::Pending => self.deadline.poll(cx).map(Ok),
            closed => closed,
        }
    }
}

impl Future for Connection {
    type Output = io::Result<HandedOver>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let connection = self.get_mut();
        loop {
            ready!(connection.poll_write(cx))?;
            match &mut connection.state {
                State::Idle => match ready!(connection.poll_next(cx))? {
                    Next::Request(request) => {
                        let known = Caller::known(&request);
                        match hold_at_once(known.as_ref(), &request) {
                            Some(held) => connection.respond(held),
                            None => connection.state = State::Answering(Box::pin(respond(known, request))),
                        }
                    }
                    Next::Foreign => connection.state = State::Leaving,
                    Next::CutShort => {
                        let refusal = connection.refuse(&ApiError::Stopping);
                        connection.respond_now(refusal, true);
                    }
                    Next::Late => {
                        let refusal = connection.refuse(&ApiError::BodyTooSlow);
                        connection.respond_now(refusal, true);
                    }
                    Next::Ended => connection.state = State::Closing,
                },
                State::Answering(response) => {
                    let response = ready!(response.as_mut().poll(cx));
                    connection.respond(response);
                }
                State::Holding(_) => {
                    let text = ready!(connection.poll_hold(cx))?;
                    connection.write_text(text);
                }
                // The pending write comes first, and this state ends with it.
                State::Writing(_, after) => connection.state = (*after).into(),
                State::Closing => return connection.poll_close(cx).map_ok(|()| None),
                State::Leaving => {
                    let unread = std::mem::take(&mut connection.unread);
                    return Poll::Ready(Ok(connection.stream.take().map(|stream| (stream, unread))));
                }
            }
        }
    }
}
