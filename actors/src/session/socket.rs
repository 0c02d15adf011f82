//! A WebSocket of a session: notifications go out at once, as fast as the peer reads (B-19).

use std::sync::Arc;

use actix::prelude::*;

use super::{Delivery, SessionActor, SessionContext};
use crate::hub::Notification;

/// Bytes of notifications one frame holds at most, unless a single one is larger.
const FRAME_BYTES: usize = 64 << 10;

/// What a session tells its socket.
#[derive(Debug)]
pub enum SocketMessage {
    /// Write these as one frame. The next come when this was handed to the connection: a peer that does not read makes
    /// the session's bounded queue grow, nothing else.
    Frames(Frames),
    /// The session is over.
    Closed,
}

impl Message for SocketMessage {
    type Result = ();
}

/// Notifications for one frame, oldest first.
#[derive(Debug)]
pub struct Frames(pub Vec<Arc<Notification>>);

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

/// A socket is gone; the session's time starts to run. Sent by the WebSocket transport.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct SocketClosed {
    /// The transport.
    pub socket: Recipient<SocketMessage>,
}

#[derive(Debug)]
pub(super) struct Socket {
    recipient: Recipient<SocketMessage>,
    /// Whether a frame is on its way; the next waits for it.
    writing: bool,
}

impl Socket {
    pub(super) fn close(&self) {
        self.recipient.do_send(SocketMessage::Closed);
    }
}

impl Handler<AttachSocket> for SessionActor {
    type Result = bool;

    fn handle(&mut self, attach: AttachSocket, ctx: &mut Self::Context) -> bool {
        if !self.belongs_to(&attach.user) {
            return false;
        }
        if self.socket.as_ref().is_some_and(|socket| socket.recipient == attach.socket) {
            return true;
        }
        if let Some(old) = self.socket.replace(Box::new(Socket { recipient: attach.socket, writing: false }))
        {
            old.close();
        }
        self.appear(ctx);
        self.flush_socket(ctx);
        true
    }
}

impl Handler<SocketClosed> for SessionActor {
    type Result = ();

    fn handle(&mut self, closed: SocketClosed, ctx: &mut Self::Context) {
        if self.socket.as_ref().is_some_and(|socket| socket.recipient == closed.socket) {
            self.socket = None;
            self.touch(ctx);
        }
    }
}

impl SessionActor {
    /// Hands the next frame to the socket when it is ready for one.
    pub(super) fn flush_socket(&mut self, ctx: &mut SessionContext) {
        let Some(socket) = self.socket.as_mut().filter(|socket| !socket.writing && !self.queue.is_empty())
        else {
            return;
        };
        socket.writing = true;
        let recipient = socket.recipient.clone();
        let notifications = self.queue.take_frame(FRAME_BYTES);
        let frames = SocketMessage::Frames(Frames(notifications.clone()));
        let written = recipient.send(frames).into_actor(self);
        ctx.spawn(written.map(move |written, session, ctx| {
            let count = notifications.len() as u64;
            let same = session.socket.as_mut().filter(|socket| socket.recipient == recipient);
            match (written, same) {
                (Ok(()), Some(socket)) => {
                    socket.writing = false;
                    crate::metrics::DELIVERED.increment(count);
                }
                (Ok(()), None) => crate::metrics::DELIVERED.increment(count),
                (Err(_), same) => {
                    session.queue.put_back(Delivery { notifications, batch: None });
                    if same.is_some() {
                        session.socket = None;
                        session.touch(ctx);
                    }
                }
            }
            session.flush_socket(ctx);
        }));
    }
}
