//! A connection of the lane, from request to answer to request.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use futures_util::future::LocalBoxFuture;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::Lane;
use super::answer::{Answer, Head, Outgoing, answer, hold_at_once};
use super::request::{HEAD_BYTES, Look, Outline, Request, look};
use crate::auth::Caller;
use crate::connection::{KEEP_ALIVE, Pace, Place, REQUEST_HEAD, Stream};
use crate::http::error::ApiError;
use crate::http::held_bytes::LARGE;
use crate::realtime::Text;
use crate::realtime::long_polling::HeldPoll;

/// Serves a connection for as long as its requests are the lane's. Ends with what came and was not served at the first that is
/// not; with nothing when the connection ended in peace.
///
/// A state machine written out, for its size is what a held poll costs.
pub(super) struct Connection {
    lane: Rc<Lane>,
    /// `None` when it was given away.
    stream: Option<Stream>,
    peer: Option<SocketAddr>,
    /// What came and was not answered.
    unread: Vec<u8>,
    /// The head among it, when its body has not come whole.
    unfinished: Option<Box<Unfinished>>,
    /// What is being written, before anything else happens.
    outgoing: Option<Outgoing>,
    state: State,
    place: Place,
    /// Whether there was a request before.
    is_used: bool,
}

enum State {
    /// Waits for a request.
    Idle,
    /// On the heap, so that a connection that waits has no room for it.
    Answering(LocalBoxFuture<'static, Answer>),
    Holding(Hold),
    /// Writes the answer of a poll. The poll is kept, for its session may have to wait until that is done.
    Telling(HeldPoll, Behind),
    Closing,
    /// Goes elsewhere.
    Leaving,
}

/// The state of a connection after its response.
#[derive(Debug, Clone, Copy)]
enum Behind {
    Idle,
    Closing,
    Leaving,
}

impl From<Behind> for State {
    fn from(behind: Behind) -> Self {
        match behind {
            Behind::Idle => Self::Idle,
            Behind::Closing => Self::Closing,
            Behind::Leaving => Self::Leaving,
        }
    }
}

/// A request whose body has not come whole.
struct Unfinished {
    outline: Outline,
    pace: Pace,
}

/// A poll that is held.
struct Hold {
    head: Head,
    poll: HeldPoll,
    /// Whether the head went out, with a space behind it.
    in_parts: bool,
}

/// What is left of a connection that goes elsewhere: the stream, and what came and was not served.
pub(super) type Left = Option<(Stream, Vec<u8>)>;

/// What a connection gets that waits for a request.
#[expect(clippy::large_enum_variant, reason = "it is taken apart where it is made")]
enum Next {
    Request(Request),
    /// Something that is not the lane's.
    Foreign,
    /// Nothing, or a part of a request and no more of it, in time.
    Late,
    /// A body that did not come whole while a server that stops waited for it.
    CutShort,
    Ended,
}

impl Connection {
    pub(super) fn new(lane: Rc<Lane>, stream: Stream, peer: Option<SocketAddr>) -> Self {
        Self {
            place: Place::take(&lane.clock, REQUEST_HEAD),
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
                match (&self.unfinished, self.lane.edge.stop.grace_is_over()) {
                    (None, _) => return Poll::Ready(Ok(Next::Ended)),
                    (Some(_), true) => return Poll::Ready(Ok(Next::CutShort)),
                    (Some(_), false) => {}
                }
            }
            let Poll::Ready(came) = self.poll_read(cx)? else {
                let is_over = self.is_used && self.unread.is_empty();
                return self.place.poll(cx).map(|()| Ok(if is_over { Next::Ended } else { Next::Late }));
            };
            let next = match came {
                0 if self.unread.is_empty() => Some(Next::Ended),
                0 => Some(Next::Foreign),
                _ => self.look(),
            };
            if let Some(next) = next {
                return Poll::Ready(Ok(next));
            }
            // A head has a time as a whole.
            if let Some(unfinished) = &mut self.unfinished {
                unfinished.pace.came(came);
                self.place.set(unfinished.pace.wait());
            } else if self.is_used && self.unread.len() == came {
                self.place.set(REQUEST_HEAD);
            }
        }
    }

    /// Reads what is there; gives how much that is.
    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let Some(stream) = &mut self.stream else { return Poll::Ready(Ok(0)) };
        let mut buffer = self.lane.buffer.borrow_mut();
        let mut read = ReadBuf::new(&mut buffer);
        ready!(Pin::new(stream).poll_read(cx, &mut read))?;
        self.unread.extend_from_slice(read.filled());
        Poll::Ready(Ok(read.filled().len()))
    }

    /// What is unread, if it can be told already.
    fn look(&mut self) -> Option<Next> {
        // What is large is counted, and not here.
        let most = self.lane.edge.limits().bayeux_bytes.min(LARGE);
        let (outline, pace) = match self.unfinished.take() {
            Some(unfinished) => (unfinished.outline, Some(unfinished.pace)),
            None => match look(&self.unread, |path| self.lane.find(path), most) {
                Look::Incomplete => return None,
                Look::Foreign => return Some(Next::Foreign),
                Look::Head(outline) => (outline, None),
            },
        };
        // Another request stands behind it: the order of several answers is not the lane's business.
        if self.unread.len() > outline.end {
            return Some(Next::Foreign);
        }
        let bytes = std::mem::take(&mut self.unread);
        let request = Request { lane: self.lane.clone(), outline, peer: self.peer, bytes };
        if request.is_whole() {
            return Some(Next::Request(request));
        }
        // Only known callers are waited for, so that nobody else fills memory here.
        let is_known = matches!(Caller::known(&request), Some(Ok(_)));
        self.unread = request.bytes;
        if !is_known {
            return Some(Next::Foreign);
        }
        let pace = pace.unwrap_or_else(|| Pace::new(self.lane.edge.limits()));
        self.unfinished = Some(Box::new(Unfinished { outline: request.outline, pace }));
        None
    }

    /// Ready with what there is to tell, or with nothing when a space is due.
    fn poll_hold(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<Text>>> {
        // First, for what is written to a peer that is gone is lost without a word (B-22): an end that the system told of before
        // this turn of the worker is seen here. What else comes stands behind a request that is not answered, and is kept.
        let is_over = loop {
            // The end behind so much could not be seen.
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
            // Behind requests that are not answered it is for actix-http to close.
            hold.head.closes |= self.unread.is_empty();
            return Poll::Ready(Ok(Some(hold.poll.end_empty())));
        }
        match hold.poll.poll_text(cx, |_| false) {
            Poll::Ready(text) => Poll::Ready(Ok(Some(text))),
            Poll::Pending => self.place.poll(cx).map(|()| Ok(None)),
        }
    }

    /// Has a space written, or the answer.
    fn tell(&mut self, text: Option<Text>) {
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
        let behind = self.behind(closes);
        if let State::Holding(hold) = std::mem::replace(&mut self.state, behind.into()) {
            self.state = State::Telling(hold.poll, behind);
        }
        self.write(outgoing);
    }

    /// What is answered to a request that did not come whole, for this reason.
    fn refuse(&mut self, why: &ApiError) -> Outgoing {
        let Some(unfinished) = self.unfinished.take() else { return Outgoing::late(&self.lane.config) };
        let bytes = std::mem::take(&mut self.unread);
        let request =
            Request { lane: self.lane.clone(), outline: unfinished.outline, peer: self.peer, bytes };
        Outgoing::refusal(why.answer(&request), true, None, &self.lane.config)
    }

    fn is_stopping(&self) -> bool {
        self.lane.edge.stop.has_begun()
    }

    /// Goes on with an answer.
    fn go_on(&mut self, answer: Answer) {
        match answer {
            Answer::Now(outgoing, closes) => self.answer(outgoing, closes),
            Answer::Later(head, poll) => {
                self.state = State::Holding(Hold { head, poll, in_parts: false });
                self.place.set(self.lane.edge.limits().keep_alive);
            }
        }
    }

    /// Has an answer written, behind which the connection closes or waits for the next request.
    fn answer(&mut self, outgoing: Outgoing, closes: bool) {
        self.state = self.behind(closes).into();
        self.write(outgoing);
    }

    fn behind(&self, closes: bool) -> Behind {
        match closes {
            true => Behind::Closing,
            false if self.unread.is_empty() => Behind::Idle,
            false => Behind::Leaving,
        }
    }

    fn write(&mut self, outgoing: Outgoing) {
        self.outgoing = Some(outgoing);
        self.is_used = true;
    }

    /// Writes what is to be written. A client that takes nothing for a while is gone.
    fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let (Some(outgoing), Some(stream)) = (&mut self.outgoing, &mut self.stream) else {
            return Poll::Ready(Ok(()));
        };
        let slowest = self.lane.edge.limits().unread_answer;
        if outgoing.poll_all(cx, stream, &mut self.lane.buffer.borrow_mut())?.is_pending() {
            outgoing.is_stuck &= !stream.took_some();
            if !std::mem::replace(&mut outgoing.is_stuck, true) {
                self.place.set(slowest);
                if let State::Telling(poll, _) = &mut self.state {
                    poll.writing_takes_a_while();
                }
            }
            return self.place.poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()));
        }
        self.outgoing = None;
        if let State::Telling(_, behind) = self.state {
            self.state = behind.into();
        }
        self.place.set(match self.state {
            State::Holding(_) => self.lane.edge.limits().keep_alive,
            State::Closing => slowest,
            _ => KEEP_ALIVE,
        });
        Poll::Ready(Ok(()))
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(stream) = &mut self.stream else { return Poll::Ready(Ok(())) };
        match Pin::new(stream).poll_shutdown(cx) {
            Poll::Pending => self.place.poll(cx).map(Ok),
            closed => closed,
        }
    }
}

impl Future for Connection {
    type Output = io::Result<Left>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let connection = self.get_mut();
        loop {
            ready!(connection.poll_write(cx))?;
            match &mut connection.state {
                State::Idle => match ready!(connection.poll_next(cx))? {
                    Next::Request(request) => {
                        let known = Caller::known(&request);
                        match hold_at_once(known.as_ref(), &request) {
                            Some(held) => connection.go_on(held),
                            None => connection.state = State::Answering(Box::pin(answer(known, request))),
                        }
                    }
                    Next::Foreign => connection.state = State::Leaving,
                    Next::CutShort => {
                        let refusal = connection.refuse(&ApiError::Stopping);
                        connection.answer(refusal, true);
                    }
                    Next::Late => {
                        let refusal = connection.refuse(&ApiError::BodyTooSlow);
                        connection.answer(refusal, true);
                    }
                    Next::Ended => connection.state = State::Closing,
                },
                State::Answering(answer) => {
                    let answer = ready!(answer.as_mut().poll(cx));
                    connection.go_on(answer);
                }
                State::Holding(_) => {
                    let text = ready!(connection.poll_hold(cx))?;
                    connection.tell(text);
                }
                // What is written comes first, and this ends with it.
                State::Telling(_, behind) => connection.state = (*behind).into(),
                State::Closing => return connection.poll_close(cx).map_ok(|()| None),
                State::Leaving => {
                    let unread = std::mem::take(&mut connection.unread);
                    return Poll::Ready(Ok(connection.stream.take().map(|stream| (stream, unread))));
                }
            }
        }
    }
}
