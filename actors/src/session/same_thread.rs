//! Direct calls between sessions and long polls of the same thread.
//!
//! A session usually runs on the thread of its connection. Its connects then need no message, and the responses need no
//! channel: the connection calls the session, and the session calls the connection, which writes the response at once.
//! So a broadcast to ten thousand polls wakes no task per delivery.

use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use actix::dev::ToEnvelope;
use actix::prelude::*;

use super::{ClientId, Connect, ConnectResponse, SessionActor, SessionContext, Sessions, SharedSession};

/// A connection that holds polls. Sessions of the same thread give it their responses.
pub trait PollConnection {
    /// Takes the response to a poll. The connection writes it at once, or keeps it until its task is polled.
    ///
    /// # Errors
    /// The response, if the connection no longer holds this poll.
    fn respond(&self, poll: u32, response: ConnectResponse) -> Result<(), ConnectResponse>;

    /// Returns whether the connection still holds this poll.
    fn holds(&self, poll: u32) -> bool;
}

/// A poll that is held by a connection of this thread.
#[derive(Clone)]
pub struct PollHere {
    /// The connection.
    pub connection: Rc<dyn PollConnection>,
    /// The number of the poll among those of its connection.
    pub number: u32,
}

impl fmt::Debug for PollHere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PollHere").field("number", &self.number).finish_non_exhaustive()
    }
}

/// A session that runs on this thread.
#[derive(Clone)]
pub struct SessionHere(pub(super) SharedSession);

impl SessionHere {
    /// Handles a connect in this call. It does not overtake notifications that an earlier connect of the client
    /// returns: connections of this thread return them by [`call`](Self::call), and messages of other threads are
    /// handled first. It may overtake other messages of the client, which arrive through other connections and so have
    /// no defined order.
    ///
    /// Returns `false` if the session cannot handle the connect now, because it has ended or is waiting. The caller
    /// then has to send the connect as a message.
    pub fn connect(&self, connect: Connect<PollHere>) -> bool {
        self.0.running.try_borrow_mut().is_ok_and(|mut running| running.connect(connect))
    }

    /// Returns the address of the session, for messages that are handled later.
    pub fn address(&self) -> Addr<SessionActor> {
        self.0.address.clone()
    }

    /// Handles a message in this call, or later if the session has to handle other messages first.
    pub fn call<M>(&self, message: M)
    where
        M: Message<Result = ()> + Send + 'static,
        SessionActor: Handler<M, Result = ()>,
        SessionContext: ToEnvelope<SessionActor, M>,
    {
        let rest = match self.0.running.try_borrow_mut() {
            Ok(mut running) => running.call(message),
            Err(_) => Err(message),
        };
        if let Err(message) = rest {
            self.0.address.do_send(message);
        }
    }

    /// Returns whether this is the session of a client of the tenant with these sessions.
    pub(crate) fn is(&self, client: ClientId, sessions: &Arc<Sessions>) -> bool {
        self.0.running.try_borrow().is_ok_and(|running| running.is(client, sessions))
    }
}

impl fmt::Debug for SessionHere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SessionHere")
    }
}
