//! The state machine of a connection of the fast lane.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use futures_util::future::LocalBoxFuture;
use platform_actors::session::{ConnectResponse, PollHere, SessionHere};
use platform_front::connection::{
    Deadline, Discard, HandedOver, KEEP_ALIVE, Pace, REQUEST_HEAD, Stream, Why, at_stop,
};
use tokio::io::AsyncWrite;

use super::Lane;
use super::incoming::{Next, Unfinished};
use super::request::HEAD_BYTES;
use super::response::{Head, LaneResponse, Outgoing, Stuck, hold_at_once, respond};
use crate::auth::Caller;
use crate::long_polling::HeldPoll;
use crate::realtime::Text;

/// Serves a connection as long as its requests are ones that the lane supports. At the first other request, the future
/// resolves to the connection and the bytes that were read but not processed; it resolves to `None` when the connection
/// ended normally.
///
/// The state machine is written by hand, because its size determines the memory that a held poll needs.
pub(super) struct Connection {
    pub(super) lane: Rc<Lane>,
    /// The stream; `None` after the connection was handed over.
    pub(super) stream: Option<Stream>,
    pub(super) peer: Option<SocketAddr>,
    /// The bytes that were received but not processed.
    pub(super) unread: Vec<u8>,
    /// The head within `unread`, while its body is incomplete.
    pub(super) unfinished: Option<Box<Unfinished>>,
    /// The pending write, which is finished before anything else happens.
    outgoing: Option<Outgoing>,
    state: State,
    pub(super) deadline: Deadline,
    /// Whether the connection has sent a response before.
    pub(super) is_used: bool,
    /// The session of the last poll, if it runs on this thread.
    last_session: Option<SessionHere>,
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
    /// The connection closes. The bounds are those of the rest of a request that was refused before its end (C-07b).
    Closing(Option<Box<Discard>>),
    /// The connection is handed over to actix-http.
    Leaving(Why),
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
            AfterResponse::Closing => Self::Closing(None),
            AfterResponse::Leaving => Self::Leaving(Why::Foreign),
        }
    }
}

/// A held poll.
struct Hold {
    head: Head,
    poll: HeldPoll,
    /// Whether the head has been sent, followed by a space as the first chunk.
    in_parts: bool,
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
            last_session: None,
        }
    }

    /// Returns whether a poll is held whose session calls this connection.
    pub(super) fn waits_for_call(&self) -> bool {
        matches!(&self.state, State::Holding(Hold { poll: HeldPoll::Json(held), .. }) if held.waits_here())
    }

    /// Stores the response to the held poll.
    pub(super) fn put(&mut self, response: Box<ConnectResponse>) {
        if let State::Holding(hold) = &mut self.state
            && let Some(held) = hold.poll.waiting_here()
        {
            held.put(response);
        }
    }

    /// Writes the response to the held poll outside of the connection's task, or stores it for the task. The task is
    /// woken when it has to continue: to write the response or the rest of it, or to do anything other than to wait for
    /// the next request.
    ///
    /// # Errors
    /// The response, if no poll waits for a call.
    pub(super) fn take_response(&mut self, response: ConnectResponse) -> Result<(), ConnectResponse> {
        // If something may have arrived, the task reads it first, because bytes written to a peer that is gone are lost
        // silently (B-22).
        let can_write = self.unread.is_empty()
            && !self.is_stopping()
            && self.stream.as_ref().is_some_and(Stream::has_been_read);
        let State::Holding(hold) = &mut self.state else { return Err(response) };
        let Some(held) = hold.poll.waiting_here() else { return Err(response) };
        if can_write && !hold.in_parts {
            let text = held.text_at_once(response);
            self.write_text(Some(text));
            self.write_now();
        } else {
            held.put(Box::new(response));
        }
        if !matches!(self.state, State::Idle) {
            self.deadline.wake_task();
        }
        Ok(())
    }

    /// Writes the pending bytes if the operating system accepts all of them at once.
    fn write_now(&mut self) {
        let (Some(outgoing), Some(stream)) = (&mut self.outgoing, &self.stream) else { return };
        if outgoing.write_at_once(stream, &mut self.lane.buffer.borrow_mut()) {
            self.written();
        }
    }

    /// Waits for the response to the held poll. Resolves to `None` when a space is due, which keeps proxies from
    /// closing the connection.
    fn poll_hold(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<Text>>> {
        // The lane reads first, because bytes written to a peer that is gone are lost silently (B-22). Bytes that
        // arrive belong to a later request; they are kept.
        let is_over = loop {
            // With this many bytes unread, nothing more is read, so a close could not be detected.
            if self.unread.len() >= HEAD_BYTES {
                break true;
            }
            match self.poll_read(cx)? {
                Poll::Ready(0) => break true,
                Poll::Ready(_) => {}
                Poll::Pending => break false,
            }
        };
        let (State::Holding(hold), Some(stream)) = (&mut self.state, &mut self.stream) else {
            return Poll::Pending;
        };
        if is_over {
            // If requests remain, actix-http processes them and then closes the connection.
            hold.head.closes |= self.unread.is_empty();
            return Poll::Ready(Ok(Some(hold.poll.end_empty())));
        }
        match hold.poll.poll_text(cx, |cx| stream.peer_is_gone(cx)) {
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

    pub(super) fn is_stopping(&self) -> bool {
        self.lane.components.stop.has_begun()
    }

    /// Continues with the response to a request.
    fn respond(&mut self, response: LaneResponse) {
        match response {
            LaneResponse::Now(outgoing, closes) => self.respond_now(outgoing, closes),
            LaneResponse::Later(head, poll) => {
                self.deadline.set(poll.keep_alive(self.lane.limits()));
                self.state = State::Holding(Hold { head, poll, in_parts: false });
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
            let is_stopping = self.lane.components.stop.has_begun();
            if stream.took_some() {
                outgoing.stuck = Stuck::No;
            }
            let (stuck, wait) = match is_stopping {
                true => (Stuck::AtStop, at_stop(slowest)),
                false => (Stuck::Since, slowest),
            };
            let before = std::mem::replace(&mut outgoing.stuck, stuck);
            if before != stuck {
                self.deadline.set(wait);
            }
            if let (Stuck::No, State::Writing(poll, _)) = (before, &mut self.state) {
                poll.writing_takes_a_while();
            }
            return self.deadline.poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()));
        }
        self.written();
        Poll::Ready(Ok(()))
    }

    /// Continues after the pending bytes were written.
    fn written(&mut self) {
        self.outgoing = None;
        if let State::Writing(_, after) = self.state {
            self.state = after.into();
        }
        self.deadline.set(match &self.state {
            State::Holding(hold) => hold.poll.keep_alive(self.lane.limits()),
            State::Closing(_) => self.lane.limits().unread_answer,
            _ => KEEP_ALIVE,
        });
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(stream) = &mut self.stream else { return Poll::Ready(Ok(())) };
        if Pin::new(&mut *stream).poll_shutdown(cx)?.is_pending() {
            return self.deadline.poll(cx).map(Ok);
        }
        match &mut self.state {
            State::Closing(Some(discard)) if !self.lane.components.stop.grace_is_over() => {
                discard.poll(cx, stream, |_| true).map(Ok)
            }
            _ => Poll::Ready(Ok(())),
        }
    }
}

impl Connection {
    /// Continues with everything that can be done now. `poll` creates the handle by which a session calls this
    /// connection with the response to the next poll. `early` takes the response of a session that responds while it is
    /// called with the connect.
    pub(super) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        poll: impl Fn() -> PollHere,
        early: impl Fn() -> Option<Box<ConnectResponse>>,
    ) -> Poll<io::Result<Option<HandedOver>>> {
        let connection = self;
        loop {
            ready!(connection.poll_write(cx))?;
            match &mut connection.state {
                State::Idle => match ready!(connection.poll_next(cx))? {
                    Next::Request(request) => {
                        let known = Caller::known(&request);
                        match hold_at_once(known.as_ref(), &request, &poll, &mut connection.last_session) {
                            Some(held) => {
                                connection.respond(held);
                                if let Some(response) = early() {
                                    connection.put(response);
                                }
                            }
                            None => connection.state = State::Answering(respond(known, request)),
                        }
                    }
                    Next::Foreign => connection.state = State::Leaving(Why::Foreign),
                    Next::Late => connection.state = State::Leaving(Why::Late),
                    Next::Refused(unfinished, why) => {
                        let refusal = connection.refuse(unfinished, &why);
                        connection.respond_now(refusal, true);
                        let pace = Pace::of_discarded(connection.lane.limits());
                        let discard = Discard::new(&connection.lane.clock, pace);
                        connection.state = State::Closing(Some(Box::new(discard)));
                    }
                    Next::Ended => connection.state = State::Closing(None),
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
                State::Closing(_) => return connection.poll_close(cx).map_ok(|()| None),
                State::Leaving(why) => {
                    let (why, peer, unread) = (*why, connection.peer, std::mem::take(&mut connection.unread));
                    let stream = connection.stream.take();
                    return Poll::Ready(Ok(stream.map(|stream| HandedOver { stream, unread, peer, why })));
                }
            }
        }
    }
}
