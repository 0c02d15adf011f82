//! A connect that waits, whatever writes its answer.

use std::future::{Future, poll_fn};
use std::io::IoSlice;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use actix::Addr;
use platform_actors::bayeux::Reply;
use platform_actors::bayeux::reply::Acknowledgement;
use platform_actors::hub::Notification;
use platform_actors::session::{Abandoned, Answer, ClientId, ResumeConnect, SessionActor, Writing, Written};
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use super::CONNECT;

/// A connect that waits for notifications. Dropping it unanswered tells the session that its client went away; what
/// it had received but not written goes back.
pub struct Held {
    answer: oneshot::Receiver<Answer>,
    session: Addr<SessionActor>,
    client: ClientId,
    id: Option<Box<RawValue>>,
    stage: Stage,
}

/// How far a connect has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Waiting,
    Answered,
    /// Its answer is being written to a client that reads slowly, and its session knows.
    Writing,
}

impl Held {
    pub(super) fn new(
        answer: oneshot::Receiver<Answer>,
        session: Addr<SessionActor>,
        client: ClientId,
        id: Option<Box<RawValue>>,
    ) -> Self {
        Self { answer, session, client, id, stage: Stage::Waiting }
    }

    /// Waits for the answer; the session may have ended meanwhile.
    pub async fn answer(&mut self) -> Answer {
        poll_fn(|cx| self.poll_answer(cx)).await
    }

    /// Polls for the answer, for transports that are polled themselves.
    pub fn poll_answer(&mut self, cx: &mut Context<'_>) -> Poll<Answer> {
        Pin::new(&mut self.answer).poll(cx).map(|answer| {
            self.stage = Stage::Answered;
            answer.unwrap_or_else(|_| Answer::unknown_client())
        })
    }

    /// Waits further for an answer, after one that held nothing for the client (S-53).
    pub fn go_on(&mut self, connect: u64, hold: Duration, advised: Duration) {
        let (reply_to, answer) = oneshot::channel();
        (self.answer, self.stage) = (answer, Stage::Waiting);
        self.session.do_send(ResumeConnect { connect, hold, advised, reply_to });
    }

    /// Writing the answer takes a while: the session does not end until this is dropped, and the interval of the session runs
    /// from then (B-10a).
    pub fn writing_takes_a_while(&mut self) {
        if self.stage == Stage::Answered {
            self.stage = Stage::Writing;
            self.session.do_send(Writing);
        }
    }

    /// Returns an answer that could not be written: its notifications stay for the next connect (B-22).
    pub fn give_back(&self, answer: Answer) {
        self.session.do_send(Abandoned { unwritten: Some(answer.delivery) });
    }

    /// The whole answer of a connect: notifications first, its reply last (B-07).
    pub fn text(&self, answer: Answer) -> Text {
        let mut after = Vec::with_capacity(REPLY_BYTES);
        after.push(if answer.delivery.notifications.is_empty() { b'[' } else { b',' });
        self.write_reply(&answer, &mut after);
        after.push(b']');
        Text { notifications: answer.delivery.notifications, after }
    }

    /// The reply to the connect.
    pub(super) fn write_reply(&self, answer: &Answer, out: &mut Vec<u8>) {
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

/// An answer of more bytes may take its connection a while to write.
pub(super) const LARGE: usize = 16 << 10;
/// Room for the reply to a connect, as most are.
pub(super) const REPLY_BYTES: usize = 160;

/// The text of an answer. Notifications are shared with everybody else who is told of them.
#[derive(Debug, Default)]
pub struct Text {
    notifications: Vec<Arc<Notification>>,
    after: Vec<u8>,
}

impl Text {
    /// How many bytes it has.
    pub fn len(&self) -> usize {
        self.notifications.iter().map(|notification| notification.json().len() + 1).sum::<usize>()
            + self.after.len()
    }

    /// Whether it may take its connection a while to write.
    pub fn is_large(&self) -> bool {
        self.len() > LARGE
    }

    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.notifications.is_empty() && self.after.is_empty()
    }

    /// Its bytes in their order: `[`, notifications with commas between them, and what comes after them.
    pub fn slices(&self) -> impl Iterator<Item = IoSlice<'_>> {
        let separators = std::iter::once(&b"["[..]).chain(std::iter::repeat(&b","[..]));
        let notifications = separators.zip(&self.notifications);
        let notifications =
            notifications.flat_map(|(separator, notification)| [separator, notification.json()]);
        notifications.chain(std::iter::once(&self.after[..])).map(IoSlice::new)
    }

    /// Its bytes in one piece.
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
