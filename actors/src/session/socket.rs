//! The WebSocket of a session. Notifications are sent at once, as fast as the peer reads (B-19).

use std::sync::Arc;

use actix::prelude::*;
use parking_lot::Mutex;

use super::queue::size;
use super::{ClientId, Delivery, SessionActor, SessionContext};
use crate::hub::Notification;

/// The most bytes of notifications in one frame, unless a single notification is larger.
const FRAME_BYTES: usize = 64 << 10;

/// A message from a session to its socket.
#[derive(Debug)]
pub enum SocketMessage {
    /// Write these notifications as one frame. The reply comes when the connection has taken the frame, and only then
    /// does the session send the next. So a peer that does not read fills the session's bounded queue and nothing
    /// else.
    Frames(Frames),
    /// The session ended, and its client learns of it from the response to its connect or disconnect. The socket
    /// stays open for other sessions and for a new handshake (B-24).
    Ended(ClientId),
    /// The session ended or uses another connection, and no response says so. A socket without other sessions closes.
    Gone(ClientId),
    /// The server is stopping. The socket closes when all connects have their responses (B-24).
    Leave,
}

impl Message for SocketMessage {
    type Result = ();
}

/// The notifications of one frame, oldest first. The session takes them back when its client changes to another
/// connection before the socket writes them. So none is written twice, and none is lost with a connection that hangs.
#[derive(Debug, Clone)]
pub struct Frames(Arc<Mutex<Vec<Arc<Notification>>>>);

impl Frames {
    fn new(notifications: Vec<Arc<Notification>>) -> Self {
        Self(Arc::new(Mutex::new(notifications)))
    }

    /// Takes the notifications. Only the first caller receives them.
    pub fn take(&self) -> Vec<Arc<Notification>> {
        std::mem::take(&mut *self.0.lock())
    }
}

/// Makes a socket the connection of the session; a socket that was attached before is closed.
///
/// Sent by the WebSocket transport after a handshake, or when a new socket sends a message with an existing clientId
/// (B-18). The reply says whether the session belongs to that user.
#[derive(Debug, Message)]
#[rtype(result = "bool")]
pub struct AttachSocket {
    /// The user who sent the request.
    pub user: Arc<str>,
    /// The WebSocket actor.
    pub socket: Recipient<SocketMessage>,
}

/// Detaches the socket from a session because another session begins on it. A session without a held connect detaches
/// until its client uses it again, because the client may have started over and would receive every notification
/// twice (B-10a).
///
/// Sent by the WebSocket transport at a handshake. The reply says whether the session detached.
#[derive(Debug, Message)]
#[rtype(result = "bool")]
pub struct SetSocketAside {
    /// The WebSocket actor.
    pub socket: Recipient<SocketMessage>,
}

/// Reports that a socket closed. Sent by the WebSocket transport.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct SocketClosed {
    /// The WebSocket actor.
    pub socket: Recipient<SocketMessage>,
}

/// Whether a response tells the client that its session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EndNotice {
    InResponse,
    Missing,
}

#[derive(Debug)]
pub(super) struct Socket {
    recipient: Recipient<SocketMessage>,
    /// The frame that is being written; the next frame waits for it.
    writing: Option<Frames>,
}

impl Socket {
    /// Tells the socket that the session ended.
    pub(super) fn end(&self, client: ClientId, notice: EndNotice) {
        self.recipient.do_send(match notice {
            EndNotice::InResponse => SocketMessage::Ended(client),
            EndNotice::Missing => SocketMessage::Gone(client),
        });
    }

    /// Tells the socket that the server is stopping.
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

    /// Detaches the socket. Notifications that it did not write return to the front of the queue.
    pub(super) fn take_socket(&mut self) -> Option<Box<Socket>> {
        let socket = self.socket.take()?;
        self.is_being_written = false;
        if let Some(frames) = &socket.writing {
            self.queue.put_back(Delivery { notifications: frames.take(), batch: None });
        }
        Some(socket)
    }

    /// Detaches the socket because the client uses another connection now.
    pub(super) fn leave_socket(&mut self) {
        if let Some(socket) = self.take_socket() {
            socket.end(self.client, EndNotice::Missing);
        }
    }

    /// Sends the next frame if the socket is ready for one.
    pub(super) fn flush_socket(&mut self, ctx: &mut SessionContext) {
        let Some(socket) =
            self.socket.as_mut().filter(|socket| socket.writing.is_none() && !self.queue.is_empty())
        else {
            return;
        };
        let notifications = self.queue.take_frame(FRAME_BYTES);
        let count = notifications.len() as u64;
        // A client this far behind reads for a while before it sees the response to its connect (B-10a).
        self.is_being_written |= !self.queue.is_empty() || size(&notifications) > FRAME_BYTES;
        let frames = Frames::new(notifications);
        socket.writing = Some(frames.clone());
        let recipient = socket.recipient.clone();
        let written = recipient.send(SocketMessage::Frames(frames)).into_actor(self);
        ctx.spawn(written.map(move |written, session, ctx| {
            // If the client changed to another connection, that connection has the unwritten notifications.
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
