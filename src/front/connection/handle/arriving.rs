//! The bytes that arrive on a connection: requests, the end of the peer, and bytes that are discarded.

use std::task::{Context, Poll};

use super::{BodyIs, ConnectionState};
use crate::connection::REQUEST_HEAD;
use crate::connection::clock::Deadline;
use crate::connection::framing::{Flaw, Passing};

impl ConnectionState {
    /// Follows received bytes, and starts or ends the time limit of a head. The limit applies to the whole head, so
    /// further bytes do not extend it.
    pub(super) fn follow(&mut self, bytes: &[u8]) -> Passing {
        let passing = self.requests.follow(bytes);
        let handle = &self.handle.0;
        handle.flaw.set(self.requests.flaw());
        if let Some(has_body) = self.requests.begun() {
            handle.has_unread_body.set(has_body);
            (self.has_written, self.discard) = (false, None);
        }
        match (self.requests.are_in_head(), &self.head) {
            (true, None) => self.head = Some(Deadline::take(&self.terms.clock, REQUEST_HEAD)),
            (false, Some(_)) => self.head = None,
            _ => {}
        }
        passing
    }

    /// Replaces the request whose head did not arrive.
    pub(super) fn refuse(&mut self, flaw: Flaw) {
        self.passing = self.requests.refuse(flaw).into();
        self.handle.0.flaw.set(Some(flaw));
        self.head = None;
    }

    /// Counts bytes that arrived of a chunked body that nobody reads, or waits for more of them. actix-http reads such
    /// a body to its end, without a bound. Ready when it has lasted too long.
    pub(super) fn poll_unread_chunks(&mut self, cx: &Context<'_>, arrived: usize) -> Poll<()> {
        let is_unread = self.has_written && self.requests.are_in_chunks();
        if !is_unread || self.handle.0.body.get() != BodyIs::Nothing {
            return Poll::Pending;
        }
        let discard = self.discard.get_or_insert_with(|| self.terms.discard());
        if arrived > 0 { discard.took(arrived) } else { discard.poll_bounds(cx) }
    }

    /// Discards what the client still sends after the last response (C-07b).
    pub(super) fn poll_rest(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let is_over = !self.requests.are_incomplete() || self.handle.peer_has_ended();
        if is_over || self.terms.stop.grace_is_over() {
            return Poll::Ready(());
        }
        let discard = self.discard.get_or_insert_with(|| self.terms.discard());
        let (stream, requests) = (&mut *self.handle.0.stream.borrow_mut(), &mut self.requests);
        discard.poll(cx, stream, |bytes| requests.skip(bytes))
    }

    /// Ready when the head of the next request did not arrive in time.
    pub(super) fn poll_head(&mut self, cx: &Context<'_>) -> Poll<()> {
        self.head.as_mut().map_or(Poll::Pending, |head| head.poll(cx))
    }

    /// Ready when the server is stopping and the grace period for clients is over. actix-http then sees the end of the
    /// input.
    pub(super) fn poll_grace(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let stop = &self.terms.stop;
        if !stop.has_begun() {
            return Poll::Pending;
        }
        if stop.grace_is_over() {
            return Poll::Ready(());
        }
        let grace_over = self.grace_over.get_or_insert_with(|| {
            let stop = stop.clone();
            Box::pin(async move { stop.grace_over().await })
        });
        grace_over.as_mut().poll(cx)
    }
}
