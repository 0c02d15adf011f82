//! A connect that waits for its session, independent of the transport that writes the response.

use std::future::{Future, poll_fn};
use std::io::IoSlice;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use actix::Addr;
use platform_actors::hub::Notification;
use platform_actors::session::{
    Abandoned, ClientId, ConnectResponse, LARGE, ResumeConnect, SessionActor, Writing, Written,
};
use platform_model::bayeux::Reply;
use platform_model::bayeux::reply::Acknowledgement;
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use super::CONNECT;

/// A connect that waits for notifications. Dropping it before its response notifies the session that the client went
/// away and returns to the session the notifications that were received but not written.
pub struct Held {
    answer: oneshot::Receiver<ConnectResponse>,
    session: Addr<SessionActor>,
    client: ClientId,
    id: Option<Box<RawValue>>,
    stage: Stage,
}

/// The stages of a held connect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Waiting,
    Answered,
    /// A client that reads slowly is being sent the response, and the session has been notified of this.
    Writing,
}

impl Held {
    pub(super) fn new(
        answer: oneshot::Receiver<ConnectResponse>,
        session: Addr<SessionActor>,
        client: ClientId,
        id: Option<Box<RawValue>>,
    ) -> Self {
        Self { answer, session, client, id, stage: Stage::Waiting }
    }

    /// Waits for the session's reply. A session that ended meanwhile counts as an unknown client.
    pub async fn answer(&mut self) -> ConnectResponse {
        poll_fn(|cx| self.poll_answer(cx)).await
    }

    /// Polls for the session's reply, for transports that are polled themselves.
    pub fn poll_answer(&mut self, cx: &mut Context<'_>) -> Poll<ConnectResponse> {
        Pin::new(&mut self.answer).poll(cx).map(|answer| {
            self.stage = Stage::Answered;
            answer.unwrap_or_else(|_| ConnectResponse::unknown_client())
        })
    }

    /// Waits for another reply, after one that contained nothing for the client (S-53).
    pub fn go_on(&mut self, connect: u64, hold: Duration, advised: Duration) {
        let (reply_to, answer) = oneshot::channel();
        (self.answer, self.stage) = (answer, Stage::Waiting);
        self.session.do_send(ResumeConnect { connect, hold, advised, reply_to });
    }

    /// Notifies the session that writing the response takes a while. The session does not end before this connect is
    /// dropped, and its interval starts then (B-10a).
    pub fn writing_takes_a_while(&mut self) {
        if self.stage == Stage::Answered {
            self.stage = Stage::Writing;
            self.session.do_send(Writing);
        }
    }

    /// Returns to the session a reply that could not be written. Its notifications stay in the queue for the next
    /// connect (B-22).
    pub fn give_back(&self, answer: ConnectResponse) {
        self.session.do_send(Abandoned { unwritten: Some(answer.delivery) });
    }

    /// Returns the whole response to a connect: the notifications first, the reply to the connect last (B-07).
    pub fn text(&self, answer: ConnectResponse) -> Text {
        let mut after = Vec::with_capacity(REPLY_BYTES);
        after.push(if answer.delivery.notifications.is_empty() { b'[' } else { b',' });
        self.write_reply(&answer, &mut after);
        after.push(b']');
        Text { notifications: answer.delivery.notifications, after }
    }

    /// Writes the reply to the connect.
    pub(super) fn write_reply(&self, answer: &ConnectResponse, out: &mut Vec<u8>) {
        let told = (answer.error, answer.advice, answer.delivery.batch);
        if let (None, None, None) = told {
            return Reply::write_connected(self.id.as_deref(), self.client, out);
        }
        let reply = Reply {
            id: self.id.as_deref(),
            channel: Some(CONNECT),
            client_id: Some(&self.client.to_string()),
            successful: answer.error.is_none(),
            error: answer.error,
            advice: answer.advice,
            ext: answer.delivery.batch.map(Acknowledgement::Batch),
            ..Reply::default()
        };
        reply.write(out);
    }
}

/// The initial capacity in bytes for the reply to a connect; most replies fit.
pub(super) const REPLY_BYTES: usize = 160;

/// The text of a response. Notifications are shared with every other subscriber that receives them.
#[derive(Debug, Default)]
pub struct Text {
    notifications: Vec<Arc<Notification>>,
    after: Vec<u8>,
}

impl Text {
    /// Returns the length in bytes.
    pub fn len(&self) -> usize {
        self.notifications.iter().map(|notification| notification.json().len() + 1).sum::<usize>()
            + self.after.len()
    }

    /// Returns whether the text may take its connection a while to write.
    pub fn is_large(&self) -> bool {
        self.len() > LARGE
    }

    /// Returns whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.notifications.is_empty() && self.after.is_empty()
    }

    /// Returns the bytes in order as slices: `[`, the notifications separated by commas, and the text after them.
    pub fn slices(&self) -> impl Iterator<Item = IoSlice<'_>> {
        let separators = std::iter::once(&b"["[..]).chain(std::iter::repeat(&b","[..]));
        let notifications = separators.zip(&self.notifications);
        let notifications =
            notifications.flat_map(|(separator, notification)| [separator, notification.json()]);
        notifications.chain(std::iter::once(&self.after[..])).map(IoSlice::new)
    }

    /// Returns the bytes as one vector.
    pub fn into_bytes(self) -> Vec<u8> {
        if self.notifications.is_empty() {
            return self.after;
        }
        let mut bytes = Vec::with_capacity(self.len());
        self.slices().for_each(|slice| bytes.extend_from_slice(&slice));
        bytes
    }
}

impl From<Vec<u8>> for Text {
    fn from(text: Vec<u8>) -> Self {
        Self { notifications: Vec::new(), after: text }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        match self.stage {
            Stage::Answered => {}
            Stage::Writing => self.session.do_send(Written),
            Stage::Waiting => {
                self.answer.close();
                let unwritten = self.answer.try_recv().ok().map(|answer| answer.delivery);
                self.session.do_send(Abandoned { unwritten });
            }
        }
    }
}
