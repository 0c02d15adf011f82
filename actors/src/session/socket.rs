//! A WebSocket of a session: notifications go out at once, as fast as the peer reads (B-19).

use std::sync::Arc;

use actix::prelude::*;
use parking_lot::Mutex;

use super::queue::size;
use super::{ClientId, Delivery, SessionActor, SessionContext};
use crate::hub::Notification;

/// Bytes of notifications one frame holds at most, unless a single one is larger.
const FRAME_BYTES: usize = 64 << 10;

/// What a session tells its socket.
#[derive(Debug)]
pub enum SocketMessage {
    /// Write these as one frame. This is answered when the connection has taken it, and the next come then: a peer that does
    /// not read makes the session's bounded queue grow, nothing else.
    Frames(Frames),
    /// This session is over, and its client learns of it by the reply to its connect or disconnect. The socket stays open,
    /// for other sessions and for a new handshake (B-24).
    Ended(ClientId),
    /// This session is over or uses another connection, and no reply says so: a socket without other sessions closes.
    Gone(ClientId),
    /// The server is stopping: close when all connects are answered (B-24).
    Leave,
}

impl Message for SocketMessage {
    type Result = ();
}

/// Notifications for one frame, oldest first. The session takes them back when its client changes to another connection
/// before the socket came to write them; so none is written twice, and none is lost with a connection that hangs.
#[derive(Debug, Clone)]
pub struct Frames(Arc<Mutex<Vec<Arc<Notification>>>>);

impl Frames {
    fn new(notifications: Vec<Arc<Notification>>) -> Self {
        Self(Arc::new(Mutex::new(notifications)))
    }

    /// The notifications, for whoever comes first; then there are none.
    pub fn take(&self) -> Vec<Arc<Notification>> {
        std::mem::take(&mut *self.0.lock())
    }
}

/// Makes a socket the way to the client; one attached before is closed.
///
/// Sent by the WebSocket transport after a handshake, or when a message with a live clientId came by a new socket
/// (B-18). The reply says whether the session is that user's.
#[derive(Debug, Message)]
#[rtype(result = "bool")]
pub struct AttachSocket {
    /// Who asks.
    pub user: Arc<str>,
    /// The transport.
    pub socket: Recipient<SocketMessage>,
}

/// Another session begins on this socket. A session that holds no connect there leaves the socket until its client uses it
/// again, for its client may have begun anew and would get everything twice (B-10a).
///
/// Sent by the WebSocket transport at a handshake. The reply says whether the session left.
#[derive(Debug, Message)]
#[rtype(result = "bool")]
pub struct SetSocketAside {
    /// The transport.
    pub socket: Recipient<SocketMessage>,
}

/// A socket is gone. Sent by the WebSocket transport.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct SocketClosed {
    /// The transport.
    pub socket: Recipient<SocketMessage>,
}

/// Whether the client of a session learns of its end without its socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClientIsTold {
    ByReply,
    Nothing,
}

#[derive(Debug)]
pub(super) struct Socket {
    recipient: Recipient<SocketMessage>,
    /// The frame on its way; the next waits for it.
    writing: Option<Frames>,
}

impl Socket {
    /// The session is over.
    pub(super) fn end(&self, client: ClientId, told: ClientIsTold) {
        self.recipient.do_send(match told {
            ClientIsTold::ByReply => SocketMessage::Ended(client),
            ClientIsTold::Nothing => SocketMessage::Gone(client),
        });
    }

    /// The server is stopping.
    pub(super) fn leave(&self) {
        self.recipient.do_send(SocketMessage::Leave);
    }
}

impl Handler<AttachSocket> for SessionActor {
    type Result = bool;

    fn handle(&mut self, attach: AttachSocket, ctx: &mut Self::Context) -> bool {
        if !self.belongs_to(&attach.user) {
            return false;
        }
        if self.uses(&attach.socket) {
            return true;
        }
        self.leave_socket();
        self.socket = Some(Box::new(Socket { recipient: attach.socket, writing: None }));
        self.appear(ctx);
        self.touch(ctx);
        self.hand_over_queue(ctx);
        true
    }
}

impl Handler<SetSocketAside> for SessionActor {
    type Result = bool;

    fn handle(&mut self, aside: SetSocketAside, _: &mut Self::Context) -> bool {
        if self.parked.is_some() && self.uses(&aside.socket) {
            return false;
        }
        if self.uses(&aside.socket) {
            self.take_socket();
        }
        true
    }
}

impl Handler<SocketClosed> for SessionActor {
    type Result = ();

    fn handle(&mut self, closed: SocketClosed, ctx: &mut Self::Context) {
        if self.uses(&closed.socket) {
            self.take_socket();
            self.touch(ctx);
            self.hand_over_queue(ctx);
        }
    }
}

impl SessionActor {
    fn uses(&self, socket: &Recipient<SocketMessage>) -> bool {
        self.socket.as_ref().is_some_and(|own| own.recipient == *socket)
    }

    /// Detaches the socket; what it did not come to write goes back to the front of the queue.
    pub(super) fn take_socket(&mut self) -> Option<Box<Socket>> {
        let socket = self.socket.take()?;
        self.is_being_written = false;
        if let Some(frames) = &socket.writing {
            self.queue.put_back(Delivery { notifications: frames.take(), batch: None });
        }
        Some(socket)
    }

    /// The client comes by another connection now.
    pub(super) fn leave_socket(&mut self) {
        if let Some(socket) = self.take_socket() {
            socket.end(self.client, ClientIsTold::Nothing);
        }
    }

    /// Hands the next frame to the socket when it is ready for one.
    pub(super) fn flush_socket(&mut self, ctx: &mut SessionContext) {
        let Some(socket) =
            self.socket.as_mut().filter(|socket| socket.writing.is_none() && !self.queue.is_empty())
        else {
            return;
        };
        let notifications = self.queue.take_frame(FRAME_BYTES);
        let count = notifications.len() as u64;
        // A client that is so far behind reads for a while before the reply to its connect comes (B-10a).
        self.is_being_written |= !self.queue.is_empty() || size(&notifications) > FRAME_BYTES;
        let frames = Frames::new(notifications);
        socket.writing = Some(frames.clone());
        let recipient = socket.recipient.clone();
        let written = recipient.send(SocketMessage::Frames(frames)).into_actor(self);
        ctx.spawn(written.map(move |written, session, ctx| {
            // Unless the client changed to another connection meanwhile, and with it what was not written.
            if session.uses(&recipient) {
                match (written, &mut session.socket) {
                    (Ok(()), Some(socket)) => {
                        socket.writing = None;
                        crate::metrics::DELIVERED.increment(count);
                        if std::mem::take(&mut session.is_being_written) {
                            session.touch(ctx);
                        }
                    }
                    _ => {
                        session.take_socket();
                        session.touch(ctx);
                    }
                }
                session.hand_over_queue(ctx);
            }
        }));
    }
}
