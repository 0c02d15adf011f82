//! The requests of a connection of the fast lane: reads them and decides whether the lane supports them.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use platform_front::connection::{Pace, REQUEST_HEAD, Stream};
use tokio::io::{AsyncRead, ReadBuf};

use super::connection::Connection;
use super::request::{Look, Outline, Request, look};
use super::response::{Outgoing, with_id};
use crate::auth::Caller;
use crate::http::error::ApiError;
use crate::http::held_bytes::LARGE;

/// A request whose body is incomplete.
pub(super) struct Unfinished {
    outline: Outline,
    pace: Pace,
}

/// The event that ends the wait for a request.
#[expect(clippy::large_enum_variant, reason = "it is taken apart where it is made")]
pub(super) enum Next {
    Request(Request),
    /// The request is not one that the lane supports.
    Foreign,
    /// The time limit has passed, with no head or only a part of one.
    Late,
    /// The body of a request did not arrive in time, or not before a server that is stopping had to exit.
    Refused(Box<Unfinished>, ApiError),
    Ended,
}

impl Connection {
    /// Waits for a request.
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Next>> {
        loop {
            if self.is_stopping() {
                match self.unfinished.take() {
                    None => return Poll::Ready(Ok(Next::Ended)),
                    Some(unfinished) if self.lane.components.stop.grace_is_over() => {
                        return Poll::Ready(Ok(Next::Refused(unfinished, ApiError::Stopping)));
                    }
                    unfinished => self.unfinished = unfinished,
                }
            }
            let Poll::Ready(arrived) = self.poll_read(cx)? else {
                ready!(self.deadline.poll(cx));
                return Poll::Ready(Ok(match self.unfinished.take() {
                    Some(unfinished) => Next::Refused(unfinished, ApiError::BodyTooSlow),
                    None if self.is_used && self.unread.is_empty() => Next::Ended,
                    None => Next::Late,
                }));
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
    pub(super) fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
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
            None => match look(&self.unread, |verb, target| self.lane.find(verb, target), most) {
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
        let request = self.request(outline, bytes);
        if !request.is_accepted() {
            self.unread = request.bytes;
            return Some(Next::Foreign);
        }
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

    fn request(&self, outline: Outline, bytes: Vec<u8>) -> Request {
        let certificate = self.stream.as_ref().and_then(Stream::certificate);
        Request { lane: self.lane.clone(), outline, peer: self.peer, certificate, bytes }
    }

    /// Returns the error response to a request whose body is incomplete.
    pub(super) fn refuse(&mut self, unfinished: Box<Unfinished>, why: &ApiError) -> Outgoing {
        let bytes = std::mem::take(&mut self.unread);
        let request = self.request(unfinished.outline, bytes);
        let refusal = why.answer(&request);
        let requests = &self.lane.components.requests;
        let id = requests.completed_poll(&request, refusal.status(), None, Duration::ZERO);
        Outgoing::rendered(refusal, true, with_id(None, id), &self.lane.config)
    }
}
