//! The two owners of a connection of the fast lane: its task, and the sessions of its thread.
//!
//! The task polls the connection when bytes arrive or a deadline passes. In between, the session of a held poll calls
//! the connection with the response, which is written within that call. A delivery therefore costs the task one turn
//! only: the one that reads the next request of the client.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use platform_actors::session::{ConnectResponse, PollConnection, PollHere};
use platform_front::connection::{HandedOver, Stream};

use super::Lane;
use super::connection::Connection;

/// Serves a connection as long as its requests are ones that the lane supports. At the first other request, the future
/// resolves to the connection and the bytes that were read but not processed; it resolves to `None` when the connection
/// ended normally.
pub(crate) struct Connected(Rc<Shared>);

/// A connection that its task shares with the session of its poll.
struct Shared {
    /// The connection; `None` after its task ended. It is borrowed while its task is polled.
    connection: RefCell<Option<Connection>>,
    /// The number of the last poll of the connection. Sessions of earlier polls have a smaller number, and their
    /// responses are rejected.
    last_poll: Cell<u32>,
    /// The response to a poll whose session responded while it was called with the connect.
    early: Cell<Option<Box<ConnectResponse>>>,
}

impl Connected {
    pub(super) fn new(lane: Rc<Lane>, stream: Stream, peer: Option<SocketAddr>) -> Self {
        let connection = RefCell::new(Some(Connection::new(lane, stream, peer)));
        Self(Rc::new(Shared { connection, last_poll: Cell::new(0), early: Cell::new(None) }))
    }
}

impl Shared {
    /// Returns the handle by which a session calls the connection with the response to its next poll.
    fn next_poll(self: &Rc<Self>) -> PollHere {
        let number = self.last_poll.get().wrapping_add(1);
        self.last_poll.set(number);
        PollHere { connection: self.clone(), number }
    }
}

impl Future for Connected {
    type Output = io::Result<Option<HandedOver>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let shared = &self.0;
        match &mut *shared.connection.borrow_mut() {
            Some(connection) => connection.poll(cx, || shared.next_poll(), || shared.early.take()),
            None => Poll::Ready(Ok(None)),
        }
    }
}

impl Drop for Connected {
    /// Closes the connection even if a session still refers to it. The session finds out when it responds to its poll.
    fn drop(&mut self) {
        let connection = self.0.connection.borrow_mut().take();
        drop(connection);
    }
}

impl PollConnection for Shared {
    fn respond(&self, poll: u32, response: ConnectResponse) -> Result<(), ConnectResponse> {
        if poll != self.last_poll.get() {
            return Err(response);
        }
        let Ok(mut connection) = self.connection.try_borrow_mut() else {
            // The connection is borrowed by its task, which is calling the session with the connect.
            self.early.set(Some(Box::new(response)));
            return Ok(());
        };
        match connection.as_mut() {
            Some(connection) => connection.take_response(response),
            None => Err(response),
        }
    }

    fn holds(&self, poll: u32) -> bool {
        let waits = |connection: &Connection| connection.waits_for_call();
        poll == self.last_poll.get()
            && self.connection.try_borrow().is_ok_and(|connection| connection.as_ref().is_some_and(waits))
    }
}
