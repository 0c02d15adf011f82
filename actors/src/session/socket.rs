//! The WebSocket of a session. Notifications are sent at once, as fast as the peer reads (B-19).

use std::sync::Arc;

use actix::prelude::*;
use parking_lot::Mutex;
use platform_model::realtime::trace::record::TraceEvent;
use platform_store::statistics::TenantCounters;

use super::queue::size;
use super::{ClientId, Delivery, FrameWriterKey, SessionActor, SessionContext, count_delivered, seconds_now};
use crate::hub::Notification;

/// The most bytes of notifications in one frame, unless a single notification is larger.
const FRAME_BYTES: usize = 64 << 10;
/// Responses and frames with more bytes may take their connection a while to write.
pub const LARGE: usize = 16 << 10;

/// A message from a session to its socket.
#[derive(Debug)]
pub enum SocketMessage {
    /// Write these notifications as one frame. The session sends the next frame when the connection has taken this one.
    /// So a peer that does not read fills the session's bounded queue and nothing else.
    Frame(Frame),
    /// The session ended, and its client learns of it from the response to its connect or disconnect. The socket
    /// stays open for other sessions and for a new handshake (B-24).
    Ended(ClientId),
    /// The session ended or uses another connection, and no response reports that. A socket without other sessions
    /// closes.
    Gone(ClientId),
    /// The server is stopping. The socket closes when all connects have their responses (B-24).
    Leave,
}

impl Message for SocketMessage {
    type Result = ();
}

/// The notifications of one frame, oldest first, shared by the session and its socket. The session takes them back when
/// its client changes to another connection before the socket writes them. So none is written twice, and none is lost
/// with a connection that hangs.
#[derive(Debug, Clone)]
pub struct Frame(Arc<FrameState>);

#[derive(Debug)]
struct FrameState {
    progress: Mutex<Progress>,
    session: Addr<SessionActor>,
    counters: Arc<TenantCounters>,
}

#[derive(Debug)]
struct Progress {
    notifications: Vec<Arc<Notification>>,
    is_written: bool,
    /// Whether the session waits for this frame, because it has more notifications or knows that the peer is slow.
    is_awaited: bool,
}

impl Frame {
    fn new(
        notifications: Vec<Arc<Notification>>,
        (session, counters): (Addr<SessionActor>, Arc<TenantCounters>),
        is_awaited: bool,
    ) -> Self {
        let progress = Mutex::new(Progress { notifications, is_written: false, is_awaited });
        Self(Arc::new(FrameState { progress, session, counters }))
    }

    /// Takes the notifications. Only the first caller receives them.
    pub fn take(&self) -> Vec<Arc<Notification>> {
        std::mem::take(&mut self.0.progress.lock().notifications)
    }

    /// Notes that the connection has taken the bytes of this many notifications. Called by the socket.
    pub fn written(self, count: usize) {
        count_delivered(&self.0.counters, count as u64);
        let is_awaited = {
            let mut progress = self.0.progress.lock();
            progress.is_written = true;
            progress.is_awaited
        };
        if is_awaited {
            self.0.session.clone().do_send(FrameWritten(self));
        }
    }

    fn is_written(&self) -> bool {
        self.0.progress.lock().is_written
    }

    /// Returns whether the frame is written; if not, the socket will report it with [`FrameWritten`].
    fn is_written_or_awaited(&self) -> bool {
        let mut progress = self.0.progress.lock();
        progress.is_awaited = true;
        progress.is_written
    }
}

/// Reports that a frame is written for which the session waits. Sent by [`Frame::written`].
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct FrameWritten(Frame);

/// Makes a socket the connection of the session; a socket that was attached before is closed.
///
/// Sent by the WebSocket transport after a handshake, or when a new socket sends a message with an existing clientId
/// (B-18). The reply is whether the session belongs to that user.
#[derive(Debug, Message)]
#[rtype(result = "bool")]
pub struct AttachSocket {
    /// The user who sent the request.
    pub user: Arc<str>,
    /// The WebSocket actor.
    pub socket: Recipient<SocketMessage>,
    /// The connection of the WebSocket.
    pub writer: FrameWriterKey,
}

/// Detaches the socket from a session because another session begins on it. A session without a held connect detaches
/// until its client uses it again, because the client may have started over and would receive every notification
/// twice (B-10a).
///
/// Sent by the WebSocket transport at a handshake. The reply is whether the session detached.
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

/// Whether a response reports the end of the session to its client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EndNotice {
    InResponse,
    Missing,
}

#[derive(Debug)]
pub(super) struct Socket {
    recipient: Recipient<SocketMessage>,
    writer: FrameWriterKey,
    /// The last frame that the actor was sent; the next one waits until it is written.
    frame: Option<Frame>,
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
        self.socket = Some(Box::new(Socket { recipient: attach.socket, writer: attach.writer, frame: None }));
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
        if let Some(frame) = &socket.frame {
            let notifications = frame.take();
            self.trace_notifications(&notifications, TraceEvent::Returned);
            self.queue.put_back(Delivery { notifications, batch: None });
        }
        Some(socket)
    }

    /// Detaches the socket because the client uses another connection now.
    pub(super) fn leave_socket(&mut self) {
        if let Some(socket) = self.take_socket() {
            socket.end(self.client, EndNotice::Missing);
        }
    }

    /// Writes a notification to the socket directly. Returns `false` if other notifications come first or the socket
    /// cannot write it at once; the notification is then to be queued.
    pub(super) fn write_at_once(&mut self, notification: &Notification) -> bool {
        let Some(socket) =
            self.socket.as_ref().filter(|_| self.queue.is_empty() && !self.queue.acknowledges())
        else {
            return false;
        };
        let is_idle = socket.frame.as_ref().is_none_or(Frame::is_written);
        let frame = notification.frame();
        let is_written = is_idle && frame.len() <= LARGE && socket.writer.write(frame);
        if is_written {
            self.count_delivered(1);
            self.trace_notification(notification, TraceEvent::Sent);
        }
        is_written
    }

    /// Sends the next frame if the socket has written the last one.
    pub(super) fn flush_socket(&mut self, ctx: &mut SessionContext) {
        if self.socket.as_ref().is_some_and(|socket| !socket.recipient.connected()) {
            // The socket closed, and its report of that was lost or has not arrived yet.
            self.take_socket();
            return self.touch(ctx);
        }
        let Some(socket) = self.socket.as_mut().filter(|_| !self.queue.is_empty()) else { return };
        if socket.frame.as_ref().is_some_and(|frame| !frame.is_written_or_awaited()) {
            return;
        }
        let notifications = self.queue.take_frame(FRAME_BYTES);
        let sent = self.environment.recorder.is_on().then(|| notifications.clone());
        // A client this far behind reads for a while before it sees the response to its connect (B-10a).
        let is_slow = !self.queue.is_empty() || size(&notifications) > FRAME_BYTES;
        self.is_being_written |= is_slow;
        self.traces.delivered = seconds_now();
        let owner = (ctx.address(), self.environment.counters.clone());
        let frame = Frame::new(notifications, owner, is_slow);
        socket.frame = Some(frame.clone());
        socket.recipient.do_send(SocketMessage::Frame(frame));
        self.trace_notifications(sent.iter().flatten(), TraceEvent::Sent);
    }
}

impl Handler<FrameWritten> for SessionActor {
    type Result = ();

    fn handle(&mut self, FrameWritten(frame): FrameWritten, ctx: &mut Self::Context) {
        // If the client changed to another connection, that connection has the unwritten notifications.
        let is_last = |last: &Frame| Arc::ptr_eq(&last.0, &frame.0);
        if self.socket.as_ref().is_some_and(|socket| socket.frame.as_ref().is_some_and(is_last)) {
            if std::mem::take(&mut self.is_being_written) {
                self.touch(ctx);
            }
            self.hand_over_queue(ctx);
        }
    }
}
