//! The connection under actix-http: a stream that handlers can access, to withhold a response head until its body
//! begins and to detect whether the peer is still there.
//!
//! The response head of a held poll is ready long before its body. It is withheld here, so that both are sent in one
//! write, with the first space or with the text (B-24).
//!
//! A peer that sends nothing more may still read, so requests that arrived completely receive a response (B-24).
//! actix-http does not report such an end of the input, so code that holds a poll asks this module. actix-http also
//! treats a body as truncated when it sees the end of the input before it has passed on what it read. It therefore sees
//! the end only after the reader of the body has taken everything.

mod arriving;
mod head;

use std::cell::{Cell, RefCell, RefMut};
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::LocalBoxFuture;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::REQUEST_HEAD;
use super::clock::{Clock, Deadline};
use super::discard::Discard;
use super::framing::{Flaw, Passing, Requests};
use super::patience::{Terms, WriteTimeout};
use super::serving::Why;
use super::stream::Stream;
use crate::tls::ClientCertificate;
use head::Head;

/// The time for which work continues for a peer that sends nothing more. Such a peer may still read (B-24). More often
/// it went away, which cannot be detected before something is written to it.
pub const FOR_A_SILENT_PEER: Duration = Duration::from_secs(3);

/// A stream that handlers can access as a [`ConnectionHandle`]. Its state is on the heap, because each future through
/// which a connection passes reserves room for it.
pub struct Connection(Box<ConnectionState>);

struct ConnectionState {
    handle: ConnectionHandle,
    requests: Requests,
    /// The bytes that were read and are to be passed on to actix-http.
    passing: Bytes,
    terms: Rc<Terms>,
    writes: WriteTimeout,
    /// The time by which the head of the next request must be complete.
    head: Option<Deadline>,
    /// The bounds of what is discarded: a chunked body that nobody reads, and what arrives after the last response.
    discard: Option<Box<Discard>>,
    /// Whether bytes of a response were written since the last request arrived.
    has_written: bool,
    /// Resolves when the grace period for clients ends; created when the stop of the server begins.
    grace_over: Option<LocalBoxFuture<'static, ()>>,
}

/// A handler's access to its connection: `HttpRequest::conn_data::<ConnectionHandle>()`.
#[derive(Clone)]
pub struct ConnectionHandle(Rc<HandleState>);

struct HandleState {
    stream: RefCell<Stream>,
    clock: Rc<Clock>,
    head: Head,
    peer_ended: Cell<bool>,
    /// Whether the connection was read since [`ConnectionHandle::expect_read`]. `came` says whether bytes arrived since
    /// then.
    read: Cell<bool>,
    came: Cell<bool>,
    body: Cell<BodyIs>,
    /// Whether the last request has a body whose end nobody has read.
    has_unread_body: Cell<bool>,
    /// The flaw of the request that was replaced.
    flaw: Cell<Option<Flaw>>,
    /// The waker of the task that waits to pass the end of the input to actix-http, once the body permits that.
    end_waits: RefCell<Option<Waker>>,
    /// Whether the server has stopped reading from the peer.
    given_up: Cell<bool>,
    /// Transfers the bytes of the connection after actix-http has upgraded it.
    upgraded: RefCell<Option<LocalBoxFuture<'static, ()>>>,
}

/// The progress of the reader of the request body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyIs {
    /// There is no body, or nobody reads it.
    Nothing,
    /// Bytes of the body have been received that its reader has not taken.
    Underway,
    /// The reader has taken all received bytes and waits for more.
    Taken,
}

impl ConnectionHandle {
    fn new(stream: Stream, clock: Rc<Clock>) -> Self {
        let stream = RefCell::new(stream);
        Self(Rc::new(HandleState {
            stream,
            clock,
            head: Head::default(),
            peer_ended: Cell::new(false),
            read: Cell::new(true),
            came: Cell::new(true),
            body: Cell::new(BodyIs::Nothing),
            has_unread_body: Cell::new(false),
            flaw: Cell::new(None),
            end_waits: RefCell::new(None),
            given_up: Cell::new(false),
            upgraded: RefCell::default(),
        }))
    }

    /// Returns the clock of the worker.
    pub fn clock(&self) -> &Rc<Clock> {
        &self.0.clock
    }

    /// Stops reading from the peer. actix-http sees the end of the input, so the connection closes after the response.
    pub fn give_up(&self, cx: &Context<'_>) {
        self.0.given_up.set(true);
        cx.waker().wake_by_ref();
    }

    /// Sets the future that serves the connection as soon as actix-http has finished with it.
    pub fn upgrade(&self, upgraded: LocalBoxFuture<'static, ()>) {
        *self.0.upgraded.borrow_mut() = Some(upgraded);
    }

    pub(super) fn take_upgraded(&self) -> Option<LocalBoxFuture<'static, ()>> {
        self.0.upgraded.take()
    }

    /// Withholds the head of the next response until the first byte of its body, or until its end.
    pub fn withhold_head(&self) {
        self.0.head.withhold.set(true);
    }

    /// Adds `connection: close` to a head that is still withheld.
    pub fn close_behind_answer(&self) {
        self.0.head.say_close();
    }

    /// Returns whether the peer sends nothing more, because it closed the connection or its half of it. This event
    /// wakes the task of the connection, and thereby the handler or response body that the task polls.
    pub fn peer_has_ended(&self) -> bool {
        self.0.peer_ended.get()
    }

    /// Resolves when the peer sends nothing more. It must be awaited in the task of the connection.
    pub async fn peer_ends(&self) {
        poll_fn(|_| if self.peer_has_ended() { Poll::Ready(()) } else { Poll::Pending }).await;
    }

    /// Returns whether the end of the peer can still be detected. actix-http reads each time before it polls a response
    /// body, but it stops reading after bytes that are not a request, and after too many bytes.
    pub fn is_read(&self) -> bool {
        self.0.read.get()
    }

    /// Called by a body that waits. On the next poll, [`is_read`](Self::is_read) returns whether the connection was
    /// read since. If bytes arrived, the body is polled once more, because that read may have been the last one.
    pub fn expect_read(&self, cx: &Context<'_>) {
        self.0.read.set(false);
        if self.0.came.take() {
            cx.waker().wake_by_ref();
        }
    }

    /// See [`Stream::certificate`].
    pub fn certificate(&self) -> Option<Arc<ClientCertificate>> {
        self.0.stream.borrow().certificate()
    }

    /// See [`Stream::bound_send_buffer`].
    pub fn bound_send_buffer(&self) {
        self.0.stream.borrow().bound_send_buffer();
    }

    /// Records how far the reader of the request body has got.
    pub fn body_is(&self, body: BodyIs) {
        self.0.body.set(body);
        if body != BodyIs::Underway
            && let Some(waker) = self.0.end_waits.take()
        {
            waker.wake();
        }
    }

    /// Records that the end of the request body was read.
    pub fn body_was_read(&self) {
        self.0.has_unread_body.set(false);
    }

    /// Returns whether the last request has a body whose end was not read. The connection cannot be used for another
    /// request then.
    pub fn has_unread_body(&self) -> bool {
        self.0.has_unread_body.get()
    }

    /// Returns what is wrong with the request that was replaced by one to [`REPLACED`](super::REPLACED).
    pub fn flaw(&self) -> Option<Flaw> {
        self.0.flaw.get()
    }

    fn something_came(&self) {
        self.0.came.set(true);
        if self.0.body.get() == BodyIs::Taken {
            self.0.body.set(BodyIs::Underway);
        }
    }

    /// Records that the peer sends nothing more, or nothing that could be read. Ready when actix-http may see the end
    /// of the input.
    fn poll_end(&self, cx: &Context<'_>) -> Poll<()> {
        self.0.peer_ended.set(true);
        if self.0.body.get() == BodyIs::Underway {
            *self.0.end_waits.borrow_mut() = Some(cx.waker().clone());
            return Poll::Pending;
        }
        Poll::Ready(())
    }

    fn poll_write(&self, cx: &mut Context<'_>, buffer: &[u8]) -> Poll<io::Result<usize>> {
        let (head, mut stream) = (&self.0.head, self.0.stream.borrow_mut());
        if head.takes(buffer) {
            return Poll::Ready(Ok(buffer.len()));
        }
        let mut withheld = head.withheld.borrow_mut();
        while !withheld.is_empty() {
            let both = [IoSlice::new(&withheld), IoSlice::new(buffer)];
            let written = ready!(Pin::new(&mut *stream).poll_write_vectored(cx, &both))?;
            if written == 0 {
                return Poll::Ready(Ok(0));
            }
            if written < withheld.len() {
                withheld.drain(..written);
                continue;
            }
            let of_buffer = written - withheld.len();
            *withheld = Vec::new();
            if of_buffer > 0 {
                return Poll::Ready(Ok(of_buffer));
            }
        }
        Pin::new(&mut *stream).poll_write(cx, buffer)
    }

    fn poll_shutdown(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let (mut withheld, mut stream) = (self.0.head.withheld.borrow_mut(), self.0.stream.borrow_mut());
        while !withheld.is_empty() {
            match ready!(Pin::new(&mut *stream).poll_write(cx, &withheld))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => drop(withheld.drain(..written)),
            }
        }
        Pin::new(&mut *stream).poll_shutdown(cx)
    }

    /// Returns whether the peer has closed or reset the connection, according to the operating system: the worker may
    /// not have noticed it yet. It must be called while the connection is polled.
    pub fn peer_is_gone(&self, cx: &Context<'_>) -> bool {
        self.0.stream.borrow_mut().peer_is_gone(cx)
    }
}

impl Connection {
    /// Creates a connection. `unread` contains the bytes that were already read from it.
    pub fn new(stream: Stream, unread: &[u8], why: Why, terms: Rc<Terms>) -> Self {
        let handle = ConnectionHandle::new(stream, terms.clock.clone());
        let head = Some(Deadline::take(&terms.clock, REQUEST_HEAD));
        let mut state = ConnectionState {
            handle,
            requests: Requests::new(terms.takes_upgrades),
            passing: Bytes::new(),
            terms,
            writes: WriteTimeout::default(),
            head,
            discard: None,
            has_written: false,
            grace_over: None,
        };
        match why {
            Why::Foreign if unread.is_empty() => {}
            Why::Foreign => match state.follow(unread) {
                Passing::First(count) => state.passing = Bytes::copy_from_slice(&unread[..count]),
                Passing::Instead(other) => state.passing = other.into(),
            },
            Why::Late => state.refuse(Flaw::Slow),
            Why::Plain => state.refuse(Flaw::PlainHttp),
        }
        Self(Box::new(state))
    }

    /// Returns the handle by which routes reach the connection.
    pub fn handle(&self) -> &ConnectionHandle {
        &self.0.handle
    }
}

impl ConnectionState {
    fn stream(&self) -> RefMut<'_, Stream> {
        self.handle.0.stream.borrow_mut()
    }

    fn unless_over<T>(&mut self, cx: &Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        self.writes.unless_over(cx, &mut self.handle.0.stream.borrow_mut(), &self.terms, written)
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self.get_mut().0;
        this.handle.0.read.set(true);
        let before = buffer.filled().len();
        loop {
            if !this.passing.is_empty() {
                let most = buffer.remaining().min(this.passing.len());
                buffer.put_slice(&this.passing.split_to(most));
            }
            if buffer.filled().len() > before {
                this.handle.something_came();
                return Poll::Ready(Ok(()));
            }
            if this.handle.0.given_up.get() {
                return Poll::Ready(Ok(()));
            }
            let read = Pin::new(&mut *this.stream()).poll_read(cx, buffer);
            match read {
                Poll::Ready(Ok(())) if buffer.filled().len() > before => {
                    this.handle.0.came.set(true);
                    let arrived = buffer.filled().len() - before;
                    match this.follow(&buffer.filled()[before..]) {
                        Passing::First(count) => buffer.set_filled(before + count),
                        Passing::Instead(other) => {
                            buffer.set_filled(before);
                            this.passing = other.into();
                        }
                    }
                    if this.poll_unread_chunks(cx, arrived).is_ready() {
                        buffer.set_filled(before);
                        this.handle.give_up(cx);
                    }
                }
                Poll::Ready(Ok(())) => return this.handle.poll_end(cx).map(Ok),
                Poll::Pending if this.requests.are_broken() => return this.handle.poll_end(cx).map(Ok),
                Poll::Pending if this.poll_head(cx).is_ready() => this.refuse(Flaw::Slow),
                Poll::Pending if this.poll_unread_chunks(cx, 0).is_ready() => this.handle.give_up(cx),
                Poll::Pending => return this.poll_grace(cx).map(Ok),
                failed => return failed,
            }
        }
    }
}

impl AsyncWrite for Connection {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &[u8]) -> Poll<io::Result<usize>> {
        let this = &mut *self.get_mut().0;
        let written = this.handle.poll_write(cx, buffer);
        this.has_written = true;
        this.unless_over(cx, written)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self.get_mut().0;
        let flushed = Pin::new(&mut *this.stream()).poll_flush(cx);
        this.unless_over(cx, flushed)
    }

    /// Writes a head that is still withheld, because the response body was empty and the end of the response is the end
    /// of the connection. Ready when the client has sent everything that it will send.
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self.get_mut().0;
        let shut = this.handle.poll_shutdown(cx);
        ready!(this.unless_over(cx, shut))?;
        this.poll_rest(cx).map(Ok)
    }
}

#[cfg(test)]
mod tests;
