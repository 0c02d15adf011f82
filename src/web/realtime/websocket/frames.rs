//! The frames of a WebSocket: their text, and the connection to which sessions write them directly.

use std::cell::Cell;
use std::sync::Arc;

use actix_web_actors::ws::{CloseCode, CloseReason};
use platform_actors::hub::Notification;
use platform_actors::session::FrameWriter;
use platform_front::connection::upgraded::DirectWriter;

/// The direct path to the connection: sessions of the same thread write their frames without the actor of the
/// WebSocket.
pub(super) struct Frames {
    /// The connection; `None` if it is not an upgraded one.
    connection: Option<DirectWriter>,
    /// Whether sessions send their frames to the actor instead. They do while it processes messages, so that no
    /// notification overtakes the reply to its subscription, and when the socket ends.
    are_held_back: Cell<bool>,
}

impl Frames {
    pub(super) fn new(connection: Option<DirectWriter>) -> Self {
        Self { connection, are_held_back: Cell::new(false) }
    }

    /// Makes sessions send their frames to the actor.
    pub(super) fn hold_back(&self) {
        self.are_held_back.set(true);
    }

    /// Lets sessions write their frames to the connection again.
    pub(super) fn resume(&self) {
        self.are_held_back.set(false);
    }
}

impl FrameWriter for Frames {
    fn write(&self, frame: &[u8]) -> bool {
        !self.are_held_back.get()
            && self.connection.as_ref().is_some_and(|connection| connection.write(frame))
    }
}

/// Returns the notifications as the text of one frame.
pub(super) fn array_of(notifications: &[Arc<Notification>]) -> String {
    let mut text = Vec::with_capacity(notifications.iter().map(|n| n.json().len() + 1).sum::<usize>() + 1);
    for notification in notifications {
        text.push(if text.is_empty() { b'[' } else { b',' });
        text.extend_from_slice(notification.json());
    }
    text.push(b']');
    into_text(text)
}

/// Returns encoded JSON as the text of a frame.
pub(super) fn into_text(json: Vec<u8>) -> String {
    String::from_utf8(json).expect("JSON is written as UTF-8")
}

/// Returns the content of a close frame, whose reason has at most 123 bytes.
pub(super) fn close_reason(code: CloseCode, why: &str) -> CloseReason {
    let description = why.char_indices().take_while(|(at, _)| *at < 120).map(|(_, c)| c).collect();
    CloseReason { code, description: Some(description) }
}
